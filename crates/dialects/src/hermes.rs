//! Hermes, Qwen 2.5, Qwen 3 and many more: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
use super::{
    Dialect, json,
    marked::{self, Block, Close, Marks},
};

pub(super) static HERMES: Dialect = Dialect {
    name: "hermes",
    models: &["hermes", "qwen2", "qwen3", "qwq"],
    reader: |setting| marked::reader(&MARKS, setting),
};

static MARKS: Marks = Marks {
    thinking: &[("<think>", "</think>")],
    calls: &[Block {
        open: "<tool_call>",
        close: Close::AfterJson(&["</tool_call>"]),
        read: |body, _| json::calls(body),
        read_when_cut: false,
    }],
    noise: &["<|im_end|>"],
};

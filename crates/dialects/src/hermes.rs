//! Hermes, Qwen 2.5, Qwen 3 and many more: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
use super::{
    Dialect, Results,
    blocks::{self, Block, Rules},
    bodies::json_or_text,
    writing::Writing,
};

pub(super) static HERMES: Dialect = Dialect {
    name: "hermes",
    models: &["hermes", "qwen2", "qwen3", "qwq"],
    reader: |setting| blocks::reader(&RULES, setting),
    signs: &[&["<tool_call>"]],
    writing: Writing::json("<tool_call>\n", "\n</tool_call>"),
    results: Results::Tagged,
    ..Dialect::BASE
};

static RULES: Rules = Rules {
    blocks: &[Block::new("<tool_call>", &["</tool_call>"], json_or_text)],
    noise: &["<|im_end|>"],
    ..Rules::NONE
};

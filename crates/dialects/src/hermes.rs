//! Hermes, Qwen 2.5, Qwen 3 and many more: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
use super::{
    Dialect, Results,
    blocks::{self, Block, Grammar},
    bodies::json_or_text,
    writing::Writing,
};

pub(super) static HERMES: Dialect = Dialect {
    name: "hermes",
    models: &["hermes", "qwen2", "qwen3", "qwq"],
    reader: |setting| blocks::reader(&GRAMMAR, setting),
    signs: &[&["<tool_call>"]],
    writing: Writing::json("<tool_call>\n", "\n</tool_call>"),
    results: Results::Tagged,
    ..Dialect::BASE
};

static GRAMMAR: Grammar = Grammar {
    blocks: &[Block::new("<tool_call>", &["</tool_call>"], json_or_text)],
    noise: &["<|im_end|>"],
    ..Grammar::NONE
};

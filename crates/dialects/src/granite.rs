//! Granite of IBM. 3.x writes `<|tool_call|>[{"name": …, "arguments": {…}}]` and thinks between `<think>` and `</think>`, or, in
//! 3.2, after the words `Here is my thought process:`; 4.0 writes `<tool_call>{…}</tool_call>`; the 20B model for function calls
//! `<function_call> {…}` for each call; and the thinking models of 4 write
//! `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`.
use super::{
    Dialect,
    blocks::{self, Block, Grammar, Json, THINK, Thought},
    bodies::{json_or_beginning, json_or_problem, json_or_text},
    functions,
    writing::Writing,
};

pub(super) static GRANITE: Dialect = Dialect {
    name: "granite",
    models: &["granite-3", "granite3"],
    reader: |setting| blocks::reader(&THREE, setting),
    writing: Writing::json("<|tool_call|>[", "]"),
    ..Dialect::BASE
};
pub(super) static GRANITE4: Dialect = Dialect {
    name: "granite4",
    models: &["granite-4", "granite4"],
    reader: |setting| blocks::reader(&FOUR, setting),
    writing: Writing::json("<tool_call>\n", "\n</tool_call>"),
    ..Dialect::BASE
};
pub(super) static GRANITE_20B_FC: Dialect = Dialect {
    name: "granite_20b_fc",
    models: &["granite-20b-functioncalling"],
    reader: |setting| blocks::reader(&TWENTY, setting),
    writing: Writing::json("<function_call> ", ""),
    ..Dialect::BASE
};
pub(super) static GRANITE_THINKING: Dialect = Dialect {
    name: "granite_thinking",
    models: &["granite-thinking", "granite-4-thinking"],
    reader: |setting| blocks::reader(&functions::GRANITE, setting),
    writing: functions::WRITING,
    ..Dialect::BASE
};

const NOTHING: Grammar = Grammar { noise: &["<|end_of_text|>"], ..Grammar::NONE };
const RESPONSE: &[&str] = &["Here is my response:", "Here's my response:"];

static THREE: Grammar = Grammar {
    thoughts: &[
        THINK,
        Thought { first: true, ..Thought::new("Here is my thought process:", RESPONSE) },
        Thought { first: true, ..Thought::new("Here's my thought process:", RESPONSE) },
    ],
    blocks: &[
        Block { json: Json::Last, ..Block::new("<|tool_call|>", &[], json_or_beginning) },
        Block { json: Json::Last, ..Block::new("<tool_call>", &[], json_or_beginning) },
    ],
    noise: &["<|end_of_text|>", "<response>", "</response>"],
    frame: &["</tool_call>"],
    words_are_cut: true,
    ..NOTHING
};
static FOUR: Grammar =
    Grammar { blocks: &[Block::new("<tool_call>", &["</tool_call>"], json_or_text)], ..NOTHING };
static TWENTY: Grammar = Grammar {
    blocks: &[Block {
        json: Json::Last,
        stop: &["<function_call>"],
        ..Block::new("<function_call>", &[], json_or_problem)
    }],
    ..NOTHING
};

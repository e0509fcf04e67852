//! DeepSeek up to V3.1. The templates of R1 and V3 write
//! `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME`, a fence with the JSON of the arguments, and
//! `<｜tool▁call▁end｜><｜tool▁calls▁end｜>`; that of V3.1 `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`.
use super::{
    Call, Dialect, Said, Setting,
    blocks::{self, Block, Body, Grammar, Thought},
    bodies::mended,
    writing::Writing,
};

pub(super) static DEEPSEEK_R1: Dialect = Dialect {
    name: "deepseek_r1",
    models: &["deepseek-r1"],
    reader: |setting| blocks::reader(&GRAMMAR, setting),
    signs: &[&["<｜tool▁calls▁begin｜>", "```json"]],
    writing: Writing::Named([
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
        "\n```json\n",
        "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ]),
    ..Dialect::BASE
};
pub(super) static DEEPSEEK_V3: Dialect = Dialect {
    name: "deepseek_v3",
    models: &["deepseek-v3-", "deepseek-v3:", "deepseek-v2"],
    reader: |setting| blocks::reader(&UNTHINKING, setting),
    writing: Writing::Named([
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
        "\n```json\n",
        "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ]),
    ..Dialect::BASE
};
pub(super) static DEEPSEEK_V31: Dialect = Dialect {
    name: "deepseek_v31",
    models: &["deepseek-v3.1", "deepseek-v3_1"],
    reader: |setting| blocks::reader(&GRAMMAR, setting),
    signs: &[&["<｜tool▁calls▁begin｜>"]],
    writing: Writing::Named([
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ]),
    ..Dialect::BASE
};

const BEGIN: &str = "<｜tool▁call▁begin｜>";
const END: &str = "<｜tool▁calls▁end｜>";

static GRAMMAR: Grammar = Grammar {
    thoughts: &[blocks::THINK],
    blocks: &[Block { stop: &[BEGIN, END], ..Block::new(BEGIN, &["<｜tool▁call▁end｜>"], call) }],
    noise: &["<｜end▁of▁sentence｜>"],
    // R1 often writes the first delimiter in another way.
    frame: &[
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls｜>",
        "<｜tool calls begin｜>",
        "<｜tool_calls_begin｜>",
        "<｜tool\\_calls\\_begin｜>",
        "<｜tool▁call▁end｜>",
        END,
    ],
    ..Grammar::NONE
};

/// It thinks only where the prompt begins it, and does not close what was never opened.
static UNTHINKING: Grammar = Grammar {
    thoughts: &[Thought { first: true, ..blocks::THINK }],
    blocks: GRAMMAR.blocks,
    frame: GRAMMAR.frame,
    noise: GRAMMAR.noise,
    ..Grammar::NONE
};

fn call(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let Some((kind, rest)) = body.text.split_once("<｜tool▁sep｜>") else {
        return body.stays("a call must have `<｜tool▁sep｜>`", said);
    };
    let start = rest.find(['{', '[']).unwrap_or(rest.len());
    let (head, arguments) = rest.split_at(start);
    let head = head.trim().trim_end_matches("json").trim_end_matches('`').trim();
    let name = if head.is_empty() { kind.trim() } else { head };
    let arguments = arguments.trim().trim_end_matches('`').trim();
    match mended(arguments) {
        _ if name.is_empty() || name.contains(char::is_whitespace) => body.stays("a call has no name", said),
        Ok(arguments) => said.push(Said::Call(Call::new(name, arguments))),
        // Of what was cut off the beginning is said.
        Err(_) if body.cut && !arguments.is_empty() => said.push(Said::Call(Call::new(name, arguments))),
        Err(error) => body.stays(format!("the arguments are not valid JSON: {error}"), said),
    }
}

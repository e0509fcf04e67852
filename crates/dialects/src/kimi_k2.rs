//! Kimi K2 of Moonshot AI. Its chat template writes
//! `<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`
//! `<|tool_calls_section_end|>`, with more calls before the end of the section.
//!
//! The models forget delimiters: a call may end where the next one or the section does, and thoughts where a call begins.
use super::{
    Call, Dialect, Said, Setting,
    blocks::{self, Block, Body, Grammar, Json, Thought},
    bodies::mended,
    writing::Writing,
};

pub(super) static KIMI_K2: Dialect = Dialect {
    name: "kimi_k2",
    models: &["kimi-k2", "kimi_k2"],
    reader: |setting| blocks::reader(&GRAMMAR, setting),
    signs: &[&["<|tool_calls_section_begin|>"]],
    writing: Writing::Named([
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.",
        ":0<|tool_call_argument_begin|>",
        "<|tool_call_end|><|tool_calls_section_end|>",
    ]),
    ..Dialect::BASE
};

const BEGIN: &str = "<|tool_call_begin|>";
const SECTION: &str = "<|tool_calls_section_begin|>";
const SECTION_END: &str = "<|tool_calls_section_end|>";
const ARGUMENTS: &str = "<|tool_call_argument_begin|>";

static GRAMMAR: Grammar = Grammar {
    thoughts: &[Thought { breaks: &[SECTION, BEGIN], ..blocks::THINK }],
    blocks: &[Block {
        stop: &[BEGIN, SECTION_END],
        json: Json::Some,
        ..Block::new(BEGIN, &["<|tool_call_end|>"], call)
    }],
    noise: &["<|im_end|>"],
    frame: &["<|tool_call_end|>"],
    hush: &[SECTION, SECTION_END],
    hush_after_blocks: true,
    ..Grammar::NONE
};

fn call(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let Some((id, arguments)) = body.text.split_once(ARGUMENTS) else {
        return body.told("a call has no arguments", said);
    };
    let (id, arguments) = (id.trim(), arguments.trim_start());
    // Who forgets the number still names a tool.
    let bare = id.strip_prefix("functions.").unwrap_or(id);
    let Some(name) = name(id).or_else(|| setting.tool(bare).map(|_| bare)) else {
        return body.told("a call must be named `functions.NAME:NUMBER`", said);
    };
    // What was cut off is said as far as it came.
    let arguments = mended(arguments).map_or(arguments.to_owned(), |arguments| arguments.to_string());
    said.push(Said::Call(Call { id: id.into(), ..Call::new(name, arguments) }));
}

fn name(id: &str) -> Option<&str> {
    let (name, number) = id.rsplit_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.strip_prefix("functions.").unwrap_or(name);
    (is_number && !name.is_empty()).then_some(name)
}

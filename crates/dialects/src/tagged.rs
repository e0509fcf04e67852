//! Dialects that put JSON between two delimiters and differ in little more than these:
//!
//! ```text
//! InternLM 2        <|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>
//! Jamba, Apriel     <tool_calls>[{"name": …, "arguments": {…}}]</tool_calls>
//! Nemotron Nano 2   <TOOLCALL>[{"name": …, "arguments": {…}}]</TOOLCALL>
//! Apertus           <|tools_prefix|>[{"NAME": {…}}]<|tools_suffix|>
//! Ernie, Reka Edge  <tool_call>{"name": …, "arguments": {…}}</tool_call>
//! LongCat           <longcat_tool_call>{"name": …, "arguments": {…}}</longcat_tool_call>
//! GigaChat 3        <|message_sep|>, two line ends, function call<|role_sep|> and {"name": …, "arguments": {…}}
//! ```
use super::{
    Call, Dialect, Reader, Said, Setting,
    blocks::{self, Block, Body, Grammar, Json, THINK, Thought},
    bodies::{json_or_beginning, json_or_text, mended},
    json::{self, Parsed},
    writing::{JsonCall, Writing},
};
use serde_json::Value;

pub(super) static INTERNLM2: Dialect = Dialect {
    name: "internlm2",
    models: &["internlm2", "internlm3"],
    reader: |setting| blocks::reader(&PLUGIN, setting),
    signs: &[&["<|action_start|>"]],
    writing: Writing::Json(JsonCall {
        keys: ["name", "parameters"],
        ..JsonCall::between("<|action_start|><|plugin|>", "<|action_end|>")
    }),
    ..Dialect::BASE
};
pub(super) static JAMBA: Dialect = Dialect {
    name: "jamba",
    models: &["jamba"],
    reader: |setting| blocks::reader(&TOOL_CALLS, setting),
    signs: &[&["<tool_calls>"]],
    writing: Writing::json("<tool_calls>[", "]</tool_calls>"),
    ..Dialect::BASE
};
pub(super) static APRIEL15: Dialect = Dialect {
    name: "apriel15",
    models: &["apriel-1.5", "apriel-nemotron"],
    reader: |setting| blocks::reader(&APRIEL, setting),
    writing: Writing::json("<tool_calls>[", "]</tool_calls>"),
    ..Dialect::BASE
};
pub(super) static APRIEL16: Dialect = Dialect {
    name: "apriel16",
    models: &["apriel-1.6"],
    reader: |setting| blocks::reader(&APRIEL, setting),
    writing: Writing::json("<tool_calls>[", "]</tool_calls>"),
    ..Dialect::BASE
};
pub(super) static NEMOTRON_V2: Dialect = Dialect {
    name: "nemotron_v2",
    models: &["nemotron-nano-v2", "nemotron-nano-9b-v2", "nemotron-nano-12b-v2"],
    reader: |setting| blocks::reader(&NEMOTRON, setting),
    signs: &[&["<TOOLCALL>"]],
    writing: Writing::json("<TOOLCALL>[", "]</TOOLCALL>"),
    ..Dialect::BASE
};
pub(super) static APERTUS: Dialect = Dialect {
    name: "apertus",
    models: &["apertus"],
    reader: |setting| blocks::reader(&PREFIXED, setting),
    signs: &[&["<|tools_prefix|>"]],
    writing: Writing::Named(["<|tools_prefix|>[{\"", "\": ", "}]<|tools_suffix|>"]),
    ..Dialect::BASE
};
pub(super) static ERNIE45: Dialect = Dialect {
    name: "ernie45",
    models: &["ernie-4.5", "ernie45"],
    reader: |setting| blocks::reader(&ERNIE, setting),
    writing: Writing::json("<tool_call>\n", "\n</tool_call>"),
    ..Dialect::BASE
};
pub(super) static REKA_EDGE: Dialect = Dialect {
    name: "reka_edge",
    models: &["reka-edge"],
    reader: |setting| blocks::reader(&REKA, setting),
    writing: Writing::json("<tool_call>\n", "\n</tool_call>"),
    ..Dialect::BASE
};
pub(super) static LONGCAT: Dialect = Dialect {
    name: "longcat",
    models: &["longcat"],
    reader: |setting| blocks::reader(&CAT, setting),
    writing: Writing::json("<longcat_tool_call>", "</longcat_tool_call>"),
    ..Dialect::BASE
};
pub(super) static GIGACHAT3: Dialect = Dialect {
    name: "gigachat3",
    models: &["gigachat3", "gigachat-3"],
    reader: |setting| blocks::reader(&GIGA, setting),
    writing: Writing::json("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""),
    is_ambiguous: true,
    ..Dialect::BASE
};
pub(super) static PLAIN: Dialect = Dialect { name: "plain", models: &[], reader: plain, ..Dialect::BASE };

static PLUGIN: Grammar = Grammar {
    blocks: &[
        Block::new("<|action_start|><|plugin|>", &["<|action_end|>"], json_or_text),
        Block::new("<|action_start|> <|plugin|>", &["<|action_end|>"], json_or_text),
    ],
    noise: &["<|im_end|>"],
    ..Grammar::NONE
};
static TOOL_CALLS: Grammar =
    Grammar { blocks: &[Block::new("<tool_calls>", &["</tool_calls>"], json_or_text)], ..Grammar::NONE };
static APRIEL: Grammar = Grammar {
    thoughts: &[
        Thought {
            first: true,
            says_open: true,
            ..Thought::new("Here are my reasoning steps:", &["[BEGIN FINAL RESPONSE]"])
        },
        THINK,
    ],
    blocks: TOOL_CALLS.blocks,
    noise: &["[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "<|end|>"],
    ..Grammar::NONE
};
static NEMOTRON: Grammar = Grammar {
    blocks: &[Block::new("<TOOLCALL>", &["</TOOLCALL>"], json_or_text)],
    noise: &["<SPECIAL_12>"],
    ..Grammar::NONE
};
static PREFIXED: Grammar = Grammar {
    thoughts: &[Thought::new("<|inner_prefix|>", &["<|inner_suffix|>"])],
    blocks: &[Block::new("<|tools_prefix|>", &["<|tools_suffix|>"], keyed)],
    noise: &["<|assistant_end|>"],
    ..Grammar::NONE
};
static ERNIE: Grammar = Grammar {
    blocks: &[Block::new("<tool_call>", &["</tool_call>"], json_or_text)],
    noise: &["<response>", "</response>"],
    ..Grammar::NONE
};
static REKA: Grammar = Grammar {
    blocks: &[Block::new("<tool_call>", &["</tool_call>"], json_or_beginning)],
    noise: &["<sep>"],
    ..Grammar::NONE
};
static CAT: Grammar = Grammar {
    thoughts: &[Thought::new("<longcat_think>", &["</longcat_think>"])],
    blocks: &[Block::new("<longcat_tool_call>", &["</longcat_tool_call>"], as_it_is)],
    noise: &["</longcat_s>"],
    hush_after_blocks: true,
    ..Grammar::NONE
};
const GIGA_CALL: Block = Block {
    json: Json::Last,
    ..Block::new("<|message_sep|>\n\nfunction call<|role_sep|>", &[], json_or_beginning)
};
static GIGA: Grammar = Grammar {
    blocks: &[GIGA_CALL, Block { open: "<|function_call|>", ..GIGA_CALL }],
    noise: &["<|message_sep|>"],
    ..Grammar::NONE
};
static NO_SIGNS: Grammar = Grammar { thoughts: &[], ..Grammar::NONE };

pub(super) fn plain(setting: &Setting) -> Box<dyn Reader> {
    blocks::reader(&NO_SIGNS, setting)
}

/// Arguments that are a text and no object are passed on: who runs the call refuses it.
fn as_it_is(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let value = if body.cut || body.broken { None } else { mended(body.text).ok() };
    match value.map(json::parsed) {
        Some(Ok(calls)) if calls.iter().all(|call| call.arguments.is_string()) => {
            let text = |call: &Parsed| call.arguments.as_str().unwrap_or_default().to_owned();
            let called = |call: Parsed| Call { id: call.id.clone(), ..Call::new(&call.name, text(&call)) };
            said.extend(calls.into_iter().map(called).map(Said::Call));
        }
        _ => json_or_text(body, setting, said),
    }
}

/// `[{"NAME": {…}}]`; what is missing at its end is added.
fn keyed(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let ends = if body.cut && setting.beginnings { &["", "]", "}]"][..] } else { &[""] };
    let whole = ends.iter().find_map(|end| mended(&format!("{}{end}", body.text.trim())).ok());
    let Some(Value::Array(items)) = whole else {
        return body.stays("the calls are not a list of JSON objects", said);
    };
    for item in items {
        match item.as_object().and_then(|call| call.iter().next()) {
            Some((name, arguments)) => said.push(Said::Call(Call::new(name, arguments))),
            None => said.push(Said::problem(format!("a call must be an object with one name: {item}"))),
        }
    }
    if body.cut {
        said.push(Said::cut_off("the end of the calls"));
    }
}

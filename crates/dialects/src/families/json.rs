//! Dialects that write calls as JSON objects, or lists of them, with their name and arguments:
//!
//! ```text
//! Hermes, Qwen, Ernie, Reka Edge, Granite 4   <tool_call>{"name": …, "arguments": {…}}</tool_call>
//! Jamba, Apriel     <tool_calls>[{"name": …, "arguments": {…}}]</tool_calls>
//! Nemotron Nano 2   <TOOLCALL>[{"name": …, "arguments": {…}}]</TOOLCALL>
//! InternLM 2        <|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>
//! Apertus           <|tools_prefix|>[{"NAME": {…}}]<|tools_suffix|>
//! LongCat           <longcat_tool_call>{"name": …, "arguments": {…}}</longcat_tool_call>
//! GigaChat 3        <|message_sep|>, two line ends, function call<|role_sep|> and {"name": …, "arguments": {…}}
//! Granite 3         <|tool_call|>[{"name": …, "arguments": {…}}]; the 20B model <function_call> {…} for each call
//! Command R7B, A    <|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": {…}}]<|END_ACTION|>
//! Command R+        Action: and a fence of JSON, in which the tool `directly_answer` means none
//! Llama 3           {"name": …, "parameters": {…}} as the whole reply or after <|python_tag|>, with `;` between several
//! xLAM              a list of such objects; Phi 4 mini and FireFunction 2 after the word `functools` or <|tool_call|>
//! ```
use crate::{
    Call, Dialect, Problem, Results, Said, Setting,
    blocks::{Block, Body, Grammar, THINK, Thought},
    bodies::{bare, calls, json_or_beginning, json_or_problem, json_or_text, mended},
    json_calls::{self, Parsed},
    writing::{JsonCall, Writing},
};
use serde_json::Value;

pub(crate) static DIALECTS: [Dialect; 22] = [
    Dialect::new(
        "jamba",
        &["jamba"],
        &Grammar::new(&[TOOL_CALLS]),
        Writing::json("<tool_calls>[", "]</tool_calls>"),
    )
    .signs(&[&["<tool_calls>"]]),
    Dialect::new(
        "hermes",
        &["hermes", "qwen2", "qwen3", "qwq"],
        // Qwen 2.5 Coder confuses the tag around tools with the one around calls.
        &Grammar::new(&[TOOL_CALL, Block::new("<tools>", &["</tools>"], bare)]).noise(&["<|im_end|>"]),
        Writing::json("<tool_call>\n", "\n</tool_call>"),
    )
    .signs(&[&["<tool_call>"]])
    .results(Results::Tagged),
    Dialect::new(
        "granite_20b_fc",
        &["granite-20b-functioncalling"],
        &Grammar::new(&[Block {
            stop: &["<function_call>"],
            ..Block::json_only("<function_call>", json_or_problem)
        }])
        .noise(&["<|end_of_text|>"]),
        Writing::json("<function_call> ", ""),
    ),
    Dialect::new(
        "granite4",
        &["granite-4", "granite4"],
        &Grammar::new(&[TOOL_CALL]).noise(&["<|end_of_text|>"]),
        Writing::json("<tool_call>\n", "\n</tool_call>"),
    ),
    Dialect::new(
        "granite",
        &["granite-3", "granite3"],
        &Grammar {
            words_are_cut: true,
            ..Grammar::new(&[
                Block::json_only("<|tool_call|>", json_or_beginning),
                Block::json_only("<tool_call>", json_or_beginning),
            ])
            .thoughts(&[
                THINK,
                Thought { first: true, ..Thought::new("Here is my thought process:", GRANITE_RESPONSE) },
                Thought { first: true, ..Thought::new("Here's my thought process:", GRANITE_RESPONSE) },
            ])
            .noise(&["<|end_of_text|>", "<response>", "</response>"])
            .frame(&["</tool_call>"])
        },
        Writing::json("<|tool_call|>[", "]"),
    ),
    Dialect::new(
        "xlam",
        &["xlam"],
        &Grammar::new(&[OBJECT, LIST, Block::new("```json", &["```"], bare)])
            .noise(&["<|eom_id|>", "<|eot_id|>"])
            .frame(&["[TOOL_CALLS]", "<tool_call>", "</tool_call>"])
            .between(&[';', ',']),
        Writing::json("[", "]"),
    ),
    functools("phi4_mini", &["phi-4-mini", "phi4-mini"]),
    functools("firefunction_v2", &["firefunction"]),
    command("command_r7b", &["command-r7b", "command-a"]).signs(&[&["<|START_ACTION|>"]]),
    command("cohere2_moe", &["cohere2moe", "cohere2-moe"]),
    Dialect::new(
        "command_r_plus",
        &["command-r"],
        &Grammar::new(&[
            Block::new("Action: ```json", &["```"], fenced),
            Block::new("Action:```json", &["```"], fenced),
        ])
        .thoughts(&[])
        .noise(&["<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"]),
        Writing::json_with(["tool_name", "parameters"], "Action: ```json\n[", "]\n```"),
    ),
    Dialect::new(
        "internlm2",
        &["internlm2", "internlm3"],
        &Grammar::new(&[
            Block::new("<|action_start|><|plugin|>", &["<|action_end|>"], json_or_text),
            Block::new("<|action_start|> <|plugin|>", &["<|action_end|>"], json_or_text),
        ])
        .noise(&["<|im_end|>"]),
        Writing::json_with(["name", "parameters"], "<|action_start|><|plugin|>", "<|action_end|>"),
    )
    .signs(&[&["<|action_start|>"]]),
    apriel("apriel15", &["apriel-1.5", "apriel-nemotron"]),
    apriel("apriel16", &["apriel-1.6"]),
    Dialect::new(
        "nemotron_v2",
        &["nemotron-nano-v2", "nemotron-nano-9b-v2", "nemotron-nano-12b-v2"],
        &Grammar::new(&[Block::new("<TOOLCALL>", &["</TOOLCALL>"], json_or_text)]).noise(&["<SPECIAL_12>"]),
        Writing::json("<TOOLCALL>[", "]</TOOLCALL>"),
    )
    .signs(&[&["<TOOLCALL>"]]),
    Dialect::new(
        "apertus",
        &["apertus"],
        &Grammar::new(&[Block::new("<|tools_prefix|>", &["<|tools_suffix|>"], keyed)])
            .thoughts(&[Thought::new("<|inner_prefix|>", &["<|inner_suffix|>"])])
            .noise(&["<|assistant_end|>"]),
        Writing::Named(["<|tools_prefix|>[{\"", "\": ", "}]<|tools_suffix|>"]),
    )
    .signs(&[&["<|tools_prefix|>"]]),
    Dialect::new(
        "ernie45",
        &["ernie-4.5", "ernie45"],
        &Grammar::new(&[TOOL_CALL]).noise(&["<response>", "</response>"]),
        Writing::json("<tool_call>\n", "\n</tool_call>"),
    ),
    Dialect::new(
        "reka_edge",
        &["reka-edge"],
        &Grammar::new(&[Block::new("<tool_call>", &["</tool_call>"], json_or_beginning)]).noise(&["<sep>"]),
        Writing::json("<tool_call>\n", "\n</tool_call>"),
    ),
    Dialect::new(
        "longcat",
        &["longcat"],
        &Grammar::new(&[Block::new("<longcat_tool_call>", &["</longcat_tool_call>"], as_it_is)])
            .thoughts(&[Thought::new("<longcat_think>", &["</longcat_think>"])])
            .noise(&["</longcat_s>"])
            .hush_after_blocks(),
        Writing::json("<longcat_tool_call>", "</longcat_tool_call>"),
    ),
    Dialect::new(
        "gigachat3",
        &["gigachat3", "gigachat-3"],
        &Grammar::new(&[
            Block::json_only("<|message_sep|>\n\nfunction call<|role_sep|>", json_or_beginning),
            Block::json_only("<|function_call|>", json_or_beginning),
        ])
        .noise(&["<|message_sep|>"]),
        Writing::json("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""),
    )
    .ambiguous(),
    Dialect::new(
        "llama3_json",
        &["llama-3", "llama3", "meta-llama-3"],
        &Grammar::new(&[OBJECT, LIST])
            .noise(&["<|eom_id|>", "<|eot_id|>"])
            .frame(&["<|python_tag|>"])
            .between(&[';', ',']),
        Writing::json_with(["name", "parameters"], "", ""),
    )
    .signs(&[&["<|python_tag|>"], &["\"name\": ", "\"parameters\": "]]),
    Dialect::new("plain", &[], &Grammar::new(&[]).thoughts(&[]), Writing::Unknown),
];

const TOOL_CALL: Block = Block::new("<tool_call>", &["</tool_call>"], json_or_text);
const TOOL_CALLS: Block = Block::new("<tool_calls>", &["</tool_calls>"], json_or_text);
const OBJECT: Block = Block { kept: 1, ..Block::json_only("{", bare) };
const LIST: Block = Block { open: "[", ..OBJECT };
const GRANITE_RESPONSE: &[&str] = &["Here is my response:", "Here's my response:"];

const fn apriel(name: &'static str, models: &'static [&'static str]) -> Dialect {
    const STEPS: Thought = Thought::new("Here are my reasoning steps:", &["[BEGIN FINAL RESPONSE]"]);
    static GRAMMAR: Grammar = Grammar::new(&[TOOL_CALLS])
        .thoughts(&[Thought { first: true, says_open: true, ..STEPS }, THINK])
        .noise(&["[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "<|end|>"]);
    Dialect::new(name, models, &GRAMMAR, Writing::json("<tool_calls>[", "]</tool_calls>"))
}

/// Text is between other delimiters: `<|START_RESPONSE|>`, in later models `<|START_TEXT|>`.
const fn command(name: &'static str, models: &'static [&'static str]) -> Dialect {
    static GRAMMAR: Grammar =
        Grammar::new(&[Block::new("<|START_ACTION|>", &["<|END_ACTION|>"], json_or_beginning)])
            .thoughts(&[Thought::new("<|START_THINKING|>", &["<|END_THINKING|>"])])
            .noise(&[
                "<|START_RESPONSE|>",
                "<|END_RESPONSE|>",
                "<|START_TEXT|>",
                "<|END_TEXT|>",
                "<|CHATBOT_TOKEN|>",
                "<|END_OF_TURN_TOKEN|>",
            ]);
    let call = JsonCall::between("<|START_ACTION|>[", "]<|END_ACTION|>");
    let keys = ["tool_name", "parameters"];
    let writing = Writing::Json(JsonCall { keys, id: Some("tool_call_id"), ..call });
    Dialect::new(name, models, &GRAMMAR, writing)
}

const fn functools(name: &'static str, models: &'static [&'static str]) -> Dialect {
    static GRAMMAR: Grammar = Grammar::new(&[
        Block { open: "functools[", read: json_or_text, ..OBJECT },
        Block { open: "<|tool_call|>[", ..OBJECT },
        Block { open: "<|tool_call|>{", ..OBJECT },
    ])
    .noise(&["<|eot_id|>", "<|end|>", "<|tool_call|>", "<|/tool_call|>"])
    .hush_after_blocks();
    Dialect::new(name, models, &GRAMMAR, Writing::json("functools[", "]"))
}

/// Passes on arguments that are a string instead of an object; running the call fails on them.
fn as_it_is(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let value = if body.cut || body.broken { None } else { mended(body.text).ok() };
    match value.map(json_calls::parsed) {
        Some(Ok(calls)) if calls.iter().all(|call| call.arguments.is_string()) => {
            let called = |Parsed { id, name, arguments }| Call {
                id,
                ..Call::new(name, arguments.as_str().unwrap_or_default())
            };
            said.extend(calls.into_iter().map(called).map(Said::Call));
        }
        _ => json_or_text(body, setting, said),
    }
}

/// Parses `[{"NAME": {…}}]`; missing brackets at its end are added.
fn keyed(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let ends = if body.cut && setting.beginnings { &["", "]", "}]"][..] } else { &[""] };
    let whole = ends.iter().find_map(|end| mended(&format!("{}{end}", body.text.trim())).ok());
    let Some(Value::Array(items)) = whole else {
        return body.stays("the calls are not a list of JSON objects", said);
    };
    said.extend(items.iter().map(|item| match item.as_object().and_then(|call| call.iter().next()) {
        Some((name, arguments)) => Said::Call(Call::new(name, arguments)),
        None => Said::problem(format!("a call must be an object with one name: {item}")),
    }));
    said.extend(body.cut.then(|| Said::cut_off("the end of the calls")));
}

fn fenced(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let is_real = |call: &Call| !matches!(call.name.as_str(), "directly_answer" | "directly-answer");
    let read = calls(body.text).map_err(Problem::from);
    let real = read.map(|calls| calls.into_iter().filter(is_real).collect());
    body.say(if body.cut { Err(Problem::cut_off("the end of a call")) } else { real }, said);
}

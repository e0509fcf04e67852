//! Command of Cohere. R7B and the models after it write `<|START_THINKING|>…<|END_THINKING|>`, then
//! `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": {…}}]<|END_ACTION|>` or text between
//! `<|START_RESPONSE|>` (later `<|START_TEXT|>`) and its end. Command R+ writes `Action:` and a fence of JSON, in which the
//! tool `directly_answer` means none.
use super::{
    Call, Dialect, Problem, Said, Setting,
    blocks::{self, Block, Body, Grammar, Thought},
    bodies::{calls, json_or_beginning},
    writing::{JsonCall, Writing},
};

pub(super) static COMMAND_R7B: Dialect = Dialect {
    name: "command_r7b",
    models: &["command-r7b", "command-a"],
    reader: |setting| blocks::reader(&ACTIONS, setting),
    signs: &[&["<|START_ACTION|>"]],
    writing: WRITING,
    ..Dialect::BASE
};
pub(super) static COHERE2_MOE: Dialect = Dialect {
    name: "cohere2_moe",
    models: &["cohere2moe", "cohere2-moe"],
    reader: |setting| blocks::reader(&ACTIONS, setting),
    writing: WRITING,
    ..Dialect::BASE
};
pub(super) static COMMAND_R_PLUS: Dialect = Dialect {
    name: "command_r_plus",
    models: &["command-r"],
    reader: |setting| blocks::reader(&FENCES, setting),
    writing: Writing::Json(JsonCall {
        keys: ["tool_name", "parameters"],
        ..JsonCall::between("Action: ```json\n[", "]\n```")
    }),
    ..Dialect::BASE
};

/// A list of calls with ids.
const WRITING: Writing = Writing::Json(JsonCall {
    keys: ["tool_name", "parameters"],
    id: Some("tool_call_id"),
    ..JsonCall::between("<|START_ACTION|>[", "]<|END_ACTION|>")
});

static ACTIONS: Grammar = Grammar {
    thoughts: &[Thought::new("<|START_THINKING|>", &["<|END_THINKING|>"])],
    blocks: &[Block::new("<|START_ACTION|>", &["<|END_ACTION|>"], json_or_beginning)],
    noise: &[
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "<|CHATBOT_TOKEN|>",
        "<|END_OF_TURN_TOKEN|>",
    ],
    ..Grammar::NONE
};
static FENCES: Grammar = Grammar {
    thoughts: &[],
    blocks: &[
        Block::new("Action: ```json", &["```"], fenced),
        Block::new("Action:```json", &["```"], fenced),
    ],
    noise: &["<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
    ..Grammar::NONE
};

fn fenced(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let is_real = |call: &Call| !matches!(call.name.as_str(), "directly_answer" | "directly-answer");
    match calls(body.text) {
        _ if body.cut => body.stays(Problem::cut_off("the end of a call"), said),
        Ok(calls) => said.extend(calls.into_iter().filter(is_real).map(Said::Call)),
        Err(why) => body.stays(why, said),
    }
}

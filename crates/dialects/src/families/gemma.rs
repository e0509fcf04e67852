//! Gemma 4 and FunctionGemma, in the notation of their chat templates. Strings are between delimiters, other values are
//! bare:
//!
//! ```text
//! <|channel>thought
//! I must look.<channel|><|tool_call>call:look{path:<|"|>a.txt<|"|>,lines:[1,20]}<tool_call|>
//! <start_function_call>call:look{path:<escape>a.txt<escape>}<end_function_call>
//! ```
use crate::{
    Dialect, Problem, Said, Setting,
    blocks::{Block, Body, Grammar, Json, THINK, Thought},
    reply::without_endings,
    writing::{ArgumentMap, Writing},
};
use serde_json::Value;

mod call;

pub(crate) static DIALECTS: [Dialect; 2] = [
    Dialect::new(
        "gemma4",
        &["gemma-4", "gemma4"],
        &Grammar {
            turn_ends: &["<turn|>"],
            ..Grammar::new(&[Block {
                quote: "<|\"|>",
                json: Json::None,
                stop: &["<turn|>"],
                ..Block::new("<|tool_call>", &["<tool_call|>"], |body, setting, said| {
                    call(body, "<|\"|>", false, setting, said)
                })
            }])
            // Some servers leave a token in the reply.
            .thoughts(&[CHANNEL, Thought { open: "<|channel><eos>", ..CHANNEL }])
            .noise(&["<|tool_response>", "<bos>", "<eos>"])
            .frame(&["<tool_call|>"])
        },
        Writing::Own(|name, arguments| {
            format!("<|tool_call>call:{name}{}<tool_call|>", gemma(arguments, "<|\"|>"))
        }),
    )
    .signs(&[&["<|tool_call>call:"]]),
    // All strings are quoted: a bare value is a string only if the schema says so.
    Dialect::new(
        "functiongemma",
        &["functiongemma"],
        &Grammar {
            turn_ends: &["<end_of_turn>"],
            ..Grammar::new(&[Block {
                quote: "<escape>",
                json: Json::None,
                stop: &["<end_of_turn>"],
                ..Block::new("<start_function_call>", &["<end_function_call>"], |body, setting, said| {
                    call(body, "<escape>", true, setting, said)
                })
            }])
            .thoughts(&[THINK.until(&["<start_function_call>"])])
            .noise(&["<start_function_response>"])
            .frame(&["<end_function_call>"])
        },
        Writing::Own(|name, arguments| {
            format!("<start_function_call>call:{name}{}<end_function_call>", gemma(arguments, "<escape>"))
        }),
    )
    .signs(&[&["<start_function_call>"]]),
];

const CHANNEL: Thought = Thought {
    label: "thought\n",
    ..Thought::new("<|channel>", &["<channel|>"]).until(&["<|tool_call>", "<|channel>"])
};

/// Parses a call; if that fails, it stays text. Without a closing delimiter, the reply ended there, and with it strings
/// and objects.
fn call(body: &Body<'_>, quote: &'static str, marks_strings: bool, setting: &Setting, said: &mut Vec<Said>) {
    let is_closed = !body.close.is_empty();
    // Some servers leave a token at both ends.
    let text = without_endings(body.text.trim_start_matches("<eos>"));
    if text.trim().is_empty() && is_closed {
        return;
    }
    match call::read(text, quote, marks_strings, is_closed, setting) {
        Ok((call, is_whole)) => {
            let why = Problem::cut_off(format!("the end of the call of `{}`", call.name));
            said.push(Said::Call(call));
            said.extend((!is_whole && !is_closed).then_some(Said::problem(why)));
        }
        Err(why) => body.stays(why, said),
    }
}

fn gemma(arguments: &ArgumentMap, quote: &str) -> String {
    let entry = |(key, value): (&String, &Value)| format!("{key}:{}", gemma_value(value, quote));
    format!("{{{}}}", arguments.iter().map(entry).collect::<Vec<_>>().join(","))
}

fn gemma_value(value: &Value, quote: &str) -> String {
    match value {
        Value::String(text) => format!("{quote}{text}{quote}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| gemma_value(item, quote)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(object) => gemma(object, quote),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

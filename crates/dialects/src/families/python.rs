//! Dialects of Llama 3.2, Llama 4, LFM2, OLMo 3 and others that write calls as in Python:
//!
//! ```text
//! [look(path='a.txt'), add(x=1)]
//! <|python_start|>[look(path='a.txt')]<|python_end|>
//! <|tool_call_start|>[look(path="a.txt")]<|tool_call_end|>
//! <function_calls>look(path='a.txt')
//! add(x=1)</function_calls>
//! ```
//!
//! Gemma 3 writes them in a fence with the language `tool_code`.
use crate::{
    Call, Dialect, Problem, Said, Setting,
    blocks::{Block, Body, Grammar, Json},
    bodies::read_or_text,
    json_calls, pythonic,
    writing::{ArgumentMap, Writing},
};
use serde_json::Value;

mod prose;

pub(crate) static DIALECTS: [Dialect; 5] = [
    // Text between calls is not allowed, as in SGLang's parser for this model.
    Dialect::new(
        "lfm2",
        &["lfm2", "lfm-2"],
        &Grammar {
            has_only_calls_between: true,
            ..Grammar::new(&[Block {
                json: Json::None,
                ..Block::new("<|tool_call_start|>", &["<|tool_call_end|>"], whole)
            }])
            .noise(&["<|im_end|>"])
            .frame(&["<|tool_call_end|>"])
        },
        Writing::Own(|name, arguments| {
            format!("<|tool_call_start|>[{}]<|tool_call_end|>", python_call(name, arguments))
        }),
    )
    .signs(&[&["<|tool_call_start|>"]]),
    Dialect::own(
        "llama4_pythonic",
        &["llama-4", "llama4"],
        prose::reader,
        Writing::Own(|name, arguments| {
            format!("<|python_start|>[{}]<|python_end|>", python_call(name, arguments))
        }),
    )
    .signs(&[&["<|python_start|>"]]),
    Dialect::new(
        "olmo3",
        &["olmo-3", "olmo3"],
        &Grammar::new(&[Block {
            json: Json::None,
            ..Block::new("<function_calls>", &["</function_calls>"], whole)
        }])
        .noise(&["<|im_end|>"]),
        Writing::Own(|name, arguments| {
            format!("<function_calls>{}</function_calls>", python_call(name, arguments))
        }),
    )
    .signs(&[&["<function_calls>"]]),
    // Matches no model name, since Gemma 3 was trained without tokens for calls, and writes those that the prompt
    // shows.
    Dialect::new(
        "gemma3",
        &[],
        &Grammar::new(&[Block { json: Json::None, ..Block::new("```tool_code\n", &["```"], whole) }])
            .noise(&["<end_of_turn>"]),
        Writing::Own(|name, arguments| format!("```tool_code\n{}\n```", python_call(name, arguments))),
    )
    .signs(&[&["```tool_code"]]),
    Dialect::own(
        "pythonic",
        &["llama-3.2", "llama3.2", "toolace"],
        prose::reader,
        Writing::Own(|name, arguments| format!("[{}]", python_call(name, arguments))),
    ),
];

/// Parses a list of calls only if it is complete.
fn whole(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    match body.cut {
        true => body.stays(Problem::cut_off("the end of a call"), said),
        false => read_or_text(body, calls(body.text), said),
    }
}

/// Parses Python calls, or JSON, since some models were trained with both.
fn calls(body: &str) -> Result<Vec<Call>, String> {
    let body = body.trim();
    let first = body.trim_start_matches(['[', ' ', '\n', '\t']);
    if first.starts_with('{') {
        return json_calls::calls(body);
    }
    let read = match pythonic::read(body) {
        pythonic::Beginning::Calls { calls, length } if length == body.len() => calls,
        pythonic::Beginning::Unfinished { .. } if !body.ends_with(')') => {
            return Err("it ends too early".into());
        }
        _ => pythonic::read_loosely(body).map_err(|at| match body.get(at..) {
            None | Some("") => "it ends too early".to_owned(),
            Some(rest) => {
                format!("it cannot be read from here on: `{}`", rest.chars().take(40).collect::<String>())
            }
        })?,
    };
    match read.is_empty() {
        true => Err("it holds no call".into()),
        false => Ok(read.into_iter().map(call).collect()),
    }
}

fn call(call: pythonic::Call) -> Call {
    Call::new(call.name, Value::Object(call.arguments))
}

fn python_call(name: &str, arguments: &ArgumentMap) -> String {
    let argument = |(key, value): (&String, &Value)| format!("{key}={}", python(value));
    format!("{name}({})", arguments.iter().map(argument).collect::<Vec<_>>().join(", "))
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        // JSON's strings and numbers are valid in Python.
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), python(value));
            format!("{{{}}}", object.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

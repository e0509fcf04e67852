//! The suite `dialects`: finds calls and thoughts in the text of a model.
use crate::{Answer, Case, Chunks};
use haft_dialects::{Call, Said, Setting, ToolSchema, dialect, read};
use serde_json::{Value, json};

pub(crate) fn answer(case: &Case, chunks: Chunks) -> Answer {
    let name = case.text("dialect");
    let Some(dialect) = dialect(name) else {
        return Answer::Skipped(format!("the dialect `{name}` is not spoken here"));
    };
    let setting = setting(&case.fields);
    let mut results = ways(case, chunks)
        .into_iter()
        .map(|pieces| result(read(dialect, &setting, pieces.iter().map(String::as_str))));
    let first = results.next().unwrap_or_default();
    match results.find(|other| *other != first) {
        None => Answer::Result(first),
        Some(other) => Answer::Refused {
            code: "chunks".into(),
            message: format!("cut in another way it says {other}, not {first}"),
            files: None,
        },
    }
}

/// All ways to split the text.
fn ways(case: &Case, chunks: Chunks) -> Vec<Vec<String>> {
    let text = case.text("input_text");
    let given = || {
        let given = case.fields["chunkings"].as_array().cloned().unwrap_or_default();
        let pieces = |way: &Value| -> Option<Vec<String>> { serde_json::from_value(way.clone()).ok() };
        given.iter().filter_map(pieces).collect::<Vec<_>>()
    };
    match chunks {
        Chunks::Whole => vec![vec![text.to_owned()]],
        Chunks::Given => std::iter::once(vec![text.to_owned()]).chain(given()).collect(),
        Chunks::Chars => vec![text.chars().map(String::from).collect()],
        Chunks::Bytes(size) => {
            let letters: Vec<char> = text.chars().collect();
            vec![letters.chunks(size).map(|piece| piece.iter().collect()).collect()]
        }
    }
}

/// Dialects for which the peers pass on calls of tools that were not offered.
const PASSING_DIALECTS: [&str; 1] = ["gemma4"];

fn setting(case: &Value) -> Setting {
    let options = &case["options"];
    // The peers are servers: a call of a tool that was not offered does not count.
    let tools: Vec<ToolSchema> = case["tools"].as_array().into_iter().flatten().map(tool).collect();
    Setting {
        only_known: !tools.is_empty()
            && !PASSING_DIALECTS.contains(&case["dialect"].as_str().unwrap_or_default()),
        beginnings: true,
        tools: tools.into(),
        prompt_end: case["generation_prompt"].as_str().unwrap_or_default().into(),
        begins_thinking: case["initial_state"].as_str().map(|state| state == "reasoning"),
        split_thinking: options["extract_reasoning"].as_bool().unwrap_or(true),
        find_calls: options["extract_tools"].as_bool().unwrap_or(true),
        variant: options["variant"].as_str().unwrap_or_default().into(),
    }
}

fn tool(tool: &Value) -> ToolSchema {
    let text = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
    let parameters = tool["parameters"].clone();
    ToolSchema { description: text("description"), ..ToolSchema::new(text("name"), parameters) }
}

fn result(said: Vec<Said>) -> Value {
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for said in said {
        match said {
            Said::Text(text) => content += &text,
            Said::Thinking(text) => reasoning += &text,
            Said::Call(Call { name, arguments, .. }) => {
                // A call that was cut off has only text.
                let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
                calls.push(json!({"name": name, "arguments": arguments}));
            }
            Said::ThinkingEnd | Said::Problem(_) => {}
        }
    }
    json!({"content": content, "reasoning": reasoning, "tool_calls": calls})
}

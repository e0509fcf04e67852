//! The suite `arguments`: checks arguments against the schema of a tool without correcting them, and calls written as
//! text.
use crate::{Answer, Case};
use haft_core::schema::{Problem, Schema};
use haft_dialects::pythonic::{self, Beginning};
use serde_json::{Value, json};

pub(crate) fn answer(case: &Case) -> Answer {
    match case.text("dialect") {
        "" => checked(case),
        "pythonic" => calls(case.text("input_text")),
        other => Answer::Skipped(format!("the dialect `{other}` is not read here")),
    }
}

/// Checks the arguments without correcting them first: each mistake must be reported.
fn checked(case: &Case) -> Answer {
    let schema = Schema::new(case.fields["tool"]["parameters"].clone());
    match schema.problems(&case.fields["arguments"]) {
        Ok(problems) => {
            let errors: Vec<Value> = problems.iter().map(told).collect();
            Answer::Result(json!({"valid": problems.is_empty(), "errors": errors}))
        }
        Err(error) => Answer::refused(error.kind, &error.message),
    }
}

fn told(problem: &Problem) -> Value {
    json!({"path": problem.path, "message": problem.message})
}

fn calls(text: &str) -> Answer {
    let (calls, content) = match pythonic::read(text) {
        Beginning::Calls { calls, length } => (calls, &text[length..]),
        Beginning::Unfinished { .. } | Beginning::Other { .. } => (Vec::new(), text),
    };
    let calls: Vec<Value> =
        calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    Answer::Result(json!({"content": content, "reasoning": "", "tool_calls": calls}))
}

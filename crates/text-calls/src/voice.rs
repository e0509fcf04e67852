//! [`tools`], [`call`] and [`result`]: the text in its dialect for a model without native calls.
use haft_core::{ArgumentForm, CallForm, ReplyForm, ToolCall, ToolErrorKind, ToolResult, ToolSpec, schema};
use haft_dialects::{Attribute, Call, Dialect, Elements, JsonCall, Results, Writing};
use serde_json::{Value, json};
use std::sync::Arc;

/// The description of tools for models that answer in JSON objects.
const OBJECTS: &str = "# Tools\n\nYou can call tools. Each of your answers is one JSON object:\n\n\
    {\"thoughts\": \"…\", \"tool_calls\": [{\"tool\": \"NAME\", \"args\": {}}]}\n\n\
    The results come in the next message. An empty list ends the work, and the thoughts are your answer. Call only these \
    tools:";

/// The text about the tools in the system prompt; empty if there are none.
pub(super) fn tools(dialect: &Dialect, tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let line = |tool: &ToolSpec| {
        let tool = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        tool.to_string()
    };
    let lines: Vec<String> = tools.iter().map(line).collect();
    if let Writing::Json(JsonCall { is_reply: true, .. }) = dialect.writing {
        return format!("{OBJECTS}\n\n{}", lines.join("\n"));
    }
    format!(
        "# Tools\n\nYou can call tools. A call is written exactly like this:\n\n{}\n\nYou may write several calls, one behind \
         the other. Then stop: the results come in the next message. Call only these tools:\n\n{}",
        example(dialect, tools),
        lines.join("\n")
    )
}

/// A correct call of the first tool; calls of several tools if their schemas do not show how they are written.
pub(super) fn example(dialect: &Dialect, tools: &[ToolSpec]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    if let Some(examples) = dialect.examples.and_then(|examples| examples(&names)) {
        return examples;
    }
    let Some(tool) = tools.first() else { return String::new() };
    let arguments = schema::example(tool);
    dialect.written(&Call::new(&tool.name, arguments))
}

/// A call in the history.
pub(super) fn call(dialect: &Dialect, call: &ToolCall) -> String {
    let arguments = match &call.arguments {
        Value::String(text) => text.clone(),
        arguments => arguments.to_string(),
    };
    dialect.written(&Call { id: call.id.0.clone(), name: call.name.clone(), arguments })
}

/// A result in the history; `place`: its index among those of one reply, from 0.
pub(super) fn result(dialect: &Dialect, place: usize, name: &str, result: &ToolResult) -> String {
    let text = &result.content;
    match dialect.results {
        // P-39 to P-41. A wrong assumption about the world (`ToolErrorKind::User`) is an error, any other problem a
        // failure.
        Results::Numbered => match &result.error {
            None => format!("Tool {} ({name}) output:\n{text}", place + 1),
            Some(error) => {
                let outcome = if error.kind == ToolErrorKind::User { "error" } else { "failed" };
                format!("Tool {} ({name}) {outcome}: {}", place + 1, error.message)
            }
        },
        Results::Tagged => format!("<tool_response>\n{text}\n</tool_response>"),
        Results::Named => format!("Result of `{name}`:\n{text}"),
    }
}

/// All results of a reply in one message (P-43).
pub(super) fn results(dialect: &Dialect, results: &[String]) -> String {
    let all = results.join("\n\n");
    match dialect.results {
        Results::Numbered => format!("Tool results:\n\n{all}\n\nContinue with next steps."),
        Results::Named | Results::Tagged => all,
    }
}

/// The form of calls, for servers that can constrain a model to it; `None` if the notation cannot be used for that.
pub(super) fn form(dialect: &Dialect, tools: &Arc<[ToolSpec]>) -> Option<CallForm> {
    if tools.is_empty() || dialect.is_ambiguous {
        return None;
    }
    let (arguments, reply) = match &dialect.writing {
        Writing::Json(JsonCall { keys, is_reply, .. }) => {
            let reply = || ReplyForm {
                thoughts: "thoughts".into(),
                calls: "tool_calls".into(),
                call: keys.map(str::to_owned),
            };
            (ArgumentForm::Json, is_reply.then(reply))
        }
        Writing::Elements(Elements { argument, attribute: Attribute::None, .. }) => {
            let [key, value, end] = argument.map(str::to_owned);
            (ArgumentForm::Elements { key, value, end }, None)
        }
        Writing::Named(_) | Writing::Elements(_) | Writing::Own(_) | Writing::Unknown => {
            (ArgumentForm::Json, None)
        }
    };
    let [before, between, behind] = dialect.writing.around()?;
    let form = CallForm { tools: tools.clone(), before, between, behind, arguments, reply };
    let begins_as_json = form.before.starts_with(['{', '[']);
    (begins_as_json || !form.sign().is_empty()).then_some(form)
}

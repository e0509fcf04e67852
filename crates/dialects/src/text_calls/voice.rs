//! How a dialect is written: the tools, calls and results that a model reads.
//!
//! What is written here, the dialect's own reader understands. Most calls are JSON between two delimiters, a row of [`JSON`];
//! notations of their own are in [`notation`].
use crate::{Call, Dialect};
use haft_core::{ArgumentForm, CallForm, ReplyForm, ToolCall, ToolErrorKind, ToolResult, ToolSpec, schema};
use serde_json::{Value, json};
use std::sync::Arc;

mod notation;

/// Dialects whose calls are JSON between delimiters: the names, the delimiters, and what the name and the arguments are called.
type Json = (&'static [&'static str], [&'static str; 2], [&'static str; 2]);

const NAMED: [&str; 2] = ["name", "arguments"];

static JSON: &[Json] = &[
    (&["hermes", "granite4", "ernie45", "reka_edge"], ["<tool_call>\n", "\n</tool_call>"], NAMED),
    (&["inkling"], ["<|message_model|><|content_invoke_tool_json|>", "<|end_message|>"], ["name", "args"]),
    (&["thoughts_json"], ["```json\n{\"tool_calls\": [", "]}\n```"], ["tool", "args"]),
    (&["llama3_json"], ["", ""], ["name", "parameters"]),
    (&["xlam"], ["[", "]"], NAMED),
    (&["phi4_mini", "firefunction_v2"], ["functools[", "]"], NAMED),
    (&["granite"], ["<|tool_call|>[", "]"], NAMED),
    (&["granite_20b_fc"], ["<function_call> ", ""], NAMED),
    (&["jamba", "apriel15", "apriel16"], ["<tool_calls>[", "]</tool_calls>"], NAMED),
    (&["nemotron_v2"], ["<TOOLCALL>[", "]</TOOLCALL>"], NAMED),
    (&["longcat"], ["<longcat_tool_call>", "</longcat_tool_call>"], NAMED),
    (&["gigachat3"], ["<|message_sep|>\n\nfunction call<|role_sep|>\n", ""], NAMED),
    (&["internlm2"], ["<|action_start|><|plugin|>", "<|action_end|>"], ["name", "parameters"]),
    (&["command_r7b", "cohere2_moe"], ["<|START_ACTION|>[", "]<|END_ACTION|>"], ["tool_name", "parameters"]),
    (&["command_r_plus"], ["Action: ```json\n[", "]\n```"], ["tool_name", "parameters"]),
    (&["alfred"], ["[TOOL_CALLS][", "]"], NAMED),
];

/// For a dialect of which nobody has said how it is written: most readers understand this.
const FALLBACK: &Json = &(&[], ["<tool_call>\n", "\n</tool_call>"], NAMED);

/// For models that answer in objects.
const OBJECTS: &str = "# Tools\n\nYou can call tools. Each of your answers is one JSON object:\n\n\
    {\"thoughts\": \"…\", \"tool_calls\": [{\"tool\": \"NAME\", \"args\": {}}]}\n\n\
    The results come in the next message. An empty list ends the work, and the thoughts are your answer. Call only these \
    tools:";

/// What the system prompt says about the tools; nothing if there are none.
pub(super) fn tools(dialect: &Dialect, tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let line = |tool: &ToolSpec| {
        let tool = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        tool.to_string()
    };
    let lines: Vec<String> = tools.iter().map(line).collect();
    if dialect.name == "thoughts_json" {
        return format!("{OBJECTS}\n\n{}", lines.join("\n"));
    }
    format!(
        "# Tools\n\nYou can call tools. A call is written exactly like this:\n\n{}\n\nYou may write several calls, one behind \
         the other. Then stop: the results come in the next message. Call only these tools:\n\n{}",
        example(dialect, tools),
        lines.join("\n")
    )
}

/// Calls of PedroCLI's tools as lines of a shell: what a schema does not tell.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("file", &["file notes.md", "file --path notes.md --action write --content \"All of the file\""]),
    (
        "code_edit",
        &[
            "code_edit -f notes.md -l 2:3 -r \"In place of these lines\"",
            "code_edit -f notes.md -l 2 -i \"Before this line\"",
            "code_edit -f notes.md -l 2:3 -d",
            "code_edit -f notes.md -a \"At the end\"",
        ],
    ),
    ("search", &["search -t \"func New\" pkg/", "search -d New", "search -f \"*.go\""]),
    ("navigate", &["navigate outline main.go"]),
    ("git", &["git status"]),
    ("bash", &["bash echo \"any command\""]),
    ("test", &["test"]),
];

/// A block with calls of all tools of which lines are known; nothing where a call is no line.
fn commands(dialect: &Dialect, tools: &[ToolSpec]) -> Option<String> {
    let of = |tool: &ToolSpec| COMMANDS.iter().find(|(name, _)| *name == tool.name).map(|(_, lines)| *lines);
    let lines: Vec<&str> = tools.iter().filter_map(of).flatten().copied().collect();
    (dialect.name == "fenced_shell" && !lines.is_empty())
        .then(|| format!("```bash\n{}\n```", lines.join("\n")))
}

/// A correct call, of the first tool; calls of several where a schema does not tell how they are written.
pub(super) fn example(dialect: &Dialect, tools: &[ToolSpec]) -> String {
    if let Some(commands) = commands(dialect, tools) {
        return commands;
    }
    let Some(tool) = tools.first() else { return String::new() };
    let arguments = schema::example(tool);
    written(dialect.name, &Call::new(&tool.name, arguments))
}

/// A call of the history.
pub(super) fn call(dialect: &Dialect, call: &ToolCall) -> String {
    let arguments = match &call.arguments {
        Value::String(text) => text.clone(),
        arguments => arguments.to_string(),
    };
    written(dialect.name, &Call { id: call.id.0.clone(), name: call.name.clone(), arguments })
}

/// A result of the history; `place` among those of one reply, counted from 0.
pub(super) fn result(dialect: &Dialect, place: usize, name: &str, result: &ToolResult) -> String {
    let text = &result.content;
    match dialect.name {
        // P-39 to P-41. What the world is not like is an error, anything else that went wrong a failure.
        "fenced_shell" | "thoughts_json" | "tool_use_xml" => match &result.error {
            None => format!("Tool {} ({name}) output:\n{text}", place + 1),
            Some(error) => {
                let outcome = if error.kind == ToolErrorKind::User { "error" } else { "failed" };
                format!("Tool {} ({name}) {outcome}: {}", place + 1, error.message)
            }
        },
        "hermes" => format!("<tool_response>\n{text}\n</tool_response>"),
        _ => format!("Result of `{name}`:\n{text}"),
    }
}

/// All results of a reply in one message (P-43).
pub(super) fn results(dialect: &Dialect, results: &[String]) -> String {
    let all = results.join("\n\n");
    match dialect.name {
        "fenced_shell" | "thoughts_json" | "tool_use_xml" => {
            format!("Tool results:\n\n{all}\n\nContinue with next steps.")
        }
        _ => all,
    }
}

/// A call as this dialect writes it.
pub(super) fn written(dialect: &str, call: &Call) -> String {
    let arguments = serde_json::from_str(&call.arguments).ok();
    if let Some(Value::Object(object)) = &arguments
        && let Some(written) = notation::written(dialect, &call.name, object)
    {
        return written;
    }
    let no_tools: Arc<[ToolSpec]> = Arc::default();
    let mut form = form_of(dialect, &no_tools).unwrap_or_else(|| json_form(FALLBACK, &no_tools));
    if let Some((_, key)) = WITH_ID.iter().find(|(known, _)| known.contains(&dialect)) {
        let id = Value::from(call.id.as_str());
        form.before = form.before.replacen('{', &format!("{{\"{key}\": {id}, "), 1);
    }
    // What the model wrote as arguments and could not be read stands as it stood.
    match arguments {
        Some(arguments) => form.written(&call.name, &arguments),
        None => format!("{}{}{}{}{}", form.before, call.name, form.between, call.arguments, form.behind),
    }
}

/// Dialects whose calls have an id in front, and what it is called. A model that is held to its form writes none.
static WITH_ID: &[(&[&str], &str)] =
    &[(&["alfred"], "id"), (&["command_r7b", "cohere2_moe"], "tool_call_id")];

/// Dialects in which what a call begins with may begin something else.
const NOT_HELD: [&str; 2] = ["harmony", "gigachat3"];

/// How calls are written, for who can hold a model to it; `None` where a notation is no such form.
pub(super) fn form(dialect: &Dialect, tools: &Arc<[ToolSpec]>) -> Option<CallForm> {
    let form =
        form_of(dialect.name, tools).filter(|_| !tools.is_empty() && !NOT_HELD.contains(&dialect.name))?;
    let begins_as_json = form.before.starts_with(['{', '[']);
    (begins_as_json || !form.sign().is_empty()).then_some(form)
}

fn form_of(dialect: &str, tools: &Arc<[ToolSpec]>) -> Option<CallForm> {
    let row = JSON.iter().find(|(names, ..)| names.contains(&dialect));
    row.map(|row| json_form(row, tools)).or_else(|| notation::form(dialect, tools))
}

fn json_form((names, [open, close], keys): &Json, tools: &Arc<[ToolSpec]>) -> CallForm {
    let [name_key, arguments_key] = keys;
    let of_objects = || ReplyForm {
        thoughts: "thoughts".into(),
        calls: "tool_calls".into(),
        call: keys.map(str::to_owned),
    };
    CallForm {
        tools: tools.clone(),
        before: format!("{open}{{\"{name_key}\": \""),
        between: format!("\", \"{arguments_key}\": "),
        behind: format!("}}{close}"),
        arguments: ArgumentForm::Json,
        reply: names.contains(&"thoughts_json").then(of_objects),
    }
}

/// Whether somebody has said how this dialect is written.
#[cfg(test)]
pub(super) fn knows(dialect: &Dialect) -> bool {
    form_of(dialect.name, &Arc::default()).is_some()
        || notation::written(dialect.name, "", &serde_json::Map::new()).is_some()
}

//! The four tools with their worked examples, as the runtime's own tools present themselves.
use haft_core::{Example, ToolSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(serde::Deserialize)]
struct Row {
    request: String,
    arguments: Value,
    result: String,
    answer: String,
}

/// `read`, `write`, `edit` and `bash`, in this order.
pub(crate) fn four_tools() -> Vec<ToolSpec> {
    let text = include_str!("../../examples_bank.toml");
    let mut rows: BTreeMap<String, Vec<Row>> = toml::from_str(text).expect("the bank is TOML");
    let mut tool = |name: &str, description: &str, parameters: Value| {
        let rows = rows.remove(name).unwrap_or_default();
        let example = |row: Row| Example::new(&row.request, row.arguments, &row.result, &row.answer);
        let examples = rows.into_iter().map(example).collect();
        ToolSpec { name: name.into(), description: description.into(), parameters, examples }
    };
    let text = || json!({"type": "string"});
    let count = || json!({"type": "integer", "minimum": 1});
    vec![
        tool(
            "read",
            "Read a text file.",
            json!({"type": "object", "required": ["path"],
                "properties": {"path": text(), "offset": count(), "limit": count()}}),
        ),
        tool(
            "write",
            "Create or overwrite a file.",
            json!({"type": "object", "required": ["path", "content"],
                "properties": {"path": text(), "content": text()}}),
        ),
        tool(
            "edit",
            "Replace one passage of a file.",
            json!({"type": "object", "required": ["path", "old", "new"],
                "properties": {"path": text(), "old": text(), "new": text()}}),
        ),
        tool(
            "bash",
            "Run a command line.",
            json!({"type": "object", "required": ["command"],
                "properties": {"command": text(), "timeout": count()}}),
        ),
    ]
}

//! The four tools at their plainest, in one folder.
use haft_core::{Failure, ToolErrorKind, ToolResult};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Runs a call whose arguments follow the schema.
pub(crate) fn run(folder: &Path, name: &str, arguments: &Value) -> ToolResult {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let result = match name {
        "read" => read(folder, text("path")),
        "write" => write(folder, text("path"), text("content")),
        "edit" => edit(folder, text("path"), text("old"), text("new")),
        _ => bash(folder, text("command")),
    };
    result.unwrap_or_else(|message| ToolResult {
        content: message.clone(),
        error: Some(Failure { kind: ToolErrorKind::User, message, suggestion: None }),
        ..ToolResult::default()
    })
}

fn done(content: String) -> Result<ToolResult, String> {
    Ok(ToolResult { content, ..ToolResult::default() })
}

fn read(folder: &Path, path: &str) -> Result<ToolResult, String> {
    let text =
        fs::read_to_string(folder.join(path)).map_err(|_| format!("cannot read `{path}`: no such file"))?;
    let lines: Vec<String> =
        (1..).zip(text.lines()).map(|(number, line)| format!("{number:>6}\t{line}")).collect();
    done(lines.join("\n"))
}

fn write(folder: &Path, path: &str, content: &str) -> Result<ToolResult, String> {
    fs::write(folder.join(path), content).map_err(|error| format!("cannot write `{path}`: {error}"))?;
    done(format!("wrote {path}"))
}

fn edit(folder: &Path, path: &str, old: &str, new: &str) -> Result<ToolResult, String> {
    let file = folder.join(path);
    let text = fs::read_to_string(&file).map_err(|_| format!("cannot edit `{path}`: no such file"))?;
    if old.is_empty() || text.matches(old).count() != 1 {
        return Err(format!("cannot edit `{path}`: `{old}` is there {} times", text.matches(old).count()));
    }
    fs::write(&file, text.replacen(old, new, 1)).map_err(|error| format!("cannot edit `{path}`: {error}"))?;
    done(format!("replaced 1 passage in {path}"))
}

fn bash(folder: &Path, command: &str) -> Result<ToolResult, String> {
    let limited = ["10", "bash", "-c", command];
    let output = Command::new("timeout").args(limited).current_dir(folder).output();
    let output = output.map_err(|error| format!("cannot run bash: {error}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) => {}
        code => text.push_str(&format!("[exit code: {}]", code.unwrap_or(-1))),
    }
    done(text)
}

//! The errors of the call path, as the model reads them.
use haft_core::{CommandRun, ToolError, ToolErrorKind, tool::background::Unread};
use serde_json::json;
use std::{any::Any, io, path::PathBuf};

/// The error of a call that the user interrupted, with the output so far. It has no exit code, like a timeout.
pub(crate) fn interrupted_after(Unread { text, missing }: Unread) -> ToolError {
    let interrupted = ToolError::interrupted();
    if text.trim().is_empty() {
        return interrupted;
    }
    let before =
        if missing > 0 { format!("[{missing} earlier bytes were not kept]\n") } else { String::new() };
    let message = format!("{}. Its output so far:\n{before}{}", interrupted.message, text.trim_end());
    let run = CommandRun { interrupted: true, ..CommandRun::default() };
    ToolError::new(ToolErrorKind::System, message).details(json!(run))
}

pub(crate) fn denied(reason: String) -> ToolError {
    ToolError::new(ToolErrorKind::Permission, reason)
}

pub(crate) fn not_staged(error: io::Error) -> ToolError {
    ToolError::new(kind_of(&error), format!("cannot stage the files: {error}")).caused_by(error)
}

pub(crate) fn not_settled(error: io::Error, is_partly: bool) -> ToolError {
    let what = if is_partly { "only a part was changed" } else { "nothing was changed" };
    ToolError::new(kind_of(&error), format!("{what}: {error}")).caused_by(error)
}

/// Whether the call named something wrong, has no permission, or the system failed.
fn kind_of(error: &io::Error) -> ToolErrorKind {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    match error.kind() {
        PermissionDenied => ToolErrorKind::Permission,
        IsADirectory | NotADirectory | InvalidInput | NotFound => ToolErrorKind::User,
        _ => ToolErrorKind::System,
    }
}

/// The error if another process changed files before the call could write them.
pub fn conflict(paths: &[PathBuf]) -> ToolError {
    let paths = paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ");
    ToolError::new(ToolErrorKind::User, format!("not written, since it was changed meanwhile: {paths}"))
        .hint("read it again, then decide anew")
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    ToolError::new(ToolErrorKind::System, format!("the tool panicked: {}", last_words(panic)))
}

pub(crate) fn timed_out(tool: &str, seconds: u64) -> ToolError {
    let message = format!("`{tool}` timed out after {seconds} s; the call was stopped");
    ToolError::new(ToolErrorKind::System, message).hint("ask for less at a time")
}

/// The message of a panic.
pub fn last_words(panic: &(dyn Any + Send)) -> &str {
    let words = panic.downcast_ref::<&str>().copied();
    words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}

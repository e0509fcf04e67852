//! What reaches a session.
use super::receipt::Receipt;
use haft_core::{Command, JobId, ToolResult};

/// What reaches the session's task.
pub(crate) enum Mail {
    Command(Command, Receipt),
    JobStarted {
        job: JobId,
        title: String,
    },
    JobEnded {
        job: JobId,
        result: ToolResult,
    },
    /// Forgets what was called in this turn; with `read`, also which files the model knows.
    Forget {
        read: bool,
    },
}

//! [`Mail`]: the messages that reach a session's task.
use super::receipt::Receipt;
use haft_core::{Command, Fact};

/// What reaches the session's task.
pub(crate) enum Mail {
    Command(Command, Receipt),
    /// That a job ended.
    Job(Fact),
    /// Forgets what was called in this turn; with `read`, also which files the model has read.
    Forget {
        read: bool,
    },
}

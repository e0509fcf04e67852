//! [`Failure`]: an error for the user: one sentence, one hint, one exit code.
use crate::config::ConfigError;
use haft_core::ProviderError;
use haft_engine::{Closed, EngineError, JournalError};
use haft_serve::Problem;
use haft_terminal::Exit;
use std::io::Write;

/// Ends the program.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What was tried, on what, and why it failed.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// How the program exits.
    pub(crate) exit: Exit,
}

impl Failure {
    /// Wrong usage or configuration: nothing was started.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Usage }
    }

    /// It was tried and did not work.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Failed }
    }

    /// What to do next.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// On standard error. A reader who left (`haft … | head`) is not an error and is told nothing.
    pub(crate) fn print(&self) {
        if self.message.is_empty() {
            return;
        }
        let mut stderr = std::io::stderr();
        let _nobody_reads = writeln!(stderr, "error: {}", haft_present::safe::text(&self.message));
        if let Some(hint) = &self.hint {
            let _nobody_reads = writeln!(stderr, "hint: {}", haft_present::safe::text(hint));
        }
    }
}

/// What a client of a server reads of it.
impl From<Failure> for Problem {
    fn from(Failure { message, hint, exit }: Failure) -> Self {
        Self { message, suggestion: hint, is_usage: exit == Exit::Usage }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
            .hint("`haft config path` names the files, `haft config show` what is in force")
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        // Nothing was started where the name is wrong.
        let is_wrong_name = matches!(
            error,
            JournalError::Missing(_)
                | JournalError::Ambiguous { .. }
                | JournalError::SameName { .. }
                | JournalError::NoName { .. }
                | JournalError::NoFork { .. }
                | JournalError::NotRemoved { .. }
        );
        let exit = if is_wrong_name { Exit::Usage } else { Exit::Failed };
        Self { hint: error.hint().map(str::to_owned), message: error.to_string(), exit }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Journal(error) => error.into(),
            EngineError::NoSuchAgent { .. } | EngineError::NoModel { .. } => Self::usage(error.to_string()),
            EngineError::NotOpen(_) | EngineError::NotJoined { .. } => Self::failed(error.to_string())
                .hint("end the other `haft` that has it open, or start a new session"),
            EngineError::HomeInWorkspace { .. } => Self::usage(error.to_string())
                .hint("set HAFT_HOME to a folder outside, or work in a smaller one"),
        }
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        Self { hint: error.hint().map(str::to_owned), ..Self::failed(error.to_string()) }
    }
}

impl From<Closed> for Failure {
    fn from(error: Closed) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => {
                Self { message: String::new(), hint: None, exit: Exit::Success }
            }
            _ => Self::failed(error.to_string()),
        }
    }
}

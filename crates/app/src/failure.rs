//! [`Failure`]: an error for the user, with a message, a hint and an exit code.
use crate::config::ConfigError;
use haft_core::ProviderError;
use haft_engine::{Closed, EngineError, JournalError};
pub use haft_present::Exit;
use std::fmt;

/// An error that ends the program.
#[derive(Debug)]
pub struct Failure {
    /// What was tried, on what, and why it failed.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The exit code of the program.
    pub exit: Exit,
}

impl Failure {
    /// An error in the usage or the configuration: nothing was started.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Usage }
    }

    /// An error in something that was tried.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Failed }
    }

    /// What to do next.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
            .hint("`haft config path` prints the files, `haft config show` the values in effect")
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        // With a wrong name, nothing was started.
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
            EngineError::NotAttached { .. } | EngineError::ShutDown => Self::failed(error.to_string()),
            EngineError::NotOpen(_) | EngineError::NotJoined { .. } => Self::failed(error.to_string())
                .hint("end the other `haft` process that has it open, or start a new session"),
            EngineError::HomeInWorkspace { .. } => Self::usage(error.to_string())
                .hint("set HAFT_HOME to a directory outside of it, or work in a smaller directory"),
            EngineError::WorkspaceInGit(_) => {
                Self::usage(error.to_string()).hint("work in the directory that the repository is for")
            }
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

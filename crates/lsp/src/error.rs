//! [`LspError`]: why a language server gives no answer.
use haft_process::ProcessError;
use std::{io, time::Duration};

/// Why a language server gives no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum LspError {
    #[error("no language server is known for `{0}`")]
    Unknown(String),
    #[error("no language server is installed for such files: `PATH` has no {known}")]
    NotInstalled { known: String },
    #[error("the language server `{name}` does not run: {why}")]
    NotStarted { name: String, why: String },
    #[error("the language server `{name}` ended{said}")]
    Ended { name: String, said: String },
    #[error("the language server `{name}` did not answer within {} s", .limit.as_secs())]
    Silent { name: String, limit: Duration },
    #[error("the language server `{name}` does not answer")]
    Stuck { name: String },
    #[error("the language server `{name}` is not ready yet")]
    Loading { name: String },
    #[error("the language server `{name}` refused `{method}`: {message}")]
    Refused { name: String, method: String, message: String },
    #[error("cannot use the answer of the language server `{name}` to `{method}`: {why}")]
    Unreadable { name: String, method: String, why: String },
    #[error("`{symbol}` does not stand in {place}")]
    NoSymbol { symbol: String, place: String },
}

impl LspError {
    pub(crate) fn not_started(name: &str, error: &ProcessError) -> Self {
        Self::NotStarted { name: name.to_owned(), why: error.to_string() }
    }

    pub(crate) fn no_folder(name: &str, error: &io::Error) -> Self {
        Self::NotStarted { name: name.to_owned(), why: format!("cannot make a folder for it: {error}") }
    }

    /// Whether the error is about the request, for example because the symbol does not occur, and not about the server.
    pub fn is_about_call(&self) -> bool {
        matches!(self, Self::NoSymbol { .. } | Self::Refused { .. } | Self::Unreadable { .. })
    }
}

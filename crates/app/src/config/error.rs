//! [`ConfigError`]: why the configuration cannot be used.
use haft_core::policy::BadRule;
use std::{io, path::PathBuf};

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file exists but cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content of the file is invalid; the message names the line and what was expected.
    #[error("`{}`: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Line, column, what was found and what was expected.
        message: String,
    },
    /// The value of a variable or an option is invalid.
    #[error("{what}: {message}")]
    Value {
        /// The variable or the option.
        what: String,
        /// What was found and what was expected.
        message: String,
    },
    /// A rule of an option or a variable is invalid. Rules of files are checked when the file is read.
    #[error(transparent)]
    Rule(#[from] BadRule),
}

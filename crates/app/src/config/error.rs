//! [`ConfigError`]: why the configuration cannot be used.
use haft_core::policy::BadRule;
use std::{io, path::PathBuf};

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It exists and cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what it should be; the message names the line and what was expected.
    #[error("`{}`: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Line, column, what was found and what was expected.
        message: String,
    },
    /// A variable or an option.
    #[error("{what}: {message}")]
    Value {
        /// Which one.
        what: String,
        /// What was found and what was expected.
        message: String,
    },
    /// See there; rules of files are looked at when those are read.
    #[error(transparent)]
    Rule(#[from] BadRule),
}

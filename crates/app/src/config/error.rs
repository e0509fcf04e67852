//! [`ConfigError`]: why the configuration cannot be used.
use haft_core::{policy::BadRule, schema::nearest};
use std::{
    io,
    path::{Path, PathBuf},
};

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

/// The message of the parser in words that users of the file know, with the setting that an unknown one may stand for.
pub(super) fn plain(message: &str) -> String {
    let words = message.split(' ').map(|word| match word {
        "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        word => word,
    });
    let message = words
        .collect::<Vec<_>>()
        .join(" ")
        .replace("a nonzero a whole number", "a whole number above 0")
        .replace("expected a sequence", "expected a list, such as [\"a\"]");
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let near = unknown.and_then(|(unknown, known)| {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        nearest(unknown, &known).map(str::to_owned)
    });
    near.map_or(message.clone(), |near| format!("{message}; did you mean `{near}`?"))
}

/// Says where a setting belongs that a project's file cannot have: in the file `own` of the user. `is_own`: whether a
/// setting of this name may be there.
pub(super) fn of_project(error: ConfigError, own: &Path, is_own: impl Fn(&str) -> bool) -> ConfigError {
    let ConfigError::Wrong { path, message } = error else { return error };
    let unknown = message.split_once("unknown field `").and_then(|(_, rest)| rest.split_once('`'));
    let message = if unknown.is_some_and(|(name, _)| is_own(name)) {
        format!("{message}; it belongs in `{}`", own.display())
    } else {
        message
    };
    ConfigError::Wrong { path, message }
}

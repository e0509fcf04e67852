//! [`LocalError`]: why a model file cannot be used.
use std::path::PathBuf;

/// An error in a model file, with the details that the user needs to fix it.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The file does not exist, or cannot be read.
    #[error("cannot read the model file `{path}`: {source}")]
    Unreadable {
        /// Path that was given.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file does not begin like a GGUF file.
    #[error("`{path}` is not a GGUF file: it begins with {found:?}, not with \"GGUF\"")]
    NotGguf {
        /// Path that was given.
        path: PathBuf,
        /// Its first four bytes, as text.
        found: String,
    },
    /// The header is invalid.
    #[error("the header of `{path}` cannot be read: {problem}")]
    Header {
        /// Path that was given.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// The file is shorter than its header requires, for example after an interrupted download.
    #[error("`{path}` is cut off: it has {actual} bytes, its header asks for {expected}")]
    Truncated {
        /// Path that was given.
        path: PathBuf,
        /// Number of bytes that the header requires.
        expected: u64,
        /// Size of the file in bytes.
        actual: u64,
    },
    /// llama.cpp refused the file, or there is too little memory for it.
    #[error("cannot load `{path}`: {problem}")]
    Load {
        /// Path that was given.
        path: PathBuf,
        /// The error of llama.cpp.
        problem: String,
    },
    /// The thread that would run the model did not start.
    #[error("cannot start the thread that runs the model: {0}")]
    Thread(#[source] std::io::Error),
}

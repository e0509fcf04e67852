//! Why a model file cannot be used.
use std::path::PathBuf;

/// What a person must know to put a model file right.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The file is not there, or cannot be read.
    #[error("cannot read the model file `{path}`: {source}")]
    Unreadable {
        /// Path that was given.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The file does not begin as a GGUF file does.
    #[error("`{path}` is not a GGUF file: it begins with {found:?}, not with \"GGUF\"")]
    NotGguf {
        /// Path that was given.
        path: PathBuf,
        /// Its first four bytes, as text.
        found: String,
    },
    /// The header makes no sense.
    #[error("the header of `{path}` cannot be read: {problem}")]
    Header {
        /// Path that was given.
        path: PathBuf,
        /// What is wrong and where.
        problem: String,
    },
    /// The file is shorter than its own header says, as after a download that broke off.
    #[error("`{path}` is cut off: it has {actual} bytes, its header asks for {expected}")]
    Truncated {
        /// Path that was given.
        path: PathBuf,
        /// Bytes that the header asks for.
        expected: u64,
        /// Bytes that are there.
        actual: u64,
    },
    /// llama.cpp refused the file, or there is too little memory for it.
    #[error("cannot load `{path}`: {problem}")]
    Load {
        /// Path that was given.
        path: PathBuf,
        /// llama.cpp's words.
        problem: String,
    },
    /// The thread that would run the model did not start.
    #[error("cannot start the thread that runs the model: {0}")]
    Thread(#[source] std::io::Error),
}

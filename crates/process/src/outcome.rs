//! [`Finished`] and [`ProcessError`]: the result of running a command.
use crate::output::Captured;
use haft_sandbox::Unreached;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// How it ended.
    pub exit: Exit,
    /// Whether part of one of the streams was left out.
    pub truncated: bool,
    /// The file with the whole output, at most 64 MB of it.
    pub spilled: Option<PathBuf>,
    /// Hosts that a command with network access requested and did not reach.
    pub unreached: Vec<Unreached>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The process ended by itself, with this exit code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Killed by us, because its time was over.
    TimedOut,
}

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The text cannot be passed to a process.
    #[error("cannot run the command: it contains a NUL byte")]
    Nul,
    /// The command could not be started: the folder does not exist, there is no shell, the command line is too long …
    #[error("cannot start {what} in `{}`: {source}", folder.display())]
    Start {
        /// A shell, or the name of the program.
        what: String,
        /// The folder that it should have started in.
        folder: PathBuf,
        /// Why it did not.
        source: io::Error,
    },
    /// It started, but its output or its end could not be followed.
    #[error("lost the command while it ran: {0}")]
    Lost(#[from] io::Error),
}

impl ProcessError {
    pub(crate) fn not_started(what: &str, folder: &Path, source: io::Error) -> Self {
        let source = blame(source, folder);
        Self::Start { what: what.into(), folder: folder.to_owned(), source }
    }
}

/// Distinguishes a missing program from a missing folder: the system reports "no such file" for both.
fn blame(error: io::Error, folder: &Path) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => {
            io::Error::new(error.kind(), "the folder does not exist")
        }
        _ => error,
    }
}

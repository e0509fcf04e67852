//! [`JournalError`]: why a journal cannot be used, and what to do about it.
use haft_core::{NoFork, SessionId, event::JOURNAL_VERSION};
use rustix::io::Errno;
use std::{io, path::PathBuf};

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process writes it.
    #[error("the session `{0}` is in use by another process")]
    Locked(String),
    /// No such session.
    #[error("there is no session `{0}`")]
    Missing(String),
    /// More than one session.
    #[error("the ID `{beginning}` is ambiguous: {}", some(names))]
    Ambiguous {
        /// The prefix that was asked for.
        beginning: String,
        /// All sessions with this prefix, in the order in which they began.
        names: Vec<String>,
    },
    /// More than one session.
    #[error("several sessions are named `{name}`: {}", some(sessions))]
    SameName {
        /// The name that was asked for.
        name: String,
        /// Their IDs, in the order of their creation.
        sessions: Vec<String>,
    },
    /// The name is not valid for a session.
    #[error("cannot name a session `{name}`: {why}")]
    NoName {
        /// The name that was asked for.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The session cannot be forked there.
    #[error("cannot fork the session `{session}`: {why}")]
    NoFork {
        /// Which.
        session: SessionId,
        /// Why it cannot be forked at this entry.
        why: NoFork,
    },
    /// The session stays.
    #[error("cannot delete the session `{session}`: {why}")]
    NotRemoved {
        /// Which.
        session: SessionId,
        /// Why it cannot be removed.
        why: &'static str,
    },
    /// Written by a newer Haft; the file is left as it is.
    #[error(
        "the journal `{path}` has version {found}, and this Haft supports at most version {JOURNAL_VERSION}"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of the journal.
        found: u32,
    },
    /// Not a journal at all.
    #[error("`{path}` is not a journal: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// Reading or writing failed. The entry does not count as recorded.
    #[error("cannot {action} the journal `{path}`: {source}")]
    Io {
        /// `create`, `open`, `read`, `write`, `sync`, `name` or `delete`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl JournalError {
    /// Whether the process or the machine has reached its limit of open files: some may be closed soon.
    pub fn is_out_of_files(&self) -> bool {
        let Self::Io { source, .. } = self else { return false };
        matches!(Errno::from_io_error(source), Some(Errno::MFILE | Errno::NFILE))
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Locked(_) => Some("end the other `haft` process that uses it, or start a new session"),
            Self::Missing(_) => Some("`haft sessions list` lists sessions"),
            Self::Ambiguous { .. } => Some("type more of the ID"),
            Self::SameName { .. } => Some("use the ID of one of them"),
            Self::NoName { .. } => None,
            Self::NoFork { .. } => Some("`haft sessions export ID --format json` shows the entries: `seq`"),
            Self::Newer { .. } => Some("use a newer `haft` for this session"),
            Self::NotRemoved { .. } => None,
            Self::Unreadable { .. } => None,
            Self::Io { .. } if self.is_out_of_files() => {
                Some("close sessions or connections, or allow more open files (`ulimit -n`), then try again")
            }
            Self::Io { action: "create", .. } => {
                Some("free some space, or set HAFT_HOME to a directory that you can write (`haft doctor`)")
            }
            Self::Io { .. } => {
                Some("nothing that was shown is lost; free some space or fix the permissions, then resume")
            }
        }
    }
}

/// Maximum ambiguous names that an error lists.
const MAX_LISTED_NAMES: usize = 3;

fn some(names: &[String]) -> String {
    let more = if names.len() > MAX_LISTED_NAMES { ", …" } else { "" };
    names[..names.len().min(MAX_LISTED_NAMES)].join(", ") + more
}

//! [`EngineError`]: why a session cannot be opened.
use crate::journal::JournalError;
use haft_core::SessionId;
use std::path::PathBuf;

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No agent has this name.
    #[error("there is no agent `{name}`; there are {known}")]
    NoSuchAgent {
        /// The name that was asked for.
        name: String,
        /// The names of all agents, as a text.
        known: String,
    },
    /// The model that an agent names cannot be opened.
    #[error("the agent `{agent}` cannot work: {why}")]
    NoModel {
        /// The agent that was asked for.
        agent: String,
        /// The reason, as a text.
        why: String,
    },
    /// The home is in the workspace, so the session's journal would be tracked like a file of the workspace.
    #[error("the sessions directory `{home}` is inside the workspace `{workspace}`")]
    HomeInWorkspace {
        /// The folder of the sessions.
        home: PathBuf,
        /// The workspace.
        workspace: PathBuf,
    },
    /// The workspace is in Git's own folder, where Git would run the files that it writes.
    #[error("the workspace `{0}` is inside Git's own folder")]
    WorkspaceInGit(PathBuf),
    /// [`Engine::shut_down`](crate::Engine::shut_down) was called: it opens no more sessions.
    #[error("no session can be opened: the engine was shut down")]
    ShutDown,
    /// No process has the session open, so it cannot be joined.
    #[error("the session `{0}` is not open in any process")]
    NotOpen(SessionId),
    /// The process that has the session open accepts no clients.
    #[error("cannot join the session `{id}`, which another process has open: {why}")]
    NotJoined {
        /// Which.
        id: SessionId,
        /// The error message of that process, or of the system.
        why: String,
    },
    /// The machine that has the session cannot be reached, or rejects clients.
    #[error("cannot attach to the session `{id}`: {why}")]
    NotAttached {
        /// Which.
        id: SessionId,
        /// The error message of that machine, or of the system.
        why: String,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

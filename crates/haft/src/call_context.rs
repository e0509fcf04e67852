//! [`CallContext`]: where calls without a session run, and which effects they may have.
use crate::{Channel, Policy, SessionId, TaskId, ToolResult, Validation};
use haft_call::BackgroundCommands;
use haft_core::{Clip, ErrorWording, Fact, Limits, Render};
use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use tempfile::TempDir;

/// Where calls without a session run, for which agent, and which effects they may have. Cheap to clone.
///
/// Background work that its calls begin ends when the last clone is dropped.
#[derive(Clone)]
#[must_use]
pub struct CallContext {
    pub(crate) session: SessionId,
    pub(crate) message: String,
    pub(crate) agent: String,
    pub(crate) channel: Option<Channel>,
    pub(crate) workspace: PathBuf,
    pub(crate) policy: Policy,
    pub(crate) validation: Validation,
    pub(crate) call_seconds: u64,
    /// Maximum length of a result; `None` for no limit.
    pub(crate) clip: Option<Clip>,
    pub(crate) background: Option<Arc<BackgroundCommands>>,
    /// The folder for contents and long output.
    pub(crate) folder: Arc<OnceLock<Result<TempDir, String>>>,
}

impl CallContext {
    /// A context for calls of `agent` in `message` of `session`; any names are allowed. Calls work in the current
    /// folder, may read everything there, and take at most ten minutes.
    pub fn new(session: impl Into<String>, message: impl Into<String>, agent: impl Into<String>) -> Self {
        Self {
            session: SessionId(session.into()),
            message: message.into(),
            agent: agent.into(),
            channel: None,
            workspace: PathBuf::from("."),
            policy: Policy::default(),
            validation: Validation::default(),
            call_seconds: Limits::default().call_seconds,
            clip: None,
            background: None,
            folder: Arc::default(),
        }
    }

    /// Tells tools where the conversation takes place.
    pub fn channel(self, channel: impl Into<Option<Channel>>) -> Self {
        Self { channel: channel.into(), ..self }
    }

    /// Works in this folder.
    pub fn workspace(self, folder: impl Into<PathBuf>) -> Self {
        Self { workspace: folder.into(), ..self }
    }

    /// Judges the effects of calls. A call that would need an approval is denied, since no user can be asked.
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Checks arguments against their schema in this way.
    pub fn validation(self, validation: Validation) -> Self {
        Self { validation, ..self }
    }

    /// Stops a call after this many seconds; 0 for never.
    pub fn call_seconds(self, seconds: u64) -> Self {
        Self { call_seconds: seconds, ..self }
    }

    /// Lets work continue in the background, and calls `ended` when a part of it has ended. Without this, a call waits
    /// for the work that it began, and returns its result.
    pub fn on_end(self, ended: impl Fn(TaskId, ToolResult) + Send + Sync + 'static) -> Self {
        let tell = move |fact| {
            if let Fact::TaskEnded { task: job, result } = fact {
                ended(job, result);
            }
        };
        Self { background: Some(Arc::new(BackgroundCommands::new(tell, 1, wording()))), ..self }
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, message, agent, channel, workspace, .. } = self;
        let mut told = f.debug_struct("CallContext");
        told.field("session", session).field("message", message).field("agent", agent);
        told.field("channel", channel).field("workspace", workspace).finish_non_exhaustive()
    }
}

/// The model reads the message of an error as the tool wrote it.
pub(crate) fn wording() -> Render {
    Render { error: ErrorWording::Bare, ..Render::default() }
}

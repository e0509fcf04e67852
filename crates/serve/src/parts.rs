//! [`Settings`]: what the binary passes in: where sessions are stored, how an engine is made, what runs jobs.
use futures::future::BoxFuture;
use haft_core::{Conclusion, JobSpec, SessionId};
use haft_engine::{Agent, Engine, Home, Session};
use std::{path::PathBuf, sync::Arc, time::Duration};

/// Makes the engine that sessions like this one share; a problem says why it cannot.
pub type Open = Arc<dyn Fn(Wanted) -> BoxFuture<'static, Result<Engine, Problem>> + Send + Sync>;

/// What a server is made of.
pub struct Settings {
    /// Where sessions lie.
    pub home: Home,
    /// The folders that are served, links followed; sessions begin in the first one. A session that works elsewhere is
    /// neither shown nor opened.
    pub folders: Vec<PathBuf>,
    /// The agent to use if a client names none.
    pub agent: String,
    /// The model to use if a client names none.
    pub model: String,
    /// The profile to use if a client names none.
    pub profile: String,
    /// Makes engines.
    pub open: Open,
    /// Makes jobs, and takes them up.
    pub jobs: Arc<dyn Jobs>,
    /// Maximum jobs that run at the same time.
    pub workers: usize,
    /// The session as one document, for people to keep.
    pub export: Export,
    /// What clients send as `Authorization: Bearer`.
    pub token: String,
    /// Names under which clients reach the server, in addition to those of this machine.
    pub hosts: Vec<String>,
    /// How long a session may be idle before it is closed; the next command opens it.
    pub idle: Duration,
    /// Gets messages for the user.
    pub note: Arc<dyn Fn(String) + Send + Sync>,
}

/// What sessions of one engine have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Where they work.
    pub workspace: PathBuf,
    /// `VENDOR/MODEL`.
    pub model: String,
    /// By its name.
    pub profile: String,
}

/// Writes a session as a document.
pub type Export = Arc<dyn Fn(&SessionId, Format) -> Result<String, Problem> + Send + Sync>;

/// How a session is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One page that fetches nothing.
    Html,
    /// What was said, and which calls were made.
    Markdown,
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What was tried, on what, and why it failed.
    pub message: String,
    /// What to do next.
    pub suggestion: Option<String>,
    /// The client asked for something that cannot be; else it was tried and did not work.
    pub is_usage: bool,
}

/// Jobs, as the binary makes them.
pub trait Jobs: Send + Sync {
    /// Records a job of this name that no worker has yet. On return it is on disk.
    fn add(
        &self,
        id: SessionId,
        kind: String,
        description: String,
        folder: PathBuf,
    ) -> BoxFuture<'static, Result<SessionId, Problem>>;
    /// Resumes a job without a worker.
    fn take(&self, id: SessionId) -> BoxFuture<'static, Result<Begun, Problem>>;
    /// Ends a job that this process does not work on: at once, or by notifying the process that does.
    fn cancel(&self, id: SessionId) -> BoxFuture<'static, Result<(), Problem>>;
}

/// A job that can be worked on.
pub struct Begun {
    /// Its session.
    pub session: Session,
    /// Who works.
    pub agent: Agent,
    /// What is to be done.
    pub order: JobSpec,
    /// Its engine, which it does not share.
    pub engine: Engine,
    /// A file that stops the job as soon as it exists.
    pub stop: PathBuf,
    /// Called with what it came to; once that is done nothing of it is alive.
    pub end: Box<dyn FnOnce(Conclusion) -> BoxFuture<'static, ()> + Send>,
}

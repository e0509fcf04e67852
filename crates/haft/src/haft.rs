//! [`Haft`]: an agent that is ready to work: it opens sessions.
use crate::{Error, Result};
use haft_core::Seq;
use haft_engine::{Engine, EngineError, Responder, Session};
use tokio::runtime::Handle;

/// An agent that is ready to work. Cheap to clone.
///
/// [`Haft::builder`] makes one. A turn that runs when the program's runtime ends is cut off as by a crash, and
/// [`Haft::resume`] goes on with it; [`Haft::close`] ends it in order.
#[derive(Clone)]
pub struct Haft {
    pub(crate) engine: Engine,
    pub(crate) agent: String,
    pub(crate) responder: Responder,
}

impl Haft {
    /// Opens a new session.
    ///
    /// # Errors
    /// Fails if its journal cannot be made, the place for sessions lies in the workspace, or no Tokio runtime is there.
    ///
    /// # Panics
    /// Where the runtime was built without `enable_all`.
    pub fn session(&self) -> Result<Session> {
        self.session_of(&self.agent)
    }

    /// Opens a new session of another agent that [`crate::Builder::agent`] added.
    ///
    /// # Errors
    /// Fails as [`Haft::session`] does, and where there is no such agent or its model cannot be opened.
    pub fn session_of(&self, agent: &str) -> Result<Session> {
        if Handle::try_current().is_err() {
            let message = "cannot open a session: there is no Tokio runtime";
            return Err(
                Error::new(message).with_hint("call it in an `async` function, or after `Runtime::enter`")
            );
        }
        Ok(self.engine.create(agent)?.answered_by(self.responder.clone()))
    }

    /// Opens a session that exists, by its name or the beginning of it. What a crash left half-done is put in order first.
    /// Where another process has it open, that one is joined.
    ///
    /// # Errors
    /// Fails if there is no such session, its journal cannot be read, or another process has it open and accepts no
    /// clients.
    pub async fn resume(&self, id: &str) -> Result<Session> {
        Ok(self.engine.open(id, &self.agent).await?.answered_by(self.responder.clone()))
    }

    /// Opens a new session that begins with the entries of another one, up to `at` or all of them. The other one stays as it
    /// is, and may be open; what it changed since stays, too. An undo in the new session takes back what the entries it
    /// took over have done.
    ///
    /// ```
    /// use haft::{prelude::*, providers::Scripted};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> haft::Result<()> {
    /// let model = Scripted::new([]).says("Red.").says("Blue.");
    /// let agent = Haft::builder().provider(model).in_memory().build().await?;
    /// let first = agent.session()?;
    /// first.prompt("A color?").await?;
    /// let second = agent.fork(&first.id().0, None).await?;
    /// second.prompt("Another one?").await?;
    /// assert!(second.entries().len() > first.entries().len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`Haft::resume`] does, and where there is no entry `at`, or a call has no result there yet.
    pub async fn fork(&self, id: &str, at: Option<Seq>) -> Result<Session> {
        let forked = self.engine.setup().home.fork(id, at).map_err(EngineError::from)?;
        self.resume(&forked.0).await
    }

    /// Interrupts every session and waits until nothing of them is alive.
    pub async fn close(&self) {
        self.engine.shut_down().await;
    }

    /// Returns the engine behind it, with all that a front-end needs.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

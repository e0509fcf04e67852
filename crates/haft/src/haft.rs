//! [`Haft`]: an agent that is set up, and opens sessions.
use crate::{Error, Result};
use haft_core::{Seq, SessionSetup};
use haft_engine::{Engine, EngineError, Responder, Session, Setup};
use std::fmt;
use tokio::runtime::Handle;

/// An agent that is set up. Cheap to clone.
///
/// [`Haft::builder`] makes one. If the program's runtime ends during a turn, the turn is interrupted as by a crash, and
/// [`Haft::resume`] continues it; [`Haft::close`] ends it in an orderly way.
#[derive(Clone)]
pub struct Haft {
    pub(crate) engine: Engine,
    pub(crate) agent: String,
    pub(crate) responder: Responder,
}

impl fmt::Debug for Haft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setup { workspace, home, model, .. } = self.engine.setup();
        let mut told = f.debug_struct("Haft");
        told.field("model", &model.spec).field("workspace", workspace).field("home", &home.0);
        told.finish_non_exhaustive()
    }
}

impl Haft {
    /// Opens a new session.
    ///
    /// # Errors
    /// Fails if its journal cannot be made, [`Haft::close`] was called, or there is no Tokio runtime.
    ///
    /// # Panics
    /// If the runtime was built without `enable_all`.
    pub fn session(&self) -> Result<Session> {
        self.session_of(&self.agent)
    }

    /// Opens a new session of another agent that [`crate::Builder::agent`] added.
    ///
    /// # Errors
    /// Fails as [`Haft::session`] does, and if there is no such agent or its model cannot be opened.
    pub fn session_of(&self, agent: &str) -> Result<Session> {
        if Handle::try_current().is_err() {
            let message = "cannot open a session: there is no Tokio runtime";
            return Err(
                Error::new(message).with_hint("call it in an `async` function, or after `Runtime::enter`")
            );
        }
        Ok(self.engine.create(agent)?.answered_by(self.responder.clone()))
    }

    /// Opens an existing session, by its name or a prefix of it, with the agent that it last had. Changes that a crash
    /// left half-done are first completed or taken back. If another process has the session open, joins it there, with
    /// the model, the tools and the policy of that process. If the session's last handle was dropped while its turn
    /// still runs, this returns another handle.
    ///
    /// # Errors
    /// Fails if there is no such session, its journal cannot be read, it works in another workspace, its agent is not
    /// one of these, or another process has it open and accepts no clients.
    pub async fn resume(&self, id: &str) -> Result<Session> {
        let agent = self.recorded_agent(id)?;
        self.resume_as(id, &agent).await
    }

    /// Opens an existing session as [`Haft::resume`] does, but with the agent `agent`. A session that is open, here or
    /// in another process, keeps its agent.
    ///
    /// # Errors
    /// Fails as [`Haft::resume`] does, and if there is no such agent.
    pub async fn resume_as(&self, id: &str, agent: &str) -> Result<Session> {
        self.check_workspace(id)?;
        Ok(self.engine.open(id, agent).await?.answered_by(self.responder.clone()))
    }

    /// The agent that the session last had. It must be one of these: another one may have other tools and rules.
    fn recorded_agent(&self, id: &str) -> Result<String> {
        let setup = self.engine.setup();
        let entries = setup.home.peek(id).map_err(EngineError::from)?;
        let Some(SessionSetup { agent, .. }) = SessionSetup::of(&entries) else {
            return Ok(self.agent.clone());
        };
        if setup.agents.iter().any(|known| known.name == agent) {
            return Ok(agent);
        }
        let message =
            format!("cannot resume the session `{id}`: its agent `{agent}` is not one of this `Haft`");
        Err(Error::new(message)
            .with_hint("add it with `Builder::agent`, or choose another one with `Haft::resume_as`"))
    }

    /// Fails if the session works in an existing folder that is not that of this agent: an undo would change files of
    /// the wrong folder.
    fn check_workspace(&self, id: &str) -> Result<()> {
        let setup = self.engine.setup();
        let id = setup.home.find(id).map_err(EngineError::from)?;
        let Some((_, opened)) = setup.home.read_opened(&id).map_err(EngineError::from)? else {
            return Ok(());
        };
        let (there, here) = (opened.workspace, &setup.workspace);
        if there == *here || !there.exists() || there.canonicalize().ok() == here.canonicalize().ok() {
            return Ok(());
        }
        let message = format!(
            "cannot resume the session `{}`: it works in `{}`, and this agent in `{}`",
            id.0,
            there.display(),
            here.display()
        );
        Err(Error::new(message).with_hint("build the agent with the session's folder: `Builder::workspace`"))
    }

    /// Opens a new session that begins with the entries of another session, up to `at` or all of them. The other
    /// session stays as it is, and may be open; its later changes of files stay, too. An undo in the new session also
    /// takes back the changes of the copied entries.
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
    /// Fails as [`Haft::resume`] does, and if there is no entry `at`, or a call has no result at that point.
    pub async fn fork(&self, id: &str, at: Option<Seq>) -> Result<Session> {
        self.engine.check_running()?;
        let agent = self.recorded_agent(id)?;
        self.check_workspace(id)?;
        let forked = self.engine.setup().home.fork(id, at).map_err(EngineError::from)?;
        self.resume_as(&forked.0, &agent).await
    }

    /// Interrupts every session, and waits until nothing of them runs, except functions that block and do not check
    /// [`ToolContext::cancel`](crate::ToolContext::cancel). Afterwards, no session can be opened.
    pub async fn close(&self) {
        self.engine.shut_down().await;
    }

    /// Returns the underlying engine, with everything that a front-end needs.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

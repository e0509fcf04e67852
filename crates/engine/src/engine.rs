//! [`Engine`]: opens sessions and keeps them running.
mod start;

use crate::{
    journal::{Journal, JournalError, ownership},
    session::{EngineError, Session, shared::Shared, tree::Caller},
    setup::{Agent, Setup},
    socket::{self, Dial},
    tree::Opens,
};
use haft_call::{NotUndone, Rehearsal, UndoPlan, plan_undo};
use haft_core::{JobSpec, SessionId, UndoCalls, is_gits_own};
use start::{Above, start};
use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// How long to wait for a session that a process has open and that cannot be joined, because it is being closed or
/// opened.
const OPEN_TIMEOUT: Duration = Duration::from_secs(2);

/// Opens sessions. Cheap to clone; clones share the same engine.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

impl Engine {
    /// Creates an engine without starting anything. The rules of the profile come before those of the policy.
    pub fn new(mut setup: Setup) -> Self {
        setup.policy.rules.splice(0..0, setup.profile.rules.all());
        Self(Arc::new(Shared::new(setup)))
    }

    /// The engine's setup.
    pub fn setup(&self) -> &Setup {
        &self.0.setup
    }

    /// Creates a session.
    pub fn create(&self, agent: &str) -> Result<Session, EngineError> {
        self.begin(agent, Above::default(), None)
    }

    /// Creates a session with this ID, which [`new_session_id`](crate::new_session_id) returned, for the `user` of a
    /// server, if it knows users.
    ///
    /// # Errors
    /// Also fails if a session with this ID exists.
    pub fn create_as(
        &self,
        id: SessionId,
        agent: &str,
        user: Option<String>,
    ) -> Result<Session, EngineError> {
        self.begin(agent, Above { user, ..Above::default() }, Some(id))
    }

    /// The open sessions, including child sessions. Each handle can follow, steer and stop its session.
    pub fn sessions(&self) -> Vec<Session> {
        self.0.live.sessions()
    }

    /// The session with this ID, if it is open in this process.
    pub fn find(&self, id: &SessionId) -> Option<Session> {
        self.0.live.find(id)
    }

    /// Creates a session that is a job, with the ID `id` if one is given, for the user `user` of a server. Its journal
    /// is synced to disk when this returns.
    pub async fn create_job(
        &self,
        order: JobSpec,
        id: Option<SessionId>,
        user: Option<String>,
    ) -> Result<Session, EngineError> {
        let above = Above { order: Some(order.clone()), user, ..Above::default() };
        let session = self.begin(&order.kind, above, id)?;
        session.journal().sync().await?;
        Ok(session)
    }

    fn begin(&self, agent: &str, above: Above, id: Option<SessionId>) -> Result<Session, EngineError> {
        self.check_running()?;
        self.check_folders()?;
        let agent = self.agent(agent)?;
        let home = &self.0.setup.home;
        let (id, journal) = match id {
            Some(id) => home.create_as(&id).map(|journal| (id, journal))?,
            None => home.create()?,
        };
        let folder = home.folder(&id);
        start(&self.0, id, agent, journal, above).inspect_err(|_| Journal::discard(&folder))
    }

    /// Resumes an existing session by its name, its ID or a prefix of its ID. Work that a crash left unfinished is
    /// completed before the first command.
    pub fn resume(&self, id: &str, agent: &str) -> Result<Session, EngineError> {
        self.check_running()?;
        self.check_folders()?;
        let agent = self.agent(agent)?;
        let (id, journal) = self.0.setup.home.open(id)?;
        start(&self.0, id, agent, journal, Above::default())
    }

    /// Opens an existing session: returns a handle if it is open in this process, joins it if another process has it
    /// open, and otherwise resumes it. Also returns a handle if the last one was dropped while the turn still runs.
    pub async fn open(&self, id: &str, agent: &str) -> Result<Session, EngineError> {
        let deadline = Instant::now() + OPEN_TIMEOUT;
        loop {
            let found = self.0.setup.home.find(id).ok();
            let here = found.as_ref().and_then(|id| self.0.live.find(id));
            let opened = here.map_or_else(|| self.resume(id, agent), Ok);
            let Err(EngineError::Journal(JournalError::Locked(_))) = opened else { return opened };
            if found.is_some_and(|id| self.0.live.is_ending(&id)) {
                tokio::time::sleep(OPEN_TIMEOUT / 100).await;
                continue;
            }
            match self.join(id).await {
                // Another process is just closing or opening the session.
                Err(EngineError::NotOpen(_) | EngineError::Journal(JournalError::Locked(_)))
                    if Instant::now() < deadline =>
                {
                    tokio::time::sleep(OPEN_TIMEOUT / 100).await;
                }
                joined => return joined,
            }
        }
    }

    /// Joins a session that another process has open: this process receives its events, and the other process carries
    /// out the commands. The handle closes when the other process closes the session, ends, or does not accept a
    /// command. Contents of changes are read from the session's folder.
    pub async fn join(&self, id: &str) -> Result<Session, EngineError> {
        self.check_running()?;
        socket::join(&self.0, id).await
    }

    /// Joins a session that another machine has open. `dial` connects, and reconnects after a lost connection. This
    /// process receives the session's events, and the other machine carries out each command once. The handle closes
    /// when the other machine refuses the connection or does not have the session.
    ///
    /// # Errors
    /// Fails if it cannot be reached now.
    pub async fn attach(&self, id: SessionId, dial: Arc<dyn Dial>) -> Result<Session, EngineError> {
        self.check_running()?;
        socket::attach(&self.0, id, dial).await
    }

    /// Computes what [`haft_core::Command::UndoCalls`] would do in `session`, without changing its workspace. Commands
    /// of the session may run again, in views.
    ///
    /// # Errors
    /// Fails if a call cannot be undone even together with its dependents, or files cannot be read.
    pub async fn plan_undo(&self, session: &Session, undo: &UndoCalls) -> Result<UndoPlan, NotUndone> {
        let Setup { home, workspace, knowledge, profile, tools, access, .. } = &self.0.setup;
        let rehearsal = Rehearsal {
            session: session.id(),
            workspace,
            artifacts: &home.folder(session.id()).join("outputs"),
            readable: &knowledge.readable,
            stage: &session.stage,
            access: &ownership::access(access, session.id()),
            rules: &profile.call_rules(profile.limits.call_seconds),
            tools,
        };
        plan_undo(&rehearsal, &session.entries(), undo, &self.0.stop).await
    }

    /// Interrupts every session and waits until all their work has ended. No more sessions can be opened.
    pub async fn shut_down(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        if let Some(diagnostics) = &self.0.setup.diagnostics {
            diagnostics.shut_down().await;
        }
    }

    fn agent(&self, name: &str) -> Result<Agent, EngineError> {
        let agents = &self.0.setup.agents;
        agents.iter().find(|agent| agent.name == name).cloned().ok_or_else(|| {
            let known = agents.iter().map(|agent| format!("`{}`", agent.name)).collect::<Vec<_>>().join(", ");
            EngineError::NoSuchAgent { name: name.to_owned(), known }
        })
    }

    /// Checks that sessions can still be opened, as each one does before it begins.
    ///
    /// # Errors
    /// If [`Engine::shut_down`] was called.
    pub fn check_running(&self) -> Result<(), EngineError> {
        match self.0.stop.is_cancelled() {
            true => Err(EngineError::ShutDown),
            false => Ok(()),
        }
    }

    /// Checks that sessions can work in the workspace, as each one does before it begins.
    ///
    /// # Errors
    /// If the folder of the sessions is in the workspace, or the workspace in Git's own folder.
    pub fn check_folders(&self) -> Result<(), EngineError> {
        let Setup { home, workspace, .. } = &self.0.setup;
        if real(&home.0).starts_with(real(workspace)) {
            return Err(EngineError::HomeInWorkspace { home: home.0.clone(), workspace: workspace.clone() });
        }
        match is_in_git(workspace) {
            true => Err(EngineError::WorkspaceInGit(workspace.clone())),
            false => Ok(()),
        }
    }
}

/// `path` with links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
        real = real.canonicalize().unwrap_or(real);
    }
    real
}

/// Whether a folder belongs to a repository's `.git`, and is no working tree that is there.
fn is_in_git(folder: &Path) -> bool {
    let within = folder.ancestors().take_while(|folder| !folder.join(".git").exists());
    within.filter_map(Path::file_name).any(|name| is_gits_own(&Path::new(name).join("config")))
}

impl Opens for Engine {
    fn open_below(&self, agent: &str, caller: Caller) -> Result<Session, EngineError> {
        self.begin(agent, Above { caller: Some(caller), ..Above::default() }, None)
    }
}

//! Opens sessions and keeps them running.
use crate::{
    Home, Journal, JournalError, Profile, Session,
    budget::Purse,
    call::resolved,
    context::Wire,
    jobs::Board,
    seen::Seen,
    session::{Desk, Log, Task},
    turn::Means,
};
use haft_core::{
    Access, Fact, Policy, Price, Provider, Registry, SessionId, Stage, Transcript, event::JOURNAL_VERSION,
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Makes the stage of a session from the folder in which it may keep contents.
pub type Stages = Arc<dyn Fn(&Path) -> Arc<dyn Stage> + Send + Sync>;

/// The parts an engine is made of. The binary chooses them; the engine only uses them.
pub struct Setup {
    /// Whom to ask.
    pub model: Model,
    /// Every tool there is; an agent gets those that it names.
    pub tools: Registry,
    /// Who can be opened.
    pub agents: Vec<Agent>,
    /// Who may do what.
    pub policy: Policy,
    /// Private views.
    pub stages: Stages,
    /// The folder that is worked in: absolute, links followed.
    pub workspace: PathBuf,
    /// Where sessions lie; outside the workspace.
    pub home: Home,
    /// Numbers, texts and shapes.
    pub profile: Profile,
    /// What processes may reach.
    pub access: Access,
}

/// A model and the way to it.
#[derive(Clone)]
pub struct Model {
    /// As people write it: `VENDOR/MODEL`.
    pub spec: String,
    /// As the vendor spells it.
    pub name: String,
    /// Tokens that it takes in, request and reply together; none where nobody knows.
    pub window: Option<u64>,
    /// What it costs; none where nobody knows.
    pub price: Option<Price>,
    /// Who is asked.
    pub provider: Arc<dyn Provider>,
}

/// Prompt and tools, as data.
#[derive(Clone, Debug)]
pub struct Agent {
    /// What `--agent` takes.
    pub name: String,
    /// The system prompt.
    pub system: String,
    /// Names of tools; none for every tool there is.
    pub tools: Option<Vec<String>>,
}

pub(crate) struct Shared {
    pub(crate) setup: Setup,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// The purses of the sessions that are open, for those below them.
    purses: Mutex<HashMap<SessionId, Weak<Purse>>>,
}

impl Shared {
    /// The purse of `parent` where there is one, else one of its own; and whether it is its own.
    fn purse(&self, id: &SessionId, parent: Option<&SessionId>) -> (Arc<Purse>, bool) {
        let mut purses = self.purses.lock().expect("no code panics while it holds the purses");
        purses.retain(|_, purse| purse.strong_count() > 0);
        let shared = parent.and_then(|parent| purses.get(parent)?.upgrade());
        let is_own = shared.is_none();
        let purse = shared.unwrap_or_default();
        purses.insert(id.clone(), Arc::downgrade(&purse));
        (purse, is_own)
    }
}

/// Opens sessions. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The list of agents does not have it.
    #[error("there is no agent `{name}`; there are {known}")]
    NoSuchAgent {
        /// As asked for.
        name: String,
        /// All there are.
        known: String,
    },
    /// Its journal would be staged with it.
    #[error("the folder of sessions `{home}` lies in the workspace `{workspace}`")]
    HomeInWorkspace {
        /// Where sessions would be.
        home: PathBuf,
        /// What is worked in.
        workspace: PathBuf,
    },
    /// See there.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Engine {
    /// Starts nothing yet.
    pub fn new(setup: Setup) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self(Arc::new(Shared { setup, tasks, stop, purses: Mutex::default() }))
    }

    /// What it was made of.
    pub fn setup(&self) -> &Setup {
        &self.0.setup
    }

    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// A new session.
    pub fn create(&self, agent: &str) -> Result<Session, EngineError> {
        self.open_new(agent, None)
    }

    /// A new session in which a part of the work of `parent` is done.
    pub(crate) fn create_below(&self, agent: &str, parent: &SessionId) -> Result<Session, EngineError> {
        self.open_new(agent, Some(parent.clone()))
    }

    fn open_new(&self, agent: &str, parent: Option<SessionId>) -> Result<Session, EngineError> {
        self.check_home()?;
        let agent = self.agent(agent)?;
        let (id, journal) = self.0.setup.home.create()?;
        self.start(id, agent, journal, parent)
    }

    /// A session that exists, by its name or the beginning of it. What a crash left half-done is put in order
    /// before the first command is carried out.
    pub fn resume(&self, id: &str, agent: &str) -> Result<Session, EngineError> {
        self.check_home()?;
        let agent = self.agent(agent)?;
        let (id, journal) = self.0.setup.home.open(id)?;
        self.start(id, agent, journal, None)
    }

    /// Interrupts every session and waits until nothing of them is alive.
    pub async fn shut_down(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Opening is replaying: starting and resuming are the same act.
    fn start(
        &self,
        id: SessionId,
        agent: Agent,
        journal: Journal,
        parent: Option<SessionId>,
    ) -> Result<Session, EngineError> {
        let shared = self.0.clone();
        let setup = &shared.setup;
        let entries = journal.entries();
        let mut log = Log { transcript: Transcript::replay(&entries), journal: journal.clone() };
        if entries.is_empty() {
            log.record(opened(setup, &id, &agent, parent.clone()))?;
        }
        let (purse, owns_purse) = shared.purse(&id, parent.as_ref());
        let is_below = has_parent(&journal.entries());
        let folder = setup.home.folder(&id);
        let stage = (setup.stages)(&folder.join("blobs"));
        let (sender, inbox) = mpsc::unbounded_channel();
        let started =
            entries.iter().filter(|entry| matches!(entry.fact, Fact::JobStarted { .. })).count() as u64;
        let jobs = Arc::new(Board::new(sender.downgrade(), started + 1, setup.profile.render.clone()));
        let tools = match &agent.tools {
            Some(names) => setup.tools.only(names),
            None => setup.tools.clone(),
        };
        let tools = if is_below { tools.without(DELEGATE) } else { tools };
        let desk = Desk::with_grants(&entries);
        let touched = |name: &str, arguments: &serde_json::Value| {
            touched(&tools, &*stage, &setup.workspace, name, arguments)
        };
        let seen = Seen::replay(entries.iter().map(Arc::as_ref), touched);
        let means = Means {
            wire: Wire::new(setup, &agent, &tools),
            agent: agent.name,
            is_below,
            id: id.clone(),
            tools,
            stage: stage.clone(),
            desk,
            jobs,
            seen,
            repeats: Default::default(),
            artifacts: folder.join("outputs"),
            purse,
            owns_purse,
            shared: shared.clone(),
        };
        let stop = shared.stop.clone();
        shared.tasks.spawn(Task { means, log, inbox, stop, later: Default::default() }.run());
        Ok(Session { id, inbox: sender, journal, stage })
    }

    fn agent(&self, name: &str) -> Result<Agent, EngineError> {
        let agents = &self.0.setup.agents;
        agents.iter().find(|agent| agent.name == name).cloned().ok_or_else(|| {
            let known = agents.iter().map(|agent| format!("`{}`", agent.name)).collect::<Vec<_>>().join(", ");
            EngineError::NoSuchAgent { name: name.to_owned(), known }
        })
    }

    fn check_home(&self) -> Result<(), EngineError> {
        let Setup { home, workspace, .. } = &self.0.setup;
        match home.0.starts_with(workspace) {
            true => Err(EngineError::HomeInWorkspace { home: home.0.clone(), workspace: workspace.clone() }),
            false => Ok(()),
        }
    }
}

/// What a call touched, by real path.
fn touched(
    tools: &Registry,
    stage: &dyn Stage,
    workspace: &Path,
    name: &str,
    arguments: &serde_json::Value,
) -> Vec<haft_core::Effect> {
    let effects = tools.get(name).and_then(|tool| tool.tool.effects(arguments, workspace).ok());
    resolved(effects.unwrap_or_default(), stage, workspace)
}

/// The tool that a session below another one does not have: nobody delegates what was delegated.
const DELEGATE: &str = "delegate";

fn has_parent(entries: &[Arc<haft_core::Entry>]) -> bool {
    let opened = entries.first().map(|entry| &entry.fact);
    matches!(opened, Some(Fact::SessionOpened { delegated_by: Some(_), .. }))
}

fn opened(setup: &Setup, id: &SessionId, agent: &Agent, parent: Option<SessionId>) -> Fact {
    Fact::SessionOpened {
        version: JOURNAL_VERSION,
        session: id.clone(),
        agent: agent.name.clone(),
        model: setup.model.spec.clone(),
        workspace: setup.workspace.clone(),
        profile: setup.profile.name.clone(),
        delegated_by: parent,
    }
}

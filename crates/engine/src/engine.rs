//! Opens sessions and keeps them running.
use crate::{
    Agent, EngineError, Home, Journal, Knowledge, Profile, Session,
    below::Caller,
    budget::Purse,
    desk::Desk,
    door::Door,
    jobs::Board,
    left_over::{self, Ownership},
    live::Live,
    named::resolved,
    permission::Permission,
    seen::Seen,
    session::{Log, Task},
    toolbox::Toolbox,
    tree::{Delegation, Tree},
    turn::Means,
};
use haft_core::{
    Access, Entry, Fact, Hooks, Limits, Mode, Order, Policy, Price, Provider, Registry, SessionId, Stage,
    ToolSource, Transcript, event::JOURNAL_VERSION,
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
    /// Where more tools come from while a session is open.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Who can be opened.
    pub agents: Vec<Agent>,
    /// Who may do what. Its mode is the one in which sessions begin: it holds until a person chooses another.
    pub policy: Policy,
    /// The widest mode that a person may choose in a session; none is the one of `policy`.
    pub ceiling: Option<Mode>,
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
    /// What people wrote down for agents.
    pub knowledge: Knowledge,
    /// Who looks at the work and may object.
    pub hooks: Arc<dyn Hooks>,
    /// Opens the models that agents name; without it, no agent may name one.
    pub models: Option<Models>,
}

/// Opens a model from `VENDOR/MODEL`; an error says why it cannot.
pub type Models = Arc<dyn Fn(&str) -> Result<Model, String> + Send + Sync>;

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

impl Model {
    /// One of which nothing more is known; `spec` is `VENDOR/MODEL`.
    pub fn plain(spec: &str, provider: Arc<dyn Provider>) -> Self {
        let name = spec.split_once('/').map_or(spec, |(_, name)| name).to_owned();
        Self { spec: spec.to_owned(), name, window: None, price: None, provider }
    }
}

pub(crate) struct Shared {
    pub(crate) setup: Setup,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// The purses of the sessions that are open, for those below them.
    purses: Mutex<HashMap<SessionId, Weak<Purse>>>,
    pub(crate) live: Live,
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
pub struct Engine(pub(crate) Arc<Shared>);

impl Engine {
    /// Starts nothing yet.
    pub fn new(setup: Setup) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self(Arc::new(Shared { setup, tasks, stop, purses: Mutex::default(), live: Live::default() }))
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
        self.open_new(agent, Above::default())
    }

    /// The sessions that are open, those below others too: who holds one can watch it, steer it and stop it.
    pub fn sessions(&self) -> Vec<Session> {
        self.0.live.sessions()
    }

    /// A new session that is a job.
    pub fn create_job(&self, order: Order) -> Result<Session, EngineError> {
        self.open_new(&order.kind.clone(), Above { order: Some(order), ..Above::default() })
    }

    /// A new session in which a part of the work of `caller` is done.
    pub(crate) fn create_below(&self, agent: &str, caller: Caller) -> Result<Session, EngineError> {
        self.open_new(agent, Above { caller: Some(caller), order: None })
    }

    fn open_new(&self, agent: &str, above: Above) -> Result<Session, EngineError> {
        self.check_home()?;
        let agent = self.agent(agent)?;
        let (id, journal) = self.0.setup.home.create()?;
        self.start(id, agent, journal, above)
    }

    /// A session that exists, by its name or the beginning of it. What a crash left half-done is put in order
    /// before the first command is carried out.
    pub fn resume(&self, id: &str, agent: &str) -> Result<Session, EngineError> {
        self.check_home()?;
        let agent = self.agent(agent)?;
        let (id, journal) = self.0.setup.home.open(id)?;
        self.start(id, agent, journal, Above::default())
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
        above: Above,
    ) -> Result<Session, EngineError> {
        let shared = self.0.clone();
        let setup = &shared.setup;
        journal.hide(setup.access.secrets.clone());
        let entries = journal.entries();
        let model = self.model_of(&agent)?;
        let mut log = Log { transcript: Transcript::replay(&entries), journal: journal.clone() };
        if entries.is_empty() {
            log.record(opened(setup, &model, &id, &agent, &above))?;
        }
        let caller = above.caller.as_ref();
        let (purse, owns_purse) = shared.purse(&id, caller.map(|caller| &caller.session));
        let tree = above.tree(&journal.entries(), setup);
        let folder = setup.home.folder(&id);
        let own_stage = || (setup.stages)(&setup.home.contents(&id));
        let stage = caller.map_or_else(own_stage, |caller| caller.stage.clone());
        let (sender, inbox) = mpsc::unbounded_channel();
        let jobs = Board::new(sender.downgrade(), jobs_of(&entries) + 1, setup.profile.render.clone());
        let toolbox = Toolbox::new(setup, agent.clone(), own_tools(setup, &tree));
        let kit = toolbox.kit();
        let desk = Desk::with_grants(&entries);
        let touched = |name: &str, arguments: &serde_json::Value| {
            touched(&kit.tools, &*stage, &setup.workspace, name, arguments)
        };
        let seen = Seen::replay(entries.iter().map(Arc::as_ref), &setup.workspace, touched);
        let ceiling = caller.map(|caller| &caller.ceiling);
        let is_job = is_job(&entries) || above.order.is_some();
        let limits = bounds(setup, &agent, &model, ceiling, is_job)?;
        let permission = permission(setup, &agent, ceiling, &entries);
        let means = Means {
            limits: Limits { evidence: limits.evidence || is_job, ..limits },
            permission: permission.clone(),
            model,
            agent: agent.name,
            tree,
            witness: caller.map(|caller| Arc::new(caller.witness.clone())),
            id: id.clone(),
            toolbox,
            stage: stage.clone(),
            desk,
            jobs: Arc::new(jobs),
            seen,
            repeats: Default::default(),
            artifacts: folder.join("outputs"),
            purse,
            owns_purse,
            access: left_over::access(&setup.access, &id),
            shared: shared.clone(),
        };
        let stop = shared.stop.clone();
        let is_root = above.caller.is_none();
        let door = is_root.then(|| Door::open(&folder, &journal, &sender, &permission)).flatten();
        let ownership = Ownership::take(&folder);
        let task = Task { means, log, inbox, stop, later: Default::default(), door, ownership };
        shared.tasks.spawn(task.run());
        let session = Session { id, inbox: sender, journal, stage, permission, may_allow: true };
        shared.live.add(&session);
        Ok(session)
    }

    /// The model that the agent names, else the engine's.
    fn model_of(&self, agent: &Agent) -> Result<Model, EngineError> {
        let Some(spec) = &agent.model else { return Ok(self.0.setup.model.clone()) };
        let nobody = || Err("nobody opens models for agents here".to_owned());
        let opened = self.0.setup.models.as_ref().map_or_else(nobody, |open| open(spec));
        opened.map_err(|why| EngineError::NoModel { agent: agent.name.clone(), why })
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

/// What the agent may use up: no more than the engine allows, nor than the session above it has.
fn bounds(
    setup: &Setup,
    agent: &Agent,
    model: &Model,
    ceiling: Option<&Ceiling>,
    is_job: bool,
) -> Result<Limits, EngineError> {
    let whole = ceiling.map_or(&setup.profile.limits, |ceiling| &ceiling.limits);
    let max_rounds = if is_job { whole.job_rounds } else { whole.max_rounds };
    let limits = agent.within(&Limits { max_rounds, ..whole.clone() });
    // Whoever chose the engine's own model has looked at its price.
    if agent.model.is_some() && limits.budget.usd.is_some() && model.price.is_none() {
        let why = format!("a limit on cost is set, and nobody knows what `{}` costs", model.spec);
        return Err(EngineError::NoModel { agent: agent.name.clone(), why });
    }
    Ok(limits)
}

/// An agent may be held shorter than the engine, never longer. Below another session its mode is what holds there.
fn permission(setup: &Setup, agent: &Agent, above: Option<&Ceiling>, entries: &[Arc<Entry>]) -> Permission {
    let policy = &setup.policy;
    let most = setup.ceiling.unwrap_or(policy.mode);
    let most = agent.permission.map_or(most, |own| own.min(most));
    let begin = if above.is_some() { most } else { policy.mode };
    let begin = Policy { mode: begin, ..policy.clone() };
    Permission::new(begin, most, entries).below(above.map(|above| above.permission.clone()))
}

/// How many jobs were begun so far.
fn jobs_of(entries: &[Arc<Entry>]) -> u64 {
    entries.iter().filter(|entry| matches!(entry.fact, Fact::JobStarted { .. })).count() as u64
}

fn own_tools(setup: &Setup, tree: &Tree) -> Registry {
    let own = setup.tools.clone();
    if tree.may_delegate() { own } else { own.without(DELEGATE) }
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
    resolved(effects.unwrap_or_default(), stage, workspace).0
}

/// The tool that a session does not have which may not delegate.
const DELEGATE: &str = "delegate";

/// What a job says it has done is held against what it did: nobody sits beside it.
fn is_job(entries: &[Arc<Entry>]) -> bool {
    let opened = entries.first().map(|entry| &entry.fact);
    matches!(opened, Some(Fact::SessionOpened { order: Some(_), .. }))
}

/// What the session above may do.
#[derive(Clone)]
pub(crate) struct Ceiling {
    pub(crate) permission: Permission,
    pub(crate) limits: Limits,
}

/// What a session comes from.
#[derive(Default)]
struct Above {
    caller: Option<Caller>,
    order: Option<Order>,
}

impl Above {
    /// One that was delegated to and is opened again has lost its tree: nobody waits for it any more.
    fn tree(&self, entries: &[Arc<Entry>], setup: &Setup) -> Tree {
        let opened = entries.first().map(|entry| &entry.fact);
        let is_below = matches!(opened, Some(Fact::SessionOpened { delegated_by: Some(_), .. }));
        match &self.caller {
            Some(caller) => caller.tree.clone(),
            None if is_below => Tree::root(Delegation { depth: 0, ..setup.profile.delegation }),
            None => Tree::root(setup.profile.delegation),
        }
    }
}

fn opened(setup: &Setup, model: &Model, id: &SessionId, agent: &Agent, above: &Above) -> Fact {
    Fact::SessionOpened {
        version: JOURNAL_VERSION,
        session: id.clone(),
        agent: agent.name.clone(),
        model: model.spec.clone(),
        workspace: setup.workspace.clone(),
        profile: setup.profile.name.clone(),
        delegated_by: above.caller.as_ref().map(|caller| caller.session.clone()),
        order: above.order.clone(),
    }
}

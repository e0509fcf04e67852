//! [`start`]: starts or resumes a session by replaying its journal.
use super::Engine;
use crate::{
    journal::{
        Journal,
        ownership::{self, Ownership},
    },
    session::{
        EngineError, Session,
        budget::TurnBudget,
        context::{Log, SessionContext},
        mailbox::CommandTicket,
        mailbox::SessionMessage,
        queue::PromptQueue,
        responder::Answering,
        sampler::SessionSampler,
        shared::Shared,
        tool_set::LiveToolSet,
        tree::{AttemptPlace, Caller, Ceiling, Tree},
    },
    session_task::Task,
    setup::{self, Agent, Model, Setup, commit_of},
    socket::SessionSocket,
    tree::ChildRun,
};
use haft_call::{
    Ancestors, BackgroundCommands, CallRules, CallScope, Interactions, Permission, ReadTracker, Redundancy,
    Unread, as_found, effects_of,
};
use haft_core::{
    CallId, Effect, Entry, Fact, JobSpec, Limits, NoSampler, Policy, Registry, Sampler, SessionId,
    SessionOpened, Stage, Transcript, event::JOURNAL_VERSION, outbox,
};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    iter,
    sync::{Arc, Mutex},
    thread,
};
use tokio::sync::{mpsc, watch};

/// Folds the journal, and starts the task of the session.
pub(super) fn start(
    shared: &Arc<Shared>,
    id: SessionId,
    agent: Agent,
    journal: Journal,
    above: Above,
) -> Result<Session, EngineError> {
    let setup = &shared.setup;
    connect(setup, &id, &journal, &above);
    let model = model_of(setup, &agent)?;
    if journal.entries().is_empty() {
        journal.append(opened(setup, &model, &id, &agent, &above), None)?;
    }
    let entries = journal.entries();
    let (sender, mailbox) = mpsc::unbounded_channel();
    let folder = setup.home.folder(&id);
    let context = || context(shared, &id, agent, model, &above, &journal, &sender);
    let (transcript, session) = beside(entries.len(), || Transcript::replay(&entries), context);
    let (session, log) = (session?, Log { transcript, journal: journal.clone() });
    let (stage, permission) = (session.calls.stage.clone(), session.calls.permission.clone());
    let background = Arc::downgrade(&session.calls.background);
    let answering = Arc::new(Answering::new());
    let (handles, _counted) = watch::channel(());
    let stop = shared.stop.clone();
    let is_root = above.caller.is_none();
    let socket =
        is_root.then(|| SessionSocket::open(&folder, &journal, &sender, &permission, &answering)).flatten();
    let ownership = Ownership::take(&folder);
    let session_task = Task {
        session,
        log,
        mailbox,
        _kept_open: sender.clone(),
        handles: handles.clone(),
        stop,
        later: Default::default(),
        socket,
        ownership,
        answering: answering.clone(),
    };
    let session = Session {
        id,
        mailbox: sender,
        _counted,
        journal,
        stage,
        permission,
        may_allow: true,
        responder: answering,
        remote: None,
        background,
    };
    shared.live.add(&session, handles);
    shared.tasks.spawn(session_task.run());
    Ok(session)
}

/// Sets the journal's secrets, its replica and its observer.
fn connect(setup: &Setup, id: &SessionId, journal: &Journal, above: &Above) {
    journal.hide(setup.access.secrets.clone());
    if let Some(replicas) = &setup.replicas {
        journal.replicate(replicas(id));
    }
    if let Some(observer) = &setup.observer {
        observer.opened(id, above.call(), &journal.entries());
        journal.observe(id.clone(), observer.clone());
    }
}

/// Minimum entries for folding on a second thread: fewer are folded faster than a thread starts.
const PARALLEL_ENTRIES: usize = 10_000;

/// Runs both functions, concurrently if there are many entries.
fn beside<A: Send, B>(entries: usize, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    if entries < PARALLEL_ENTRIES {
        return (one(), other());
    }
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().expect("to fold entries does not panic"), other)
    })
}

/// Makes the context of a session whose journal is open.
fn context(
    shared: &Arc<Shared>,
    id: &SessionId,
    agent: Agent,
    model: Model,
    above: &Above,
    journal: &Journal,
    sender: &mpsc::UnboundedSender<SessionMessage>,
) -> Result<SessionContext, EngineError> {
    let (setup, entries, caller) = (&shared.setup, journal.entries(), above.caller.as_ref());
    let attempt = above.attempt();
    let (budget, owns_budget) = match (caller, attempt) {
        (Some(caller), Some(place)) => (shared.part_of_budget(id, &caller.session, place.whole), true),
        (caller, _) => shared.budget(id, caller.map(|caller| &caller.session)),
    };
    let tree = above.tree(&entries, setup);
    let own = own_tools(setup, &tree);
    let kit = shared.kit(&agent, &own, tree.may_delegate());
    // The claims of a job are checked against the journal, since no user watches it.
    let is_job = SessionOpened::of(&entries).is_some_and(SessionOpened::is_job);
    let limits = bounds(setup, &agent, &model, caller.map(|caller| &caller.ceiling), is_job)?;
    // A job also waits for models, because it can continue at any time of the day.
    let limits = Limits { evidence: limits.evidence || is_job, waits: limits.waits || is_job, ..limits };
    let queue = PromptQueue::replay(&entries);
    let background = background(setup, &entries, &queue, sender);
    let options = options(setup, attempt.map(|place| place.number));
    let calls = CallScope {
        sampler: sampler(setup, &model, &budget, &limits),
        ..calls(shared, id, &agent, above, &entries, (&kit.tools, &tree, &limits, background))
    };
    let toolbox = LiveToolSet::new(agent, own, kit.clone());
    let shared = shared.clone();
    Ok(SessionContext {
        calls,
        limits,
        model,
        lasting_faults: Mutex::default(),
        toolbox,
        queue,
        shared,
        budget,
        owns_budget,
        options,
    })
}

/// Makes the background tasks of the session.
fn background(
    setup: &Setup,
    entries: &[Arc<Entry>],
    queue: &PromptQueue,
    sender: &mpsc::UnboundedSender<SessionMessage>,
) -> BackgroundCommands {
    // Weak: a task must not keep its session's mailbox alive.
    let (mailbox, queue) = (sender.downgrade(), queue.clone());
    let tell = move |fact| match fact {
        // The call that starts a task is part of a turn, and the turn records this before its next round.
        Fact::TaskStarted { .. } => queue.push(fact, CommandTicket::none()),
        ended => {
            let message = SessionMessage::Job(ended);
            let _session_closed = mailbox.upgrade().is_some_and(|mailbox| mailbox.send(message).is_ok());
        }
    };
    BackgroundCommands::new(tell, jobs_of(entries) + 1, setup.profile.render.clone())
}

/// Makes the scope that the calls of the session share.
fn calls(
    shared: &Arc<Shared>,
    id: &SessionId,
    agent: &Agent,
    above: &Above,
    entries: &[Arc<Entry>],
    (tools, tree, limits, background): (&Registry, &Tree, &Limits, BackgroundCommands),
) -> CallScope {
    let (setup, caller) = (&shared.setup, above.caller.as_ref());
    let own_stage = || (setup.stages)(&setup.home.contents(id));
    let stage = caller.map_or_else(own_stage, |caller| caller.stage.clone());
    let touched = touched(tools, &*stage, setup);
    let reads = ReadTracker::replay(entries.iter().map(Arc::as_ref), &setup.workspace, touched);
    let opens = Engine(shared.clone());
    let settling = tree.settling.clone();
    let permission = permission(setup, agent, caller.map(|caller| &caller.ceiling), entries);
    let interactions = Interactions::replay(entries);
    if permission.has_outbox() {
        interactions.ask_nothing();
    }
    let is_attempt = above.attempt().is_some();
    CallScope {
        session: id.clone(),
        agent: agent.name.clone(),
        workspace: setup.workspace.clone(),
        artifacts: setup.home.folder(id).join("outputs"),
        readable: setup.knowledge.readable.clone(),
        permission,
        access: ownership::access(&setup.access, id),
        rules: rules(setup, limits, is_attempt),
        hooks: setup.hooks.clone(),
        diagnostics: setup.diagnostics.clone().filter(|_| !is_attempt),
        interactions,
        background: Arc::new(background),
        reads,
        repeats: Default::default(),
        queued: outbox::queued(entries).into(),
        told_unconfined: Default::default(),
        ancestors: caller
            .filter(|_| !is_attempt)
            .map(|caller| Ancestors { parent: Arc::new(caller.parent.clone()), settling }),
        delegates: Arc::new(ChildRun { opens, tree: tree.clone(), limits: limits.clone() }),
        sampler: Arc::new(NoSampler),
        stage,
    }
}

/// Makes the sampler for the calls of the session, which draws from the budget of the turn.
fn sampler(setup: &Setup, model: &Model, budget: &Arc<TurnBudget>, limits: &Limits) -> Arc<dyn Sampler> {
    let (model, budget, limits) = (model.clone(), budget.clone(), limits.budget);
    setup.sampler.clone().unwrap_or_else(|| Arc::new(SessionSampler { model, budget, limits }))
}

/// The rules for calls. An attempt works on files of its own, which no other program changes, so its reads are not
/// compared with the workspace.
fn rules(setup: &Setup, limits: &Limits, is_attempt: bool) -> CallRules {
    let rules = setup.profile.call_rules(limits.call_seconds);
    match is_attempt {
        true => CallRules { unread: Unread::Allow, redundancy: Redundancy::Off, ..rules },
        false => rules,
    }
}

/// The sampling settings of the profile. Attempts at one goal use different temperatures, if the profile sets one.
fn options(setup: &Setup, attempt: Option<u32>) -> Map<String, Value> {
    let mut options = setup.profile.options.clone();
    let Some(number) = attempt else { return options };
    if let Some(temperature) = options.get("temperature").and_then(Value::as_f64) {
        let warmer = (temperature + f64::from(number - 1) * TEMPERATURE_STEP).min(1.0_f64.max(temperature));
        // Rounded, so that the request does not contain a floating-point error.
        options.insert("temperature".to_owned(), ((warmer * 100.0).round() / 100.0).into());
    }
    if let Some(seed) = options.get("seed").and_then(Value::as_i64) {
        options.insert("seed".to_owned(), seed.wrapping_add(i64::from(number)).into());
    }
    options
}

/// The increase of the temperature from one attempt at a goal to the next, up to 1, which all vendors accept.
const TEMPERATURE_STEP: f64 = 0.1;

/// The model that the agent names, otherwise the engine's.
fn model_of(setup: &Setup, agent: &Agent) -> Result<Model, EngineError> {
    let Some(spec) = &agent.model else { return Ok(setup.model.clone()) };
    let no_models = || Err("no models can be opened for agents here".to_owned());
    let opened = setup.models.as_ref().map_or_else(no_models, |open| open(spec));
    opened.map_err(|why| EngineError::NoModel { agent: agent.name.clone(), why })
}

/// The budget of the session: at most what the engine allows and what the parent session has.
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
    // The program that chose the engine's own model is responsible for its price.
    let unpriced = iter::once(model).chain(&model.fallbacks).find(|model| model.price.is_none());
    if let Some(model) = unpriced
        && agent.model.is_some()
        && limits.budget.usd.is_some()
    {
        let why = format!("a limit on cost is set, and the price of `{}` is unknown", model.spec);
        return Err(EngineError::NoModel { agent: agent.name.clone(), why });
    }
    Ok(limits)
}

/// The permission of a session. An agent may be stricter than the engine, never more permissive. A child session begins
/// with the most permissive mode of its agent, limited by its parent.
fn permission(setup: &Setup, agent: &Agent, above: Option<&Ceiling>, entries: &[Arc<Entry>]) -> Permission {
    let policy = &setup.policy;
    let most = setup.widest_mode();
    let most = agent.permission.map_or(most, |own| own.min(most));
    let begin = if above.is_some() { most } else { policy.mode };
    let begin = Policy { mode: begin, ..policy.clone() };
    Permission::new(begin, most, entries).below(above.map(|above| above.permission.clone()))
}

/// Number of background tasks that were started so far.
fn jobs_of(entries: &[Arc<Entry>]) -> u64 {
    entries.iter().filter(|entry| matches!(entry.fact, Fact::TaskStarted { .. })).count() as u64
}

fn own_tools(setup: &Setup, tree: &Tree) -> Registry {
    let own = setup.tools.clone();
    if tree.may_delegate() { own } else { own.without(DELEGATE_TOOL) }
}

/// Returns a function that gives the effects of a call by real path. Each path is resolved once, independent of the
/// number of calls.
fn touched<'a>(
    tools: &'a Registry,
    stage: &'a dyn Stage,
    setup: &'a Setup,
) -> impl FnMut(&str, &Value) -> Vec<Effect> + 'a {
    let mut known: HashMap<Effect, Vec<Effect>> = HashMap::new();
    move |name, arguments| {
        let effects = tools.get(name);
        let effects = effects.and_then(|tool| effects_of(&*tool.tool, arguments, &setup.workspace).ok());
        let found = effects.unwrap_or_default().into_iter().flat_map(|effect| {
            let place = |effect: &Effect| as_found(vec![effect.clone()], stage, &setup.workspace);
            known.entry(effect).or_insert_with_key(place).clone()
        });
        found.collect()
    }
}

/// The tool that is removed from sessions that may not delegate.
const DELEGATE_TOOL: &str = "delegate";

/// The origin of a session.
#[derive(Default)]
pub(super) struct Above {
    pub(super) caller: Option<Caller>,
    pub(super) order: Option<JobSpec>,
    /// The user of a server who begins it.
    pub(super) user: Option<String>,
}

impl Above {
    /// The call that delegates to the session, and the session of that call.
    fn call(&self) -> Option<(&SessionId, &CallId)> {
        self.caller.as_ref().map(|caller| (&caller.session, &caller.parent.call))
    }

    /// The attempt at a goal that the session is.
    fn attempt(&self) -> Option<AttemptPlace> {
        self.caller.as_ref()?.attempt
    }

    /// A child session that is reopened has no tree: no call waits for it.
    fn tree(&self, entries: &[Arc<Entry>], setup: &Setup) -> Tree {
        let is_below = SessionOpened::of(entries).is_some_and(SessionOpened::is_subagent);
        match &self.caller {
            Some(caller) => caller.tree.clone(),
            None if is_below => Tree::root(setup::Delegation { depth: 0, ..setup.profile.delegation }),
            None => Tree::root(setup.profile.delegation),
        }
    }
}

fn opened(setup: &Setup, model: &Model, id: &SessionId, agent: &Agent, above: &Above) -> Fact {
    Fact::SessionOpened(SessionOpened {
        version: JOURNAL_VERSION,
        session: id.clone(),
        agent: agent.name.clone(),
        model: model.spec.clone(),
        effort: model.effort.clone(),
        workspace: setup.workspace.clone(),
        profile: setup.profile.name.clone(),
        delegated_by: above.caller.as_ref().map(|caller| caller.session.clone()),
        order: above.order.clone(),
        forked_from: None,
        user: above.user.clone(),
        commit: commit_of(&setup.workspace),
    })
}

//! [`Runner`]: lets a model work on a task in a session of its own, then runs the check of the task.
use super::{
    folder::TaskFolder,
    record::{Book, Conditions, RunKey, RunRecord, RunVerdict},
    shares::{Share, Shares},
    tasks::{Beginning, Check, Task},
};
use crate::{
    App, Failure, OpenedSession, SessionSpec,
    config::{Dollars, Settings},
    jobs::unattended_turn,
    replay::moved::Moved,
};
use haft_core::{Command, Fact, Mode, Network, NoHooks, Outcome, Resource, Ruling};
use haft_engine::{CallReport, Engine, Home, Model, Session, Setup, TurnReport};
use haft_providers::Scripted;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;

/// How long a check that was ended may take to report that.
const GRACE: Duration = Duration::from_secs(30);

/// What all runs of an evaluation share.
pub(super) struct Runner<'a> {
    pub(super) app: App,
    pub(super) conditions: &'a Conditions,
    pub(super) tasks: &'a [Task],
    pub(super) book: &'a Mutex<Book>,
    pub(super) shares: &'a Mutex<Shares>,
}

/// What a check showed.
pub(super) enum Checked {
    /// The task is solved.
    Green,
    /// It is not, and why.
    Red(String),
    /// The check could not run, and why.
    NotRun(String),
}

impl Conditions {
    /// A session for one run with `model`, which may spend `usd`.
    pub(super) fn session(&self, model: &str, usd: Option<f64>) -> SessionSpec {
        let settings = Settings {
            model: Some(model.to_owned()),
            profile: self.profile.clone(),
            permission: Some(self.permission.unwrap_or(Mode::AcceptEdits)),
            network: Some(Network::Off),
            max_rounds: self.max_rounds,
            max_time: self.max_time.and_then(NonZeroU64::new),
            max_cost: usd.map(Dollars),
            ..Settings::default()
        };
        SessionSpec { settings, ..SessionSpec::default() }
    }
}

impl Runner<'_> {
    /// Makes the run `key`; `None` if the budget is spent.
    pub(super) async fn run(&self, key: RunKey) -> Result<Option<RunRecord>, Failure> {
        let Some(share) = self.shares.lock().take() else { return Ok(None) };
        let run = self.run_for(key, share).await;
        let (spent, met_limit) = match &run {
            Ok(run) => (run.cost_usd.unwrap_or_default(), run.verdict == RunVerdict::OverBudget),
            Err(_) => (0.0, true),
        };
        self.shares.lock().give_back(share, spent, met_limit);
        let run = run?;
        self.book.lock().end(run.clone())?;
        Ok(Some(run))
    }

    async fn run_for(&self, key: RunKey, share: Share) -> Result<RunRecord, Failure> {
        let task = self.tasks.iter().find(|task| task.name == key.task);
        let task = task.ok_or_else(|| Failure::failed(format!("there is no task `{}`", key.task)))?;
        let place = self.place_of(&key);
        let folder = make_folder(self.app.home(), place, task.begins.clone()).await?;
        let spec = self.conditions.session(&key.model, share.0);
        let plan = self.app.plan_in(spec, folder.work.clone())?;
        let OpenedSession { engine, session, .. } = plan.open_with(isolate).await?;
        self.book.lock().start(key.clone(), session.id().clone())?;
        let run = self.work(key, share, task, &folder, &session).await;
        engine.shut_down().await;
        run
    }

    async fn work(
        &self,
        key: RunKey,
        share: Share,
        task: &Task,
        folder: &TaskFolder,
        session: &Session,
    ) -> Result<RunRecord, Failure> {
        let parts = moved(task, folder).map_or_else(
            || Ok(task.prompt.clone()),
            |moved| moved.all_there(&task.prompt).map_err(std::io::Error::from),
        )?;
        let started = Instant::now();
        let report = unattended_turn(session.start(Command::Prompt { parts, channel: None })).await;
        let seconds = (started.elapsed().as_secs_f64() * 1_000.0).round() / 1_000.0;
        let (verdict, why) = match ended_early(&report, session, share) {
            Some(early) => early,
            None => match check(session, folder, task, self.conditions.check_time).await? {
                Checked::Green => (RunVerdict::Solved, None),
                Checked::Red(why) => (RunVerdict::Unsolved, Some(because(&report, why))),
                Checked::NotRun(why) => (RunVerdict::Failed, Some(why)),
            },
        };
        Ok(RunRecord {
            key,
            verdict,
            why,
            session: session.id().clone(),
            seconds,
            rounds: report.rounds,
            tokens: report.usage.total(),
            cost_usd: report.cost_usd,
        })
    }

    fn place_of(&self, key: &RunKey) -> PathBuf {
        let book = self.book.lock();
        let number = book.past.plan.runs().iter().position(|run| run == key).unwrap_or_default();
        book.work().join(number.to_string())
    }
}

/// Whether the check of `task` succeeds before any work was done; then it says nothing about a model.
pub(super) async fn is_green_without_work(
    app: &App,
    conditions: &Conditions,
    task: &Task,
    place: &Path,
) -> Result<bool, Failure> {
    let folder = make_folder(app.home(), place.to_owned(), task.begins.clone()).await?;
    let model = Model::plain("script/nothing", Arc::new(Scripted::new([])));
    let mut setup = app.plan_in(conditions.session(&model.spec, None), folder.work.clone())?.setup(model)?;
    isolate(&mut setup);
    setup.home = Home(place.join("home"));
    let engine = Engine::new(setup);
    let session = engine.create(crate::agents::AGENT)?;
    let checked = check(&session, &folder, task, conditions.check_time).await;
    engine.shut_down().await;
    Ok(matches!(checked?, Checked::Green))
}

/// A large repository takes its time, and other runs may wait for this thread.
async fn make_folder(home: Home, place: PathBuf, begins: Beginning) -> Result<TaskFolder, Failure> {
    let made = tokio::task::spawn_blocking(move || TaskFolder::make(&home, &place, &begins)).await;
    made.map_err(std::io::Error::from)?
}

/// Nothing but the copy is changed, and no other model answers. What the person allows elsewhere may reach farther, as may
/// hooks and servers.
fn isolate(setup: &mut Setup) {
    setup.policy.rules.retain(|rule| rule.ruling() != Ruling::Allow);
    setup.sources.clear();
    setup.hooks = Arc::new(NoHooks);
    setup.model.fallbacks.clear();
    setup.models = None;
}

/// What the session spoke of, as it is named in the copy; `None` if the task does not come from a session.
fn moved(task: &Task, folder: &TaskFolder) -> Option<Moved> {
    match &task.begins {
        Beginning::Commit { folder: from, session: Some(_), .. } => Some(Moved::new(from, &folder.work)),
        Beginning::Commit { session: None, .. } | Beginning::Files(_) | Beginning::Empty => None,
    }
}

/// What a run shows whose check says nothing about the model.
fn ended_early(report: &TurnReport, session: &Session, share: Share) -> Option<(RunVerdict, Option<String>)> {
    let reached = session.entries().iter().rev().find_map(|entry| match entry.fact {
        Fact::BudgetReached { what: Resource::Usd, limit, .. } => Some(limit),
        _ => None,
    });
    // A person's own limit for each turn may be lower: that is one of the conditions.
    if reached.zip(share.0).is_some_and(|(limit, share)| limit >= share) {
        return Some((RunVerdict::OverBudget, Some("the budget of the evaluation is used up".into())));
    }
    let was_asked = report.rounds > 0 && report.outcome.is_some();
    let is_failed = matches!(report.outcome, None | Some(Outcome::Failed)) && !was_asked;
    is_failed.then(|| {
        let why = report.error.clone().unwrap_or_else(|| "the session was closed".into());
        (RunVerdict::Failed, Some(format!("the model could not be asked: {why}")))
    })
}

/// Runs the check of `task`, with the rights of the session's own commands and at most `seconds`.
async fn check(
    session: &Session,
    folder: &TaskFolder,
    task: &Task,
    seconds: u64,
) -> Result<Checked, Failure> {
    let (name, mut arguments) = match &task.check {
        Check::Script(script) => ("bash".to_owned(), json!({"command": folder.with_check(script)?})),
        Check::Call { tool, arguments } => {
            let there = moved(task, folder).map(|moved| moved.all_there(arguments));
            let there = there.transpose().map_err(std::io::Error::from)?;
            (tool.clone(), there.unwrap_or_else(|| arguments.clone()))
        }
    };
    if let ("bash", Some(fields)) = (name.as_str(), arguments.as_object_mut()) {
        fields.insert("timeout".into(), json!(seconds));
        fields.remove("background");
    }
    let turn = session.start(Command::Call { name, arguments });
    let ended = timeout(Duration::from_secs(seconds) + GRACE, unattended_turn(turn)).await;
    let Ok(report) = ended else { return Ok(Checked::Red(too_long(seconds))) };
    Ok(match report.calls.first() {
        Some(call) => judged(call, seconds),
        None => {
            let why = report.error.as_deref().unwrap_or("no call was made");
            Checked::NotRun(format!("its check could not run: {why}"))
        }
    })
}

fn judged(call: &CallReport, seconds: u64) -> Checked {
    let result = call.result();
    if result.details["timed_out"] == Value::Bool(true) || result.job.is_some() {
        return Checked::Red(too_long(seconds));
    }
    if result.went_well() {
        return Checked::Green;
    }
    if !call.has_started() {
        let why = result.error.as_ref().map_or(result.content.clone(), |error| error.message.clone());
        return Checked::NotRun(format!("its check could not run: {why}"));
    }
    let mut said = result.content.lines().rev().map(str::trim);
    let said = said.find(|line| !line.is_empty() && !line.starts_with('['));
    let code = result.details["exit_code"].as_i64().map(|code| format!(" with exit code {code}"));
    let said = said.filter(|said| *said != "(no output)").map(|said| format!(": {said}"));
    Checked::Red(format!("its check ended{}{}", code.unwrap_or_default(), said.unwrap_or_default()))
}

fn too_long(seconds: u64) -> String {
    format!("its check did not end within {seconds} s")
}

/// Why a task is not solved: also how the turn ended, if not by itself.
fn because(report: &TurnReport, why: String) -> String {
    match &report.error {
        Some(error) => format!("{why}; the turn: {error}"),
        None => why,
    }
}

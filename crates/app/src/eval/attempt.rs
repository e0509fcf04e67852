//! [`Runner`]: lets a model work on a task in a session of its own, then runs the task's check.
use super::{
    folder::TaskFolder,
    record::{Book, Conditions, RunKey, RunRecord, RunVerdict},
    shares::{Share, Shares},
    tasks::{Beginning, Check, Task},
};
use crate::{
    App, Failure, OpenedSession, SessionSpec,
    command_call::{CallEnd, call, isolate},
    config::{Dollars, Settings},
    jobs::unattended_turn,
    replay::moved::Moved,
};
use haft_core::{Command, Fact, Mode, Network, Outcome, Resource};
use haft_engine::{Engine, Home, Model, Session, TurnReport};
use haft_providers::Scripted;
use parking_lot::Mutex;
use serde_json::json;
use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// The data that all runs of an evaluation share.
pub(super) struct Runner<'a> {
    pub(super) app: App,
    pub(super) conditions: &'a Conditions,
    pub(super) tasks: &'a [Task],
    pub(super) book: &'a Mutex<Book>,
    pub(super) shares: &'a Mutex<Shares>,
}

/// The result of a check.
pub(super) enum Checked {
    /// The task is solved.
    Green,
    /// The check failed, for this reason.
    Red(String),
    /// The check could not run, for this reason.
    NotRun(String),
}

impl Conditions {
    /// The request for the session of one run with `model`, with a cost limit of `usd`.
    pub(super) fn session(&self, model: &str, usd: Option<f64>) -> SessionSpec {
        let settings = Settings {
            model: Some(model.to_owned()),
            profile: self.profile.clone(),
            account: self.account.clone(),
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
    /// Runs `key`; `None` if the budget is spent.
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

/// Whether the check of `task` already succeeds without any work. Such a check says nothing about a model.
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

/// Makes the folder of a task. A large repository takes time, and other runs may need this thread.
async fn make_folder(home: Home, place: PathBuf, begins: Beginning) -> Result<TaskFolder, Failure> {
    let made = tokio::task::spawn_blocking(move || TaskFolder::make(&home, &place, &begins)).await;
    made.map_err(std::io::Error::from)?
}

/// The mapping from paths of the recorded session to those in the copy; `None` if the task does not come from a
/// session.
fn moved(task: &Task, folder: &TaskFolder) -> Option<Moved> {
    match &task.begins {
        Beginning::Commit { folder: from, session: Some(_), .. } => Some(Moved::new(from, &folder.work)),
        Beginning::Commit { session: None, .. } | Beginning::Files(_) | Beginning::Empty => None,
    }
}

/// The verdict and the reason of a run that ended before its check could say anything about the model; otherwise
/// `None`.
fn ended_early(report: &TurnReport, session: &Session, share: Share) -> Option<(RunVerdict, Option<String>)> {
    let reached = session.entries().iter().rev().find_map(|entry| match entry.fact {
        Fact::BudgetReached { what: Resource::Usd, limit, .. } => Some(limit),
        _ => None,
    });
    // The user's own limit for each turn may be lower; that is one of the conditions of the evaluation.
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

/// Runs the check of `task`, with the rights of the session's own commands, for at most `seconds`.
async fn check(
    session: &Session,
    folder: &TaskFolder,
    task: &Task,
    seconds: u64,
) -> Result<Checked, Failure> {
    let (name, arguments) = match &task.check {
        Check::Script(script) => ("bash".to_owned(), json!({"command": folder.with_check(script)?})),
        Check::Call { tool, arguments } => {
            let there = moved(task, folder).map(|moved| moved.all_there(arguments));
            let there = there.transpose().map_err(std::io::Error::from)?;
            (tool.clone(), there.unwrap_or_else(|| arguments.clone()))
        }
    };
    Ok(match call(session, &name, arguments, seconds).await {
        CallEnd::Succeeded => Checked::Green,
        CallEnd::Failed(why) => Checked::Red(format!("its check {why}")),
        CallEnd::NotMade(why) => Checked::NotRun(format!("its check could not run: {why}")),
    })
}

/// Adds to the reason why a task is not solved how the turn ended, if it did not end by itself.
fn because(report: &TurnReport, why: String) -> String {
    match &report.error {
        Some(error) => format!("{why}; the turn: {error}"),
        None => why,
    }
}

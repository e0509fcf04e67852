//! [`start`] and [`jobs`] (`haft build`, `debug`, `review`, `triage` and `haft jobs`): work that is a session of its
//! own.
mod list;
mod mode;
mod remote;
mod schedule;
mod serve;
mod shown;
mod take_up;
mod work_tree;

use super::{run, welcome};
use crate::{
    CliContext,
    args::{JobArgs, Jobs, TurnArgs},
    assemble::{self, Assembled, SessionSpec},
    failure::Failure,
};
use futures::FutureExt;
use haft_core::{Conclusion, Entry, JobSpec, JobStatus, Outcome, SessionId, SessionOpened};
use haft_engine::{Agent, Engine, Home, Session, record, run_job};
use haft_mcp::server::Begun;
use haft_terminal::{Exit, signals::Interrupts};
use mode::keep;
pub(super) use remote::JobsOfServer;
use schedule::Rhythm;
use shown::Shown;
pub(super) use shown::{last_outcome, outcome_of};
use std::{
    collections::HashMap,
    fs,
    io::{Write, stderr, stdout},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
pub(super) use take_up::taken_up;
use work_tree::WorkTree;

/// Runs `haft build` and the like: one job, in this process.
pub(crate) async fn start(context: &CliContext, kind: &str, job: &JobArgs) -> Result<Exit, Failure> {
    refuse_options(&job.turn)?;
    let origin = assemble::workspace(job.turn.cwd.as_deref())?;
    let wanted = Wanted { kind: kind.to_owned(), description: description(job)?, origin };
    let spec = SessionSpec::within(context, &job.turn, wanted.origin.clone())?;
    if welcome::with_model(context, &job.turn, spec).await?.is_none() {
        return Ok(Exit::Interrupted);
    }
    begin(context, wanted, &job.turn, job.debug).await
}

/// A job begins a session of its own, and its agent is known.
fn refuse_options(turn: &TurnArgs) -> Result<(), Failure> {
    let given = [
        ("--session", turn.session.is_some()),
        ("--continue", turn.newest),
        ("--image", !turn.image.is_empty()),
        ("--agent", turn.agent.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!("a job takes no `{option}`"))
            .hint("a job begins anew, with an agent of its own; `haft jobs retry` takes one up again")),
    }
}

/// A request for a job.
pub(super) struct Wanted {
    pub(super) kind: String,
    pub(super) description: String,
    pub(super) origin: PathBuf,
}

/// The engines of jobs that clients follow.
#[derive(Clone, Default)]
pub(super) struct Working(Arc<Mutex<HashMap<SessionId, Engine>>>);

impl Working {
    fn now<T>(&self, what: impl FnOnce(&mut HashMap<SessionId, Engine>) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stops those whose clients have left.
    pub(super) async fn shut_down(&self) {
        let left: Vec<Engine> = self.now(|engines| engines.drain().map(|(_, engine)| engine).collect());
        for engine in left {
            engine.shut_down().await;
        }
    }
}

/// A job that a client of ours follows.
pub(super) async fn begun(
    context: &CliContext,
    wanted: Wanted,
    turn: &TurnArgs,
    working: &Working,
) -> Result<Begun, Failure> {
    let Job { agent, order, assembled, session, .. } = open(context, wanted, turn, false).await?;
    let (id, engine) = (session.id().clone(), assembled.engine.clone());
    let folder = engine.setup().home.folder(&id);
    let stop_file = folder.join(CANCEL);
    let (done, working) = (order.clone(), working.clone());
    working.now(|engines| engines.insert(id.clone(), engine.clone()));
    let end = Box::new(move |conclusion: Conclusion| {
        let ending = async move {
            assembled.engine.shut_down().await;
            working.now(|engines| engines.remove(&id));
            tidy(&folder, &assembled, &done, &conclusion);
        };
        ending.boxed()
    });
    Ok(Begun { session, agent, order, engine, stop: stop_file, end })
}

async fn begin(context: &CliContext, wanted: Wanted, turn: &TurnArgs, debug: bool) -> Result<Exit, Failure> {
    let Job { agent, order, turn, assembled, session } = open(context, wanted, turn, debug).await?;
    finish(context, &turn, &assembled, &session, (&agent, &order)).await
}

/// A job with all that it needs.
pub(super) struct Job {
    pub(super) agent: Agent,
    pub(super) order: JobSpec,
    turn: TurnArgs,
    pub(super) assembled: Assembled,
    pub(super) session: Session,
}

async fn open(context: &CliContext, wanted: Wanted, turn: &TurnArgs, debug: bool) -> Result<Job, Failure> {
    // What is wrong with the model, the configuration or the options shows before anything is made.
    let tried = TurnArgs { cwd: Some(wanted.origin.clone()), agent: None, ..turn.clone() };
    SessionSpec::of(context, &tried)?.engine().await?;
    // A work tree of a large repository takes its time, and others may wait for this thread.
    let own = context.clone();
    let prepared = tokio::task::spawn_blocking(move || prepare(&own, wanted, debug)).await;
    let Prepared { agent, order, folder, note } = prepared.map_err(std::io::Error::from)??;
    for note in note.iter().filter(|_| !turn.quiet) {
        writeln!(stderr(), "note: {note}")?;
    }
    let turn = TurnArgs {
        cwd: Some(folder.clone()),
        agent: Some(order.kind.clone()),
        start: order.start.clone().map(Box::new),
        ..turn.clone()
    };
    let opened = create(context, &turn, &order).await;
    let (assembled, session) = opened.inspect_err(|_| discard(&order, &folder))?;
    Ok(Job { agent, order, turn, assembled, session })
}

async fn create(
    context: &CliContext,
    turn: &TurnArgs,
    order: &JobSpec,
) -> Result<(Assembled, Session), Failure> {
    let assembled = SessionSpec::of(context, turn)?.engine().await?;
    let session = assembled.engine.create_job(order.clone(), None).await?;
    keep(&session, turn)?;
    Ok((assembled, session))
}

/// What was prepared for a job that cannot begin.
fn discard(order: &JobSpec, folder: &Path) {
    if let Some(branch) = &order.branch {
        WorkTree::discard(&order.origin, folder, branch);
    }
}

/// Who does it, what exactly is to be done, and where.
struct Prepared {
    agent: Agent,
    order: JobSpec,
    folder: PathBuf,
    /// What a person may not expect.
    note: Option<String>,
}

/// In a work tree of its own if the agent wants one.
fn prepare(context: &CliContext, wanted: Wanted, debug: bool) -> Result<Prepared, Failure> {
    let Wanted { kind, description, origin } = wanted;
    let agent = assemble::agent(context, &origin, &kind)?;
    let make = || WorkTree::make(&context.places.home, &origin, &kind);
    let tree = agent.work_tree.then(make).transpose()?;
    let (branch, folder, start, note) = match tree {
        Some(WorkTree { branch, folder, start, note }) => (Some(branch), folder, Some(start), note),
        None => (None, origin.clone(), None, None),
    };
    let job_type = agent.job.clone().unwrap_or_else(|| kind.clone());
    let order = JobSpec { kind, job_type, description, origin, branch, start, debug };
    Ok(Prepared { agent, order, folder, note })
}

/// `haft jobs …`
pub(crate) async fn jobs(context: &CliContext, command: Jobs) -> Result<Exit, Failure> {
    let home = Home(context.places.home.clone());
    match command {
        Jobs::List { json } => list::list(&home, json),
        Jobs::Show { id, json } => list::show(&home, &id, json),
        Jobs::Logs { id, json: _ } => list::logs(&home, &id),
        Jobs::Cancel { id, json } => cancel(context, &home, &id, json).await,
        Jobs::Retry { id, turn } => retry(context, &home, &id, turn).await,
        Jobs::Add { kind, description, cwd, every, cron, json } => {
            let origin = assemble::workspace(cwd.as_deref())?;
            let rhythm = match (every, cron) {
                (Some(every), _) => Some(Rhythm::every(&every)?),
                (None, Some(pattern)) => Some(Rhythm::cron(&pattern)?),
                (None, None) => None,
            };
            serve::add(context, &home, Wanted { kind, description, origin }, rhythm, json).await
        }
        Jobs::Serve { once, turn } => serve::serve(context, &home, &turn, once).await,
    }
}

/// Returns what the job is to do; an error if it is missing.
fn description(job: &JobArgs) -> Result<String, Failure> {
    let missing = || {
        Failure::usage("missing 'description' in input")
            .hint("say what to do: `haft build \"Add a test for f\"`")
    };
    let given = job.description.clone().unwrap_or_else(|| job.words.join(" "));
    match given.trim() {
        "" => Err(missing()),
        text => Ok(text.to_owned()),
    }
}

/// Works until there is a conclusion, tells it, and tidies up.
async fn finish(
    context: &CliContext,
    turn: &TurnArgs,
    assembled: &Assembled,
    session: &Session,
    (agent, order): (&Agent, &JobSpec),
) -> Result<Exit, Failure> {
    let folder = assembled.engine.setup().home.folder(session.id());
    let mut interrupts = Interrupts::listen()?.or_file(folder.join(CANCEL));
    let options = run::options(&assembled.engine, context, turn, turn.settings.theme.as_deref())?;
    for line in assembled.notices.iter().filter(|_| !turn.quiet) {
        writeln!(stderr(), "note: {line}")?;
    }
    if !turn.quiet {
        writeln!(stderr(), "job {} ({})", session.id(), order.kind)?;
    }
    let workspace = &assembled.engine.setup().workspace;
    let mut turns =
        Shown { session, options: &options, interrupts: &mut interrupts, order, folder: workspace };
    let conclusion = run_job(assembled.engine.setup(), session, agent, order, &mut turns).await?;
    assembled.engine.shut_down().await;
    if !turn.quiet || conclusion.status != JobStatus::Completed {
        tell(&conclusion)?;
    }
    tidy(&folder, assembled, order, &conclusion);
    Ok(exit_of(&conclusion, last_outcome(session)))
}

/// Prints the conclusion of a job to standard error.
fn tell(conclusion: &Conclusion) -> std::io::Result<()> {
    let Conclusion { status, reason, evidence } = conclusion;
    let mark = if *status == JobStatus::Completed { "✓" } else { "✗" };
    writeln!(stderr(), "{mark} {status}: {reason}")?;
    for piece in evidence {
        for name in ["commit", "branch", "pull_request"] {
            if let Some(value) = piece.get(name).and_then(serde_json::Value::as_str) {
                writeln!(stderr(), "  {name}: {value}")?;
            }
        }
    }
    Ok(())
}

/// Removes what was made for the job, unless the user asked to keep it. The journal stays.
fn tidy(folder: &Path, assembled: &Assembled, order: &JobSpec, conclusion: &Conclusion) {
    let _was_never_made = fs::remove_file(folder.join(CANCEL));
    WorkTree::bring_back(order, &assembled.engine.setup().workspace);
    if order.debug || conclusion.status != JobStatus::Completed {
        return;
    }
    let _was_never_made = fs::remove_dir_all(folder.join("outputs"));
    if let Some(branch) = &order.branch {
        WorkTree::remove(&order.origin, &assembled.engine.setup().workspace, branch);
    }
}

fn exit_of(conclusion: &Conclusion, outcome: Option<Outcome>) -> Exit {
    match (conclusion.status, outcome) {
        (JobStatus::Completed, _) => Exit::Success,
        (JobStatus::Cancelled, _) => Exit::Interrupted,
        (_, Some(outcome)) if outcome != Outcome::Finished => Exit::from(outcome),
        _ => Exit::Unproven,
    }
}

/// A file in the folder of a session: its job is to stop.
const CANCEL: &str = "cancel";

async fn cancel(context: &CliContext, home: &Home, id: &str, json: bool) -> Result<Exit, Failure> {
    if schedule::remove(home, id)? {
        return told(id, "is dropped", json);
    }
    told(&stop(context, home, id).await?.0, "is told to stop", json)
}

/// A job that runs elsewhere is told to stop; one without a worker ends at once.
async fn stop(context: &CliContext, home: &Home, id: &str) -> Result<SessionId, Failure> {
    let (id, standing) = list::find(home, id)?;
    if standing.status.is_over() {
        return Err(Failure::usage(format!("the job `{id}` is {} already", standing.status)));
    }
    if home.is_open(&id) {
        fs::write(home.folder(&id).join(CANCEL), "")?;
    } else {
        // What it left half-done is put in order where it worked.
        let folder = Some(worked_in(&home.peek(&id.0)?)).filter(|folder| folder.exists());
        let folder = folder.as_ref().unwrap_or(&standing.order.origin);
        let engine = assemble::bare_engine(context, folder, assemble::NO_MODEL)?;
        let session = engine.resume(&id.0, &standing.order.kind)?;
        let reason = "stopped by a person".to_owned();
        let conclusion = Conclusion { status: JobStatus::Cancelled, reason, evidence: Vec::new() };
        record(&session, conclusion).await;
        engine.shut_down().await;
        let folder = worked_in(&home.peek(&id.0)?);
        WorkTree::bring_back(&standing.order, &folder);
        if let (JobStatus::Pending, Some(branch)) = (standing.status, &standing.order.branch) {
            WorkTree::remove(&standing.order.origin, &folder, branch);
        }
    }
    Ok(id)
}

fn told(id: &str, what: &str, json: bool) -> Result<Exit, Failure> {
    match json {
        true => writeln!(stdout(), "{}", serde_json::json!({"job": id, "cancelled": true}))?,
        false => writeln!(stdout(), "{id} {what}")?,
    }
    Ok(Exit::Success)
}

fn worked_in(entries: &[Arc<Entry>]) -> PathBuf {
    SessionOpened::of(entries).map(|opened| opened.workspace.clone()).unwrap_or_default()
}

/// Takes up a job that failed, was stopped, or lost its process.
async fn retry(context: &CliContext, home: &Home, id: &str, turn: TurnArgs) -> Result<Exit, Failure> {
    let Job { agent, order, turn, assembled, session } = taken_up(context, home, id, turn, |_| {}).await?;
    finish(context, &turn, &assembled, &session, (&agent, &order)).await
}

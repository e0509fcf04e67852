//! `haft build`, `debug`, `review`, `triage` and `haft jobs`: work that is a session of its own.
mod list;
mod schedule;
mod serve;
mod work_tree;

use super::run;
use crate::{
    Surroundings,
    args::{JobArgs, Jobs, TurnArgs},
    assemble::{self, Assembled},
    failure::Failure,
};
use haft::{
    core::{Command, Conclusion, JobStatus, Order, Outcome, Standing},
    engine::{Agent, Home, Session, Turns, carry_out, record},
    frontends::{Exit, mcp_server::Begun, print, signals::Interrupts},
};
use schedule::Rhythm;
use std::{
    fs,
    io::{Write, stderr},
    path::{Path, PathBuf},
};
use work_tree::WorkTree;

/// `haft build` and its kin: one job, in this process (P-52).
pub(crate) async fn start(surroundings: &Surroundings, kind: &str, job: &JobArgs) -> Result<Exit, Failure> {
    let origin = assemble::workspace(job.turn.cwd.as_deref())?;
    let wanted = Wanted { kind: kind.to_owned(), description: description(job)?, origin };
    begin(surroundings, wanted, &job.turn, job.debug).await
}

/// A job that somebody wants done.
pub(super) struct Wanted {
    pub(super) kind: String,
    pub(super) description: String,
    pub(super) origin: PathBuf,
}

/// A job that a client of ours follows.
pub(super) async fn begun(
    surroundings: &Surroundings,
    wanted: Wanted,
    turn: &TurnArgs,
) -> Result<Begun, Failure> {
    let (agent, order, folder) = prepare(surroundings, wanted, false)?;
    let turn = TurnArgs { cwd: Some(folder), agent: Some(order.kind.clone()), ..turn.clone() };
    let assembled = assemble::engine(surroundings, &turn).await?;
    let session = assembled.engine.create_job(order.clone())?;
    let folder = assembled.engine.setup().home.folder(session.id());
    let done = order.clone();
    let end = Box::new(move |conclusion: &Conclusion| tidy(&folder, &assembled, &done, conclusion));
    Ok(Begun { session, agent, order, end })
}

async fn begin(
    surroundings: &Surroundings,
    wanted: Wanted,
    turn: &TurnArgs,
    debug: bool,
) -> Result<Exit, Failure> {
    let (agent, order, folder) = prepare(surroundings, wanted, debug)?;
    let turn = TurnArgs { cwd: Some(folder), agent: Some(order.kind.clone()), ..turn.clone() };
    let assembled = assemble::engine(surroundings, &turn).await?;
    let session = assembled.engine.create_job(order.clone())?;
    finish(surroundings, &turn, &assembled, &session, (&agent, &order)).await
}

/// Who does it, what exactly is to be done, and where: in a work tree of its own if the agent wants one.
fn prepare(
    surroundings: &Surroundings,
    wanted: Wanted,
    debug: bool,
) -> Result<(Agent, Order, PathBuf), Failure> {
    let Wanted { kind, description, origin } = wanted;
    let agent = assemble::agent(surroundings, &origin, &kind)?;
    let make = || WorkTree::make(&surroundings.places.home, &origin, &kind);
    let tree = if agent.work_tree { make()? } else { None };
    let (branch, folder, note) = match tree {
        Some(WorkTree { branch, folder, note }) => (Some(branch), folder, note),
        None => (None, origin.clone(), None),
    };
    if let Some(note) = note {
        writeln!(stderr(), "note: {note}")?;
    }
    Ok((agent, Order { kind, description, origin, branch, debug }, folder))
}

/// `haft jobs …`
pub(crate) async fn jobs(surroundings: &Surroundings, command: Jobs) -> Result<Exit, Failure> {
    let home = Home(surroundings.places.home.clone());
    match command {
        Jobs::List { json } => list::list(&home, json),
        Jobs::Show { id, json } => list::show(&home, &id, json),
        Jobs::Logs { id } => list::logs(&home, &id),
        Jobs::Cancel { id } => cancel(surroundings, &home, &id).await,
        Jobs::Retry { id, turn } => retry(surroundings, &home, &id, turn).await,
        Jobs::Add { kind, description, cwd, every, cron } => {
            let origin = assemble::workspace(cwd.as_deref())?;
            let rhythm = match (every, cron) {
                (Some(every), _) => Some(Rhythm::every(&every)?),
                (None, Some(pattern)) => Some(Rhythm::cron(&pattern)?),
                (None, None) => None,
            };
            serve::add(surroundings, &home, Wanted { kind, description, origin }, rhythm)
        }
        Jobs::Serve { once, turn } => serve::serve(surroundings, &home, &turn, once).await,
    }
}

/// P-45
fn description(job: &JobArgs) -> Result<String, Failure> {
    let missing = || {
        Failure::usage("missing 'description' in input")
            .hint("say what to do: `--description \"Add a test for f\"`")
    };
    let description = job.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
    Ok(description.ok_or_else(missing)?.to_owned())
}

/// Works until there is a conclusion, tells it, and tidies up.
async fn finish(
    surroundings: &Surroundings,
    turn: &TurnArgs,
    assembled: &Assembled,
    session: &Session,
    (agent, order): (&Agent, &Order),
) -> Result<Exit, Failure> {
    let folder = assembled.engine.setup().home.folder(session.id());
    let mut interrupts = Interrupts::listen()?.or_file(folder.join(CANCEL));
    let options = run::options(&assembled.engine, surroundings, turn);
    for line in assembled.notice.iter().filter(|_| !turn.quiet) {
        writeln!(stderr(), "note: {line}")?;
    }
    writeln!(stderr(), "job {} ({})", session.id(), order.kind)?;
    let mut turns = Shown { session, options: &options, interrupts: &mut interrupts };
    let conclusion = carry_out(session, agent, order, &mut turns).await?;
    assembled.engine.shut_down().await;
    tell(&conclusion)?;
    tidy(&folder, assembled, order, &conclusion);
    Ok(exit_of(&conclusion, last_outcome(session)))
}

/// Turns as `haft run` shows them.
struct Shown<'a> {
    session: &'a Session,
    options: &'a print::Options,
    interrupts: &'a mut Interrupts,
}

impl Turns for Shown<'_> {
    type Error = anyhow::Error;

    async fn turn(&mut self, command: Command) -> Result<Outcome, anyhow::Error> {
        let from = haft::frontends::chat::next(self.session);
        let exit = print::turn(self.session, command, from, self.options, self.interrupts).await?;
        Ok(match exit {
            Exit::Interrupted => Outcome::Interrupted,
            _ => last_outcome(self.session).unwrap_or(Outcome::Failed),
        })
    }
}

fn last_outcome(session: &Session) -> Option<Outcome> {
    session.entries().iter().rev().find_map(|entry| match &entry.fact {
        haft::core::Fact::TurnEnded { outcome, .. } => Some(*outcome),
        _ => None,
    })
}

/// P-63
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

/// What was made for the job goes, unless somebody wants to look at it (P-47). The journal stays.
fn tidy(folder: &Path, assembled: &Assembled, order: &Order, conclusion: &Conclusion) {
    let _was_never_made = fs::remove_file(folder.join(CANCEL));
    if order.debug || conclusion.status != JobStatus::Completed {
        return;
    }
    let _was_never_made = fs::remove_dir_all(folder.join("outputs"));
    if order.branch.is_some() {
        WorkTree::remove(&order.origin, &assembled.engine.setup().workspace);
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

/// In the folder of a session: somebody wants its job to stop.
const CANCEL: &str = "cancel";

/// A job that runs elsewhere is told to stop; one that nobody works on is over at once.
async fn cancel(surroundings: &Surroundings, home: &Home, id: &str) -> Result<Exit, Failure> {
    let (id, standing) = list::find(home, id)?;
    if standing.status.is_over() {
        return Err(Failure::usage(format!("the job `{id}` is {} already", standing.status)));
    }
    if home.is_open(&id) {
        fs::write(home.folder(&id).join(CANCEL), "")?;
    } else {
        let engine = assemble::bare_engine(surroundings, &standing.order.origin)?;
        let session = engine.resume(&id.0, &standing.order.kind)?;
        let reason = "stopped by a person".to_owned();
        let conclusion = Conclusion { status: JobStatus::Cancelled, reason, evidence: Vec::new() };
        record(&session, conclusion).await;
        engine.shut_down().await;
    }
    writeln!(std::io::stdout(), "{id} is told to stop")?;
    Ok(Exit::Success)
}

/// Takes up a job that failed, was stopped, or lost its process.
async fn retry(surroundings: &Surroundings, home: &Home, id: &str, turn: TurnArgs) -> Result<Exit, Failure> {
    let (id, Standing { order, status, .. }) = list::find(home, id)?;
    if status == JobStatus::Completed {
        return Err(Failure::usage(format!("the job `{id}` is completed"))
            .hint(format!("`haft sessions resume {id}` talks to it")));
    }
    let turn = run::with_session(turn, &id.0, &home.peek(&id.0)?);
    let turn = TurnArgs { agent: Some(order.kind.clone()), ..turn };
    let agent = assemble::agent(surroundings, &order.origin, &order.kind)?;
    let assembled = assemble::engine(surroundings, &turn).await?;
    let session = assembled.engine.resume(&id.0, &order.kind)?;
    finish(surroundings, &turn, &assembled, &session, (&agent, &order)).await
}

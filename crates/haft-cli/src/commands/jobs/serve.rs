//! [`serve`]: works on queued jobs, and on those that lost their process.
use super::{
    Prepared, Wanted, begin, discard, prepare, retry,
    schedule::{self, Plan, Rhythm},
};
use crate::{CliContext, args::TurnArgs, assemble, failure::Failure};
use futures::FutureExt;
use haft_core::{JobSpec, JobStatus, JobSummary, SessionId};
use haft_engine::Home;
use haft_terminal::{Exit, signals::Interrupts};
use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    io::{Write, stderr, stdout},
    path::Path,
    time::Duration,
};

/// How soon a job that another process put down is noticed.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A pending job, or a plan for many.
pub(super) async fn add(
    context: &CliContext,
    home: &Home,
    wanted: Wanted,
    rhythm: Option<Rhythm>,
    json: bool,
) -> Result<Exit, Failure> {
    let what = if rhythm.is_some() { "plan" } else { "job" };
    let name = match rhythm {
        Some(rhythm) => {
            assemble::agent(context, &wanted.origin, &wanted.kind)?;
            let next = rhythm.after(Timestamp::now())?;
            let Wanted { kind, description, origin } = wanted;
            schedule::add(home, &Plan { kind, description, origin, rhythm, next })?
        }
        None => {
            let Prepared { order, folder, note, .. } = prepare(context, wanted, false)?;
            note.iter().try_for_each(|note| writeln!(stderr(), "note: {note}"))?;
            put_down(context, &order, &folder).await.inspect_err(|_| discard(&order, &folder))?
        }
    };
    match json {
        true => writeln!(stdout(), "{}", serde_json::json!({what: name}))?,
        false => writeln!(stdout(), "{name}")?,
    }
    Ok(Exit::Success)
}

/// Enqueues it as a session without a worker; returns its ID.
async fn put_down(context: &CliContext, order: &JobSpec, folder: &Path) -> Result<String, Failure> {
    let engine = assemble::bare_engine(context, folder, assemble::NO_MODEL)?;
    Ok(engine.create_job(order.clone(), None).await?.id().to_string())
}

/// One job after the other: what is due, then what was put down, the oldest first.
pub(super) async fn serve(
    context: &CliContext,
    home: &Home,
    turn: &TurnArgs,
    once: bool,
) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    // A job that ends the same way each time is not tried for ever.
    let (mut tried, mut settled) = (HashSet::new(), HashMap::new());
    let mut was_plan = false;
    loop {
        // It may have come while a job was put away.
        if interrupts.next().now_or_never().is_some() {
            return Ok(Exit::Interrupted);
        }
        // In turn, so that a plan that is due again at once does not keep others waiting for ever.
        let waiting = if was_plan { left(home, &tried, &mut settled) } else { None };
        let plan = if waiting.is_none() { schedule::take_due(home, Timestamp::now())? } else { None };
        was_plan = plan.is_some();
        let ended = if let Some(Plan { kind, description, origin, .. }) = plan {
            begin(context, Wanted { kind, description, origin }, turn, false).await
        } else if let Some(id) = waiting.or_else(|| left(home, &tried, &mut settled)) {
            tried.insert(id.clone());
            retry(context, home, &id.0, turn.clone()).await
        } else if once {
            return Ok(Exit::Success);
        } else {
            if rest(home, &mut interrupts).await? == Rest::Interrupted {
                return Ok(Exit::Interrupted);
            }
            continue;
        };
        if tell(ended)? == Exit::Interrupted && is_told_to_stop(&mut interrupts).await {
            return Ok(Exit::Interrupted);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Rest {
    Over,
    Interrupted,
}

/// Waits until the next plan is due, or a job may have been enqueued.
async fn rest(home: &Home, interrupts: &mut Interrupts) -> Result<Rest, Failure> {
    let due = schedule::next(home)?.map(|next| next.duration_since(Timestamp::now()));
    let wait =
        due.and_then(|due| Duration::try_from(due).ok()).map_or(POLL_INTERVAL, |due| due.min(POLL_INTERVAL));
    tokio::select! {
        () = tokio::time::sleep(wait) => Ok(Rest::Over),
        () = interrupts.next() => Ok(Rest::Interrupted),
    }
}

/// The oldest job that was not begun, or whose process is gone.
fn left(home: &Home, tried: &HashSet<SessionId>, settled: &mut HashMap<SessionId, u64>) -> Option<SessionId> {
    let jobs = home.changed_jobs(settled);
    let mut left = jobs.into_iter().rev().filter(|(id, job)| !tried.contains(id) && is_left(home, id, job));
    left.next().map(|(id, _)| id)
}

/// A cancelled job is not a reason to stop; a signal that reached both is.
async fn is_told_to_stop(interrupts: &mut Interrupts) -> bool {
    tokio::time::timeout(Duration::from_millis(200), interrupts.next()).await.is_ok()
}

fn is_left(home: &Home, id: &SessionId, job: &JobSummary) -> bool {
    match job.status {
        JobStatus::Pending | JobStatus::Waiting => !home.is_open(id),
        JobStatus::Running | JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled => false,
    }
}

/// One job that cannot begin does not keep others from it.
fn tell(ended: Result<Exit, Failure>) -> std::io::Result<Exit> {
    ended.or_else(|failure| {
        writeln!(stderr(), "error: {}", failure.message)?;
        Ok(failure.exit)
    })
}

//! [`status`] and [`top`]: print the workers, and the number of jobs by status.
use super::{jobs, whose};
use haft_app::Failure;
use haft_fleet::{Database, JobCount, JobsWanted, LimitUsage, Paused, Status, WorkerLine};
use haft_serve::FleetOverview;
use haft_terminal::{signals::Interrupts, table::Table};
use serde_json::json;
use std::{
    io::{IsTerminal, Write, stdout},
    time::Duration,
};

/// Interval between two updates of [`top`].
const INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of jobs that [`top`] shows.
const MAX_SHOWN_JOBS: i64 = 20;

/// Prints the status once.
pub(super) async fn status(database: &Database, json: bool) -> Result<(), Failure> {
    match json {
        true => writeln!(stdout(), "{}", json!(FleetOverview::read(database).await?))?,
        false => print(&haft_fleet::status(database).await?)?,
    }
    Ok(())
}

/// Prints the status repeatedly until Ctrl+C, with the running jobs. If standard output is not a terminal, prints it
/// once.
pub(super) async fn top(database: &Database) -> Result<(), Failure> {
    let mut interrupts = Interrupts::listen()?;
    let wanted = JobsWanted {
        statuses: ["running", "waiting", "pending"].map(str::to_owned).to_vec(),
        most: MAX_SHOWN_JOBS,
        ..JobsWanted::default()
    };
    loop {
        let (status, at_work) =
            (haft_fleet::status(database).await?, haft_fleet::jobs(database, None, &wanted).await?);
        if stdout().is_terminal() {
            // Moves the cursor to the top left, and clears the screen.
            write!(stdout(), "\x1b[H\x1b[2J")?;
        }
        print(&status)?;
        writeln!(stdout())?;
        jobs::table(&at_work).print("no jobs at work")?;
        if !stdout().is_terminal() {
            return Ok(());
        }
        tokio::select! {
            () = interrupts.next() => return Ok(()),
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

fn print(status: &Status) -> Result<(), Failure> {
    let Status { counts, workers, dead, paused, limits, oldest_waits } = status;
    let mut table = Table::new(["WORKER", "INSTANCE", "QUEUES", "JOBS", "SEEN", "STATE"]);
    for worker in workers {
        let state = match worker {
            gone if gone.is_gone() => "gone",
            WorkerLine { is_draining: true, .. } => "draining",
            _ => "",
        };
        let seen = format!("{:.0} s ago", worker.seen);
        let (name, instance) = (worker.name.clone(), worker.instance.clone());
        let queues = if worker.queues.is_empty() { "all".to_owned() } else { worker.queues.join(" ") };
        table.row([name, instance, queues, worker.running.to_string(), seen, state.to_owned()]);
    }
    table.print("no workers")?;
    writeln!(stdout())?;
    let mut table = Table::new(["OWNER", "QUEUE", "STATUS", "JOBS"]);
    for JobCount { owner, queue, status, count } in counts {
        table.row([owner.clone(), queue.clone(), status.clone(), count.to_string()]);
    }
    table.print("no jobs")?;
    for paused in paused {
        let which = match paused {
            Paused::All => String::new(),
            Paused::Owner(owner) => format!(" {}", owner.0),
            Paused::Queue(queue) => format!(" --queue {queue}"),
        };
        writeln!(stdout(), "\npaused: {}; `haft fleet resume{which}` ends the pause", whose(paused))?;
    }
    for usage in limits {
        print_reached(usage)?;
    }
    if let Some(seconds) = oldest_waits {
        writeln!(stdout(), "\noldest runnable job has waited {seconds:.0} s")?;
    }
    if !dead.is_empty() {
        writeln!(stdout(), "\nOut of attempts; `haft fleet retry ID` requeues a job:")?;
        let mut table = Table::new(["JOB", "OWNER", "TITLE", "REASON"]);
        for job in dead.clone() {
            table.row([job.id, job.owner, job.title, job.reason.unwrap_or_default()]);
        }
        table.print("")?;
    }
    Ok(())
}

/// Prints the limit that keeps pending jobs from beginning.
fn print_reached(usage: &LimitUsage) -> Result<(), Failure> {
    if let Some(why) = usage.reached().filter(|_| usage.pending > 0) {
        writeln!(stdout(), "\npending jobs wait: {why}; `haft fleet limit` shows limits")?;
    }
    Ok(())
}

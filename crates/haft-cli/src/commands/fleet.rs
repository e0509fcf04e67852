//! [`fleet`] (`haft fleet …`): reads from a fleet's database, and sends commands to its jobs.
mod serve;
mod worker;

pub(crate) use serve::serve;
pub(crate) use worker::worker;

use crate::{CliContext, args::Fleet, args::FleetUrl};
use haft_app::{Failure, token};
use haft_engine::new_session_id;
use haft_fleet::{self, ADMIN, Database, NewJob, Owner, new_job};
use haft_terminal::Exit;
use haft_terminal::table::Table;
use serde_json::json;
use std::io::{Write, stdout};

/// Carries out one of them.
pub(crate) async fn fleet(cli: &CliContext, command: Fleet) -> Result<Exit, Failure> {
    match command {
        Fleet::Migrate { fleet } => {
            let made = haft_fleet::migrate(&address(cli, &fleet)?).await?;
            match made.from == made.to {
                true => writeln!(stdout(), "the tables already have version {}", made.to)?,
                false => writeln!(stdout(), "the tables have version {}", made.to)?,
            }
        }
        Fleet::Status { fleet, json } => status(&open(cli, &fleet).await?, json).await?,
        Fleet::Drain { fleet, worker } => {
            let told = haft_fleet::drain(&open(cli, &fleet).await?, worker.as_deref()).await?;
            if told == 0 {
                let called = worker.map(|name| format!(" named `{name}`")).unwrap_or_default();
                return Err(Failure::usage(format!("no worker{called} has reported in the last minute"))
                    .hint("`haft fleet status` lists them"));
            }
            writeln!(stdout(), "draining {told} workers")?;
        }
        Fleet::Retry { fleet, id } => {
            if !haft_fleet::retry(&open(cli, &fleet).await?, &id, None).await? {
                return Err(Failure::usage(format!(
                    "there is no job `{id}` that failed, was canceled or ran out of attempts"
                ))
                .hint("`haft fleet status` lists jobs that ran out of attempts"));
            }
            writeln!(stdout(), "requeued {id}")?;
        }
        Fleet::Owner { fleet, name } => {
            let (database, token) = (open(cli, &fleet).await?, token::random()?);
            haft_fleet::add_owner(&database, &Owner(name), Some(&token)).await?;
            writeln!(stdout(), "{token}")?;
        }
        Fleet::Add { fleet, kind, description, repository, base, priority, owner, json } => {
            let database = open(cli, &fleet).await?;
            let job = NewJob {
                repository,
                base,
                priority,
                ..new_job(cli, new_session_id(), kind, description, Owner(owner))?
            };
            if job.owner.0 == ADMIN {
                haft_fleet::add_owner(&database, &job.owner, None).await?;
            }
            haft_fleet::add(&database, &job).await?;
            match json {
                true => writeln!(stdout(), "{}", json!({"job": job.id.0}))?,
                false => writeln!(stdout(), "{}", job.id)?,
            }
        }
    }
    Ok(Exit::Success)
}

/// What was typed, else what the environment says.
pub(crate) fn address(cli: &CliContext, url: &FleetUrl) -> Result<String, Failure> {
    let known = url.fleet.clone().or_else(|| cli.environment.get("HAFT_FLEET").map(str::to_owned));
    known.ok_or_else(|| {
        Failure::usage("no fleet database given").hint(
            "pass `--fleet postgres://USER@HOST/DATABASE`, or set HAFT_FLEET, which hides it from other programs",
        )
    })
}

async fn open(cli: &CliContext, url: &FleetUrl) -> Result<Database, Failure> {
    Ok(Database::open(&address(cli, url)?).await?)
}

async fn status(database: &Database, json: bool) -> Result<(), Failure> {
    let haft_fleet::Status { counts, workers, dead, oldest_waits } = haft_fleet::status(database).await?;
    if json {
        let jobs: Vec<_> = counts
            .iter()
            .map(|(owner, status, count)| json!({"owner": owner, "status": status, "count": count}))
            .collect();
        let workers: Vec<_> = workers
            .iter()
            .map(|worker| {
                json!({"instance": worker.instance, "name": worker.name, "version": worker.version,
                       "seen_seconds_ago": worker.seen, "draining": worker.is_draining, "running": worker.running})
            })
            .collect();
        let dead: Vec<_> = dead
            .iter()
            .map(|job| json!({"job": job.id, "owner": job.owner, "title": job.title, "attempts": job.attempts, "reason": job.reason}))
            .collect();
        let whole =
            json!({"jobs": jobs, "workers": workers, "dead": dead, "oldest_waits_seconds": oldest_waits});
        writeln!(stdout(), "{whole}")?;
        return Ok(());
    }
    let mut table = Table::new(["WORKER", "INSTANCE", "JOBS", "SEEN", "STATE"]);
    for worker in workers {
        let state = if worker.is_draining { "draining" } else { "" };
        let seen = format!("{:.0} s ago", worker.seen);
        table.row([worker.name, worker.instance, worker.running.to_string(), seen, state.to_owned()]);
    }
    table.print("no workers")?;
    writeln!(stdout())?;
    let mut table = Table::new(["OWNER", "STATUS", "JOBS"]);
    for (owner, status, count) in counts {
        table.row([owner, status, count.to_string()]);
    }
    table.print("no jobs")?;
    if let Some(seconds) = oldest_waits {
        writeln!(stdout(), "\noldest runnable job has waited {seconds:.0} s")?;
    }
    if !dead.is_empty() {
        writeln!(stdout(), "\nOut of attempts; `haft fleet retry ID` requeues a job:")?;
        let mut table = Table::new(["JOB", "OWNER", "TITLE", "REASON"]);
        for job in dead {
            table.row([job.id, job.owner, job.title, job.reason.unwrap_or_default()]);
        }
        table.print("")?;
    }
    Ok(())
}

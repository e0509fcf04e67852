//! [`fleet`] (`haft fleet …`): reads from a fleet's database, and sends commands to its jobs.
mod access;
mod audit;
mod jobs;
mod limits;
mod serve;
mod setup;
mod status;
mod worker;

pub(crate) use serve::serve;
pub(crate) use worker::worker;

use crate::{
    CliContext,
    args::{DrainArgs, Fleet, FleetUrl, PruneArgs},
};
use haft_app::{Failure, token};
use haft_engine::new_session_id;
use haft_fleet::{
    self, ADMIN, Database, FleetKey, JobsWanted, NewJob, Owner, OwnerLine, Paused, Pruned, new_job,
};
use haft_present::{counted, safe};
use haft_terminal::{Exit, table::Table};
use serde_json::{Value, json};
use std::io::{Write, stdout};

/// Carries out a subcommand. A command that changes something is in the audit log of the fleet before and after it
/// runs.
pub(crate) async fn fleet(cli: &CliContext, command: Fleet) -> Result<Exit, Failure> {
    if let Fleet::Migrate { fleet } = &command {
        migrate(&address(cli, fleet)?).await?;
        return Ok(Exit::Success);
    }
    let database = open(cli, command.url()).await?;
    let asked = audit::begin(cli, &database, &command).await?;
    let done = carry_out(cli, &database, command).await;
    audit::end(&database, asked, &done).await;
    done
}

async fn carry_out(cli: &CliContext, database: &Database, command: Fleet) -> Result<Exit, Failure> {
    match command {
        Fleet::Migrate { .. } => {}
        Fleet::Status { json, .. } => status::status(database, json).await?,
        Fleet::Top { .. } => status::top(database).await?,
        Fleet::List { status, owner, queue, limit, json, .. } => {
            let owner = owner.map(Owner);
            let wanted = JobsWanted { statuses: status, queue: queue.as_deref(), after: None, most: limit };
            return jobs::list(database, owner.as_ref(), &wanted, json).await;
        }
        Fleet::Show { id, json, .. } => jobs::show(database, &id, json).await?,
        Fleet::Logs { id, follow, .. } => jobs::logs(database, &id, follow).await?,
        Fleet::Cancel { id, json, .. } => jobs::cancel(database, &id, json).await?,
        Fleet::Pause { owner, queue, json, .. } => pause(database, owner, queue, json).await?,
        Fleet::Resume { owner, queue, json, .. } => resume(database, owner, queue, json).await?,
        Fleet::Limit(args) => limits::limit(database, &args).await?,
        Fleet::Drain(args) => drain(database, args).await?,
        Fleet::Access(args) => access::access(database, args).await?,
        Fleet::Prune(args) => prune(database, &args).await?,
        Fleet::Audit { owner, json, .. } => return audit::log(cli, database, owner.as_deref(), json).await,
        Fleet::Retry { id, json, .. } => jobs::retry(database, &id, json).await?,
        Fleet::Storage { address, database: is_database, json, .. } => {
            storage(database, address, is_database, json).await?;
        }
        Fleet::Setup { commands, file, remove, queue, json, .. } => {
            let change = setup::change(commands, file.as_deref(), remove)?;
            setup::setup(database, &queue, change, json).await?;
        }
        Fleet::Secret { name: None, json, .. } => setup::list_secrets(database, json).await?,
        Fleet::Secret { name: Some(name), remove: true, queue, json, .. } => {
            setup::remove_secret(database, (&queue, &name), json).await?;
        }
        Fleet::Secret { name: Some(name), remove: false, queue, json, .. } => {
            let key = fleet_key(cli)?.ok_or_else(setup::no_key)?;
            setup::set_secret(database, &key, (&queue, &name), json).await?;
        }
        Fleet::Owner { name, log_out, remove, json, .. } => {
            owner(database, name, (log_out, remove), json).await?
        }
        Fleet::Add { kind, description, repository, base, priority, owner, queue, json, .. } => {
            let new = new_job(cli, new_session_id(), kind, description, Owner(owner))?;
            add(database, &NewJob { repository, base, priority, queue, ..new }, json).await?;
        }
    }
    Ok(Exit::Success)
}

async fn add(database: &Database, job: &NewJob, json: bool) -> Result<(), Failure> {
    if job.owner.0 == ADMIN {
        haft_fleet::add_owner(database, &job.owner, None).await?;
    }
    haft_fleet::add(database, job).await?;
    say(json, &json!({"job": job.id.0}), &job.id.0)
}

async fn add_owner(database: &Database, name: String) -> Result<(), Failure> {
    let token = token::random()?;
    haft_fleet::add_owner(database, &Owner(name), Some(&token)).await?;
    writeln!(stdout(), "{token}")?;
    Ok(())
}

async fn migrate(address: &str) -> Result<(), Failure> {
    let made = haft_fleet::migrate(address).await?;
    match made.from == made.to {
        true => writeln!(stdout(), "the tables already have version {}", made.to)?,
        false => writeln!(stdout(), "the tables have version {}", made.to)?,
    }
    Ok(())
}

/// Pauses an owner or a queue, or the whole fleet if both are `None`.
async fn pause(
    database: &Database,
    owner: Option<String>,
    queue: Option<String>,
    json: bool,
) -> Result<(), Failure> {
    let (object, paused) = (json!({"owner": owner, "queue": queue, "paused": true}), paused(owner, queue));
    if !haft_fleet::pause(database, &paused).await? {
        return Err(Failure::usage(format!("the fleet has no owner {}", whose(&paused)))
            .hint("`haft fleet owner NAME` creates one"));
    }
    say(json, &object, &format!("paused {}; running jobs continue", whose(&paused)))
}

/// Resumes an owner or a queue, or the whole fleet if both are `None`.
async fn resume(
    database: &Database,
    owner: Option<String>,
    queue: Option<String>,
    json: bool,
) -> Result<(), Failure> {
    let (object, paused) = (json!({"owner": owner, "queue": queue, "paused": false}), paused(owner, queue));
    if !haft_fleet::unpause(database, &paused).await? {
        return Err(Failure::usage(format!("{} is not paused", whose(&paused)))
            .hint("`haft fleet status` shows what is paused"));
    }
    say(json, &object, &format!("resumed {}", whose(&paused)))
}

/// Drains the worker `worker`, or all workers if it is `None`.
async fn drain(database: &Database, args: DrainArgs) -> Result<(), Failure> {
    let DrainArgs { worker, undo, json, .. } = args;
    let told = haft_fleet::drain(database, worker.as_deref(), !undo).await?;
    if told == 0 {
        let called = worker.map(|name| format!(" named `{name}`")).unwrap_or_default();
        let what = if undo { "is draining" } else { "has reported in the last minute" };
        return Err(
            Failure::usage(format!("no worker{called} {what}")).hint("`haft fleet status` lists them")
        );
    }
    match undo {
        true => {
            let workers = counted(told, "worker takes", "workers take");
            say(json, &json!({"draining": 0, "resumed": told}), &format!("{workers} jobs again"))
        }
        false => {
            let workers = counted(told, "worker", "workers");
            say(json, &json!({"draining": told}), &format!("draining {workers}"))
        }
    }
}

async fn prune(database: &Database, args: &PruneArgs) -> Result<(), Failure> {
    let PruneArgs { days, dry_run, json, .. } = *args;
    let Pruned { jobs, entries, contents } = haft_fleet::prune(database, days, dry_run).await?;
    let object = json!({"jobs": jobs, "entries": entries, "contents": contents, "dry_run": dry_run});
    let done = if dry_run { "would remove" } else { "removed" };
    let jobs = counted(jobs, "job", "jobs");
    let entries = counted(entries, "entry", "entries");
    let contents = counted(contents, "content of a file", "contents of files");
    say(json, &object, &format!("{done} {jobs}, with {entries} and {contents}"))
}

/// Shows where contents are stored, or changes that.
async fn storage(
    database: &Database,
    address: Option<String>,
    in_database: bool,
    json: bool,
) -> Result<(), Failure> {
    let is_change = in_database || address.is_some();
    if is_change {
        haft_fleet::set_storage(database, address.as_deref()).await?;
    }
    let stored = haft_fleet::storage(database).await?;
    let place = stored.as_ref().map_or_else(|| "the database".to_owned(), |address| format!("`{address}`"));
    let text = match is_change {
        true => {
            format!("new contents of changed files are stored in {place}; earlier ones stay where they are")
        }
        false => format!("contents of changed files are stored in {place}"),
    };
    say(json, &json!({"storage": stored}), &text)
}

async fn owners(database: &Database, json: bool) -> Result<(), Failure> {
    let all = haft_fleet::owners(database).await?;
    if json {
        let object =
            |line: &OwnerLine| json!({"owner": line.owner.0, "has_token": line.has_token, "jobs": line.jobs});
        writeln!(stdout(), "{}", json!(all.iter().map(object).collect::<Vec<_>>()))?;
        return Ok(());
    }
    let mut table = Table::new(["OWNER", "TOKEN", "JOBS"]);
    for OwnerLine { owner, has_token, jobs } in all {
        table.row([owner.0, if has_token { "yes" } else { "no" }.to_owned(), jobs.to_string()]);
    }
    table.print("no owners: `haft fleet owner NAME` creates one")?;
    Ok(())
}

/// Lists owners, or adds one, ends its logins or removes it.
async fn owner(
    database: &Database,
    name: Option<String>,
    (log_out, remove): (bool, bool),
    json: bool,
) -> Result<(), Failure> {
    match name {
        None => owners(database, json).await,
        Some(name) if log_out => end_logins(database, Owner(name)).await,
        Some(name) if remove => {
            haft_fleet::remove_owner(database, &Owner(name.clone())).await?;
            say(json, &json!({"owner": name, "removed": true}), &format!("removed `{}`", safe::name(&name)))
        }
        Some(name) => add_owner(database, name).await,
    }
}

async fn end_logins(database: &Database, owner: Owner) -> Result<(), Failure> {
    let ended = haft_fleet::end_logins(database, &owner).await?;
    writeln!(stdout(), "ended {} of `{}`", counted(ended, "login", "logins"), safe::name(&owner.0))?;
    Ok(())
}

/// The address of the database: the option, otherwise the environment.
pub(crate) fn address(cli: &CliContext, url: &FleetUrl) -> Result<String, Failure> {
    let known = url.fleet.clone().or_else(|| cli.environment.get("HAFT_FLEET").map(str::to_owned));
    known.ok_or_else(|| {
        Failure::usage("no fleet database given").hint(
            "pass `--fleet postgres://USER@HOST/DATABASE`, or set HAFT_FLEET, which hides it from other programs",
        )
    })
}

/// The key that encrypts the fleet's secrets, if the environment has it.
fn fleet_key(cli: &CliContext) -> Result<Option<FleetKey>, Failure> {
    let key = cli.environment.get("HAFT_FLEET_KEY").map(FleetKey::parse).transpose();
    key.map_err(|error| Failure::usage(format!("cannot read HAFT_FLEET_KEY: {error}")))
}

async fn open(cli: &CliContext, url: &FleetUrl) -> Result<Database, Failure> {
    Ok(Database::open(&address(cli, url)?).await?.with_objects(&cli.environment.variables))
}

/// Prints what was done, for programs or for users.
fn say(json: bool, object: &Value, text: &str) -> Result<(), Failure> {
    match json {
        true => writeln!(stdout(), "{object}")?,
        false => writeln!(stdout(), "{text}")?,
    }
    Ok(())
}

/// What to pause; without an owner and a queue, the whole fleet.
fn paused(owner: Option<String>, queue: Option<String>) -> Paused {
    match (owner, queue) {
        (Some(name), _) => Paused::Owner(Owner(name)),
        (None, Some(name)) => Paused::Queue(name),
        (None, None) => Paused::All,
    }
}

fn whose(paused: &Paused) -> String {
    match paused {
        Paused::All => "the fleet".to_owned(),
        Paused::Owner(Owner(name)) => format!("`{}`", name.escape_debug()),
        Paused::Queue(name) => format!("the queue `{}`", name.escape_debug()),
    }
}

//! [`list`], [`show`], [`logs`], [`cancel`] and [`retry`]: the jobs of a fleet.
use haft_app::Failure;
use haft_fleet::{self, Database, Following, JobLine, JobsWanted, Owner};
use haft_present::safe;
use haft_terminal::{
    Exit,
    signals::Interrupts,
    table::{List, Table},
};
use serde_json::{Value, json};
use std::{
    io::{Write, stdout},
    time::Duration,
};

/// Number of entries that are read at a time.
const ENTRIES_PER_READ: i64 = 500;
/// Interval at which [`logs`] polls, even without a notification.
const HEARTBEAT: Duration = Duration::from_secs(5);
const HEADINGS: [&str; 8] = ["JOB", "KIND", "STATUS", "OWNER", "QUEUE", "WORKER", "TASK", "REASON"];

pub(super) async fn list(
    database: &Database,
    owner: Option<&Owner>,
    wanted: &JobsWanted<'_>,
    json: bool,
) -> Result<Exit, Failure> {
    let mut list = List::new(HEADINGS, json);
    for job in haft_fleet::jobs(database, owner, wanted).await? {
        list.row(row(&job).each_ref().map(String::as_str), || object(&job));
    }
    Ok(list.print("no such jobs: `haft fleet add` queues one")?)
}

/// A table with the columns of [`list`], without a JSON form.
pub(super) fn table(jobs: &[JobLine]) -> Table<8> {
    let mut table = Table::of_ids(HEADINGS);
    jobs.iter().for_each(|job| table.row(row(job)));
    table
}

fn row(job: &JobLine) -> [String; 8] {
    let JobLine { id, kind, status, owner, queue, worker, title, reason, .. } = job;
    let (worker, reason) = (worker.as_deref().unwrap_or_default(), reason.as_deref().unwrap_or_default());
    [id, kind, status, owner, queue, worker, title, reason].map(String::from)
}

fn object(job: &JobLine) -> Value {
    let JobLine { id, owner, queue, kind, title, status, attempts, reason, worker, head, .. } = job;
    let JobLine { conclusion, made, cost_usd, repository, base, priority, .. } = job;
    let output: Option<Value> = conclusion.as_deref().and_then(|whole| serde_json::from_str(whole).ok());
    json!({
        "job": id, "kind": kind, "status": status, "description": title, "owner": owner, "queue": queue,
        "repository": repository, "base": base, "priority": priority, "attempts": attempts, "cost_usd": cost_usd, "worker": worker, "reason": reason, "branch": branch(job), "commit": head, "output": output, "made": made,
    })
}

fn branch(job: &JobLine) -> Option<String> {
    job.head.as_ref().map(|_| format!("haft/{}", job.id))
}

pub(super) async fn show(database: &Database, id: &str, json: bool) -> Result<(), Failure> {
    let mut job = haft_fleet::find(database, id).await?;
    job.title = haft_fleet::description(database, &job).await?;
    if json {
        writeln!(stdout(), "{}", safe::json(&object(&job).to_string()))?;
        return Ok(());
    }
    let branch = branch(&job);
    let cost = (job.cost_usd > 0.0).then(|| format!("${:.4}", job.cost_usd));
    let made = jiff::Timestamp::from_second(job.made as i64).ok().map(|made| made.to_string());
    let JobLine { id, owner, queue, kind, title, status, attempts, reason, worker, head, .. } = job;
    let priority = (job.priority != 0).then(|| job.priority.to_string());
    let rows = [
        ("job", Some(id)),
        ("kind", Some(kind)),
        ("status", Some(status)),
        ("description", Some(title)),
        ("owner", Some(owner)),
        ("queue", Some(queue)),
        ("priority", priority),
        ("repository", job.repository),
        ("base", job.base),
        ("added", made),
        ("attempts", Some(attempts.to_string())),
        ("cost", cost),
        ("worker", worker),
        ("reason", reason),
        ("branch", branch),
        ("commit", head),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            // Further lines are indented below the first one.
            let lines = value.trim_end().replace('\n', &format!("\n{:13}", ""));
            writeln!(stdout(), "{name:<12} {}", safe::text(&lines))?;
        }
    }
    Ok(())
}

/// Prints the entries of the job's own session; with `follow`, also new ones until the job ends or Ctrl+C.
pub(super) async fn logs(database: &Database, id: &str, follow: bool) -> Result<(), Failure> {
    let id = haft_fleet::find(database, id).await?.id;
    let (mut interrupts, mut following, mut next) =
        (Interrupts::listen()?, Following::recorded(database, &id), 0);
    loop {
        // Read first: if the job has already ended, no entries are added afterwards.
        let is_over = haft_fleet::find(database, &id).await?.is_over();
        let lines = haft_fleet::entries_since(database, &id, next, ENTRIES_PER_READ).await?;
        let is_more = lines.len() as i64 == ENTRIES_PER_READ;
        for (seq, line) in lines {
            next = seq + 1;
            writeln!(stdout(), "{}", safe::json(&line))?;
        }
        if is_more {
            continue;
        }
        if is_over || !follow {
            return Ok(());
        }
        tokio::select! {
            () = interrupts.next() => return Ok(()),
            _news = following.next(u64::try_from(next).unwrap_or(0), HEARTBEAT) => {}
        }
    }
}

pub(super) async fn cancel(database: &Database, id: &str, json: bool) -> Result<(), Failure> {
    let job = haft_fleet::find(database, id).await?;
    if !job.can_be_cancelled() {
        return Err(Failure::usage(format!("the job `{}` has ended: it is {}", job.id, job.status)));
    }
    haft_fleet::cancel(database, &job.id, None).await?;
    // A job without a worker is ended here; any other is ended by its worker.
    let done = if matches!(job.status.as_str(), "pending" | "dead") { "canceled" } else { "stopping" };
    super::say(json, &json!({"job": job.id, "done": done}), &format!("{done} {}", job.id))
}

pub(super) async fn retry(database: &Database, id: &str, json: bool) -> Result<(), Failure> {
    let job = haft_fleet::find(database, id).await?;
    if !haft_fleet::retry(database, &job.id, None).await? {
        return Err(Failure::usage(format!(
            "the job `{}` cannot be tried again: it is {}, and only a job that failed, was canceled or ran out of attempts can",
            job.id, job.status
        ))
        .hint("`haft fleet list` lists jobs"));
    }
    super::say(json, &json!({"job": job.id, "done": "requeued"}), &format!("requeued {}", job.id))
}

//! [`list`] and [`show`]: list the jobs, and show what a job has done.
use crate::CliContext;
use haft_app::{
    Failure,
    jobs::{
        Job,
        schedule::{self, Schedule},
    },
};
use haft_core::{Fact, JobSpec, JobStatus, JobSummary, Seq, SessionId};
use haft_engine::TurnReport;
use haft_present::safe;
use haft_terminal::{Exit, object::object as turn_object, table::List};
use serde_json::{Value, json};
use std::io::{Write, stdout};

pub(super) fn list(cli: &CliContext, json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["JOB", "KIND", "STATUS", "ROUNDS", "TASK", "PROGRESS"], json);
    for (id, standing) in cli.home().jobs() {
        let standing = with_lost_process(cli, &id, standing);
        let JobSummary { order, status, rounds, progress, .. } = &standing;
        let (title, progress) = (first_line(&order.description, 40), first_line(progress, 50));
        let row = [&id.0, &order.kind, &status.to_string(), &rounds.to_string(), &title, &progress];
        list.row(row.map(String::as_str), || object(&id, &standing));
    }
    let plans = schedule::list(&cli.home());
    for (name, plan) in plans.readable {
        let (title, next) = (first_line(&plan.description, 40), plan.next.to_string());
        let row = [&name, &plan.kind, "planned", "", &title, &format!("next {next}")];
        list.row(row, || scheduled(&name, &plan));
    }
    let exit = list.print("There are no jobs yet: `haft build \"TEXT\"` starts one.")?;
    plans.unreadable.into_iter().for_each(|(_, failure)| cli.warn(failure.message));
    Ok(exit)
}

/// Changes the summary of a job whose process has ended: it says so instead of the job's last progress.
fn with_lost_process(cli: &CliContext, id: &SessionId, summary: JobSummary) -> JobSummary {
    if summary.status != JobStatus::Waiting || cli.home().is_open(id) {
        return summary;
    }
    JobSummary { progress: "its process ended: `haft jobs retry`".to_owned(), ..summary }
}

/// A schedule as JSON.
fn scheduled(name: &str, plan: &Schedule) -> Value {
    let next = plan.next.to_string();
    json!({"plan": name, "kind": plan.kind, "description": plan.description, "origin": plan.origin,
           "rhythm": plan.recurrence, "zone": plan.zone, "next": next})
}

/// Shows a job or a schedule.
pub(super) fn show(cli: &CliContext, id: &str, json: bool) -> Result<Exit, Failure> {
    if let Some((name, plan)) = schedule::find(&cli.home(), id)? {
        if json {
            writeln!(stdout(), "{}", safe::json(&scheduled(&name, &plan).to_string()))?;
            return Ok(Exit::Success);
        }
        let begins = plan.to_string();
        return print(vec![
            ("plan", name),
            ("kind", plan.kind),
            ("status", "planned".to_owned()),
            ("description", plan.description),
            ("in", plan.origin.display().to_string()),
            ("begins", begins),
            ("next", plan.next.to_string()),
        ]);
    }
    let (id, standing) = cli.jobs().find(id)?;
    let standing = with_lost_process(cli, &id, standing);
    let folder = cli.jobs().folder(&id);
    if json {
        let mut object = object(&id, &standing);
        object["folder"] = json!(folder);
        writeln!(stdout(), "{}", safe::json(&object.to_string()))?;
        return Ok(Exit::Success);
    }
    let folder = folder.map(|folder| ("folder", folder.display().to_string()));
    let JobSummary { order, status, rounds, progress, conclusion } = standing;
    let mut rows = vec![
        ("job", id.0),
        ("type", type_of(&order)),
        ("kind", order.kind),
        ("status", status.to_string()),
        ("description", order.description),
        ("in", order.origin.display().to_string()),
        ("rounds", rounds.to_string()),
        ("progress", progress),
    ];
    rows.extend(order.branch.map(|branch| ("branch", branch)));
    rows.extend(folder);
    let evidence = conclusion.into_iter().flat_map(|conclusion| conclusion.evidence);
    rows.extend(evidence.map(|piece| ("evidence", piece.to_string())));
    print(rows)
}

fn print(rows: Vec<(&str, String)>) -> Result<Exit, Failure> {
    for (name, value) in rows {
        writeln!(stdout(), "{name:<12} {}", safe::text(&value))?;
    }
    Ok(Exit::Success)
}

/// Prints the journal, one entry per line.
pub(super) fn logs(cli: &CliContext, id: &str) -> Result<Exit, Failure> {
    let (id, _) = cli.jobs().find(id)?;
    for entry in cli.home().peek(&id.0)? {
        writeln!(stdout(), "{}", haft_present::lines::entry(&entry))?;
    }
    Ok(Exit::Success)
}

/// The JSON object that `--output json` prints at the end of a job: the data of `haft jobs show`, and the result and
/// the usage of its turns since `from`.
pub(super) fn ended(job: &Job, from: Seq) -> Value {
    let entries = job.session.entries();
    let turns = turn_object(&job.session, &TurnReport::of(entries.iter().filter(|entry| entry.seq >= from)));
    let Some(standing) = JobSummary::of(&entries, true) else { return turns };
    let mut ended = object(job.session.id(), &standing);
    for (name, value) in turns.as_object().into_iter().flatten() {
        ended[name] = value.clone();
    }
    // The job may have failed even if each turn ended well.
    let conclusion = standing.conclusion.filter(|conclusion| conclusion.status != JobStatus::Completed);
    if let Some(conclusion) = conclusion {
        ended["error"] = json!(conclusion.reason);
    }
    ended
}

/// Prints the last entry of a job that has ended: its conclusion.
pub(super) fn print_end(job: &Job) -> std::io::Result<()> {
    let entries = job.session.entries();
    let end = entries.iter().rev().find(|entry| matches!(entry.fact, Fact::JobFinished(_)));
    end.map_or(Ok(()), |entry| writeln!(stdout(), "{}", haft_present::lines::entry(entry)))
}

fn object(id: &SessionId, standing: &JobSummary) -> Value {
    let JobSummary { order, status, rounds, progress, conclusion } = standing;
    json!({
        "job": id, "type": type_of(order), "kind": order.kind, "status": status,
        "description": order.description, "input": {"description": order.description}, "branch": order.branch,
        "origin": order.origin, "rounds": rounds, "progress": progress,
        "output": conclusion.as_ref().map(|conclusion| json!({
            "status": conclusion.status, "reason": conclusion.reason, "evidence": conclusion.evidence,
        })),
    })
}

fn type_of(order: &JobSpec) -> String {
    if order.job_type.is_empty() { order.kind.clone() } else { order.job_type.clone() }
}

fn first_line(text: &str, most: usize) -> String {
    let line: String = text.lines().next().unwrap_or_default().chars().take(most).collect();
    safe::name(&line).into()
}

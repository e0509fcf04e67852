//! [`attempts`] (`haft attempts`): lists the attempts of a session at its goal, and shows their differences.
use crate::{CliContext, args::AttemptsCommand};
use haft_app::{
    Failure,
    attempts::{Attempts, Differing, PastAttempt},
};
use haft_core::AttemptResult;
use haft_present::{diff, safe};
use haft_terminal::{Exit, table::List};
use serde_json::json;
use std::{
    io::{Write, stdout},
    slice,
};

/// `haft attempts …`
pub(crate) fn attempts(cli: &CliContext, command: AttemptsCommand) -> Result<Exit, Failure> {
    match command {
        AttemptsCommand::List { session, json } => list(&cli.attempts(session.as_deref())?, json),
        AttemptsCommand::Diff { number, other, session, json } => {
            let attempts = cli.attempts(session.as_deref())?;
            let differing = attempts.diff(number, other)?;
            show(&attempts, &differing, json)
        }
    }
}

fn list(attempts: &Attempts, is_json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["ATTEMPT", "RESULT", "FILES", "LINES", "COST", "SESSION", "WHY"], is_json);
    for attempt in &attempts.all {
        let sum = |of: fn((usize, usize)) -> usize| {
            attempt.files.iter().map(|file| of((file.added, file.removed))).sum::<usize>()
        };
        let lines = format!("+{} -{}", sum(|(added, _)| added), sum(|(_, removed)| removed));
        let cost = attempt.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}"));
        let (number, files) = (attempt.number.to_string(), attempt.files.len().to_string());
        let why = attempt.why.as_deref().unwrap_or_default();
        list.row([&number, result(attempt), &files, &lines, &cost, &attempt.session.0, why], || {
            json!(attempt)
        });
    }
    Ok(list.print("No attempt has ended.")?)
}

fn result(attempt: &PastAttempt) -> &'static str {
    match attempt.result {
        AttemptResult::Won => "won",
        AttemptResult::Passed => "passed",
        AttemptResult::Missed => "missed",
        AttemptResult::Stopped => "stopped",
    }
}

fn show(attempts: &Attempts, differing: &[Differing], is_json: bool) -> Result<Exit, Failure> {
    let mut stdout = stdout().lock();
    for Differing { change, added, removed } in differing {
        let text = diff::of_all(attempts, slice::from_ref(change));
        if is_json {
            let (path, kind) = (&change.path, change.kind());
            let line = json!({"path": path, "kind": kind, "added": added, "removed": removed, "diff": text});
            writeln!(stdout, "{}", safe::json(&line.to_string()))?;
        } else {
            write!(stdout, "{text}")?;
        }
    }
    if differing.is_empty() && !is_json {
        writeln!(stdout, "no file differs")?;
    }
    Ok(Exit::Success)
}

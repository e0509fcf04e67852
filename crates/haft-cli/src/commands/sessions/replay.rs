//! [`replay`] (`haft sessions replay`): runs the recorded calls of a session again, and prints where the results
//! differ.
use crate::{CliContext, args::ReplayArgs};
use haft_app::{
    Failure,
    replay::{OtherModel, Refusal, ReplayOptions, ReplayReport, Shown, not_made_again},
};
use haft_core::SessionOpened;
use haft_engine::Chat;
use haft_present::{
    counted, safe,
    words::{Style, Words},
};
use haft_terminal::{Exit, signals::Interrupts};
use std::io::{Write, stderr, stdout};

/// Runs the session again, and prints the first difference.
pub(super) async fn replay(cli: &CliContext, args: ReplayArgs) -> Result<Exit, Failure> {
    let ReplayArgs { id, model, base_url, from, permission, json } = args;
    let other = model.map(|spec| OtherModel { spec, base_url, from: from as usize });
    let mut replay =
        cli.replay(&id, &ReplayOptions { other, permission, ..ReplayOptions::default() }).await?;
    let mut interrupts = Interrupts::listen()?;
    let mut words = Words::new(stdout(), stderr(), Style::default(), Chat::default());
    let mut show = |shown: Shown<'_>| match shown {
        _ if json => Ok(()),
        Shown::Prompt(text) => writeln!(stdout(), "\n> {}", safe::text(text)),
        Shown::Event(event) => words.event(event),
    };
    let report = tokio::select! {
        report = replay.run(&mut show) => Some(report?),
        () = interrupts.next() => None,
    };
    interrupts.or_leave(replay.close()).await;
    match report {
        None => Ok(Exit::Interrupted),
        Some(ReplayReport { refused: Some(refusal), .. }) => Err(refused(refusal)),
        Some(report) => print(cli, &report, json),
    }
}

fn refused(Refusal { seq, name, reason }: Refusal) -> Failure {
    let place = seq.map_or(String::new(), |seq| format!("entry {seq}: "));
    Failure {
        exit: Exit::Refused,
        ..Failure::usage(format!("{place}`{name}` was not run again: {reason}")).hint(
            "`--permission full` runs it in a copy of the workspace; what lies outside the copy is not isolated",
        )
    }
}

fn print(cli: &CliContext, report: &ReplayReport, json: bool) -> Result<Exit, Failure> {
    let ReplayReport { session, rounds, calls, not_again, difference, outcome, .. } = report;
    if json {
        let line = serde_json::to_string(report).map_err(anyhow::Error::from)?;
        writeln!(stdout(), "{}", safe::json(&line))?;
    } else if let Some(difference) = difference {
        writeln!(stdout(), "{}", safe::text(&difference.to_string()))?;
    } else {
        let (rounds, calls) = (counted(*rounds, "round", "rounds"), counted(*calls, "call", "calls"));
        let entries = cli.home().peek(&session.0)?;
        let workspace = SessionOpened::of(&entries).map(|opened| opened.workspace.display().to_string());
        let place = safe::text(&workspace.unwrap_or_default()).into_owned();
        writeln!(stdout(), "no difference: {calls} in {rounds}, in a copy of `{place}`")?;
        if let Some(line) = not_made_again(*not_again) {
            writeln!(stdout(), "{line}")?;
        }
    }
    let after = outcome.map_or(Exit::Success, Exit::from);
    Ok(if difference.is_some() { Exit::Failed } else { after })
}

//! [`doctor`] (`haft doctor`): shows what this machine supports, what is missing, and what to do about it.
use super::screen_setup;
use crate::{CliContext, args::DoctorArgs};
use haft_app::{
    Failure,
    config::Settings,
    diagnosis::{Finding, State},
    session,
};
use haft_present::safe;
use haft_terminal::{Exit, document};
use serde_json::json;
use std::io::{Write, stdout};

/// Indent of the lines below a finding.
const INDENT: &str = "           ";

/// Prints a line for each finding, advice below it, and a summary; with `--json`, an object for each finding.
pub(crate) async fn doctor(cli: &CliContext, args: &DoctorArgs) -> Result<Exit, Failure> {
    let (mut good, mut optional, mut missing) = (0, 0, Vec::new());
    let mut print = |Finding { state, what, finding, advice }| {
        let word = match state {
            State::Ok => "ok",
            State::Optional => "-",
            State::Missing => "missing",
        };
        if args.json {
            let state = if state == State::Optional { "optional" } else { word };
            let object = json!({"state": state, "what": what, "finding": finding, "advice": advice});
            writeln!(stdout(), "{}", safe::json(&object.to_string())).ok();
        } else {
            print_finding(word, &what, &finding, &advice);
        }
        match state {
            State::Ok => good += 1,
            State::Optional => optional += 1,
            State::Missing => missing.push(what),
        }
    };
    let workspace = session::workspace(args.cwd.as_deref())?;
    if let Ok(config) = cli.config(&workspace, &Settings::default())
        && let Err(Failure { message, hint, .. }) = screen_setup::check(cli, &config)
    {
        let advice = hint.into_iter().collect();
        print(Finding { state: State::Missing, what: "screen".to_owned(), finding: message, advice });
    }
    cli.diagnose(&workspace, &mut print).await?;
    let mut summary = format!("{good} ok, {optional} optional, {} missing", missing.len());
    if !missing.is_empty() {
        summary += &format!(": {}", missing.join(", "));
    }
    if !args.json {
        write!(stdout(), "{}", document::item("", &safe::name(&summary)))?;
    }
    Ok(if missing.is_empty() { Exit::Success } else { Exit::Failed })
}

fn print_finding(word: &str, what: &str, finding: &str, advice: &[String]) {
    let line = format!("{what}: {finding}");
    let mut text = document::item(&format!("{word:<8} "), &safe::name(&line));
    text.extend(advice.iter().map(|line| document::item(INDENT, &safe::name(line))));
    write!(stdout(), "{text}").ok();
}

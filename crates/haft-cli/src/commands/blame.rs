//! [`blame`] (`haft blame`): shows which call wrote each line of a file.
use crate::{CliContext, args::BlameArgs};
use haft_app::{
    Failure,
    blame::{Approval, Blame, BlamedCall, BlamedLine, Origin},
};
use haft_present::safe;
use haft_terminal::Exit;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};
use std::{
    io::{Write, stdout},
    path::Path,
};

/// Number of characters of a session's ID that are printed before each line: date and time.
const SESSION: usize = 15;

/// `haft blame`
pub(crate) fn blame(cli: &CliContext, args: &BlameArgs) -> Result<Exit, Failure> {
    let (file, line) = target(&args.target);
    let blame = cli.blame(Path::new(file))?;
    let lines = match line {
        None => &blame.lines[..],
        Some(line) => {
            let place = line.checked_sub(1).filter(|place| *place < blame.lines.len());
            let place = place.ok_or_else(|| {
                let count = blame.lines.len();
                Failure::usage(format!("`{file}` has no line {line}: it has {count}"))
            })?;
            &blame.lines[place..=place]
        }
    };
    let mut stdout = stdout().lock();
    for line in lines {
        if args.json {
            writeln!(stdout, "{}", as_json(&blame, line))?;
        } else {
            let origin = origin(&blame, line.origin);
            writeln!(stdout, "{origin:<25} {:>5}  {}", line.number, safe::text(&line.text))?;
        }
    }
    if let ([BlamedLine { origin: Origin::Call(call), .. }], Some(_), false) = (lines, line, args.json) {
        tell(&mut stdout, &blame.calls[*call])?;
    }
    Ok(Exit::Success)
}

/// Splits `FILE:LINE`, unless a file has exactly that name.
fn target(written: &str) -> (&str, Option<usize>) {
    let split = written.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    match split {
        Some((file, line)) if !Path::new(written).exists() => (file, Some(line)),
        _ => (written, None),
    }
}

fn origin(blame: &Blame, origin: Origin) -> String {
    match origin {
        Origin::Call(call) => {
            let call = &blame.calls[call];
            let session: String = call.session.0.chars().take(SESSION).collect();
            match &call.attempt {
                Some(attempt) => format!("{session} attempt {}", attempt.number),
                None => format!("{session} call {}", number(call)),
            }
        }
        Origin::Undo => "an undo".to_owned(),
        Origin::Outside => "outside".to_owned(),
        Origin::Before => "before".to_owned(),
    }
}

fn number(call: &BlamedCall) -> String {
    call.call.map_or_else(|| "undone".to_owned(), |number| number.to_string())
}

fn tell(out: &mut impl Write, call: &BlamedCall) -> Result<(), Failure> {
    let when = i64::try_from(call.at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let when = when.map(|when| when.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    let approval = match call.approval {
        Approval::NotAsked => "not asked for: a rule, the mode or an earlier answer allowed it",
        Approval::Once => "yes",
        Approval::Always => "yes, and to all that is alike in the session",
        Approval::Part => "yes, to a part of it",
        Approval::Edited => "yes, as edited by the person who was asked",
    };
    let tests = match call.tests.first() {
        None => "none ran afterward in this session".to_owned(),
        Some(run) => {
            let ended = if run.ok { "passed" } else { "failed" };
            format!("`{}` {ended} afterward (entry {})", run.command, run.entry)
        }
    };
    let made = match &call.attempt {
        Some(attempt) => ("attempt", format!("{} (in the session {})", attempt.number, attempt.session)),
        None => ("call", format!("{} (entry {}): {}", number(call), call.entry, call.tool)),
    };
    let rows = [
        made,
        ("session", format!("{} ({})", call.session.0, call.title)),
        ("when", when.unwrap_or_default()),
        ("model", call.model.clone()),
        ("prompt", call.prompt.clone()),
        ("approval", approval.to_owned()),
        ("tests", tests),
    ];
    for (name, value) in rows {
        writeln!(out, "{name:<9} {}", safe::name(&value))?;
    }
    Ok(())
}

fn as_json(blame: &Blame, line: &BlamedLine) -> Value {
    let origin = match line.origin {
        Origin::Call(call) => {
            let call = &blame.calls[call];
            let approved_by = if call.approval == Approval::NotAsked { "policy" } else { "person" };
            let mut call = json!(call);
            call["approved_by"] = json!(approved_by);
            call
        }
        Origin::Undo => json!({"origin": "undo"}),
        Origin::Outside => json!({"origin": "outside"}),
        Origin::Before => json!({"origin": "before"}),
    };
    let mut object = json!({"line": line.number, "text": line.text, "origin": "call"});
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), origin) {
        object.extend(fields);
    }
    object
}

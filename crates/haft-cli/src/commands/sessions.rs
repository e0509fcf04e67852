//! `haft sessions`: what was said and done.
use super::{account, run, talk};
use crate::{
    CliContext,
    args::{ExportForm, ResumeArgs, Sessions},
    failure::Failure,
};
use haft::{
    engine::{Chat, Home, Summary},
    kernel::{Command, Entry, Event, Fact, Outcome, Part, active_path},
    present::{
        lines, safe,
        words::{PREVIEW_LINES, Style, Words, preview},
    },
    terminal::Exit,
};
use serde_json::json;
use std::{
    io::{Write, stdout},
    sync::Arc,
};

/// `haft sessions …`
pub(crate) async fn sessions(context: &CliContext, command: Sessions) -> Result<Exit, Failure> {
    let home = Home(context.places.home.clone());
    match command {
        Sessions::List { json } => list(&home, json),
        Sessions::Show(session) => {
            let entries = entries(&home, &session.id)?;
            show(&entries)?;
            account::print(context, &entries)
        }
        Sessions::Export { id, format: ExportForm::Json } => export_json(&entries(&home, &id)?),
        Sessions::Export { id, format: ExportForm::Markdown } => export_markdown(&entries(&home, &id)?),
        Sessions::Resume(resume) => take_up(context, &home, *resume).await,
    }
}

/// What stands in the session of this name, or of which this is the beginning of the name.
fn entries(home: &Home, id: &str) -> Result<Vec<Arc<Entry>>, Failure> {
    Ok(home.peek(id)?)
}

fn list(home: &Home, json: bool) -> Result<Exit, Failure> {
    let mut stdout = stdout();
    for Summary { id, opened_at, last_at, workspace, model, title, entries, delegated_by } in home.list() {
        if json {
            let line = json!({"session": id, "opened_at": opened_at, "last_at": last_at, "workspace": workspace,
                              "model": model, "title": title, "entries": entries, "delegated_by": delegated_by});
            writeln!(stdout, "{}", safe::json(&line.to_string()))?;
        } else {
            let below = if delegated_by.is_some() { "  └ " } else { "" };
            let (model, title) = (safe::text(&model), safe::text(&title));
            writeln!(stdout, "{below}{id}  {}  {model}  {title}", when(last_at))?;
        }
    }
    Ok(Exit::Success)
}

/// In the person's own time zone.
fn when(ms: u64) -> String {
    let time = jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or_default());
    let zoned = time.map(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map(|zoned| zoned.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
}

fn show(entries: &[Arc<Entry>]) -> Result<(), Failure> {
    let mut words = Words::new(stdout(), stdout(), Style::default(), Chat::default());
    for entry in active_path(entries) {
        if let Fact::Prompted { parts, .. } = &entry.fact {
            writeln!(stdout(), "\n> {}", safe::text(&haft::kernel::text_of(parts)))?;
        }
        words.event(&Event::Recorded(entry.clone()))?;
    }
    Ok(())
}

/// Every entry, abandoned branches too: what the journal holds.
fn export_json(entries: &[Arc<Entry>]) -> Result<Exit, Failure> {
    let mut stdout = stdout().lock();
    for entry in entries {
        writeln!(stdout, "{}", lines::entry(entry))?;
    }
    Ok(Exit::Success)
}

fn export_markdown(entries: &[Arc<Entry>]) -> Result<Exit, Failure> {
    let mut stdout = stdout().lock();
    for entry in active_path(entries) {
        write!(stdout, "{}", safe::text(&markdown(&entry.fact)))?;
    }
    Ok(Exit::Success)
}

fn markdown(fact: &Fact) -> String {
    match fact {
        Fact::SessionOpened { session, model, workspace, .. } => {
            format!("# Session {session}\n\nModel `{model}` in `{}`.\n", workspace.display())
        }
        Fact::Prompted { parts, .. } => format!("\n## Prompt\n\n{}\n", haft::kernel::text_of(parts)),
        Fact::Replied { parts, .. } => parts.iter().map(part).collect(),
        Fact::ToolEnded { name, result, .. } => {
            let mark = if result.is_ok() { "✓" } else { "✗" };
            format!("\n{mark} `{name}`\n\n{}", fenced(&preview(result, PREVIEW_LINES).join("\n")))
        }
        Fact::Staged { changes, .. } | Fact::ChangedBelow { changes, .. } => changes
            .iter()
            .map(|change| format!("\n- `{}`: {:?}\n", change.path.display(), change.kind()))
            .collect(),
        Fact::Unsettled { paths, .. } => {
            paths.iter().map(|path| format!("\n- `{}`: left as it was\n", path.display())).collect()
        }
        Fact::PromptDenied { reason, .. } => format!("\n**A hook denied a prompt:** {reason}\n"),
        Fact::ModelFailed { message, .. } => format!("\n**The model could not be asked:** {message}\n"),
        Fact::TurnEnded { outcome, rounds, .. } => format!("\n*{outcome:?} after {rounds} rounds.*\n"),
        _ => String::new(),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { text } => format!("\n{text}\n"),
        Part::ToolCall(call) => format!("\n`{}` {}", call.name, fenced(&format!("{:#}", call.arguments))),
        Part::Thinking { .. } | Part::Image(_) => String::new(),
    }
}

/// A fence longer than any inside.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("\n{fence}\n{text}\n{fence}\n")
}

/// An unfinished turn is taken up, unless another process is at it; a finished session is talked to.
async fn take_up(context: &CliContext, home: &Home, resume: ResumeArgs) -> Result<Exit, Failure> {
    let entries = entries(home, &resume.id)?;
    let turn = run::with_session(resume.turn, &resume.id, &entries);
    let unfinished = is_unfinished(&active_path(&entries));
    let is_free = !home.find(&resume.id).is_ok_and(|id| home.is_open(&id));
    match unfinished && is_free {
        true => run::start(context, &turn, Command::Continue).await,
        false if crate::has_screen(context, &turn) => talk::screen(context, &turn).await,
        false => talk::chat(context, &turn).await,
    }
}

/// A turn that failed can be tried again, one that was cut off or had no more rounds can go on.
fn is_unfinished(path: &[&Arc<Entry>]) -> bool {
    let mut facts = path.iter().rev().map(|entry| &entry.fact);
    match facts.next() {
        Some(Fact::TurnEnded { outcome: Outcome::Failed, .. }) => true,
        Some(Fact::TurnEnded { outcome: Outcome::RoundLimit, .. }) => {
            matches!(facts.next(), Some(Fact::RoundsReached { .. }))
        }
        None | Some(Fact::TurnEnded { .. } | Fact::SessionOpened { .. } | Fact::Rewound { .. }) => false,
        Some(_) => true,
    }
}

//! [`sessions`] (`haft sessions`): lists, shows and resumes sessions.
mod gc;
mod replay;
mod search;

use super::{account, look::of_questions, run, talk};
use crate::{
    CliContext,
    args::{ExportForm, Form, ResumeArgs, Sessions, TurnArgs},
};
use haft_app::{Failure, export::ExportFormat, session};
use haft_core::{Command, Entry, Event, Fact, LastTurn, Part, Seq, SessionOpened, active_path};
use haft_engine::{Chat, Home, Summary};
use haft_present::{
    age::age,
    lines, safe,
    words::{Style, Words},
};
use haft_serve::export_html;
use haft_terminal::{
    Exit,
    table::{BELOW, Table, end_of, short},
    tui::menu,
};
use serde_json::json;
use std::{
    collections::{HashMap, HashSet},
    io::{Write, stdout},
    sync::Arc,
};

/// `haft sessions …`
pub(crate) async fn sessions(cli: &CliContext, command: Sessions) -> Result<Exit, Failure> {
    let home = cli.home();
    match command {
        Sessions::List { json } => list(cli, &home, json),
        Sessions::Search { text, json } => search::search(&home, &text, json),
        Sessions::Rm { id, json } => remove(&home, &id, json),
        Sessions::Show { id, json } => {
            let newest = || session::workspace(None).and_then(|workspace| cli.newest(&workspace));
            let entries = entries(&home, &id.map_or_else(newest, Ok)?)?;
            if json {
                let mut path = active_path(&entries).into_iter();
                path.try_for_each(|entry| writeln!(stdout(), "{}", lines::entry(entry)))?;
                return Ok(Exit::Success);
            }
            show(&entries)?;
            account::print(cli, &entries)
        }
        Sessions::Fork { id, at, json } => fork(&home, &id, at.map(Seq), json),
        Sessions::Rename { id, name, json } => rename(&home, &id, &name, json),
        Sessions::Replay(given) => replay::replay(cli, given).await,
        Sessions::Gc { dry_run, json } => gc::gc(&home, dry_run, json),
        Sessions::Export { id, json: true, .. } => export(cli, &id, ExportFormat::Json),
        Sessions::Export { id, format: ExportForm::Html, .. } => {
            write!(stdout(), "{}", export_html(cli, &id)?)?;
            Ok(Exit::Success)
        }
        Sessions::Export { id, format: ExportForm::Json, .. } => export(cli, &id, ExportFormat::Json),
        Sessions::Export { id, format: ExportForm::Markdown, .. } => export(cli, &id, ExportFormat::Markdown),
        Sessions::Resume(given) => resume(cli, *given).await,
    }
}

/// The entries of the session with this name, or the only one whose name begins with it.
fn entries(home: &Home, id: &str) -> Result<Vec<Arc<Entry>>, Failure> {
    Ok(home.peek(id)?)
}

/// Removes a session and the sessions of its subagents.
fn remove(home: &Home, id: &str, json: bool) -> Result<Exit, Failure> {
    for id in home.remove(id)?.iter().rev() {
        match json {
            true => writeln!(stdout(), "{}", json!({"deleted": id}))?,
            false => writeln!(stdout(), "deleted {id}")?,
        }
    }
    Ok(Exit::Success)
}

fn fork(home: &Home, id: &str, at: Option<Seq>, json: bool) -> Result<Exit, Failure> {
    let forked = home.fork(id, at)?;
    let mut stdout = stdout();
    if !json {
        writeln!(stdout, "{forked}")?;
        return Ok(Exit::Success);
    }
    let opened = home.peek(&forked.0)?;
    let Some(SessionOpened { forked_from, .. }) = SessionOpened::of(&opened) else {
        return Err(Failure::failed(format!("cannot read the session `{forked}`, which was forked")));
    };
    writeln!(stdout, "{}", json!({"session": forked, "forked_from": forked_from}))?;
    Ok(Exit::Success)
}

fn rename(home: &Home, id: &str, name: &str, json: bool) -> Result<Exit, Failure> {
    let session = home.rename(id, name)?;
    let name = home.name(&session);
    match (json, &name) {
        (true, _) => {
            writeln!(stdout(), "{}", safe::json(&json!({"session": session, "name": name}).to_string()))?
        }
        (false, Some(name)) => writeln!(stdout(), "{session} is named `{}`", safe::name(name))?,
        (false, None) => writeln!(stdout(), "{session} has no name")?,
    }
    Ok(Exit::Success)
}

/// Maximum width of a model's name; longer ones are cut at their beginning.
const MODEL: usize = 32;

fn list(cli: &CliContext, home: &Home, json: bool) -> Result<Exit, Failure> {
    let mut unreadable = Vec::new();
    let sessions = home.list_telling(|error| unreadable.push(error.to_string()));
    if let [first, more @ ..] = &unreadable[..] {
        let are = if more.is_empty() { "is" } else { "are" };
        let first_of_them = if more.is_empty() { "" } else { "the first of them: " };
        let count = unreadable.len();
        cli.warn(format!(
            "{count} of the sessions cannot be read and {are} left out: {first_of_them}{first}"
        ));
    }
    if json {
        return list_json(&sessions);
    }
    let person = cli.environment.get("HOME");
    let mut table = Table::of_ids(["SESSION", "LAST USED", "DIRECTORY", "MODEL", "TITLE"]);
    for (depth, session) in below_their_own(&sessions) {
        let id = &session.id;
        let below = depth.checked_sub(1).map(|depth| format!("{}{BELOW}", "  ".repeat(depth)));
        let title = if session.title.is_empty() { "(empty)" } else { &session.title };
        table.row([
            format!("{}{id}", below.unwrap_or_default()),
            age(session.last_at),
            short(&session.workspace, person),
            end_of(&safe::name(&session.model), MODEL),
            title.to_owned(),
        ]);
    }
    table.print("There are no sessions yet: `haft` starts one.")?;
    Ok(Exit::Success)
}

fn list_json(sessions: &[Summary]) -> Result<Exit, Failure> {
    for session in sessions {
        let Summary { id, opened_at, last_at, workspace, model, name, title, .. } = session;
        let Summary { entries, delegated_by, forked_from, .. } = session;
        let line = json!({"session": id, "opened_at": opened_at, "last_at": last_at, "workspace": workspace,
                          "model": model, "name": name, "title": title, "entries": entries, "delegated_by": delegated_by,
                          "forked_from": forked_from});
        writeln!(stdout(), "{}", safe::json(&line.to_string()))?;
    }
    Ok(Exit::Success)
}

/// Orders `sessions`: sessions of subagents come below their parent, the oldest first. Also returns the depth of each.
/// A session whose parent does not exist is at the top.
fn below_their_own(sessions: &[Summary]) -> Vec<(usize, &Summary)> {
    let mut below: HashMap<&str, Vec<&Summary>> = HashMap::new();
    let known: HashSet<&str> = sessions.iter().map(|session| session.id.0.as_str()).collect();
    let has_above =
        |session: &&Summary| session.delegated_by.as_ref().is_some_and(|id| known.contains(id.0.as_str()));
    for session in sessions {
        if let Some(id) = &session.delegated_by {
            below.entry(id.0.as_str()).or_default().push(session);
        }
    }
    // The last element is taken first: of top-level sessions the newest, of those below them the oldest.
    let mut open: Vec<(usize, &Summary)> =
        sessions.iter().rev().filter(|session| !has_above(session)).map(|session| (0, session)).collect();
    let mut ordered = Vec::new();
    while let Some((depth, session)) = open.pop() {
        ordered.push((depth, session));
        open.extend(
            below.remove(session.id.0.as_str()).unwrap_or_default().into_iter().map(|one| (depth + 1, one)),
        );
    }
    // In a damaged journal, the parent of a session may be below it.
    let listed: HashSet<&str> = ordered.iter().map(|(_, session)| session.id.0.as_str()).collect();
    ordered.extend(
        sessions.iter().filter(|session| !listed.contains(session.id.0.as_str())).map(|session| (0, session)),
    );
    ordered
}

fn show(entries: &[Arc<Entry>]) -> Result<(), Failure> {
    let mut words = Words::new(stdout(), stdout(), Style::default(), Chat::default());
    for entry in active_path(entries) {
        if let Fact::Prompted { parts, .. } = &entry.fact {
            let documents = parts.iter().filter_map(|part| match part {
                Part::Document(document) => Some(format!("\n{}", document.label())),
                _ => None,
            });
            let text = haft_core::text_of(parts) + &documents.collect::<String>();
            writeln!(stdout(), "\n> {}", safe::text(&text))?;
        }
        words.event(&Event::Recorded(entry.clone()))?;
    }
    Ok(())
}

fn export(cli: &CliContext, id: &str, format: ExportFormat) -> Result<Exit, Failure> {
    write!(stdout(), "{}", cli.export(id, format)?)?;
    Ok(Exit::Success)
}

/// Opens the session for a conversation. If none is named, the user at a screen selects one. First continues an
/// unfinished turn, unless another process runs it; without a screen, only that is done.
pub(crate) async fn resume(cli: &CliContext, given: ResumeArgs) -> Result<Exit, Failure> {
    let home = cli.home();
    let prints = given.turn.json || given.turn.output != Form::Text;
    let has_screen = crate::has_screen(cli, &given.turn);
    let id = match given.id {
        Some(id) => Some(id),
        None => {
            let workspace = session::workspace(given.turn.cwd.as_deref())?;
            let newest = cli.newest(&workspace)?;
            match has_screen && !prints && !given.last {
                true => menu::session(&home, &workspace, newest, of_questions(cli)).await?,
                false => Some(newest),
            }
        }
    };
    let Some(id) = id else { return Ok(Exit::Interrupted) };
    let entries = entries(&home, &id)?;
    let turn = TurnArgs { session: Some(id.clone()), ..given.turn };
    let unfinished = LastTurn::of(&entries).goes_on_when_resumed();
    let is_free = !home.find(&id).is_ok_and(|id| home.is_open(&id));
    let first = (unfinished && is_free).then_some(Command::Continue);
    match first {
        Some(first) if prints || !has_screen => run::start(cli, &turn, first, None).await,
        first if has_screen => talk::screen(cli, &turn, first).await,
        _ => talk::chat(cli, &turn).await,
    }
}

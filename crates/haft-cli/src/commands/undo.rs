//! [`undo`] and [`redo`] (`haft undo`, `haft redo`): restore files to an earlier state, and forward again.
use crate::{
    CliContext,
    args::{SessionArg, UndoArgs},
};
use futures::StreamExt;
use haft_app::{Failure, SessionSpec, agents::AGENT, session::JOINED};
use haft_core::{
    Change, ChangeKind, Changed, Command, Direction, Entry, Event, Fact, FileKind, Seq, SessionId,
    SessionOpened, TaskId, Tracking, active_path, changed, undo as plan,
};
use haft_engine::{Engine, Home, Model, Session};
use haft_present::{
    diff, safe,
    timeline::{next_step, prompts},
};
use haft_providers::{Scripted, direct};
use haft_terminal::Exit;
use std::{
    io::{Write, stderr, stdout},
    path::{Path, PathBuf},
    sync::Arc,
};

/// `haft undo`
pub(crate) async fn undo(cli: &CliContext, args: &UndoArgs) -> Result<Exit, Failure> {
    let (engine, session) = open(cli, &args.session).await?;
    let entries = session.entries();
    let to = match (args.to, args.calls) {
        (Some(seq), _) => Some(known(&entries, Seq(seq))?),
        (None, Some(calls)) => plan::before_last_calls(&entries, calls),
        (None, None) => plan::before_last_turn(&entries),
    };
    let exit = match (&args.show, to) {
        (Some(file), to) => show(&session, file, to),
        (None, Some(to)) if args.dry_run => dry(&session, to),
        (None, Some(to)) => go_back(&session, to).await,
        (None, None) => {
            let left: Vec<PathBuf> =
                plan::left_alone(&entries).into_iter().map(|change| change.path).collect();
            say("nothing to undo").and_then(|exit| hint(&left, Direction::Undo).map(|()| exit))
        }
    };
    engine.shut_down().await;
    exit
}

/// Tells what would be done, with the diff of that and of nothing else.
fn dry(session: &Session, to: Seq) -> Result<Exit, Failure> {
    let entries = session.entries();
    let planned = plan::back_to(&entries, to);
    let whole = changed::squash(&planned.changes);
    let conflicts = session.left_alone(&whole)?;
    let exit = told(&planned.changes, &conflicts, planned.untracked.len(), Direction::Undo, true)?;
    if let Some(prompt) = prompt_after(&entries, to) {
        writeln!(stdout(), "the conversation would be back before your prompt: {}", first_line(&prompt))?;
    }
    tell_tasks(&entries, to)?;
    let moved: Vec<Change> = whole.into_iter().filter(|change| !conflicts.contains(&change.path)).collect();
    if !moved.is_empty() {
        write!(stdout(), "\n{}", diff::of_all(session, &moved))?;
    }
    Ok(exit)
}

async fn go_back(session: &Session, to: Seq) -> Result<Exit, Failure> {
    let entries = session.entries();
    let exit = run_job(session, Command::Rewind { to }).await?;
    if let Some(prompt) = prompt_after(&entries, to) {
        writeln!(stdout(), "the conversation is back before your prompt: {}", first_line(&prompt))?;
    }
    tell_tasks(&entries, to)?;
    Ok(exit)
}

fn prompt_after(entries: &[Arc<Entry>], to: Seq) -> Option<String> {
    prompts(entries).into_iter().find(|(before, _)| *before >= to).map(|(_, text)| text)
}

/// Prints `file` as going back `to` would restore it, or as the last undo would have that left it alone.
fn show(session: &Session, file: &Path, to: Option<Seq>) -> Result<Exit, Failure> {
    let entries = session.entries();
    let Some(SessionOpened { workspace, .. }) = SessionOpened::of(&entries) else {
        return Err(Failure::failed("cannot read the session"));
    };
    let planned = to.map(|to| changed::squash(&plan::back_to(&entries, to).changes)).unwrap_or_default();
    let changes: Vec<Change> = plan::left_alone(&entries).into_iter().chain(planned).collect();
    // As it is printed, or as it lies from where the person stands.
    let here = [file.canonicalize(), std::path::absolute(file)].map(Result::unwrap_or_default);
    let is_it = |change: &&Change| change.path == file || here.contains(&workspace.join(&change.path));
    let Some(change) = changes.iter().find(is_it) else {
        let names = changes.iter().map(|change| format!("`{}`", change.path.display())).collect::<Vec<_>>();
        let hint = if names.is_empty() { "no file would be restored".into() } else { names.join(", ") };
        let why = format!("an undo would not restore `{}`", file.display());
        return Err(Failure::usage(why).hint(format!("it would restore: {hint}")));
    };
    match &change.after {
        Some(state) if state.kind() == FileKind::File => {
            stdout().write_all(&session.content(&state.hash)?)?;
            Ok(Exit::Success)
        }
        Some(_) => Err(Failure::failed(format!("`{}` was not a file before", file.display()))),
        None => Err(Failure::failed(format!("`{}` did not exist before", file.display()))
            .hint("an undo removes it, unless it was modified since: then delete it yourself")),
    }
}

/// Names the background tasks that run and that began after `to`: nothing that they change will be kept.
fn tell_tasks(entries: &[Arc<Entry>], to: Seq) -> Result<(), Failure> {
    let has_ended = |job: &TaskId| {
        entries.iter().any(|entry| matches!(&entry.fact, Fact::TaskEnded { task: ended, .. } if ended == job))
    };
    let path = active_path(entries);
    let has_begun = |job: &TaskId| path.iter().any(|entry| entry.seq < to && entry.fact.begins(job));
    for entry in path.iter().filter(|entry| entry.seq >= to) {
        if let Fact::TaskStarted { task: job, title, how: Tracking::Staged } = &entry.fact
            && !has_begun(job)
            && !has_ended(job)
        {
            let title = first_line(title);
            writeln!(
                stdout(),
                "background task {job} began later, so nothing that it changes is kept: {title}"
            )?;
        }
    }
    Ok(())
}

/// `haft redo`
pub(crate) async fn redo(cli: &CliContext, args: &SessionArg) -> Result<Exit, Failure> {
    let (engine, session) = open(cli, args).await?;
    let exit = match plan::last_undo(&session.entries()) {
        Some(_) => run_job(&session, Command::Redo).await,
        None => say("nothing to redo"),
    };
    engine.shut_down().await;
    exit
}

/// No model is needed to put files back.
async fn open(cli: &CliContext, args: &SessionArg) -> Result<(Engine, Session), Failure> {
    let spec = SessionSpec { workspace: args.cwd.clone(), ..SessionSpec::default() };
    let model = Model::plain("script/none", Arc::new(Scripted::new([])));
    let mut setup = cli.plan(&spec)?.setup(model)?;
    let id = match &args.id {
        Some(id) => setup.home.find(id)?.0,
        None => match newest(&setup.home, &setup.workspace) {
            Some(id) => id.0,
            None => {
                return Err(Failure::usage(format!(
                    "there is no session in `{}`",
                    setup.workspace.display()
                ))
                .hint("`haft sessions list` lists sessions"));
            }
        },
    };
    // The files lie where the session worked, wherever the person stands.
    if let Some(opened) = SessionOpened::of(&setup.home.peek(&id)?) {
        setup.workspace.clone_from(&opened.workspace);
    }
    let engine = Engine::new(setup);
    let session = engine.open(&id, AGENT).await?;
    if session.is_joined() {
        writeln!(stderr(), "note: {JOINED}; a turn that runs there comes to its end first")?;
    }
    Ok((engine, session))
}

/// The newest session of the folder; of calls without a model only those that changed something.
fn newest(home: &Home, workspace: &Path) -> Option<SessionId> {
    home.newest(workspace, |session| {
        let entries = || home.peek(&session.id.0).unwrap_or_default();
        session.model != direct::MODEL || !Changed::of(entries().iter().map(|entry| &entry.fact)).is_empty()
    })
}

/// An entry that the conversation has: going back to any other one would leave it nowhere.
fn known(entries: &[Arc<Entry>], seq: Seq) -> Result<Seq, Failure> {
    match active_path(entries).iter().any(|entry| entry.seq == seq) {
        true => Ok(seq),
        false => Err(Failure::usage(format!("there is no entry {seq} to go back to"))
            .hint("`haft sessions export ID --format json` shows them: `seq` of those that were not undone")),
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(60).collect();
    safe::name(&short).into_owned() + if short.len() < text.len() { "…" } else { "" }
}

async fn run_job(session: &Session, command: Command) -> Result<Exit, Failure> {
    let mut turn = session.start(command);
    while let Some(event) = turn.next().await {
        let Event::Recorded(entry) = event else { continue };
        if let Fact::Rewound { way, changes, conflicts, untracked } = &entry.fact {
            return told(changes, conflicts, untracked.len(), *way, false);
        }
    }
    let why = turn.report().await.error;
    Err(Failure::failed(why.unwrap_or_else(|| "there was nothing left to restore".into())))
}

fn told(
    changes: &[Change],
    conflicts: &[PathBuf],
    untracked: usize,
    way: Direction,
    is_dry: bool,
) -> Result<Exit, Failure> {
    let mut stdout = stdout();
    for change in changed::squash(changes).iter().filter(|change| !conflicts.contains(&change.path)) {
        let (sign, path) = (diff::sign(change.kind()), change.path.to_string_lossy());
        let would = if is_dry { "would be " } else { "" };
        writeln!(stdout, "{sign} {} {would}{}", safe::name(&path), moved(change.kind(), way))?;
    }
    for path in conflicts {
        let would = if is_dry { "would be " } else { "" };
        let path = safe::name(&path.to_string_lossy()).into_owned();
        writeln!(stdout, "! {path} {would}skipped: modified since")?;
    }
    if changes.is_empty() {
        writeln!(stdout, "no files to restore")?;
    }
    if untracked > 0 {
        let s = if untracked == 1 { "" } else { "s" };
        writeln!(stdout, "{untracked} untracked command{s}; their file changes remain")?;
    }
    hint(conflicts, way)?;
    Ok(if conflicts.is_empty() { Exit::Success } else { Exit::Failed })
}

/// What to do about files that were left alone.
fn hint(conflicts: &[PathBuf], way: Direction) -> Result<(), Failure> {
    let Some(first) = conflicts.first() else { return Ok(()) };
    writeln!(stderr(), "hint: {}", safe::text(&next_step(first, way)))?;
    Ok(())
}

fn moved(kind: ChangeKind, way: Direction) -> &'static str {
    match (way, kind) {
        (Direction::Undo, ChangeKind::Modified) => "put back",
        (Direction::Undo, ChangeKind::Created) => "brought back",
        (Direction::Undo, ChangeKind::Deleted) => "removed",
        (Direction::Redo, ChangeKind::Modified) => "changed again",
        (Direction::Redo, ChangeKind::Created) => "created again",
        (Direction::Redo, ChangeKind::Deleted) => "removed again",
    }
}

fn say(line: &str) -> Result<Exit, Failure> {
    writeln!(stdout(), "{line}")?;
    Ok(Exit::Success)
}

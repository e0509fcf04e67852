//! `haft undo` and `haft redo`: files back to what they were, and forward again.
use super::run::JOINED;
use crate::{
    CliContext,
    agents::AGENT,
    args::{SessionArg, TurnArgs, UndoArgs},
    assemble::SessionSpec,
    failure::Failure,
};
use futures::StreamExt;
use haft::{
    engine::{Engine, Home, Model, Session},
    kernel::{
        Change, ChangeKind, Changed, Command, Direction, Entry, Event, Fact, How, JobId, Seq, SessionId,
        active_path, changed, undo as plan,
    },
    present::{diff, safe, view::prompts},
    providers::{Scripted, direct},
    terminal::Exit,
};
use std::{
    io::{Write, stderr, stdout},
    path::{Path, PathBuf},
    sync::Arc,
};

/// `haft undo`
pub(crate) async fn undo(context: &CliContext, args: &UndoArgs) -> Result<Exit, Failure> {
    let (engine, session) = open(context, &args.session).await?;
    let entries = session.entries();
    let to = match (args.to, args.calls) {
        (Some(seq), _) => Some(known(&entries, Seq(seq))?),
        (None, Some(calls)) => plan::before_last_calls(&entries, calls),
        (None, None) => plan::before_last_turn(&entries),
    };
    let Some(to) = to else { return say("nothing to undo") };
    let planned = plan::back_to(&entries, to);
    let undone = prompts(&entries).into_iter().find(|(before, _)| *before >= to).map(|(_, text)| text);
    let exit = match args.dry_run {
        true => {
            let conflicts = session.left_alone(&changed::whole(&planned.changes))?;
            told(&planned.changes, &conflicts, planned.untracked.len(), Direction::Undo, true)
        }
        false => run_job(&session, Command::Rewind { to }).await,
    };
    if let (Some(prompt), Ok(_)) = (undone, &exit) {
        let goes = if args.dry_run { "would go" } else { "goes" };
        writeln!(stdout(), "the conversation {goes} on before: {}", first_line(&prompt))?;
    }
    if exit.is_ok() {
        tell_tasks(&entries, to)?;
    }
    if args.dry_run && exit.is_ok() {
        write!(stdout(), "\n{}", diff::of_all(&session, &changed::whole(&planned.changes)))?;
    }
    engine.shut_down().await;
    exit
}

/// Names the background tasks that run and that began after `to`: nothing that they change will be kept.
fn tell_tasks(entries: &[Arc<Entry>], to: Seq) -> Result<(), Failure> {
    let has_ended = |job: &JobId| {
        entries.iter().any(|entry| matches!(&entry.fact, Fact::JobEnded { job: ended, .. } if ended == job))
    };
    let path = active_path(entries);
    let has_begun = |job: &JobId| path.iter().any(|entry| entry.seq < to && entry.fact.begins(job));
    for entry in path.iter().filter(|entry| entry.seq >= to) {
        if let Fact::JobStarted { job, title, how: How::Staged } = &entry.fact
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
pub(crate) async fn redo(context: &CliContext, args: &SessionArg) -> Result<Exit, Failure> {
    let (engine, session) = open(context, args).await?;
    let exit = match plan::last_undo(&session.entries()) {
        Some(_) => run_job(&session, Command::Redo).await,
        None => say("nothing to redo"),
    };
    engine.shut_down().await;
    exit
}

/// No model is needed to put files back.
async fn open(context: &CliContext, args: &SessionArg) -> Result<(Engine, Session), Failure> {
    let turn = TurnArgs { cwd: args.cwd.clone(), ..TurnArgs::default() };
    let model = Model::plain("script/none", Arc::new(Scripted::new([])));
    let mut setup = SessionSpec::of(context, &turn)?.setup(model)?;
    let id = match &args.id {
        Some(id) => setup.home.find(id)?.0,
        None => match newest(&setup.home, &setup.workspace) {
            Some(id) => id.0,
            None => {
                return Err(Failure::usage(format!(
                    "there is no session in `{}`",
                    setup.workspace.display()
                ))
                .hint("`haft sessions list` shows the sessions there are"));
            }
        },
    };
    // The files lie where the session worked, wherever the person stands.
    if let Some(Fact::SessionOpened { workspace, .. }) =
        setup.home.peek(&id)?.first().map(|entry| &entry.fact)
    {
        setup.workspace.clone_from(workspace);
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
    Err(Failure::failed(why.unwrap_or_else(|| "there was nothing to put back any more".into())))
}

fn told(
    changes: &[Change],
    conflicts: &[PathBuf],
    untracked: usize,
    way: Direction,
    is_dry: bool,
) -> Result<Exit, Failure> {
    let mut stdout = stdout();
    for change in changed::whole(changes).iter().filter(|change| !conflicts.contains(&change.path)) {
        let (sign, path) = (diff::sign(change.kind()), change.path.to_string_lossy());
        let would = if is_dry { "would be " } else { "" };
        writeln!(stdout, "{sign} {} {would}{}", safe::name(&path), moved(change.kind(), way))?;
    }
    for path in conflicts {
        let would = if is_dry { "would be " } else { "" };
        let path = safe::name(&path.to_string_lossy()).into_owned();
        writeln!(stdout, "! {path} {would}left alone: somebody changed it since")?;
    }
    if changes.is_empty() {
        writeln!(stdout, "no file was changed by a call that was tracked")?;
    }
    if untracked > 0 {
        writeln!(stdout, "{untracked} calls were not tracked, so what they did to files stands")?;
    }
    Ok(if conflicts.is_empty() { Exit::Success } else { Exit::Failed })
}

fn moved(kind: ChangeKind, way: Direction) -> &'static str {
    match (way, kind) {
        (Direction::Undo, ChangeKind::Modified) => "put back",
        (Direction::Undo, ChangeKind::Created) => "brought back",
        (Direction::Undo, ChangeKind::Deleted) => "removed",
        (Direction::Redo, ChangeKind::Modified | ChangeKind::Created) => "brought again",
        (Direction::Redo, ChangeKind::Deleted) => "removed again",
    }
}

fn say(line: &str) -> Result<Exit, Failure> {
    writeln!(stdout(), "{line}")?;
    Ok(Exit::Success)
}

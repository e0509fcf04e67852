//! [`undo`] and [`redo`] (`haft undo`, `haft redo`): restore files to an earlier state, and forward again.
mod calls;

use crate::{
    CliContext,
    args::{SessionArg, UndoArgs},
};
use haft_app::{
    Failure,
    session::JOINED,
    undo::{Reopened, Restored},
};
use haft_core::{Change, ChangeKind, Direction, Seq, changed};
use haft_present::{
    diff, safe,
    timeline::{kept, next_step, next_step_if_failed},
};
use haft_terminal::Exit;
use std::{
    io::{Write, stderr, stdout},
    path::PathBuf,
};

/// The note on a command for a session that another process has open.
pub(super) const WAITS_FOR_TURN: &str =
    "a turn that runs there comes to its end first; until then, Ctrl+C gives this up";

/// `haft undo`
pub(crate) async fn undo(cli: &CliContext, args: &UndoArgs) -> Result<Exit, Failure> {
    let reopened = open(cli, &args.session).await?;
    if !args.list && args.show.is_none() {
        reopened.check_workspace()?;
    }
    if args.list || args.merge || !args.call.is_empty() {
        let exit =
            if args.list { calls::list(&reopened, args.json) } else { calls::undo(&reopened, args).await };
        reopened.close().await;
        return exit;
    }
    let is_plain = args.show.is_none() && !args.dry_run && args.to.is_none() && args.calls.is_none();
    // If the same undo was interrupted before, it has been finished.
    if let Some(finished) = finished(&reopened, Direction::Undo).filter(|_| is_plain) {
        let exit = tell(finished, false);
        reopened.close().await;
        return exit;
    }
    let exit = match (&args.show, reopened.point(args.to.map(Seq), args.calls)?) {
        (Some(file), to) => {
            stdout().write_all(&reopened.content_at(file, to)?)?;
            Ok(Exit::Success)
        }
        (None, Some(to)) if args.dry_run => dry(&reopened, to),
        (None, Some(to)) => go_back(&reopened, to).await,
        (None, None) => {
            let left = reopened.left_alone();
            say("nothing to undo")
                .and_then(|exit| hint(&changed::paths(&left), Direction::Undo, &left).map(|()| exit))
        }
    };
    reopened.close().await;
    exit
}

/// `haft redo`
pub(crate) async fn redo(cli: &CliContext, args: &SessionArg) -> Result<Exit, Failure> {
    let reopened = open(cli, args).await?;
    reopened.check_workspace()?;
    let exit = match finished(&reopened, Direction::Redo) {
        Some(finished) => tell(finished, false),
        None => match reopened.redo().await? {
            Some(restored) => tell(&restored, false),
            None => say("nothing to redo"),
        },
    };
    reopened.close().await;
    exit
}

async fn open(cli: &CliContext, args: &SessionArg) -> Result<Reopened, Failure> {
    let reopened = cli.reopen(args.id.as_deref(), args.cwd.clone()).await?;
    if reopened.session.is_joined() {
        writeln!(stderr(), "note: {JOINED}; {WAITS_FOR_TURN}")?;
    }
    Ok(reopened)
}

/// The undo or redo of a whole turn that an earlier process began and that was finished on opening, if it was of this
/// `way`.
fn finished(reopened: &Reopened, way: Direction) -> Option<&Restored> {
    reopened.finished.as_ref().filter(|finished| finished.way == way && finished.calls.is_empty())
}

/// Prints what would be done, with the diff of only that.
fn dry(reopened: &Reopened, to: Seq) -> Result<Exit, Failure> {
    if let Some(where_it_is) = reopened.without_work_tree() {
        return say(&where_it_is);
    }
    let restored = reopened.preview(to)?;
    let exit = tell(&restored, true)?;
    tell_conversation(&restored, "would be")?;
    let moved = restored.moved();
    if !moved.is_empty() {
        write!(stdout(), "\n{}", diff::of_all(&reopened.session, &moved))?;
    }
    Ok(exit)
}

async fn go_back(reopened: &Reopened, to: Seq) -> Result<Exit, Failure> {
    let restored = reopened.go_back(to).await?;
    if let Some(where_it_is) = reopened.without_work_tree() {
        return say(&where_it_is);
    }
    tell(&restored, false).and_then(|exit| tell_conversation(&restored, "is").map(|()| exit))
}

fn tell_conversation(left: &Restored, is: &str) -> Result<(), Failure> {
    if let Some(prompt) = &left.prompt {
        writeln!(stdout(), "the conversation {is} back before your prompt: {}", first_line(prompt))?;
    }
    for (task, title) in &left.tasks {
        let title = first_line(title);
        writeln!(
            stdout(),
            "background task {task} began later, so nothing that it changes is kept: {title}"
        )?;
    }
    Ok(())
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(60).collect();
    safe::name(&short).into_owned() + if short.len() < text.len() { "…" } else { "" }
}

fn tell(restored: &Restored, is_dry: bool) -> Result<Exit, Failure> {
    let mut stdout = stdout();
    let would = if is_dry { "would be " } else { "" };
    for change in restored.moved() {
        let (sign, path) = (diff::sign(change.kind()), change.path.to_string_lossy());
        let kept = kept(&restored.merged, &restored.marked, &change.path);
        let kept = if kept.is_empty() { String::new() } else { format!("; {kept}") };
        let moved = moved(change.kind(), restored.way);
        writeln!(stdout, "{sign} {} {would}{moved}{kept}", safe::visible_line(&path))?;
    }
    for path in &restored.conflicts {
        let why = restored.failed.get(path).map_or("modified since", String::as_str);
        let path = safe::visible_line(&path.to_string_lossy());
        writeln!(stdout, "! {path} {would}skipped: {}", safe::visible_line(why))?;
    }
    if restored.changes.is_empty() {
        let forward =
            if restored.way == Direction::Redo { "the conversation is forward again; " } else { "" };
        writeln!(stdout, "{forward}no files to restore")?;
    }
    if restored.untracked > 0 {
        let s = if restored.untracked == 1 { "" } else { "s" };
        writeln!(
            stdout,
            "{} untracked command{s}: changes that are not recorded remain",
            restored.untracked
        )?;
    }
    match restored.conflicts.first() {
        Some(path) if restored.failed.contains_key(path) => {
            writeln!(stderr(), "hint: {}", next_step_if_failed(restored.way))?;
        }
        _ => hint(&restored.conflicts, restored.way, &restored.changes)?,
    }
    Ok(if restored.conflicts.is_empty() { Exit::Success } else { Exit::Failed })
}

/// The hint on files that were left alone.
pub(super) fn hint(conflicts: &[PathBuf], way: Direction, changes: &[Change]) -> Result<(), Failure> {
    let Some(first) = conflicts.first() else { return Ok(()) };
    writeln!(stderr(), "hint: {}", safe::text(&next_step(first, way, changes, "haft undo --merge")))?;
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

//! [`list`] and [`undo`] (`haft undo --list` and `haft undo --call N`): list the calls of a session, and take single
//! calls back.
use super::{hint, tell};
use crate::args::UndoArgs;
use haft_app::{
    Failure,
    undo::{Reopened, Restored},
};
use haft_core::{Direction, UndoCalls, arguments_in_brief, changed, past_calls::PastCall};
use haft_engine::{NotUndone, UndoPlan};
use haft_present::{diff, safe, undo::sentence};
use haft_terminal::Exit;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{Write, stderr, stdout},
    path::PathBuf,
};

/// Prints each call that changed files, with its diff.
pub(super) fn list(reopened: &Reopened, is_json: bool) -> Result<Exit, Failure> {
    let past = reopened.calls();
    let calls: Vec<&PastCall> = past.calls.iter().filter(|call| !call.changes.is_empty()).collect();
    let mut stdout = stdout();
    for call in &calls {
        if is_json {
            writeln!(stdout, "{}", as_json(call))?;
            continue;
        }
        let undone = if call.is_undone { " (undone)" } else { "" };
        writeln!(stdout, "call {}: {}{undone}", call.number, safe::name(&title(call)))?;
        writeln!(stdout, "{}", diff::of_changes(&reopened.session, &changed::squash(&call.changes)))?;
    }
    if calls.is_empty() && !is_json {
        writeln!(stdout, "no call changed files")?;
    }
    Ok(Exit::Success)
}

/// Takes calls back, or merges what the last undo skipped.
pub(super) async fn undo(reopened: &Reopened, args: &UndoArgs) -> Result<Exit, Failure> {
    let undo =
        UndoCalls { calls: args.call.clone(), with_dependents: args.with_dependents, merge: args.merge };
    if args.dry_run {
        let plan = reopened.plan_calls(&undo).await.and_then(|plan| plan.refusal(&undo));
        return match plan {
            Ok(plan) => dry(reopened, plan, args.json),
            Err(why) => refused(reopened, why, args.json),
        };
    }
    match reopened.undo_calls(undo.clone()).await {
        Ok(restored) if args.json => print(&restored.calls, &[], &restored.conflicts, exit_of(&restored)),
        Ok(restored) => tell_calls(&restored, false),
        // The session's refusal is one sentence; the plan gives the details.
        Err(failure) => match reopened.plan_calls(&undo).await.and_then(|plan| plan.refusal(&undo)) {
            Ok(_) => Err(failure),
            Err(why) => refused(reopened, why, args.json),
        },
    }
}

fn dry(reopened: &Reopened, plan: UndoPlan, is_json: bool) -> Result<Exit, Failure> {
    if is_json {
        return print(&plan.calls, &plan.depends, &plan.conflicts, Exit::Success);
    }
    let restored = Restored {
        way: Direction::Undo,
        changes: plan.changes,
        conflicts: plan.conflicts,
        untracked: plan.untracked.len(),
        calls: plan.calls,
        merged: plan.merged,
        marked: plan.marked,
        failed: BTreeMap::new(),
        prompt: None,
        tasks: Vec::new(),
    };
    let exit = tell_calls(&restored, true)?;
    write!(stdout(), "\n{}", diff::of_all(&reopened.session, &restored.moved()))?;
    Ok(exit)
}

fn tell_calls(restored: &Restored, is_dry: bool) -> Result<Exit, Failure> {
    let exit = tell(restored, is_dry)?;
    if let Some(sentence) = sentence(&restored.calls, is_dry) {
        writeln!(stdout(), "{sentence}")?;
    }
    Ok(exit)
}

/// Prints what is in the way, and what to do about it.
fn refused(reopened: &Reopened, why: NotUndone, is_json: bool) -> Result<Exit, Failure> {
    let NotUndone::InTheWay(plan) = why else {
        let failure = match &why {
            NotUndone::Io(_) | NotUndone::Interrupted => Failure::failed(why.to_string()),
            _ => {
                Failure::usage(why.to_string()).hint("`haft undo --list` lists the calls that changed files")
            }
        };
        return Err(failure);
    };
    if is_json {
        return print(&[], &plan.depends, &plan.conflicts, Exit::Failed);
    }
    let numbers: Vec<String> = plan.calls.iter().map(ToString::to_string).collect();
    let mut stderr = stderr();
    let s = if numbers.len() == 1 { "" } else { "s" };
    match (numbers.is_empty(), plan.depends.is_empty()) {
        (true, _) => writeln!(stderr, "error: what the last undo left alone cannot be merged")?,
        (false, true) => writeln!(
            stderr,
            "error: call{s} {} not undone: its files were changed since",
            numbers.join(", ")
        )?,
        (false, false) => writeln!(
            stderr,
            "error: call{s} {} not undone: others depend on what they did",
            numbers.join(", ")
        )?,
    }
    for depends in &plan.depends {
        let title = safe::name(&depends.title).into_owned();
        writeln!(stderr, "  call {} (`{title}`): {}", depends.call, safe::text(&depends.why))?;
    }
    for path in &plan.conflicts {
        let path = path.to_string_lossy();
        writeln!(stderr, "  `{}`: it was changed elsewhere in the same place", safe::name(&path))?;
    }
    let also = "`--with-dependents` also undoes these calls";
    let merge = "`--merge` merges the text, with conflict markers where both changed it";
    match (numbers.is_empty(), plan.conflicts.first()) {
        (true, Some(_)) => hint(&plan.conflicts, Direction::Undo, &reopened.left_alone())?,
        (_, None) => writeln!(stderr, "hint: {also}; {merge}")?,
        (false, Some(_)) => writeln!(stderr, "hint: {merge}")?,
    }
    Ok(Exit::Failed)
}

fn print(
    undone: &[usize],
    depends: &[haft_engine::Dependent],
    left: &[PathBuf],
    exit: Exit,
) -> Result<Exit, Failure> {
    let depends: Vec<Value> = depends
        .iter()
        .map(|depends| json!({"call": depends.call, "title": depends.title, "why": depends.why}))
        .collect();
    writeln!(stdout(), "{}", json!({"undone": undone, "depends": depends, "left": left}))?;
    Ok(exit)
}

fn exit_of(restored: &Restored) -> Exit {
    if restored.conflicts.is_empty() { Exit::Success } else { Exit::Failed }
}

fn as_json(call: &PastCall) -> Value {
    let files = changed::squash(&call.changes);
    let files: Vec<Value> =
        files.iter().map(|change| json!({"path": change.path, "kind": change.kind()})).collect();
    json!({"call": call.number, "name": call.name, "title": title(call), "files": files, "undone": call.is_undone})
}

fn title(call: &PastCall) -> String {
    let brief: String = arguments_in_brief(&call.arguments).chars().take(80).collect();
    format!("{} {brief}", call.name).trim_end().to_owned()
}

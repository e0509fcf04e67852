//! [`plan_undo`]: computes the workspace as it would be if single calls had not been made, and the later calls that
//! depend on them.
//!
//! It tracks the files through the session in two states: as they were, and as they would have been without the calls.
//! A later call that changed files in which the two states differ, or that ran a command, is repeated in a view
//! ([`crate::again`]). The call is independent if it does the same there; its files are then the merge of both states.
mod files;

use crate::{
    again::{Rehearsal, Repeated},
    merge::{Labels, Merge, Sides, is_same, merged},
    resolved::as_found,
    tool::effects_of,
};
use files::Files;
use haft_core::{
    CallId, Change, Effect, Entry, FileState, ToolResult, Tracking, UndoCalls, arguments_in_brief,
    changed::squash,
    past_calls::{FileStep, PastCall, PastCalls},
    undo::without_objects,
};
use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// The result of an undo of single calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoPlan {
    /// The calls to undo, in ascending order; including dependent calls if that was requested.
    pub calls: Vec<usize>,
    /// Changes from the current files to the files after the undo.
    pub changes: Vec<Change>,
    /// The later calls that depend on those that were named.
    pub depends: Vec<Dependent>,
    /// Files that the user changed in the same lines as the calls, and files that cannot be merged.
    pub conflicts: Vec<PathBuf>,
    /// Files that also contain changes of other programs.
    pub merged: Vec<PathBuf>,
    /// Files in `merged` that have conflict markers.
    pub marked: Vec<PathBuf>,
    /// The calls whose changes were not recorded and therefore remain.
    pub untracked: Vec<CallId>,
}

/// A later call that depends on a call to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// Number of the call.
    pub call: usize,
    /// The tool and its arguments in brief, as `edit a.txt`.
    pub title: String,
    /// Why, as a sentence without its full stop that begins with `it`.
    pub why: String,
}

/// Why calls cannot be undone. Displays as a sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum NotUndone {
    /// No call was named, and the last undo left no file unchanged.
    #[error("there is nothing to undo")]
    Nothing,
    /// The session has no call of this number.
    #[error("there is no call {0} in this session")]
    NoSuchCall(usize),
    /// The call was already undone.
    #[error("call {0} was undone before")]
    UndoneBefore(usize),
    /// The call changed no files.
    #[error("call {0} changed no files")]
    NothingChanged(usize),
    /// The changes of this call were not recorded.
    #[error("what call {0} changed was not recorded, so it cannot be undone")]
    Untracked(usize),
    /// Later calls depend on it, or changes of the user conflict.
    #[error("{}", InTheWay(.0))]
    InTheWay(Box<UndoPlan>),
    /// Cancelled before anything was changed.
    #[error("the undo was interrupted, and no file was changed")]
    Interrupted,
    /// A file cannot be read, or a content cannot be stored.
    #[error("cannot undo: {0}")]
    Io(#[from] io::Error),
}

/// Computes what `undo` would do, without changing the workspace. Commands of the session may run again, in views,
/// until `cancel` is set.
///
/// # Errors
/// Fails if a call cannot be undone even together with its dependents, or files cannot be read.
pub async fn plan_undo(
    rehearsal: &Rehearsal<'_>,
    entries: &[Arc<Entry>],
    undo: &UndoCalls,
    cancel: &CancellationToken,
) -> Result<UndoPlan, NotUndone> {
    let past = PastCalls::of(entries);
    undo.calls.iter().try_for_each(|number| check(&past, *number))?;
    if undo.merge {
        let mut texts = Texts { rehearsal, held: Vec::new(), plan: UndoPlan::default() };
        match undo.calls.is_empty() {
            true => texts.left_alone(&haft_core::undo::left_alone(entries))?,
            false => texts.without(&past, undo)?,
        }
        return Ok(finished(texts.plan(), &past));
    }
    if undo.calls.is_empty() {
        return Err(NotUndone::Nothing);
    }
    let undone = past.calls.iter().filter(|call| call.is_undone).map(|call| call.number);
    let left_out = undo.calls.iter().copied().chain(undone).collect();
    let first = past.steps.iter().position(|step| is_left_out(step, &left_out));
    let steps = &past.steps[first.unwrap_or(past.steps.len())..];
    let files = Files::before(rehearsal, steps)?;
    let mut walk = Walk { rehearsal, past: &past, files, left_out, depends: Vec::new(), cancel };
    for step in steps {
        let followed = walk.follow(step).await;
        if cancel.is_cancelled() {
            return Err(NotUndone::Interrupted);
        }
        followed?;
    }
    Ok(finished(walk.plan(undo)?, &past))
}

/// Adds to the plan the folders that are removed with its files, and leaves out Git objects.
fn finished(plan: UndoPlan, past: &PastCalls) -> UndoPlan {
    let made = past.steps.iter().flat_map(|step| &step.changes).filter(|change| change.before.is_none());
    let new: BTreeSet<&Path> = made.flat_map(Change::folders).collect();
    let mut changes = without_objects(plan.changes);
    for change in changes.iter_mut().filter(|change| change.after.is_none()) {
        let above = change.path.ancestors().skip(1);
        change.new_folders = above.take_while(|folder| new.contains(folder)).count() as u32;
    }
    UndoPlan { changes, ..plan }
}

impl UndoPlan {
    /// Returns the plan, or the reason why the undo cannot be done. Each file that the last undo left unchanged is
    /// merged separately.
    pub fn refusal(self, undo: &UndoCalls) -> Result<Self, NotUndone> {
        let depends = !self.depends.is_empty() && !undo.with_dependents;
        if undo.calls.is_empty() && self.changes.iter().any(|change| !self.conflicts.contains(&change.path)) {
            return Ok(self);
        }
        if depends || !self.conflicts.is_empty() { Err(NotUndone::InTheWay(self.into())) } else { Ok(self) }
    }
}

fn check(past: &PastCalls, number: usize) -> Result<(), NotUndone> {
    let call = past.get(number).ok_or(NotUndone::NoSuchCall(number))?;
    if call.is_undone {
        return Err(NotUndone::UndoneBefore(number));
    }
    if !call.changes.is_empty() {
        return Ok(());
    }
    let ran_untracked = call.how == Some(Tracking::Untracked) || !call.unrecorded.is_empty();
    Err(if ran_untracked { NotUndone::Untracked(number) } else { NotUndone::NothingChanged(number) })
}

fn is_left_out(step: &FileStep, left_out: &BTreeSet<usize>) -> bool {
    step.call.is_some_and(|call| left_out.contains(&call)) && !step.changes.is_empty()
}

/// A pass through the calls of a session in which some calls are left out.
struct Walk<'a> {
    rehearsal: &'a Rehearsal<'a>,
    past: &'a PastCalls,
    files: Files<'a>,
    /// The calls that count as not made.
    left_out: BTreeSet<usize>,
    depends: Vec<Dependent>,
    cancel: &'a CancellationToken,
}

/// How a later call behaves if earlier ones are left out.
enum Later {
    /// The call would do the same.
    Same,
    /// The call must be repeated to find out.
    Again,
    Depends(String),
}

impl Walk<'_> {
    async fn follow(&mut self, step: &FileStep) -> io::Result<()> {
        self.files.changed_by_others(step)?;
        let Some(call) = step.call.and_then(|number| self.past.get(number)) else {
            self.files.left_out(step);
            return Ok(());
        };
        if self.left_out.contains(&call.number) {
            self.files.left_out(step);
        } else if let Some(why) = self.followed(call, step).await? {
            self.depends.push(Dependent { call: call.number, title: title(call), why });
            self.left_out.insert(call.number);
            self.files.left_out(step);
        }
        self.learn(call);
        Ok(())
    }

    /// Processes a call that is not left out. Returns why it depends on the calls that are, if it does.
    async fn followed(&mut self, call: &PastCall, step: &FileStep) -> io::Result<Option<String>> {
        match self.later(call, step) {
            Later::Same => {
                self.files.same(step);
                Ok(None)
            }
            Later::Depends(why) => Ok(Some(why)),
            Later::Again => self.again(call, step).await,
        }
    }

    /// Records the files that the model knows after `call`.
    fn learn(&mut self, call: &PastCall) {
        let is_ok = call.how.is_some() && call.result.as_ref().is_some_and(ToolResult::is_ok);
        let effects = self.effects(call).filter(|effects| is_ok && !effects.iter().any(runs));
        for path in paths(&effects.unwrap_or_default()) {
            self.files.learn(path, self.left_out.contains(&call.number));
        }
    }

    /// Decides about a call without repeating it, as far as possible.
    fn later(&self, call: &PastCall, step: &FileStep) -> Later {
        if step.changes.is_empty() && call.was_stopped() {
            return Later::Same;
        }
        if call.is_delegated && self.files.differ() {
            return Later::depends("its subagent cannot be made to do it again");
        }
        let Some(effects) = self.effects(call) else {
            return match (call.how, step.changes.is_empty()) {
                (None, true) => Later::Same,
                _ if !self.files.differ() => Later::Same,
                _ => Later::depends("its tool is not there any more, so it cannot be made again"),
            };
        };
        match effects.iter().any(runs) {
            true if !self.files.differ() => Later::Same,
            true => command(call, &effects, step),
            false => self.tool(call, &effects, step),
        }
    }

    fn effects(&self, call: &PastCall) -> Option<Vec<Effect>> {
        let Rehearsal { tools, stage, workspace, .. } = self.rehearsal;
        let tool = tools.get(&call.name)?;
        let effects = effects_of(&*tool.tool, &call.arguments, workspace).ok()?;
        Some(as_found(effects, &***stage, workspace))
    }

    /// Decides about a call that runs no program: the files that it touches are known.
    fn tool(&self, call: &PastCall, effects: &[Effect], step: &FileStep) -> Later {
        let is_read = |path: &PathBuf| effects.contains(&Effect::Read(path.clone()));
        let written: Vec<&PathBuf> = effects.iter().filter_map(|effect| written(effect)).collect();
        if written.is_empty() && step.changes.is_empty() {
            return Later::Same;
        }
        let changed = step.changes.iter().map(|change| change.path.as_path());
        let mut touched = paths(effects).chain(changed);
        let Some((touched, path)) = touched.find_map(|path| Some((path, self.files.differing(path)?))) else {
            return Later::Same;
        };
        // The view contains only files that the effects name, so a search of the folder cannot be repeated.
        let is_searched = self.files.is_below(path, touched);
        let replaces = |written: &&&PathBuf| !is_read(written) && self.files.has_differed(written);
        let is_stale = || written.iter().map(|path| self.files.is_stale(path));
        let path = path.display();
        match call.how {
            None if call.was_stopped() || call.is_invalid() => Later::Same,
            None if is_stale().any(|is_stale| is_stale == Some(true)) => Later::Same,
            Some(_) if is_stale().any(|is_stale| is_stale == Some(true)) => {
                Later::Depends(format!("`{path}` would not have been as it was last read"))
            }
            None => Later::Depends(format!("it was refused as `{path}` was at the time")),
            Some(_) if call.is_part => Later::depends(ONLY_A_PART),
            Some(_) if is_searched => Later::Depends(format!("it worked on the folder of `{path}`")),
            // The call replaces a file without reading it.
            Some(_) if written.iter().any(|path| replaces(&path)) => {
                Later::Depends(format!("it wrote all of `{path}`"))
            }
            Some(_) => Later::Again,
        }
    }

    /// Repeats a call in a view without the calls that are left out. Returns why it depends on them, if it does.
    async fn again(&mut self, call: &PastCall, step: &FileStep) -> io::Result<Option<String>> {
        let mut shown = self.files.as_without();
        if call.how == Some(Tracking::Declared) {
            let effects = self.effects(call).unwrap_or_default();
            let workspace = self.rehearsal.workspace;
            shown.retain(|change| paths(&effects).any(|path| path == workspace.join(&change.path)));
        }
        let made = match self.rehearsal.make(call, shown.clone(), self.cancel).await {
            Ok(made) => made,
            Err(error) => return Ok(Some(format!("it cannot be made again: {error}"))),
        };
        self.compare(call, step, &shown, made)
    }

    fn compare(
        &mut self,
        call: &PastCall,
        step: &FileStep,
        shown: &[Change],
        Repeated { result, changes }: Repeated,
    ) -> io::Result<Option<String>> {
        let becomes = self.files.becomes(shown, changes)?;
        let was = call.result.as_ref();
        let is_command = call.how == Some(Tracking::Staged);
        let changes_files = !step.changes.is_empty() || !becomes.is_empty();
        let same_text = was.is_some_and(|was| was.content == result.content);
        let same_end = was.is_some_and(|was| was.is_ok() == result.is_ok());
        if changes_files && (!same_end || is_command && !same_text) {
            return Ok(Some("made again without it, it gives another result".to_owned()));
        }
        match self.files.take(step, becomes)? {
            None => Ok(None),
            Some(path) => Ok(Some(format!("it changed the same text of `{}`", path.display()))),
        }
    }

    fn plan(self, undo: &UndoCalls) -> io::Result<UndoPlan> {
        let Self { rehearsal: _, past, files, depends, .. } = self;
        let mut calls = undo.calls.clone();
        if undo.with_dependents {
            calls.extend(depends.iter().map(|depends| depends.call));
        }
        calls.sort_unstable();
        calls.dedup();
        let taken = calls.iter().filter_map(|number| past.get(*number));
        let untracked =
            taken.filter(|call| call.how == Some(Tracking::Untracked) || !call.unrecorded.is_empty());
        let untracked = untracked.map(|call| call.id.clone()).collect();
        let end = files.end()?;
        let (changes, conflicts, merged) = (end.changes, end.conflicts, end.merged);
        Ok(UndoPlan { calls, changes, depends, conflicts, merged, marked: Vec::new(), untracked })
    }
}

const ONLY_A_PART: &str = "only a part of it was accepted, so it cannot be made again";

/// Decides about a call that runs a program: the files that it touches are not known.
fn command(call: &PastCall, effects: &[Effect], step: &FileStep) -> Later {
    let runs = || {
        effects.iter().filter_map(|effect| match effect {
            Effect::Execute(execution) => Some(execution),
            Effect::Read(_) | Effect::Write(_) | Effect::Network(_) => None,
        })
    };
    let did_nothing = step.changes.is_empty();
    match call.how {
        None => Later::Same,
        Some(_) if did_nothing && runs().all(|run| run.only_reads()) => Later::Same,
        Some(_) if call.has_task || runs().any(|run| run.lasting) => {
            Later::depends("it went on in the background, so it cannot be made again")
        }
        Some(_) if call.outside && effects.iter().any(asks_for_network) => {
            Later::depends("it reached the network, so it is not made again")
        }
        Some(_) if call.outside => Later::depends(
            "it could reach the network or change folders outside of the workspace, so it is not made again",
        ),
        Some(Tracking::Declared | Tracking::Untracked) => {
            Later::depends("it ran outside of a view, so it is not made again")
        }
        Some(Tracking::Staged) if call.is_part => Later::depends(ONLY_A_PART),
        Some(Tracking::Staged) => Later::Again,
    }
}

fn asks_for_network(effect: &Effect) -> bool {
    match effect {
        Effect::Network(_) => true,
        Effect::Execute(execution) => execution.network,
        Effect::Read(_) | Effect::Write(_) => false,
    }
}

fn runs(effect: &Effect) -> bool {
    matches!(effect, Effect::Execute(_))
}

fn written(effect: &Effect) -> Option<&PathBuf> {
    match effect {
        Effect::Write(path) => Some(path),
        Effect::Read(_) | Effect::Execute(_) | Effect::Network(_) => None,
    }
}

fn paths(effects: &[Effect]) -> impl Iterator<Item = &Path> {
    effects.iter().filter_map(|effect| match effect {
        Effect::Read(path) | Effect::Write(path) => Some(path.as_path()),
        Effect::Execute(_) | Effect::Network(_) => None,
    })
}

impl Later {
    fn depends(why: &str) -> Self {
        Self::Depends(why.to_owned())
    }
}

fn title(call: &PastCall) -> String {
    let brief: String = arguments_in_brief(&call.arguments).chars().take(60).collect();
    format!("{} {brief}", call.name).trim_end().to_owned()
}

/// Undoes changes by merging texts: the current text of a file with its text before the changes.
struct Texts<'a> {
    rehearsal: &'a Rehearsal<'a>,
    held: Vec<Held>,
    plan: UndoPlan,
}

/// A file's current state, and its state after the undo.
struct Held {
    path: PathBuf,
    found: Option<FileState>,
    becomes: Option<FileState>,
}

impl Texts<'_> {
    /// Undoes the calls, the last one first.
    fn without(&mut self, past: &PastCalls, undo: &UndoCalls) -> io::Result<()> {
        let calls: BTreeSet<usize> = undo.calls.iter().copied().collect();
        for call in calls.iter().rev().filter_map(|number| past.get(*number)) {
            let label = format!("without call {}", call.number);
            for change in squash(&call.changes) {
                self.take(&change.inverse(), &label)?;
            }
        }
        self.plan.calls = calls.into_iter().collect();
        Ok(())
    }

    fn left_alone(&mut self, left: &[Change]) -> Result<(), NotUndone> {
        if left.is_empty() {
            return Err(NotUndone::Nothing);
        }
        left.iter().try_for_each(|change| self.take(change, "as the undo would have it"))?;
        let conflicts = left.iter().filter(|change| self.plan.conflicts.contains(&change.path));
        self.plan.changes = conflicts.cloned().collect();
        Ok(())
    }

    /// Merges `change` into a file that others have changed, too.
    fn take(&mut self, change: &Change, label: &str) -> io::Result<()> {
        let stage = &**self.rehearsal.stage;
        let place = self.held.iter().position(|held| held.path == change.path);
        let place = place.map_or_else(|| self.hold(&change.path), Ok)?;
        let held = &mut self.held[place];
        let sides = Sides { base: &change.before, ours: &held.becomes, theirs: &change.after };
        let has_others = !is_same(sides.base, sides.ours);
        held.becomes = match merged(stage, sides, &Labels { ours: "as it is", theirs: label })? {
            Merge::Clean(state) => state,
            Merge::Marked(state) => {
                self.plan.marked.push(change.path.clone());
                Some(state)
            }
            Merge::Conflict => {
                self.plan.conflicts.push(change.path.clone());
                return Ok(());
            }
        };
        if has_others && !self.plan.merged.contains(&change.path) {
            self.plan.merged.push(change.path.clone());
        }
        Ok(())
    }

    fn hold(&mut self, path: &Path) -> io::Result<usize> {
        let found = self.rehearsal.stage.found(self.rehearsal.workspace, path)?;
        self.held.push(Held { path: path.to_owned(), becomes: found.clone(), found });
        Ok(self.held.len() - 1)
    }

    fn plan(self) -> UndoPlan {
        let changes = self.held.into_iter().map(|held| Change::between(held.path, held.found, held.becomes));
        let changes = changes.filter(|change| change.before != change.after);
        UndoPlan { changes: changes.chain(self.plan.changes).collect(), ..self.plan }
    }
}

/// Displays the conflicts and dependents of a plan, in one sentence.
struct InTheWay<'a>(&'a UndoPlan);

impl fmt::Display for InTheWay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UndoPlan { calls, depends, conflicts, .. } = self.0;
        let numbers: Vec<String> = calls.iter().map(ToString::to_string).collect();
        let s = if calls.len() == 1 { "" } else { "s" };
        match calls.is_empty() {
            true => f.write_str("what the last undo left alone cannot be merged: ")?,
            false => write!(f, "call{s} {} cannot be undone alone: ", numbers.join(", "))?,
        }
        let depends = depends.iter().map(|Dependent { call, title, why }| {
            format!("call {call} (`{title}`) depends on it, since {why}")
        });
        let conflicts = conflicts
            .iter()
            .map(|path| format!("`{}` was changed elsewhere in the same place", path.display()));
        f.write_str(&depends.chain(conflicts).collect::<Vec<_>>().join("; "))
    }
}

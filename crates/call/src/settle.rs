//! [`CallScope::make_real`]: settles the changes of a call, which are recorded before. [`CallScope::move_files`]:
//! undoes or redoes changes.
use crate::{
    ancestors::RecordedAbove,
    errors::{conflict, not_settled},
    merge::{self, Labels, Merge, Sides},
    part,
    recorder::Unrecorded,
    round::{CallRun, Done, Stopped},
    scope::CallScope,
};
use haft_core::{
    Change, Fact, Stage, ToolError, ToolErrorKind, ToolResult, Tracking, View,
    changed::{self, paths},
};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

/// How long settling waits for another process that writes files of the workspace.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two attempts.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Settling or comparing: returns the files that are in conflict.
type StageAction = fn(&dyn Stage, &Path, &[Change]) -> io::Result<Vec<PathBuf>>;

/// Whether changes may have been settled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The changes were not settled before: a file that is already in its final state was written by another process.
    First,
    /// The changes may have been settled before a crash.
    Again,
}

/// The result of settling.
pub struct Settled {
    /// Files that were left unchanged.
    pub unsettled: Vec<PathBuf>,
    /// Why.
    pub error: Option<ToolError>,
}

/// The result of an undo or a redo of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// The requested changes; for a merged file, the change that was made instead.
    pub changes: Vec<Change>,
    /// Files that were left unchanged, because another program changed the same lines, or for the reason in `failed`.
    pub conflicts: Vec<PathBuf>,
    /// Files in `conflicts` that could not be written or read, and why.
    pub failed: BTreeMap<PathBuf, String>,
    /// Files in which another program changed other lines, and into which both changes were merged.
    pub merged: Vec<PathBuf>,
}

/// The files that an undo or a redo could not change.
#[derive(Clone, Debug, Default)]
pub struct Unmoved {
    /// All files that were not changed.
    pub files: Vec<PathBuf>,
    /// Files in `files` that could not be written or read, and why; the others were changed by another program.
    pub failed: BTreeMap<PathBuf, String>,
}

impl Moved {
    /// Replaces the changes of a file by the merged `change`.
    pub fn add_merged(&mut self, change: Change) {
        self.conflicts.retain(|path| *path != change.path);
        self.failed.remove(&change.path);
        self.changes.retain(|step| step.path != change.path);
        self.merged.push(change.path.clone());
        self.changes.push(change);
    }
}

/// Merges what `steps` would do to the files `left` with what other processes wrote to them meanwhile. Returns one
/// change for each file that can be merged, and stores its content. The workspace stays unchanged.
pub fn merge_left(stage: &dyn Stage, workspace: &Path, steps: &[Change], left: &[PathBuf]) -> Vec<Change> {
    let merge = |change: &Change| {
        let found = stage.found(workspace, &change.path).ok()?;
        let sides = Sides { base: &change.before, ours: &found, theirs: &change.after };
        match merge::merged(stage, sides, &Labels::NONE).ok()? {
            Merge::Clean(Some(state)) if found.is_some() => {
                Some(Change::between(change.path.clone(), found, Some(state)))
            }
            Merge::Clean(_) | Merge::Marked(_) | Merge::Conflict => None,
        }
    };
    let whole = changed::squash(steps);
    whole.iter().filter(|change| left.contains(&change.path)).filter_map(merge).collect()
}

impl CallRun<'_> {
    /// Records the changes of the call, then settles them.
    pub(crate) async fn commit(&self, done: Done) -> Result<ToolResult, Stopped> {
        let (scope, recorder) = (self.round.scope, &self.round.recorder);
        let Done { result, changes, how, view, edits } = done;
        let bulk = view.as_ref().map(|view| view.bulk()).unwrap_or_default();
        let unrecorded: Vec<PathBuf> = bulk.folders.iter().map(|folder| folder.path.clone()).collect();
        let changes_files = !changes.is_empty() || !unrecorded.is_empty();
        if let Some(turn) = self.turn.as_ref().filter(|_| changes_files || bulk.changes_tmp) {
            turn.changes();
        }
        if !changes_files {
            apply_bulk(view).await?;
            return Ok(result);
        }
        if !scope.workspace.is_dir() {
            let message =
                format!("cannot write: the workspace `{}` no longer exists", scope.workspace.display());
            return Err(ToolError::new(ToolErrorKind::System, message).into());
        }
        let _lock = scope.lock_tree(&changes).await?;
        let staged = Fact::Staged {
            call: self.call.id.clone(),
            changes: changes.clone(),
            how,
            result: result.clone(),
            unrecorded: unrecorded.clone(),
        };
        recorder.record_durably(staged).await?;
        let (above, settled) = match scope.record_in_ancestors(&changes, &unrecorded, how).await {
            Ok(above) => (above, scope.make_real(changes.clone(), how, Pass::First, self.round.cancel).await),
            Err(error) => (None, Settled { unsettled: paths(&changes), error: Some(error) }),
        };
        let Settled { unsettled, error } = settled;
        let Some(mut error) = error else {
            self.reply.add(&changes);
            apply_bulk(view).await?;
            return Ok(result);
        };
        if let Some(above) = above {
            above.unsettled(&unsettled).await;
        }
        recorder.record(Fact::Unsettled { call: self.call.id.clone(), paths: unsettled }).await?;
        error.message += &part::unwritten_edits(&edits);
        Err(error.into())
    }
}

/// Applies the changes that are not recorded. They cannot be undone.
async fn apply_bulk(view: Option<Arc<dyn View>>) -> Result<(), ToolError> {
    let Some(view) = view else { return Ok(()) };
    let applied = tokio::task::spawn_blocking(move || view.apply_bulk()).await;
    applied.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| not_settled(error, true))
}

impl CallScope {
    /// Locks the tree of sessions, so that no other session of it settles while the result is held; `None` if there is
    /// no tree. A change that would be too late is refused before it is recorded in the parent journals, which contain
    /// only actual changes, in order.
    pub(crate) async fn lock_tree(
        &self,
        changes: &[Change],
    ) -> Result<Option<OwnedMutexGuard<()>>, ToolError> {
        let Some(ancestors) = &self.ancestors else { return Ok(None) };
        let lock = ancestors.settling.clone().lock_owned().await;
        let conflicts = self.conflicts(changes).await;
        let conflicts = conflicts.map_err(|error| not_settled(error, false))?;
        if conflicts.is_empty() { Ok(Some(lock)) } else { Err(conflict(&conflicts)) }
    }

    /// Records a change in the journals of the parent sessions before it is settled; `None` if there are none. Fails if
    /// the calls there have ended.
    pub(crate) async fn record_in_ancestors(
        &self,
        changes: &[Change],
        unrecorded: &[PathBuf],
        how: Tracking,
    ) -> Result<Option<RecordedAbove>, ToolError> {
        let Some(ancestors) = &self.ancestors else { return Ok(None) };
        let above = ancestors.parent.record(&self.session, changes, unrecorded, how).await;
        above.map(Some).map_err(|Unrecorded| ToolError::interrupted())
    }

    /// Calls [`haft_core::Stage::settle`] off the event loop, or [`haft_core::Stage::settle_first`]. Waits at most
    /// [`LOCK_TIMEOUT`] for another process that settles, and not at all once `cancel` is set.
    async fn settle(
        &self,
        changes: &[Change],
        pass: Pass,
        cancel: &CancellationToken,
    ) -> io::Result<Vec<PathBuf>> {
        let first: StageAction = |stage, workspace, changes| stage.settle_first(workspace, changes);
        let again: StageAction = |stage, workspace, changes| stage.settle(workspace, changes);
        let acts = match pass {
            Pass::First if changes.len() == 1 => [first, first],
            // Some of the files may have been settled before the wait for another process.
            Pass::First => [first, again],
            Pass::Again => [again, again],
        };
        self.with_stage(changes, cancel, acts).await
    }

    /// Runs the first action, and after each wait for another process the second one.
    async fn with_stage(
        &self,
        changes: &[Change],
        cancel: &CancellationToken,
        [mut act, again]: [StageAction; 2],
    ) -> io::Result<Vec<PathBuf>> {
        let end = Instant::now() + LOCK_TIMEOUT;
        loop {
            let (stage, workspace, changes) = (self.stage.clone(), self.workspace.clone(), changes.to_vec());
            let acted = tokio::task::spawn_blocking(move || act(&*stage, &workspace, &changes)).await;
            match acted.unwrap_or_else(|error| Err(io::Error::other(error))) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => {
                    tokio::select! {
                        () = cancel.cancelled() => return Err(error),
                        () = tokio::time::sleep(LOCK_INTERVAL) => act = again,
                    }
                }
                settled => return settled,
            }
        }
    }

    /// Brings files from `before` to `after`, each completely or not at all. Idempotent. The files that one of Haft's
    /// own tools changes belong together, such as those of a rename: if another process changed one of them meanwhile,
    /// all stay unchanged.
    pub async fn make_real(
        &self,
        changes: Vec<Change>,
        how: Tracking,
        pass: Pass,
        cancel: &CancellationToken,
    ) -> Settled {
        if how == Tracking::Declared && pass == Pass::First && changes.len() > 1 {
            let conflicts = self.conflicts(&changes).await.unwrap_or_default();
            if !conflicts.is_empty() {
                return Settled { unsettled: paths(&changes), error: Some(conflict(&conflicts)) };
            }
        }
        let (unsettled, error) = match self.settle(&changes, pass, cancel).await {
            Ok(conflicts) if conflicts.is_empty() => (conflicts, None),
            Ok(conflicts) => {
                let error = conflict(&conflicts);
                (conflicts, Some(error))
            }
            Err(error) => {
                let unsettled = self.not_real(&changes).await;
                let is_partly = unsettled.len() < changes.len();
                (unsettled, Some(not_settled(error, is_partly)))
            }
        };
        // Files that a command wrote do not count as read by the model.
        if how == Tracking::Declared {
            let real = changes.iter().filter(|change| !unsettled.contains(&change.path));
            self.reads.wrote(&self.workspace, real);
        }
        Settled { unsettled, error }
    }

    /// Merges the files that `moved` left unchanged with the changes that it could not make: see [`merge_left`].
    pub async fn merges(&self, moved: &Moved) -> Vec<Change> {
        if moved.conflicts.is_empty() {
            return Vec::new();
        }
        let (stage, workspace, moved) = (self.stage.clone(), self.workspace.clone(), moved.clone());
        let merging = move || merge_left(&*stage, &workspace, &moved.changes, &moved.conflicts);
        tokio::task::spawn_blocking(merging).await.unwrap_or_default()
    }

    /// Undoes or redoes changes of files. Each file is handled separately, so that one failure does not affect the
    /// others. Idempotent.
    pub async fn move_files(&self, steps: &[Change], cancel: &CancellationToken) -> Unmoved {
        let mut unmoved = Unmoved::default();
        // In most cases all files can be changed together, with a single sync.
        let whole = changed::squash(steps);
        let folders = changed::folders_without_files(steps, &whole);
        let is_of_folder = |path: &PathBuf| folders.iter().any(|folder| folder.path == *path);
        let left = match self.settle(&[&whole[..], &folders].concat(), Pass::Again, cancel).await {
            // Another process may have created a file since at a path that `steps` created and removed.
            Ok(left) => left.into_iter().filter(|path| !is_of_folder(path)).collect(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                unmoved.files = self.not_real(&whole).await;
                unmoved.failed.extend(unmoved.files.iter().map(|path| (path.clone(), error.to_string())));
                return unmoved;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot move all files together");
                self.not_real(&whole).await
            }
        };
        for step in steps.iter().filter(|step| left.contains(&step.path)) {
            let moved = self.settle(std::slice::from_ref(step), Pass::Again, cancel).await;
            let is_moved = moved.as_ref().is_ok_and(Vec::is_empty);
            if let Err(error) = moved {
                unmoved.failed.insert(step.path.clone(), error.to_string());
            }
            if !is_moved && !unmoved.files.contains(&step.path) {
                unmoved.files.push(step.path.clone());
            }
        }
        unmoved
    }

    /// The files that differ from their state after `changes`; all of them if they cannot be read.
    pub async fn not_real(&self, changes: &[Change]) -> Vec<PathBuf> {
        let done = changes.iter().map(|change| Change { before: change.after.clone(), ..change.clone() });
        self.conflicts(&done.collect::<Vec<_>>()).await.unwrap_or_else(|_| paths(changes))
    }

    /// Returns the files that differ from their state before `changes`. Changes nothing.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub async fn conflicts(&self, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        let not_cancelled = CancellationToken::new();
        let compare =
            |stage: &dyn Stage, workspace: &Path, changes: &[Change]| stage.conflicts(workspace, changes);
        self.with_stage(changes, &not_cancelled, [compare; 2]).await
    }
}

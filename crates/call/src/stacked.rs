//! [`StackedStage`]: a stage on top of another one. A session sees its changes there, but the workspace stays
//! unchanged.
use crate::merge::is_same;
use diffy::{DiffOptions, Line};
use haft_core::{
    AttemptedFile, Change, Confinement, Effect, FileKind, FileState, Hash, Stage, Tracking, View,
};
use parking_lot::Mutex;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// A stage on top of another one. Its views show the workspace with the changes that were settled in this stage; the
/// workspace itself stays unchanged.
///
/// Calls that would work outside of a view, write outside the workspace, or change other folders directly cannot run in
/// it. Unrecorded changes of commands (below ignored folders, and in `/tmp`) are dropped when their call ends.
pub struct StackedStage {
    below: Arc<dyn Stage>,
    /// The changes that the views showed at first, compared with the workspace, one for each file.
    base: Vec<Change>,
    /// The changes that the views show now, one for each file.
    shown: Mutex<Vec<Change>>,
}

impl StackedStage {
    /// Creates a stage whose views show the changes of `base` as made. `base` has one change for each file.
    pub fn new(below: Arc<dyn Stage>, base: Vec<Change>) -> Self {
        Self { below, shown: Mutex::new(base.clone()), base }
    }

    /// Returns one change for each file that differs between the views and the workspace.
    pub fn changes(&self) -> Vec<Change> {
        self.shown.lock().clone()
    }

    /// Returns a view that has these changes, to be settled as those of a call.
    pub fn as_view(&self, workspace: &Path) -> Arc<dyn View> {
        Arc::new(Finished { workspace: workspace.to_owned(), changes: self.changes() })
    }

    /// Returns the files that were changed since the stage was created.
    pub fn files(&self) -> Vec<AttemptedFile> {
        let shown = self.changes();
        let own = |change: &Change| {
            let before = after_of(&self.base, &change.path).unwrap_or(&change.before);
            let change = Change { before: before.clone(), ..change.clone() };
            (!is_same(&change.before, &change.after)).then(|| self.file(&change))
        };
        let undone = self.base.iter().filter(|base| after_of(&shown, &base.path).is_none());
        let undone = undone.map(|base| self.file(&base.inverse()));
        shown.iter().filter_map(own).chain(undone).collect()
    }

    fn file(&self, change: &Change) -> AttemptedFile {
        let (added, removed) = match (self.text(&change.before), self.text(&change.after)) {
            (Some(before), Some(after)) => lines(&before, &after),
            _ => (0, 0),
        };
        AttemptedFile { path: change.path.clone(), kind: change.kind(), added, removed }
    }

    /// Returns the text of a file; empty if there is no file, `None` if it is not text.
    fn text(&self, state: &Option<FileState>) -> Option<String> {
        let Some(state) = state else { return Some(String::new()) };
        let content = (state.kind() == FileKind::File).then(|| self.below.content(&state.hash).ok());
        String::from_utf8(content.flatten()?).ok()
    }

    fn check(&self, workspace: &Path, effects: &[Effect]) -> io::Result<()> {
        let why = match self.below.how(workspace, effects) {
            Tracking::Untracked => "it would work in the workspace itself, and an attempt works in views",
            _ if self.below.writes_elsewhere(workspace, effects) => {
                "its command could change folders outside the workspace, and an attempt keeps to its views"
            }
            _ if effects.iter().any(|effect| leads_out(workspace, effect)) => {
                "it would write outside the workspace, and an attempt keeps to its views"
            }
            _ => return Ok(()),
        };
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }
}

fn leads_out(workspace: &Path, effect: &Effect) -> bool {
    matches!(effect, Effect::Write(path) if !workspace.join(path).starts_with(workspace))
}

/// The state of a file after `changes`; `None` if they do not name the file.
fn after_of<'a>(changes: &'a [Change], path: &Path) -> Option<&'a Option<FileState>> {
    changes.iter().find(|change| change.path == path).map(|change| &change.after)
}

/// How many lines were added and removed.
fn lines(before: &str, after: &str) -> (usize, usize) {
    let patch = DiffOptions::new().set_context_len(0).create_patch(before, after);
    let lines = || patch.hunks().iter().flat_map(|hunk| hunk.lines());
    let added = lines().filter(|line| matches!(line, Line::Insert(_))).count();
    (added, lines().filter(|line| matches!(line, Line::Delete(_))).count())
}

impl Stage for StackedStage {
    fn how(&self, workspace: &Path, effects: &[Effect]) -> Tracking {
        self.below.how(workspace, effects)
    }

    fn unconfined(&self, workspace: &Path) -> Option<String> {
        self.below.unconfined(workspace)
    }

    fn open(&self, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
        self.open_with(workspace, effects, &[])
    }

    fn open_with(
        &self,
        workspace: &Path,
        effects: &[Effect],
        changes: &[Change],
    ) -> io::Result<Box<dyn View>> {
        if effects.iter().all(|effect| matches!(effect, Effect::Network(_))) {
            // The call touches no file.
            return self.below.open(workspace, effects);
        }
        self.check(workspace, effects)?;
        let mut shown = self.changes();
        changes.iter().for_each(|change| lay_over(&mut shown, change));
        let inner = self.below.open_with(workspace, effects, &shown)?;
        Ok(Box::new(StackedView { inner, workspace: workspace.to_owned(), shown }))
    }

    fn found(&self, workspace: &Path, path: &Path) -> io::Result<Option<FileState>> {
        let inside = path.strip_prefix(workspace).unwrap_or(path);
        match after_of(&self.changes(), inside) {
            Some(shown) => Ok(shown.clone()),
            None => self.below.found(workspace, path),
        }
    }

    fn settle(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        for change in changes {
            let found = self.found(workspace, &change.path)?;
            if is_same(&change.after, &found) {
                continue;
            }
            match is_same(&change.before, &found) {
                true => lay_over(&mut self.shown.lock(), change),
                false => left.push(change.path.clone()),
            }
        }
        Ok(left)
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.below.content(hash)
    }

    fn keep(&self, content: &[u8]) -> io::Result<Hash> {
        self.below.keep(content)
    }

    fn resolve(&self, workspace: &Path, path: &Path) -> PathBuf {
        self.below.resolve(workspace, path)
    }
}

/// Adds `change` to `shown`, which has one change for each file.
fn lay_over(shown: &mut Vec<Change>, change: &Change) {
    match shown.iter_mut().find(|known| known.path == change.path) {
        Some(known) => known.after.clone_from(&change.after),
        None => shown.push(change.clone()),
    }
    shown.retain(|change| !is_same(&change.before, &change.after));
}

/// A view of the stage below that shows the changes of this stage.
struct StackedView {
    inner: Box<dyn View>,
    workspace: PathBuf,
    shown: Vec<Change>,
}

impl StackedView {
    /// The changes of the call, compared with what its view showed at first. `changes` and `others` compare with the
    /// workspace.
    fn own(&self, changes: Vec<Change>, others: &[PathBuf]) -> Vec<Change> {
        let bulk = self.inner.bulk();
        let is_as_shown = |path: &PathBuf| {
            let is_named = changes.iter().any(|change| change.path == *path);
            is_named || others.contains(path) || bulk.paths.contains(path) || !self.is_in_view(path)
        };
        let undone = self.shown.iter().filter(|shown| !is_as_shown(&shown.path)).map(Change::inverse);
        let undone: Vec<Change> = undone.collect();
        let from_shown = |change: Change| match after_of(&self.shown, &change.path) {
            Some(before) => Change { before: before.clone(), ..change },
            None => change,
        };
        let own = changes.into_iter().map(from_shown).chain(undone);
        own.filter(|change| !is_same(&change.before, &change.after)).collect()
    }

    /// Whether the call could change the file: a view of copies contains only files that the call names.
    fn is_in_view(&self, path: &Path) -> bool {
        let real = self.workspace.join(path);
        self.inner.how() == Tracking::Staged || self.inner.locate(&real) != real
    }
}

impl View for StackedView {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn locate(&self, path: &Path) -> PathBuf {
        self.inner.locate(path)
    }

    fn add(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.add(path)
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        let changes = self.inner.changes()?;
        Ok(self.own(changes, &[]))
    }

    fn own_changes(&self) -> io::Result<(Vec<Change>, Vec<PathBuf>)> {
        let (changes, others) = self.inner.own_changes()?;
        Ok((self.own(changes, &others), others))
    }

    fn stop(&self) {
        self.inner.stop();
    }

    fn finish_by(&self, deadline: Instant) {
        self.inner.finish_by(deadline);
    }

    fn how(&self) -> Tracking {
        self.inner.how()
    }

    fn shown(&self) -> Vec<(PathBuf, PathBuf)> {
        self.inner.shown()
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        self.inner.confinement()
    }
}

/// The changes of a session in a stacked stage, presented as the view of one call that has ended.
struct Finished {
    workspace: PathBuf,
    changes: Vec<Change>,
}

impl View for Finished {
    fn root(&self) -> &Path {
        &self.workspace
    }

    fn locate(&self, path: &Path) -> PathBuf {
        self.workspace.join(path)
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        Ok(self.changes.clone())
    }

    fn how(&self) -> Tracking {
        Tracking::Staged
    }
}

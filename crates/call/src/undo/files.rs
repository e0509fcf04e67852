//! [`Files`]: the files of a session at one moment, as they were, and as they would have been without some of its calls.
use crate::{
    again::Rehearsal,
    merge::{Labels, Merge, Sides, is_same, merged},
};
use haft_core::{Change, FileKind, FileState, past_calls::FileStep};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

/// The state of each path; `None` if nothing exists there.
type States = BTreeMap<PathBuf, Option<FileState>>;

/// All files that the session changed from some step on.
pub(super) struct Files<'a> {
    rehearsal: &'a Rehearsal<'a>,
    /// Files as they are in the workspace.
    now: States,
    /// Files as they were at this moment of the history.
    with: States,
    /// Files as they would have been at this moment without the calls.
    without: States,
    /// Files that would have differed without the calls at some moment.
    ever: BTreeSet<PathBuf>,
    /// What the model knew about files that it had read or written: a tool refuses to write a file if its content
    /// differs from that.
    known: BTreeMap<PathBuf, Known>,
    /// Files that other processes changed in the same lines as the calls.
    conflicts: BTreeSet<PathBuf>,
    /// Files in which other processes changed other lines.
    merged: BTreeSet<PathBuf>,
}

/// What the model would have known about a file without the calls that are left out; `None` if it had not read it.
type Known = Option<Option<FileState>>;

/// The result of an undo.
pub(super) struct End {
    pub(super) changes: Vec<Change>,
    pub(super) conflicts: Vec<PathBuf>,
    pub(super) merged: Vec<PathBuf>,
}

impl<'a> Files<'a> {
    /// Returns the files before the first of `steps`.
    pub(super) fn before(rehearsal: &'a Rehearsal<'a>, steps: &[FileStep]) -> io::Result<Self> {
        let mut with = States::new();
        for change in steps.iter().flat_map(|step| &step.changes) {
            with.entry(change.path.clone()).or_insert_with(|| change.before.clone());
        }
        let found = |path: &PathBuf| Ok((path.clone(), rehearsal.stage.found(rehearsal.workspace, path)?));
        let now = with.keys().map(found).collect::<io::Result<States>>()?;
        let without = with.clone();
        let (ever, known, conflicts, merged) = Default::default();
        Ok(Self { rehearsal, now, with, without, ever, known, conflicts, merged })
    }

    /// Whether leaving calls out makes a difference at this moment.
    pub(super) fn differ(&self) -> bool {
        self.with.iter().any(|(path, state)| !is_same(state, &self.without[path]))
    }

    /// The file in which leaving calls out makes or made a difference: `path`, relative to the workspace or absolute, a
    /// file below it, or a folder above.
    pub(super) fn differing(&self, path: &Path) -> Option<&Path> {
        let path = path.strip_prefix(self.rehearsal.workspace).unwrap_or(path);
        let is_near = |other: &&PathBuf| other.starts_with(path) || path.starts_with(other);
        self.ever.iter().find(is_near).map(PathBuf::as_path)
    }

    /// Whether leaving calls out made a difference in this very file at some moment.
    pub(super) fn has_differed(&self, path: &Path) -> bool {
        self.ever.contains(path.strip_prefix(self.rehearsal.workspace).unwrap_or(path))
    }

    /// Whether `path`, relative to the workspace, is below `folder`, relative to it or absolute.
    pub(super) fn is_below(&self, path: &Path, folder: &Path) -> bool {
        let folder = folder.strip_prefix(self.rehearsal.workspace).unwrap_or(folder);
        path != folder && path.starts_with(folder)
    }

    /// Records that a call, possibly one that is left out, has read or written `path`.
    pub(super) fn learn(&mut self, path: &Path, is_left_out: bool) {
        let path = path.strip_prefix(self.rehearsal.workspace).unwrap_or(path);
        let Some(without) = self.without.get(path) else { return };
        let before = self.known.get(path).cloned().unwrap_or_default();
        let known = if is_left_out { before } else { Some(without.clone()) };
        self.known.insert(path.to_owned(), known);
    }

    /// Whether a tool would have refused to write `path`, because its content would not have been what the model knew;
    /// `None` if that is unknown.
    pub(super) fn is_stale(&self, path: &Path) -> Option<bool> {
        let path = path.strip_prefix(self.rehearsal.workspace).unwrap_or(path);
        let known = self.known.get(path)?.as_ref();
        Some(known.is_some_and(|known| !is_same(known, &self.without[path])))
    }

    /// Records the files in which leaving calls out makes a difference at this moment.
    fn look(&mut self) {
        let differing = self.with.iter().filter(|(path, state)| !is_same(state, &self.without[*path]));
        self.ever.extend(differing.map(|(path, _)| path.clone()));
    }

    /// Folds the changes by other programs before `step`, as far as the states in `step` show them.
    pub(super) fn changed_by_others(&mut self, step: &FileStep) -> io::Result<()> {
        for Change { path, before, .. } in &step.changes {
            if !is_same(&self.with[path], before) {
                self.change_by_others(path, before)?;
            }
        }
        Ok(())
    }

    fn change_by_others(&mut self, path: &Path, state: &Option<FileState>) -> io::Result<()> {
        let sides = Sides { base: &self.with[path], ours: &self.without[path], theirs: state };
        let differs = !is_same(sides.base, sides.ours);
        let becomes = match merged(&**self.rehearsal.stage, sides, &Labels::NONE)? {
            Merge::Clean(state) => state,
            Merge::Marked(_) | Merge::Conflict => {
                self.conflicts.insert(path.to_owned());
                state.clone()
            }
        };
        if differs {
            self.merged.insert(path.to_owned());
        }
        self.with.insert(path.to_owned(), state.clone());
        self.without.insert(path.to_owned(), becomes);
        Ok(())
    }

    /// Folds a `step` of a call that is left out.
    pub(super) fn left_out(&mut self, step: &FileStep) {
        for change in &step.changes {
            let after = carried(change.after.clone(), &self.with[&change.path]);
            self.with.insert(change.path.clone(), after);
        }
        self.look();
    }

    /// Folds a `step` that would have been the same.
    pub(super) fn same(&mut self, step: &FileStep) {
        for change in &step.changes {
            let after = carried(change.after.clone(), &self.with[&change.path]);
            self.with.insert(change.path.clone(), after.clone());
            self.without.insert(change.path.clone(), after);
        }
    }

    /// Changes from the current workspace to the files as they would have been at this moment.
    pub(super) fn as_without(&self) -> Vec<Change> {
        let change = |(path, state): (&PathBuf, &Option<FileState>)| Change {
            path: path.clone(),
            before: self.now[path].clone(),
            after: state.clone(),
            new_folders: 0,
        };
        let differs = |change: &Change| !is_same(&change.before, &change.after);
        let changes = self.without.iter().map(change).filter(differs);
        changes.filter(|change| !self.is_needed_folder(change)).collect()
    }

    /// Whether the change removes a folder that would not be empty.
    fn is_needed_folder(&self, change: &Change) -> bool {
        let is_folder = change.before.as_ref().is_some_and(|state| state.kind() == FileKind::Folder);
        let lies_below =
            |(path, state): (&PathBuf, &Option<FileState>)| state.is_some() && path.starts_with(&change.path);
        is_folder && change.after.is_none() && self.without.iter().any(lies_below)
    }

    /// The files that a repeated call changed in its view, which began with the changes `shown`. `changes`: from the
    /// workspace to the view at the end; `None` if the view did not change.
    pub(super) fn becomes(&mut self, shown: &[Change], changes: Option<Vec<Change>>) -> io::Result<States> {
        let Some(changes) = changes else { return Ok(States::new()) };
        let mut becomes = States::new();
        for change in &changes {
            self.know(&change.path, &change.before);
            let without = &self.without[&change.path];
            let after = carried(change.after.clone(), without);
            if !is_same(without, &after) {
                becomes.insert(change.path.clone(), after);
            }
        }
        // Files that were in `shown` and are as in the workspace again.
        for Change { path, .. } in shown {
            let is_named = changes.iter().any(|change| change.path == *path);
            if !is_named && !is_same(&self.without[path], &self.now[path]) {
                becomes.insert(path.clone(), self.now[path].clone());
            }
        }
        Ok(becomes)
    }

    /// Adds a file that no step has changed: its state is that of the workspace.
    fn know(&mut self, path: &Path, found: &Option<FileState>) {
        if !self.with.contains_key(path) {
            for states in [&mut self.now, &mut self.with, &mut self.without] {
                states.insert(path.to_owned(), found.clone());
            }
        }
    }

    /// Folds `step`, which would have had the result `becomes`. Returns a file in which the two differ, without
    /// folding.
    pub(super) fn take(&mut self, step: &FileStep, becomes: States) -> io::Result<Option<PathBuf>> {
        let named = step.changes.iter().map(|change| change.path.clone());
        let paths: BTreeSet<PathBuf> = named.chain(becomes.keys().cloned()).collect();
        let mut without = States::new();
        for path in paths {
            let (base, ours) = (&self.with[&path], &self.without[&path]);
            let change = step.changes.iter().find(|change| change.path == path);
            let theirs = change.map_or(base.clone(), |change| carried(change.after.clone(), base));
            let sides = Sides { base, ours, theirs: &theirs };
            let expected = match merged(&**self.rehearsal.stage, sides, &Labels::NONE)? {
                Merge::Clean(state) => state,
                Merge::Marked(_) | Merge::Conflict => return Ok(Some(path)),
            };
            let made = becomes.get(&path).unwrap_or(ours);
            if !is_same(&expected, made) {
                return Ok(Some(path));
            }
            without.insert(path, made.clone());
        }
        self.without.extend(without);
        self.left_out(step);
        Ok(None)
    }

    /// Returns the result after the last step, including later changes by other programs.
    pub(super) fn end(mut self) -> io::Result<End> {
        // True after a crash between writing the files and recording the fact.
        let is_done = |path: &Path| is_same(&self.now[path], &self.without[path]);
        let done =
            self.with.iter().filter(|(path, with)| is_done(path) && !is_same(with, &self.without[*path]));
        let done = done.map(|(path, with)| Change {
            path: path.clone(),
            before: with.clone(),
            after: self.without[path].clone(),
            new_folders: 0,
        });
        let done: Vec<Change> = done.collect();
        for (path, now) in self.now.clone() {
            if !is_same(&self.with[&path], &now) {
                self.change_by_others(&path, &now)?;
            }
        }
        let changes = self.as_without();
        let merged = changes.iter().map(|change| &change.path).filter(|path| self.merged.contains(*path));
        let merged = merged.cloned().collect();
        let changes = changes.into_iter().filter(|change| !self.conflicts.contains(&change.path));
        let between = |Change { path, before, after, .. }| Change::between(path, before, after);
        Ok(End {
            changes: changes.chain(done).map(between).collect(),
            conflicts: self.conflicts.into_iter().collect(),
            merged,
        })
    }
}

/// Returns `state`, with the attributes of `before` if it has none of its own.
fn carried(state: Option<FileState>, before: &Option<FileState>) -> Option<FileState> {
    let known = before.as_ref().and_then(|before| before.attributes.clone());
    state.map(|state| FileState { attributes: state.attributes.clone().or(known), ..state })
}

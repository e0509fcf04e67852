//! [`Settling`]: brings files from `before` to `after`, each completely or not at all.
//!
//! The journal holds the changes before any of this begins, so that a kill at any time leaves each file in one of these
//! states, and the next settling of the same changes recognizes all of them:
//!
//! | under its name | beside it ([`temp_names`]) | what it is |
//! | --- | --- | --- |
//! | `before` | nothing, or a beginning of `after` | not put in place yet |
//! | `after` | nothing, or `before` | put in place |
//! | an empty folder of ours, or one in which some files are | `before`, no folder | a file that becomes a folder |
//! | `after` | a folder | a folder that became a file, and comes back if something is in it |
//! | a folder, with a mode between `before` and `after` | nothing | a folder that changes |
//!
//! Any other state is from another process, and stays. Nothing is removed before all new files are in place, and an
//! error until then reverts everything in reverse order. Folders that their owner may not change are made writable
//! meanwhile: see [`crate::access`].
mod folders;

use crate::{
    access::Access,
    blobs::Blobs,
    lock::Locks,
    place::{CreatedDirs, Lookup, Place, State},
    step::{Committed, Step},
    sync::{sync_one, sync_systems},
    temp_names,
};
use folders::{makes_folder, removes_folder};
use haft_core::Change;
use std::{
    collections::HashSet,
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// The parameters of settling.
pub(crate) struct Settling<'a> {
    pub(crate) blobs: &'a Blobs,
    pub(crate) locks: &'a Locks,
    /// Absolute, links followed.
    pub(crate) workspace: &'a Path,
    /// Whether a file that is already in the state `after` was written by another process.
    pub(crate) is_first: bool,
}

/// Maximum number of files that are prepared before the first of them is put in place: each keeps a folder open.
const MAX_PREPARED: usize = 64;

impl Settling<'_> {
    /// See [`haft_core::Stage::settle`]. The error names the file at which it stopped.
    pub(crate) fn settle(&self, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        let mut left = HashSet::new();
        for run in runs(changes) {
            left.extend(self.run(run)?);
        }
        let paths = changes.iter().map(|change| &change.path);
        Ok(paths.filter(|path| left.contains(*path)).cloned().collect())
    }

    /// Settles changes of different files.
    fn run(&self, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        let access = Access::open(self.blobs, self.workspace, changes)?;
        let left = self.run_open(changes, &access)?;
        access.close()?;
        Ok(left)
    }

    /// Settles the changes; removes nothing before all new files are in place.
    fn run_open(&self, changes: &[Change], access: &Access) -> io::Result<Vec<PathBuf>> {
        let (made, rest): (Vec<_>, Vec<_>) = changes.iter().partition(|change| makes_folder(change));
        let rest = self.still_below_folders(rest)?;
        let (gone, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|change| removes_folder(change));
        let (removed, written): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|change| change.after.is_none());
        let replacing = self.prepare_in_place_of_folders(&gone)?;
        let mut folders = self.make_folders(made, access)?;
        let mut left = match self.write(&written) {
            Ok(left) => left,
            Err(error) => return Err(folders.take_back(error)),
        };
        if let Err(error) = folders.finish(self.blobs, access) {
            self.take_back(&written);
            return Err(folders.take_back(error));
        }
        left.extend(folders.left);
        // A file that was left out may be the new name of a file to be removed: its content must not be lost.
        if !left.is_empty() {
            left.extend(self.not_gone(&[removed, gone].concat())?);
            return Ok(left);
        }
        for batch in removed.chunks(MAX_PREPARED) {
            left.extend(self.batch(batch)?);
        }
        left.extend(self.remove_folders(gone, replacing)?);
        self.remove_emptied(&removed);
        Ok(left)
    }

    /// Writes the files that exist after the changes: all of them, or none after an error.
    fn write(&self, changes: &[&Change]) -> io::Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        for (number, batch) in changes.chunks(MAX_PREPARED).enumerate() {
            match self.batch(batch) {
                Ok(more) => left.extend(more),
                Err(error) => {
                    self.take_back(&changes[..number * MAX_PREPARED]);
                    return Err(error);
                }
            }
        }
        Ok(left)
    }

    fn take_back(&self, changes: &[&Change]) {
        let back: Vec<Change> = changes.iter().map(|change| change.inverse()).collect();
        for batch in back.iter().collect::<Vec<_>>().chunks(MAX_PREPARED) {
            // A change that cannot be taken back shows in the next comparison.
            let _best_effort = self.batch(batch);
        }
    }

    /// Settles all of these changes, or none if one of them fails.
    fn batch(&self, changes: &[&Change]) -> io::Result<Vec<PathBuf>> {
        let (mut steps, mut left) = (Vec::new(), Vec::new());
        for change in changes {
            match self.look(change).map_err(|error| named(change, error))? {
                Plan::Settled => {}
                Plan::Left => left.push(change.path.clone()),
                Plan::Ready(step) => steps.push(step),
            }
        }
        if steps.is_empty() {
            return Ok(left);
        }
        sync_contents(&steps)?;
        let lock = self.locks.take(self.workspace)?;
        left.extend(self.commit(&mut steps)?);
        drop(lock);
        steps.iter().for_each(|step| step.tidy(self.blobs));
        sync_folders(&steps)?;
        Ok(left)
    }

    /// Compares the file, and prepares its change.
    fn look<'a>(&self, change: &'a Change) -> io::Result<Plan<'a>> {
        let path = self.workspace.join(&change.path);
        let place = match Place::find(&path)? {
            Lookup::Blocked => return Ok(Plan::Left),
            Lookup::Open(place) => Some(place),
            Lookup::Missing => None,
        };
        let (now, old) = place.as_ref().map_or(Ok((State::Absent, None)), Place::look)?;
        if self.is_others(change) && now.is(&change.after) {
            return Ok(Plan::Left);
        }
        if now.is(&change.after) || !now.is(&change.before) {
            if let (Some(place), true) = (&place, change.before != change.after) {
                temp_names::tidy(self.blobs, change, place);
            }
            return Ok(if now.is(&change.after) { Plan::Settled } else { Plan::Left });
        }
        let mut made = CreatedDirs::default();
        let place = place.map_or_else(|| Place::make(&path, &mut made), Ok)?;
        Step::prepare(self.blobs, change, place, made, old.as_ref()).map(Plan::Ready)
    }

    /// Whether a file in the state after `change` was written by another process. A removed file does not count.
    fn is_others(&self, change: &Change) -> bool {
        self.is_first && change.after.is_some() && change.before != change.after
    }

    /// Puts the steps in place. Returns the files that were left unchanged; after an error all are unchanged.
    fn commit(&self, steps: &mut [Step<'_>]) -> io::Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        for place in 0..steps.len() {
            let change = steps[place].change;
            match steps[place].commit() {
                Ok(Committed::Done) => {}
                Ok(Committed::Found) if !self.is_others(change) => {}
                Ok(Committed::Found | Committed::Left) => left.push(change.path.clone()),
                Err(error) => {
                    for done in steps[..=place].iter_mut().rev() {
                        // A change that cannot be taken back shows in the next comparison.
                        let _best_effort = done.take_back();
                    }
                    return Err(named(change, error));
                }
            }
        }
        Ok(left)
    }

    fn not_gone(&self, changes: &[&Change]) -> io::Result<Vec<PathBuf>> {
        let is_there = |change: &&Change| {
            let looked = match Place::find(&self.workspace.join(&change.path)) {
                Ok(Lookup::Open(place)) => place.look().map(|(state, _)| state),
                Ok(Lookup::Missing) => Ok(State::Absent),
                Ok(Lookup::Blocked) => Ok(State::Other),
                Err(error) => Err(error),
            };
            match looked.map_err(|error| named(change, error)) {
                Ok(State::Absent) => None,
                Ok(_) => Some(Ok(change.path.clone())),
                Err(error) => Some(Err(error)),
            }
        };
        changes.iter().filter_map(is_there).collect()
    }
}

enum Plan<'a> {
    /// The file already has the state after the change.
    Settled,
    /// The file has neither the state before the change nor that after it.
    Left,
    Ready(Step<'a>),
}

/// Splits changes into runs in which each file occurs once.
fn runs(changes: &[Change]) -> Vec<&[Change]> {
    let (mut runs, mut start, mut seen) = (Vec::new(), 0, HashSet::new());
    for (place, change) in changes.iter().enumerate() {
        if !seen.insert(&change.path) {
            runs.push(&changes[start..place]);
            start = place;
            seen = HashSet::from([&change.path]);
        }
    }
    runs.push(&changes[start..]);
    runs
}

fn named(change: &Change, error: io::Error) -> io::Error {
    let what = if change.after.is_some() { "write" } else { "remove" };
    io::Error::new(error.kind(), format!("cannot {what} `{}`: {error}", change.path.display()))
}

/// Syncs the contents that are to be put in place.
fn sync_contents(steps: &[Step<'_>]) -> io::Result<()> {
    let mut files = steps.iter().filter_map(Step::content);
    match (files.next(), files.next()) {
        (Some(file), None) => sync_one(file),
        (first, second) => sync_systems(first.into_iter().chain(second).chain(files)),
    }
}

/// Syncs the folders, and thereby the names.
fn sync_folders(steps: &[Step<'_>]) -> io::Result<()> {
    let folders: HashSet<&Path> = steps.iter().map(|step| &*step.place().above).collect();
    match steps {
        [step, ..] if folders.len() == 1 && !step.has_made_folders() => sync_one(&step.place().folder),
        steps => {
            let folders = steps.iter().map(|step| step.place().folder.try_clone().map(File::from));
            sync_systems(&folders.collect::<io::Result<Vec<File>>>()?)
        }
    }
}

#[cfg(test)]
mod tests;

//! [`Folders`]: settles folders that are created, removed, or get other permissions.
use super::{Settling, named, sync_contents, sync_folders};
use crate::{
    access::Access,
    blobs::Blobs,
    place::{CreatedDirs, Lookup, OWNER, Place, State},
    step::{Committed, Step},
    sync::sync_systems,
    temp_names,
};
use haft_core::{Change, FileKind, FileState};
use rustix::{fs::RenameFlags, io::Errno};
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// Folders that were created or found, until their contents are complete.
#[derive(Default)]
pub(super) struct Folders<'a> {
    /// Created folders, parents first, each with its inode number.
    made: Vec<(PathBuf, u64)>,
    /// Folders that replaced files and links, which are kept beside them.
    replaced: Vec<Step<'a>>,
    /// Permissions and attributes that are set later, because they would prevent writing in the folders or be inherited
    /// by their files.
    later: Vec<(PathBuf, u64, &'a FileState)>,
    /// Folders whose state is neither `before` nor `after`.
    pub(super) left: Vec<PathBuf>,
}

/// The result of settling a change of a folder.
enum Done {
    /// The folder already has the state after the change.
    Settled,
    /// The folder has neither the state before the change nor that after it.
    Left,
}

/// Whether a folder exists after the change.
pub(super) fn makes_folder(change: &Change) -> bool {
    is_folder(&change.after)
}

/// Whether a folder existed before the change and does not exist after it.
pub(super) fn removes_folder(change: &Change) -> bool {
    is_folder(&change.before) && !is_folder(&change.after)
}

fn is_folder(state: &Option<FileState>) -> bool {
    state.as_ref().is_some_and(|state| state.kind() == FileKind::Folder)
}

impl Settling<'_> {
    /// Creates missing folders, parents first.
    pub(super) fn make_folders<'a>(
        &self,
        mut changes: Vec<&'a Change>,
        access: &Access,
    ) -> io::Result<Folders<'a>> {
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        let mut folders = Folders::default();
        for change in changes {
            match self.make_folder(change, &mut folders, access) {
                Ok(Done::Settled) => {}
                Ok(Done::Left) => folders.left.push(change.path.clone()),
                Err(error) => {
                    return Err(folders.take_back(named(change, error)));
                }
            }
        }
        Ok(folders)
    }

    fn make_folder<'a>(
        &self,
        change: &'a Change,
        folders: &mut Folders<'a>,
        access: &Access,
    ) -> io::Result<Done> {
        let (Some(after), path) = (&change.after, self.workspace.join(&change.path)) else {
            return Ok(Done::Settled);
        };
        let only_compares = change.before == change.after;
        let place = match Place::find(&path)? {
            Lookup::Blocked => return Ok(Done::Left),
            Lookup::Missing if only_compares => return Ok(Done::Left),
            Lookup::Missing => {
                let mut above = CreatedDirs::default();
                above.is_used = true;
                Place::make(&path, &mut above)?
            }
            Lookup::Open(place) => place,
        };
        match (folder_as_it_was(&place, access)?, &change.before) {
            (now, _) if now.is(&change.after) => {
                if !only_compares {
                    temp_names::tidy(self.blobs, change, &place);
                }
                return Ok(Done::Settled);
            }
            _ if only_compares => return Ok(Done::Left),
            (State::Known(now), Some(before)) if is_on_the_way(&now, before, after) => {
                folders.finish_later(&place, path, after);
            }
            // The folder may be from a killed process of the same change, or was created for a file.
            (now, None) if now.is_folder() => folders.finish_later(&place, path, after),
            (State::Absent, None) => folders.make(&place, path, after)?,
            (_, before) if is_folder(before) => return Ok(Done::Left),
            (now, before) if now.is(before) => return self.replace_file(change, after, place, folders),
            (now, _) if now.is_folder() || now == State::Absent => {
                return self.go_on_replacing(change, after, place, folders, now == State::Absent);
            }
            _ => return Ok(Done::Left),
        }
        Ok(Done::Settled)
    }

    /// Puts an empty folder in place of a file or link, in one step.
    fn replace_file<'a>(
        &self,
        change: &'a Change,
        after: &'a FileState,
        place: Place,
        folders: &mut Folders<'a>,
    ) -> io::Result<Done> {
        let path = place.above.join(&place.name);
        let mut step = Step::prepare(self.blobs, change, place, CreatedDirs::default(), None)?;
        let lock = self.locks.take(self.workspace)?;
        let done = step.commit()?;
        drop(lock);
        match done {
            Committed::Done => {
                folders.finish_later(step.place(), path, after);
                folders.replaced.push(step);
                Ok(Done::Settled)
            }
            Committed::Found => Ok(Done::Settled),
            Committed::Left => Ok(Done::Left),
        }
    }

    /// Continues a replacement that a killed process had begun.
    fn go_on_replacing<'a>(
        &self,
        change: &'a Change,
        after: &'a FileState,
        place: Place,
        folders: &mut Folders<'a>,
        is_gone: bool,
    ) -> io::Result<Done> {
        let path = place.above.join(&place.name);
        // In the first pass such a state is from another process.
        let begun = if self.is_first { None } else { Step::adopt(change, place.again()?)? };
        match begun {
            Some(step) => {
                folders.finish_later(step.place(), path, after);
                folders.replaced.push(step);
            }
            None if is_gone => folders.make(&place, path, after)?,
            None => return Ok(Done::Left),
        }
        Ok(Done::Settled)
    }

    /// Writes the replacements of folders beside them first, so that nothing is removed if the disk is full.
    pub(super) fn prepare_in_place_of_folders<'a>(&self, gone: &[&'a Change]) -> io::Result<Vec<Step<'a>>> {
        let mut steps = Vec::new();
        for change in gone.iter().filter(|change| change.after.is_some()) {
            let prepare = || match Place::find(&self.workspace.join(&change.path))? {
                Lookup::Open(place) => {
                    let now = place.look()?.0;
                    let is_ours = now.is_folder() || now == State::Absent;
                    is_ours
                        .then(|| Step::prepare(self.blobs, change, place, CreatedDirs::default(), None))
                        .transpose()
                }
                Lookup::Blocked | Lookup::Missing => Ok(None),
            };
            steps.extend(prepare().map_err(|error| named(change, error))?);
        }
        if !steps.is_empty() {
            sync_contents(&steps)?;
        }
        Ok(steps)
    }

    /// Returns the changes without those below a folder that was already replaced.
    pub(super) fn still_below_folders<'a>(&self, changes: Vec<&'a Change>) -> io::Result<Vec<&'a Change>> {
        let mut replaced = HashSet::new();
        for change in changes.iter().filter(|change| removes_folder(change) && change.after.is_some()) {
            if self.is_replaced(change).map_err(|error| named(change, error))? {
                replaced.insert(&*change.path);
            }
        }
        let is_below = |change: &&Change| change.path.ancestors().any(|above| replaced.contains(above));
        Ok(changes.into_iter().filter(|change| !is_below(change)).collect())
    }

    /// Whether a folder was replaced. Restores a folder that is not empty if a killed process left it beside its
    /// replacement.
    fn is_replaced(&self, change: &Change) -> io::Result<bool> {
        let Ok(Lookup::Open(place)) = Place::find(&self.workspace.join(&change.path)) else {
            return Ok(false);
        };
        let is_done = || place.look().is_ok_and(|(now, _)| now.is(&change.after));
        if !is_done() {
            return Ok(false);
        }
        let mut is_back = false;
        if temp_names::find_full_folder(change, &place)?.is_some() {
            // Locked, because another process may just be exchanging them.
            let _lock = self.locks.take(self.workspace)?;
            if let (true, Some(beside)) = (is_done(), temp_names::find_full_folder(change, &place)?) {
                place.rename(&beside, &place.name, RenameFlags::EXCHANGE)?;
                is_back = true;
            }
        }
        temp_names::tidy(self.blobs, change, &place);
        Ok(!is_back)
    }

    /// Removes empty folders, children first, and puts their replacements in place. Returns the folders that were left
    /// unchanged.
    pub(super) fn remove_folders(
        &self,
        mut changes: Vec<&Change>,
        mut replacing: Vec<Step<'_>>,
    ) -> io::Result<Vec<PathBuf>> {
        changes.sort_by(|one, other| other.path.cmp(&one.path));
        let mut left = Vec::new();
        for change in changes {
            let step = replacing.iter_mut().find(|step| step.change.path == change.path);
            if let Done::Left = self.remove_folder(change, step).map_err(|error| named(change, error))? {
                left.push(change.path.clone());
            }
        }
        if !replacing.is_empty() {
            sync_folders(&replacing)?;
        }
        Ok(left)
    }

    /// Removes the folders that were created for files that are removed. Folders that are not empty stay without an
    /// error.
    pub(super) fn remove_emptied(&self, removed: &[&Change]) {
        for change in removed {
            for folder in change.folders() {
                let place = Place::find(&self.workspace.join(folder));
                match place {
                    Ok(Lookup::Open(place)) if place.remove_folder(&place.name).is_ok() => {}
                    Ok(Lookup::Open(place)) if place.inode_of(&place.name).is_none() => {}
                    Ok(Lookup::Missing) => {}
                    _ => break,
                }
            }
        }
    }

    fn remove_folder(&self, change: &Change, step: Option<&mut Step<'_>>) -> io::Result<Done> {
        let place = match Place::find(&self.workspace.join(&change.path))? {
            Lookup::Blocked => return Ok(Done::Left),
            Lookup::Missing => return Ok(if change.after.is_none() { Done::Settled } else { Done::Left }),
            Lookup::Open(place) => place,
        };
        match (place.look()?.0, step) {
            (now, _) if now.is(&change.after) => {
                temp_names::tidy(self.blobs, change, &place);
                Ok(Done::Settled)
            }
            (now, Some(step)) if now.is_folder() || now == State::Absent => {
                let lock = self.locks.take(self.workspace)?;
                let done = step.replace_folder()?;
                drop(lock);
                step.tidy(self.blobs);
                Ok(if matches!(done, Committed::Left) { Done::Left } else { Done::Settled })
            }
            (now, None) if now.is_folder() && change.after.is_none() => {
                match place.remove_folder(&place.name) {
                    Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Done::Left),
                    removed => removed.map(|()| Done::Settled).map_err(Into::into),
                }
            }
            _ => Ok(Done::Left),
        }
    }
}

/// The state of the place. A folder has the mode from before its permissions were widened.
fn folder_as_it_was(place: &Place, access: &Access) -> io::Result<State> {
    Ok(match place.look()?.0 {
        State::Known(now) if now.kind() == FileKind::Folder => {
            let mode = place.stat(&place.name).and_then(|found| access.mode_of(&found));
            State::Known(FileState { mode: mode.unwrap_or(now.mode), ..now })
        }
        now => now,
    })
}

/// Whether a folder has the state `before`, or a state between `before` and `after` that a killed process left.
fn is_on_the_way(now: &FileState, before: &FileState, after: &FileState) -> bool {
    let modes = [before.mode, before.mode | OWNER, after.mode, after.mode | OWNER];
    let attributes = |state: &FileState| state.attributes.clone().unwrap_or_default();
    let [is, was, will_be] = [now, before, after].map(attributes);
    let names = || is.keys().chain(was.keys()).chain(will_be.keys());
    let is_either = |name| [was.get(name), will_be.get(name)].contains(&is.get(name));
    before.kind() == after.kind()
        && modes.contains(&now.mode)
        && (after.attributes.is_none() || now.attributes.is_some() && names().all(is_either))
}

impl<'a> Folders<'a> {
    /// Creates a folder that only its owner can access until its contents are complete.
    fn make(&mut self, place: &Place, path: PathBuf, state: &'a FileState) -> io::Result<()> {
        place.make_folder(&place.name)?;
        self.made.extend(place.inode_of(&place.name).map(|inode| (path.clone(), inode)));
        self.finish_later(place, path, state);
        Ok(())
    }

    fn finish_later(&mut self, place: &Place, path: PathBuf, state: &'a FileState) {
        self.later.extend(place.inode_of(&place.name).map(|inode| (path, inode, state)));
    }

    /// Sets the final states of the folders, whose contents are complete. A mode that prevents removing files in them
    /// is set at the very end.
    pub(super) fn finish(&mut self, blobs: &Blobs, access: &Access) -> io::Result<()> {
        // One folder of each file system is enough to sync it.
        let mut above = HashMap::new();
        for (path, inode, state) in self.later.iter().rev() {
            let Some(place) = still_there(path, *inode)? else { continue };
            let open = FileState { mode: state.mode | OWNER, ..(*state).clone() };
            place.set_state(&place.name, &open).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot write `{}`: {error}", path.display()))
            })?;
            if let Some(found) = place.stat(&place.name) {
                access.finally(path.clone(), &found, state.mode);
                above.entry(found.st_dev).or_insert_with(|| File::from(place.folder));
            }
        }
        sync_systems(above.values())?;
        for step in std::mem::take(&mut self.replaced) {
            step.tidy(blobs);
        }
        Ok(())
    }

    /// After an error, removes the created folders and restores what they replaced. Adds to the error what could not be
    /// restored.
    pub(super) fn take_back(self, mut error: io::Error) -> io::Error {
        for (path, inode) in self.made.iter().rev() {
            if let Ok(Some(place)) = still_there(path, *inode) {
                let _others_use_it = place.remove_folder(&place.name);
            }
        }
        for mut step in self.replaced.into_iter().rev() {
            if let Err(kept) = step.take_back() {
                error = io::Error::new(error.kind(), format!("{error}; {kept}"));
            }
        }
        error
    }
}

fn still_there(path: &Path, inode: u64) -> io::Result<Option<Place>> {
    Ok(match Place::find(path)? {
        Lookup::Open(place) if place.inode_of(&place.name) == Some(inode) => Some(place),
        Lookup::Open(_) | Lookup::Missing | Lookup::Blocked => None,
    })
}

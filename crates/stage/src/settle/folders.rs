//! Folders that are made, removed, or get other permissions.
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

/// Folders that were made or found, until all that belongs into them is there.
#[derive(Default)]
pub(super) struct Folders<'a> {
    /// Folders that were made where nothing was, the highest first, each with its inode number.
    made: Vec<(PathBuf, u64)>,
    /// Folders that were made in place of files and links, which are kept beside them.
    replaced: Vec<Step<'a>>,
    /// What would keep us from writing in them, or pass to what we write.
    later: Vec<(PathBuf, u64, &'a FileState)>,
    /// Neither as before nor as after.
    pub(super) left: Vec<PathBuf>,
}

/// What becomes of a change while it is settled.
enum Done {
    /// The folder already has the state after the change.
    Settled,
    /// The folder has neither the state before the change nor that after it.
    Left,
}

/// Whether a folder is to be there afterwards.
pub(super) fn makes_folder(change: &Change) -> bool {
    is_folder(&change.after)
}

/// Whether a folder was there before, and none is to be.
pub(super) fn removes_folder(change: &Change) -> bool {
    is_folder(&change.before) && !is_folder(&change.after)
}

fn is_folder(state: &Option<FileState>) -> bool {
    state.as_ref().is_some_and(|state| state.kind() == FileKind::Folder)
}

impl Settling<'_> {
    /// Makes those that are missing, from above to below.
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
            // It may be ours: a process that was killed had made it, or a file needed it.
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
        // The first time it is the work of another process.
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

    /// Writes what replaces folders beside them first: if there is no room, nothing was removed.
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

    /// Returns the changes that are not done already because something else took the place of the folder above.
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

    /// Whether something else took the place of a folder. A folder in which something is comes back if a killed process
    /// left it beside that.
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
            // A process that lives may be exchanging them.
            let _lock = self.locks.take(self.workspace)?;
            if let (true, Some(beside)) = (is_done(), temp_names::find_full_folder(change, &place)?) {
                place.rename(&beside, &place.name, RenameFlags::EXCHANGE)?;
                is_back = true;
            }
        }
        temp_names::tidy(self.blobs, change, &place);
        Ok(!is_back)
    }

    /// Removes those in which nothing is, from below to above, and puts what takes their place there. Gives those that
    /// were left.
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

    /// Removes the folders that were made for files which are gone. What others need stays, and is no failure.
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

/// Whether a folder is as it was, or partly as it is to be: a process that was killed had begun.
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
    /// For us alone until all that belongs into it is there.
    fn make(&mut self, place: &Place, path: PathBuf, state: &'a FileState) -> io::Result<()> {
        place.make_folder(&place.name)?;
        self.made.extend(place.inode_of(&place.name).map(|inode| (path.clone(), inode)));
        self.finish_later(place, path, state);
        Ok(())
    }

    fn finish_later(&mut self, place: &Place, path: PathBuf, state: &'a FileState) {
        self.later.extend(place.inode_of(&place.name).map(|inode| (path, inode, state)));
    }

    /// All that belongs into them is there. A mode that would keep us from removing files in them comes at the end of all.
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

    /// Removes what was made, and puts back what it replaced, after an error, which then names what could not be put back.
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

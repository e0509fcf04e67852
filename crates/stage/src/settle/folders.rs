//! Folders that are made, removed, or get other permissions.
use super::{Settling, named};
use crate::{
    place::{CreatedDirs, Lookup, OWNER, Place, State},
    sync::sync_systems,
};
use haft_core::{Change, FileKind, FileState};
use rustix::io::Errno;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// Folders that were made or found, until all that belongs into them is there.
#[derive(Default)]
pub(super) struct Folders<'a> {
    /// Those that were made, from above to below.
    made: Vec<Place>,
    /// What would keep us from writing in them, or pass to what we write.
    later: Vec<(Place, &'a FileState)>,
    /// Neither as before nor as after.
    pub(super) left: Vec<PathBuf>,
}

/// Without it, an owner can change nothing in a folder.
const OWNER_WRITES: u32 = 0o200;

/// What becomes of a change while it is settled.
enum Done {
    /// It is as it is to be.
    Settled,
    /// It is neither as before nor as after.
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
    pub(super) fn make_folders<'a>(&self, mut changes: Vec<&'a Change>) -> io::Result<Folders<'a>> {
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        let mut folders = Folders::default();
        for change in changes {
            match self.make_folder(change, &mut folders) {
                Ok(Done::Settled) => {}
                Ok(Done::Left) => folders.left.push(change.path.clone()),
                Err(error) => {
                    folders.take_back();
                    return Err(named(change, error));
                }
            }
        }
        Ok(folders)
    }

    fn make_folder<'a>(&self, change: &'a Change, folders: &mut Folders<'a>) -> io::Result<Done> {
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
        match (place.look()?.0, &change.before) {
            (now, _) if now.is(&change.after) => return Ok(Done::Settled),
            _ if only_compares => return Ok(Done::Left),
            (State::Absent, before) if is_folder(before) => return Ok(Done::Left),
            (State::Absent, _) => folders.make(place, after)?,
            // It may be ours: a process that was killed had made it, or a file needed it.
            (now, None) if now.is_folder() => folders.bring(place, after)?,
            (State::Known(now), Some(before)) if is_on_the_way(&now, before, after) => {
                folders.bring(place, after)?;
            }
            (now, before) if now.is(before) => {
                let gone = Change { after: None, ..change.clone() };
                if !self.batch(&[&gone])?.is_empty() {
                    return Ok(Done::Left);
                }
                folders.make(place, after)?;
            }
            _ => return Ok(Done::Left),
        }
        Ok(Done::Settled)
    }

    /// Those that are not done already because something else took the place of the folder above.
    pub(super) fn still_below_folders<'a>(&self, changes: Vec<&'a Change>) -> Vec<&'a Change> {
        let is_replaced = |change: &&&Change| {
            removes_folder(change)
                && change.after.is_some()
                && matches!(Place::find(&self.workspace.join(&change.path)), Ok(Lookup::Open(place))
                    if place.look().is_ok_and(|(now, _)| now.is(&change.after)))
        };
        let replaced: Vec<&Path> = changes.iter().filter(is_replaced).map(|change| &*change.path).collect();
        let is_below = |change: &&Change| replaced.iter().any(|above| change.path.starts_with(above));
        changes.into_iter().filter(|change| !is_below(change)).collect()
    }

    /// Removes those in which nothing is, from below to above, and puts what takes their place there. Gives those that
    /// were left.
    pub(super) fn remove_folders(&self, mut changes: Vec<&Change>) -> io::Result<Vec<PathBuf>> {
        changes.sort_by(|one, other| other.path.cmp(&one.path));
        let mut left = Vec::new();
        for change in changes {
            if let Done::Left = self.remove_folder(change).map_err(|error| named(change, error))? {
                left.push(change.path.clone());
            }
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
                    _ => break,
                }
            }
        }
    }

    fn remove_folder(&self, change: &Change) -> io::Result<Done> {
        let place = match Place::find(&self.workspace.join(&change.path))? {
            Lookup::Blocked => return Ok(Done::Left),
            Lookup::Missing => return Ok(if change.after.is_none() { Done::Settled } else { Done::Left }),
            Lookup::Open(place) => place,
        };
        match place.look()?.0 {
            now if now.is(&change.after) => return Ok(Done::Settled),
            State::Absent => {}
            now if now.is_folder() => match place.remove_folder(&place.name) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(Done::Left),
                removed => removed?,
            },
            State::Known(_) | State::Other => return Ok(Done::Left),
        }
        let Some(after) = &change.after else { return Ok(Done::Settled) };
        let new =
            Change { path: change.path.clone(), before: None, after: Some(after.clone()), new_folders: 0 };
        Ok(if self.batch(&[&new])?.is_empty() { Done::Settled } else { Done::Left })
    }
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
    fn make(&mut self, place: Place, state: &'a FileState) -> io::Result<()> {
        place.make_folder(&place.name)?;
        let again = place.again()?;
        self.made.push(place);
        self.later.push((again, state));
        Ok(())
    }

    fn bring(&mut self, place: Place, state: &'a FileState) -> io::Result<()> {
        let may_write = state.permissions() & OWNER_WRITES != 0;
        match &state.attributes {
            None if may_write => return place.set_state(&place.name, state),
            Some(_) if may_write => {
                place.set_state(&place.name, &FileState::folder(state.permissions() | OWNER))?;
            }
            _ => {}
        }
        self.later.push((place, state));
        Ok(())
    }

    /// All that belongs into them is there.
    pub(super) fn finish(self) -> io::Result<Vec<PathBuf>> {
        for (place, state) in self.later.iter().rev() {
            place.set_state(&place.name, state)?;
        }
        let above = self.made.iter().map(|place| place.folder.try_clone().map(File::from));
        sync_systems(&above.collect::<io::Result<Vec<File>>>()?)?;
        Ok(self.left)
    }

    /// Removes what was made.
    pub(super) fn take_back(self) {
        for place in self.made.iter().rev() {
            let _others_use_it = place.remove_folder(&place.name);
        }
    }
}

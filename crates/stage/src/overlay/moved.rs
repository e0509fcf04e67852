//! What is settled and not kept: build folders that git ignores, moved from the view into the workspace as they are.
use super::upper::{Seen, SeenFolder, look};
use crate::place::{Lookup, Made, Place};
use rustix::io::Errno;
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

/// Brings the workspace to what a view shows under some paths.
pub(super) struct Moving<'a> {
    pub(super) root: &'a Path,
    pub(super) upper: &'a Path,
}

impl Moving<'_> {
    /// `path` is relative to the workspace. No link in it is followed.
    pub(super) fn settle(&self, path: &Path) -> io::Result<()> {
        let above = path.parent().unwrap_or(Path::new(""));
        let (upper, lower) = (Some(self.upper.join(above)), Some(self.root.join(above)));
        let name = path.file_name().unwrap_or_default();
        let seen = SeenFolder { upper, lower }.seen(name, self.root)?;
        let place = match Place::find(&self.root.join(path))? {
            Lookup::Open(place) => place,
            Lookup::Blocked => return Err(blocked(path)),
            Lookup::Missing => {
                let mut made = Made::default();
                made.is_used = true;
                Place::make(&self.root.join(path), &mut made)?
            }
        };
        self.bring(&place, seen)
    }

    fn bring(&self, place: &Place, seen: Seen) -> io::Result<()> {
        let real = place.above.join(&place.name);
        match seen {
            Seen::File(file) if file == real => Ok(()),
            Seen::Absent => remove(&real),
            Seen::File(file) => {
                if look(&real)?.is_some_and(|found| found.is_dir()) {
                    remove(&real)?;
                }
                move_over(&file, place)
            }
            Seen::Folder(folder) => self.bring_folder(place, &real, folder),
            Seen::Other => Ok(()),
        }
    }

    fn bring_folder(&self, place: &Place, real: &Path, folder: SeenFolder) -> io::Result<()> {
        let found = look(real)?;
        if folder.lower.as_deref() != Some(real) {
            if found.is_some() {
                remove(real)?;
            }
            match (&folder.upper, &folder.lower) {
                // It had another name.
                (_, Some(lower)) => fs::rename(lower, real)?,
                (Some(upper), None) => return move_over(upper, place),
                (None, None) => return Ok(()),
            }
        }
        let Some(upper) = &folder.upper else { return Ok(()) };
        for entry in fs::read_dir(upper)? {
            let name = entry?.file_name();
            let seen = SeenFolder { upper: Some(upper.clone()), lower: Some(real.to_owned()) };
            let seen = seen.seen(&name, self.root)?;
            self.bring(&below(real, &name)?, seen)?;
        }
        Ok(())
    }
}

fn below(folder: &Path, name: &OsStr) -> io::Result<Place> {
    let path = folder.join(name);
    match Place::find(&path)? {
        Lookup::Open(place) => Ok(place),
        Lookup::Blocked | Lookup::Missing => Err(blocked(&path)),
    }
}

/// Whatever lies in the place, unless it is a folder.
fn move_over(from: &Path, place: &Place) -> io::Result<()> {
    match rustix::fs::renameat(rustix::fs::CWD, from, &place.folder, &place.name) {
        Err(Errno::XDEV) => copy(from, &place.above.join(&place.name)),
        moved => Ok(moved?),
    }
}

/// To another file system.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        remove(to)?;
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if !found.is_dir() {
        let written = fs::copy(from, to).and_then(|_| fs::File::options().write(true).open(to));
        return written?.set_modified(found.modified()?);
    }
    fs::create_dir(to).or_else(|error| if to.is_dir() { Ok(()) } else { Err(error) })?;
    fs::set_permissions(to, found.permissions())?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match look(path)? {
        None => Ok(()),
        Some(found) if found.is_dir() => fs::remove_dir_all(path),
        Some(_) => fs::remove_file(path),
    }
}

fn blocked(path: &Path) -> io::Error {
    let message = format!("a file or a link stands in the way to `{}`", path.display());
    io::Error::new(io::ErrorKind::NotADirectory, message)
}

/// How much a view holds of its own under a path, and so how much moving it keeps from being copied.
pub(super) fn weight(upper: &Path) -> io::Result<Weight> {
    let mut weight = Weight::default();
    let mut ahead: Vec<PathBuf> = vec![upper.to_owned()];
    while let Some(next) = ahead.pop() {
        let Some(found) = look(&next)? else { continue };
        weight.entries += 1;
        if found.is_dir() {
            for entry in fs::read_dir(&next)? {
                ahead.push(entry?.path());
            }
        } else {
            weight.bytes += found.len();
        }
    }
    Ok(weight)
}

/// So many files, links and folders, and bytes in them.
#[derive(Clone, Copy, Default)]
pub(super) struct Weight {
    pub(super) entries: u64,
    pub(super) bytes: u64,
}

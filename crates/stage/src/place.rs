//! [`Place`]: a name in a folder that is kept open by a descriptor, so that the folder stays the same even if its path
//! changes.
use crate::{
    attributes,
    sparse::{self, Stop},
};
use haft_core::{FileKind, FileState, Hash};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Component, Path, PathBuf},
};

/// Permission that an owner needs to do everything in a folder and to change its attributes.
pub(crate) const OWNER: u32 = 0o700;

/// Permission that an owner needs to read a file.
pub(crate) const OWNER_READS: u32 = 0o400;

/// The bits of a mode that can be set.
const PERMISSIONS: u32 = 0o7_777;

/// The state of a file system entry.
#[derive(Debug, PartialEq)]
pub(crate) enum State {
    Absent,
    Known(FileState),
    /// A pipe, a socket or a device; or the parent is not a folder.
    Other,
}

impl State {
    /// The state as a [`haft_core::Change`] records it; `None` if it cannot record such a state.
    pub(crate) fn recorded(self) -> Option<Option<FileState>> {
        match self {
            Self::Absent => Some(None),
            Self::Known(state) => Some(Some(state)),
            Self::Other => None,
        }
    }

    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Self::Known(state) if state.kind() == FileKind::Folder)
    }

    /// Whether the state is `state`.
    pub(crate) fn is(&self, state: &Option<FileState>) -> bool {
        match self {
            Self::Absent => state.is_none(),
            Self::Known(found) => state.as_ref().is_some_and(|state| state.matches(found)),
            Self::Other => false,
        }
    }
}

/// An opened file system entry.
pub(crate) enum Opened {
    Absent,
    File(File),
    /// A link, with its target.
    Link(Vec<u8>),
    /// A folder, with its permissions.
    Folder(u32),
    Other,
}

/// A name in an open folder.
pub(crate) struct Place {
    pub(crate) folder: OwnedFd,
    /// The absolute path of the folder when it was opened.
    pub(crate) above: PathBuf,
    pub(crate) name: OsString,
}

/// The result of looking up a path.
pub(crate) enum Lookup {
    Open(Place),
    /// The folder does not exist.
    Missing,
    /// A link, or something that is not a folder, is in the path.
    Blocked,
}

/// Folders that were created for a file, each with its parent and its inode number. Dropping this removes those that
/// are empty, unless the file exists.
#[derive(Default)]
pub(crate) struct CreatedDirs {
    folders: Vec<(OwnedFd, OsString, u64)>,
    pub(crate) is_used: bool,
}

impl CreatedDirs {
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }
}

impl Drop for CreatedDirs {
    fn drop(&mut self) {
        for (above, name, inode) in self.folders.iter().rev().filter(|_| !self.is_used) {
            // Another process may have put its own folder in this place.
            let found = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
            if found.is_ok_and(|found| found.st_ino == *inode) {
                let _others_use_it = rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Place {
    /// Looks up `path`, which must be absolute and without links: a link in it is [`Lookup::Blocked`].
    pub(crate) fn find(path: &Path) -> io::Result<Lookup> {
        let (above, name) = parts(path)?;
        Ok(match open_folder(above) {
            Ok(folder) => Lookup::Open(Self { folder, above: above.to_owned(), name: name.to_owned() }),
            Err(Errno::NOENT) => Lookup::Missing,
            Err(Errno::LOOP | Errno::NOTDIR) => Lookup::Blocked,
            Err(error) => return Err(error.into()),
        })
    }

    /// Like [`Self::find`]; creates missing folders and adds them to `made`.
    pub(crate) fn make(path: &Path, made: &mut CreatedDirs) -> io::Result<Self> {
        let (above, name) = parts(path)?;
        let folder = make_folder(above, made)?;
        Ok(Self { folder, above: above.to_owned(), name: name.to_owned() })
    }

    /// Opens the folder of the place again.
    pub(crate) fn again(&self) -> io::Result<Self> {
        let (above, name) = (self.above.clone(), self.name.clone());
        Ok(Self { folder: self.folder.try_clone()?, above, name })
    }

    /// Whether its path still leads to this folder.
    pub(crate) fn is_reached(&self) -> bool {
        let Ok(reached) = open_folder(&self.above) else { return false };
        let id = |folder: &OwnedFd| rustix::fs::fstat(folder).map(|found| (found.st_dev, found.st_ino));
        matches!((id(&reached), id(&self.folder)), (Ok(one), Ok(other)) if one == other)
    }

    /// The state of this place, and the open file if it is a file.
    pub(crate) fn look(&self) -> io::Result<(State, Option<File>)> {
        self.look_at(&self.name)
    }

    /// Like [`Self::look`], for another name in the folder.
    pub(crate) fn look_at(&self, name: &OsStr) -> io::Result<(State, Option<File>)> {
        Ok(match self.open_any(name)? {
            Opened::Absent => (State::Absent, None),
            Opened::Other => (State::Other, None),
            Opened::Link(target) => (State::Known(link_state(&target)?), None),
            Opened::Folder(permissions) => {
                let attributes = self.open_folder(name).ok().and_then(|folder| attributes::of(&folder));
                (State::Known(FileState::folder(permissions).with_attributes(attributes)), None)
            }
            Opened::File(file) => (state_of(&file)?, Some(file)),
        })
    }

    /// Opens the entry for reading, even a file that its owner may not read.
    pub(crate) fn open_any(&self, name: &OsStr) -> io::Result<Opened> {
        match self.open(name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.open_unreadable_file(name).map(Opened::File).map_err(|_| error)
            }
            opened => opened,
        }
    }

    /// Makes the file readable for a moment to open it.
    #[cfg(target_os = "linux")]
    fn open_unreadable_file(&self, name: &OsStr) -> io::Result<File> {
        let held = self.hold(name)?;
        let mode = rustix::fs::fstat(&held)?.st_mode;
        if !FileType::from_raw_mode(mode).is_file() {
            return Err(Errno::ACCESS.into());
        }
        let path = format!("/proc/self/fd/{}", held.as_raw_fd());
        let permit = |mode| rustix::fs::chmod(&path, Mode::from_raw_mode(mode & PERMISSIONS));
        permit(mode | OWNER_READS)?;
        let opened = File::open(&path);
        permit(mode)?;
        opened
    }

    #[cfg(not(target_os = "linux"))]
    fn open_unreadable_file(&self, _name: &OsStr) -> io::Result<File> {
        Err(Errno::ACCESS.into())
    }

    /// Sets the mode of a file or folder. Does not follow links.
    pub(crate) fn set_mode(&self, name: &OsStr, mode: u32) -> rustix::io::Result<()> {
        let mode = Mode::from_raw_mode(mode & PERMISSIONS);
        #[cfg(target_os = "linux")]
        {
            let held = self.hold(name)?;
            rustix::fs::chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), mode)
        }
        #[cfg(not(target_os = "linux"))]
        rustix::fs::chmodat(&self.folder, name, mode, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Opens the entry `name` with `O_PATH`, without access to its content.
    #[cfg(target_os = "linux")]
    fn hold(&self, name: &OsStr) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, name, flags, Mode::empty())
    }

    /// Opens the entry `name` for reading.
    pub(crate) fn open(&self, name: &OsStr) -> io::Result<Opened> {
        let found = match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(Opened::Absent),
            found => found?,
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Ok(Opened::Folder(found.st_mode)),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&self.folder, name, Vec::new());
                return Ok(Opened::Link(target?.into_bytes()));
            }
            _ => return Ok(Opened::Other),
        }
        // Nonblocking, because a pipe may have replaced the file and would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(Opened::Absent),
            Err(Errno::LOOP) => return Ok(Opened::Other),
            opened => File::from(opened?),
        };
        Ok(if file.metadata()?.is_file() { Opened::File(file) } else { Opened::Other })
    }

    /// Creates a file in the folder that only its owner can access. Fails if the name exists.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// The `stat` data of the entry.
    pub(crate) fn stat(&self, name: &OsStr) -> Option<Stat> {
        rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// The inode number of the entry.
    pub(crate) fn inode_of(&self, name: &OsStr) -> Option<u64> {
        self.stat(name).map(|found| found.st_ino)
    }

    /// Renames within the folder.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> rustix::io::Result<()> {
        rustix::fs::renameat_with(&self.folder, from, &self.folder, to, flags)
    }

    /// Renames within the folder, and replaces `to`.
    pub(crate) fn rename_over(&self, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::renameat(&self.folder, from, &self.folder, to)
    }

    /// Creates a symbolic link to `target`. Fails if the name exists.
    pub(crate) fn make_link(&self, name: &OsStr, target: &[u8]) -> rustix::io::Result<()> {
        rustix::fs::symlinkat(OsStr::from_bytes(target), &self.folder, name)
    }

    /// Creates a folder that only its owner can access.
    pub(crate) fn make_folder(&self, name: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::mkdirat(&self.folder, name, Mode::RWXU)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(&self.folder, name, AtFlags::REMOVEDIR)
    }

    /// Sets the permissions of a folder to those of `state`, and its attributes if they are known.
    pub(crate) fn set_state(&self, name: &OsStr, state: &FileState) -> io::Result<()> {
        let folder = match self.open_folder(name) {
            #[cfg(target_os = "linux")]
            Err(Errno::ACCESS) => self.open_unreadable(name)?,
            opened => opened?,
        };
        let permit = |permissions| rustix::fs::fchmod(&folder, Mode::from_raw_mode(permissions));
        if let Some(attributes) = &state.attributes {
            permit(state.permissions() | OWNER)?;
            attributes::set(&folder, attributes)?;
        }
        Ok(permit(state.permissions())?)
    }

    /// Opens a folder that its owner may not read, and makes it readable.
    #[cfg(target_os = "linux")]
    fn open_unreadable(&self, name: &OsStr) -> io::Result<File> {
        let mode = self.stat(name).ok_or(Errno::NOENT)?.st_mode;
        self.set_mode(name, mode | OWNER)?;
        Ok(self.open_folder(name)?)
    }

    /// Whether `name` is a folder that is not empty; `None` if its owner may not list it.
    pub(crate) fn has_entries(&self, name: &OsStr) -> io::Result<Option<bool>> {
        let folder = match self.open_folder(name) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Some(false)),
            Err(Errno::ACCESS) => return Ok(None),
            opened => opened?,
        };
        for entry in rustix::fs::Dir::read_from(&folder)? {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    pub(crate) fn open_folder(&self, name: &OsStr) -> rustix::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, name, flags, Mode::empty()).map(File::from)
    }

    /// Creates a hard link to a file of the folder. Fails if `to` exists.
    pub(crate) fn link(&self, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::linkat(&self.folder, from, &self.folder, to, AtFlags::empty())
    }

    pub(crate) fn unlink(&self, name: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(&self.folder, name, AtFlags::empty())
    }
}

/// Opens a file for reading, even one that its owner may not read.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => match Place::find(path) {
            Ok(Lookup::Open(place)) => match place.open_any(&place.name)? {
                Opened::File(file) => Ok(file),
                _ => Err(error),
            },
            _ => Err(error),
        },
        opened => opened,
    }
}

/// The state of an open file. Reads its content from the current position.
pub(crate) fn state_of(file: &File) -> io::Result<State> {
    let mode = file.metadata()?.mode();
    let state = FileState::file(sparse::hash(file, &Stop::default())?, mode);
    Ok(State::Known(state.with_attributes(attributes::of(file))))
}

/// The state of a link to `target`.
pub(crate) fn link_state(target: &[u8]) -> io::Result<FileState> {
    Ok(FileState::link(Hash::of(target)?))
}

/// Splits a path without `..` into its folder and its name.
fn parts(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let leads_down = path.components().skip(1).all(|part| matches!(part, Component::Normal(_)));
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) if path.is_absolute() && leads_down => Ok((above, name)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "no path of a file")),
    }
}

/// Opens the folder of this absolute path, without following links.
fn open_folder(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match open_exactly(path, flags) {
        // A user without permission to list a folder may still write in it.
        #[cfg(target_os = "linux")]
        Err(Errno::ACCESS) => open_exactly(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC),
        opened => opened,
    }
}

/// Opens a path without `..` and without following links, so that it cannot lead elsewhere.
#[cfg(target_os = "linux")]
fn open_exactly(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        // The kernel is older than 5.6, or a seccomp filter rejects the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => step_by_step(path, flags),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_exactly(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    step_by_step(path, flags)
}

/// Opens one folder after the other, each relative to the one before.
fn step_by_step(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let through = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let names: Vec<&OsStr> = path.components().skip(1).map(Component::as_os_str).collect();
    let Some((last, before)) = names.split_last() else {
        return rustix::fs::openat(CWD, "/", flags, Mode::empty());
    };
    let mut folder = rustix::fs::openat(CWD, "/", through, Mode::empty())?;
    for name in before {
        folder = rustix::fs::openat(&folder, *name, through | OFlags::NOFOLLOW, Mode::empty())?;
    }
    rustix::fs::openat(&folder, *last, flags | OFlags::NOFOLLOW, Mode::empty())
}

fn make_folder(path: &Path, made: &mut CreatedDirs) -> io::Result<OwnedFd> {
    match (open_folder(path), path.parent(), path.file_name()) {
        (Err(Errno::NOENT), Some(above), Some(name)) => {
            let above = make_folder(above, made)?;
            let is_new = match rustix::fs::mkdirat(&above, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                // Another process has made it at the same time.
                Err(Errno::EXIST) => false,
                is_made => is_made.map(|()| true)?,
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = rustix::fs::openat(&above, name, flags, Mode::empty())?;
            if is_new {
                made.folders.push((above, name.to_owned(), rustix::fs::fstat(&folder)?.st_ino));
            }
            Ok(folder)
        }
        (opened, ..) => Ok(opened?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn both_ways_of_opening_say_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("one/two")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("one", root.join("link")).unwrap();
        symlink("two", root.join("one/last")).unwrap();
        let table = [
            ("/", Ok(())),
            ("", Ok(())),
            ("one/two", Ok(())),
            ("one/three", Err("missing")),
            ("none/two", Err("missing")),
            ("file", Err("blocked")),
            ("file/two", Err("blocked")),
            ("link", Err("blocked")),
            ("link/two", Err("blocked")),
            ("one/last", Err("blocked")),
        ];
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for (path, expected) in table {
            let path = root.join(path);
            for opened in [open_exactly(&path, flags), step_by_step(&path, flags)] {
                let said = opened.map(drop).map_err(|error| match error {
                    Errno::NOENT => "missing",
                    Errno::LOOP | Errno::NOTDIR => "blocked",
                    _ => "something else",
                });
                assert_eq!(said, expected, "{}", path.display());
            }
        }
    }

    #[test]
    fn a_path_that_leads_up_or_nowhere_is_none() {
        for path in ["a", "/", "/..", "/a/../b", "../a", ""] {
            let refused = Place::find(Path::new(path)).map(|_| ()).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{path}");
        }
    }
}

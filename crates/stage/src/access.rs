//! [`Access`]: makes folders writable in which their owner may not write, for as long as files are settled there.
//!
//! A command may set any mode on a folder; its changes in such a folder must be settled and undone, too. The mode is
//! restored at the end, unless a change sets another one. A mode is changed only after a note on disk contains it, so
//! that the next settling of the session can restore it if the process is killed. As root, no mode is changed.
use crate::{
    blobs::Blobs,
    place::{Lookup, OWNER, OWNER_READS, Place},
};
use haft_core::Change;
use parking_lot::Mutex;
use rustix::{
    fs::{FileType, Stat},
    process::geteuid,
};
use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// Permission that an owner needs to access the contents of a folder.
const PASS: u32 = 0o100;
/// Permission that an owner needs to create, rename or remove something in a folder.
pub(crate) const CHANGE: u32 = 0o300;

/// The bit that gives the files of a folder its group.
const SET_GROUP: u32 = 0o2000;

/// Folders whose permissions were widened, until they are restored.
#[derive(Default)]
pub(crate) struct Access {
    shut: Mutex<Vec<Shut>>,
    /// The note with these folders, which exists as long as they are open.
    note: Option<NamedTempFile>,
}

/// A folder, or a file that its owner may not read, and the mode that it has or is to have.
#[derive(Clone)]
struct Shut {
    path: PathBuf,
    inode: u64,
    mode: u32,
}

impl Access {
    /// Opens the folders, in `workspace` and outside, in which `changes` are compared or made. A folder of another user
    /// stays unchanged.
    pub(crate) fn open(blobs: &Blobs, workspace: &Path, changes: &[Change]) -> io::Result<Self> {
        let paths = changes.iter().map(|change| {
            (workspace.join(&change.path), if change.before == change.after { PASS } else { CHANGE })
        });
        Self::open_paths(blobs, workspace, paths)
    }

    /// Like [`Self::open`], for absolute paths, each with the permission that is needed in its folder.
    pub(crate) fn open_paths(
        blobs: &Blobs,
        workspace: &Path,
        paths: impl Iterator<Item = (PathBuf, u32)>,
    ) -> io::Result<Self> {
        let mut access = Self::default();
        restore_left(blobs)?;
        if geteuid().is_root() {
            return Ok(access);
        }
        let paths: Vec<(PathBuf, u32)> = paths.collect();
        // Repeated, because the contents of a folder can be found only after it was opened.
        loop {
            let found = Search::new(workspace).all(&paths);
            let known: HashSet<PathBuf> = access.shut.lock().iter().map(|shut| shut.path.clone()).collect();
            let found: Vec<Shut> = found.into_iter().filter(|shut| !known.contains(&shut.path)).collect();
            if found.is_empty() {
                return Ok(access);
            }
            access.open_all(blobs, found)?;
        }
    }

    fn open_all(&mut self, blobs: &Blobs, found: Vec<Shut>) -> io::Result<()> {
        let note = match &mut self.note {
            Some(note) => note,
            none => none.insert(new_note(blobs)?),
        };
        for shut in &found {
            write!(note, "{:o} {} ", shut.mode, shut.inode)?;
            note.write_all(shut.path.as_os_str().as_bytes())?;
            note.write_all(b"\0")?;
        }
        note.as_file().sync_all()?;
        for shut in found {
            self.shut.lock().push(shut.clone());
            shut.set(None, Shut::opened)?;
        }
        Ok(())
    }

    /// The mode that a folder had before it was opened.
    pub(crate) fn mode_of(&self, found: &Stat) -> Option<u32> {
        self.shut.lock().iter().find(|shut| shut.inode == found.st_ino).map(|shut| shut.mode)
    }

    /// Sets the final mode of a folder. Until [`Self::close`], its owner has all permissions in it.
    pub(crate) fn finally(&self, path: PathBuf, found: &Stat, mode: u32) {
        let mut shut = self.shut.lock();
        shut.retain(|shut| shut.inode != found.st_ino);
        if mode & OWNER != OWNER {
            shut.push(Shut { path, inode: found.st_ino, mode });
        }
    }

    /// Restores all modes.
    pub(crate) fn close(mut self) -> io::Result<()> {
        self.give_back()
    }

    /// After an error the note stays, so that the next settling tries again.
    fn give_back(&mut self) -> io::Result<()> {
        let closed = close_all(std::mem::take(&mut self.shut.lock()));
        match (closed.is_err(), self.note.take()) {
            (true, Some(note)) => closed.and(note.keep().map(drop).map_err(|error| error.error)),
            _ => closed,
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        // If that fails, settling has already failed for a reason that was reported.
        let _reported_by_close = self.give_back();
    }
}

impl Shut {
    fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.mode).is_file()
    }

    /// The mode of the opened folder. The mode of a file is not changed here, but only while it is read.
    fn opened(&self) -> u32 {
        self.mode | if self.is_file() { 0 } else { OWNER }
    }

    /// Sets the mode of the folder, unless its path leads to something else by now, or its mode is not `from`.
    fn set(&self, from: Option<u32>, to: fn(&Self) -> u32) -> io::Result<()> {
        let Lookup::Open(place) = Place::find(&self.path)? else { return Ok(()) };
        let found = place.stat(&place.name).filter(|found| found.st_ino == self.inode);
        match found.filter(|found| from.is_none_or(|from| is_mode(found.st_mode, from))) {
            Some(found) if found.st_mode != to(self) => {
                place.set_mode(&place.name, to(self)).map_err(|error| {
                    let error = io::Error::from(error);
                    io::Error::new(error.kind(), format!("cannot open `{}`: {error}", self.path.display()))
                })
            }
            _ => Ok(()),
        }
    }
}

/// Compares modes. The kernel clears the setgid bit of a folder when its owner, who is not in its group, changes the
/// mode.
fn is_mode(found: u32, expected: u32) -> bool {
    found & !SET_GROUP == expected & !SET_GROUP
}

/// Restores modes of children first, because the contents of a closed folder are not accessible.
fn close_all(mut all: Vec<Shut>) -> io::Result<()> {
    all.sort_by(|one, other| other.path.cmp(&one.path));
    let mut closed = Ok(());
    for shut in all {
        let bits = if shut.is_file() { OWNER_READS } else { OWNER };
        let done = shut.set(Some(shut.mode | bits), |shut| shut.mode);
        closed = closed.and(done);
    }
    closed
}

/// Finds the folders to open, each once.
struct Search<'a> {
    workspace: &'a Path,
    seen: HashMap<PathBuf, Option<Shut>>,
    named: HashSet<PathBuf>,
    found: Vec<Shut>,
}

impl<'a> Search<'a> {
    fn new(workspace: &'a Path) -> Self {
        let (seen, named) = Default::default();
        Self { workspace, seen, named, found: Vec::new() }
    }

    fn all(mut self, paths: &[(PathBuf, u32)]) -> Vec<Shut> {
        for (path, needed) in paths {
            self.one(path, *needed);
        }
        self.found
    }

    /// Checks the existing folders above `path`, and `path` itself if it is a file that cannot be read.
    fn one(&mut self, path: &Path, needed: u32) {
        let is_within = path.starts_with(self.workspace);
        let folders = path.ancestors().skip(1);
        let mut folders: Vec<&Path> =
            folders.take_while(|folder| !is_within || folder.starts_with(self.workspace)).collect();
        folders.reverse();
        let mut last = None;
        for folder in folders {
            let Some(found) = self.look(folder) else { break };
            let (may_pass, found) = (found.mode & PASS != 0, found.clone());
            if !may_pass {
                self.add(found);
                return;
            }
            last = Some(found);
        }
        if let Some(folder) = last.filter(|folder| folder.mode & needed != needed) {
            self.add(folder);
        }
        if let Some(file) = look_at(path).filter(|found| found.is_file() && found.mode & OWNER_READS == 0) {
            self.add(file);
        }
    }

    fn look(&mut self, folder: &Path) -> Option<&Shut> {
        if !self.seen.contains_key(folder) {
            let found = look_at(folder).filter(|found| FileType::from_raw_mode(found.mode).is_dir());
            self.seen.insert(folder.to_owned(), found);
        }
        self.seen[folder].as_ref()
    }

    fn add(&mut self, shut: Shut) {
        if self.named.insert(shut.path.clone()) {
            self.found.push(shut);
        }
    }
}

/// Whether the mode of a folder prevents its owner from changing anything in it.
pub(crate) fn is_shut(folder: &Path) -> bool {
    !geteuid().is_root() && look_at(folder).is_some_and(|found| found.mode & CHANGE != CHANGE)
}

/// Reads the mode of a path; `None` if that fails. A folder of another user counts as open, because this process cannot
/// change its mode.
fn look_at(path: &Path) -> Option<Shut> {
    let found = fs::symlink_metadata(path).ok()?;
    let mode = if found.uid() == geteuid().as_raw() { found.mode() } else { found.mode() | OWNER };
    Some(Shut { path: path.to_owned(), inode: found.ino(), mode })
}

/// Creates a note in a folder beside the contents, locked for as long as it is open.
fn new_note(blobs: &Blobs) -> io::Result<NamedTempFile> {
    let folder = blobs.folder().map(|_| blobs.notes())?;
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    loop {
        let note = NamedTempFile::new_in(&folder)?;
        let is_ours = !matches!(note.as_file().try_lock(), Err(TryLockError::WouldBlock));
        // Between these calls, another process may have removed the note as a left-over.
        if is_ours && is_at(note.path(), note.as_file())? {
            File::open(&folder)?.sync_all()?;
            return Ok(note);
        }
    }
}

/// Whether the open note is still at `path`.
fn is_at(path: &Path, note: &File) -> io::Result<bool> {
    let inode = note.metadata()?.ino();
    Ok(fs::symlink_metadata(path).is_ok_and(|found| found.ino() == inode))
}

/// Restores the modes of folders that killed processes had opened. A note whose modes cannot be restored stays.
fn restore_left(blobs: &Blobs) -> io::Result<()> {
    let folder = match fs::read_dir(blobs.notes()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    for entry in folder {
        let path = entry?.path();
        let mut note = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        // The note belongs to a living process, or another process has handled it.
        if note.try_lock().is_err() || !is_at(&path, &note)? {
            continue;
        }
        let mut text = Vec::new();
        note.read_to_end(&mut text)?;
        if close_all(text.split(|byte| *byte == 0).filter_map(named).collect()).is_ok() {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Parses a line of a note. An incomplete line was not synced, so its folder was not opened.
fn named(line: &[u8]) -> Option<Shut> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let mut next = || parts.next().and_then(|part| std::str::from_utf8(part).ok());
    let mode = u32::from_str_radix(next()?, 8).ok()?;
    let inode = next()?.parse().ok()?;
    let path = PathBuf::from(OsString::from_vec(parts.next()?.to_vec()));
    path.is_absolute().then_some(Shut { path, inode, mode })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Ground {
        _folder: tempfile::TempDir,
        root: PathBuf,
        blobs: Blobs,
    }

    impl Ground {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            Self { blobs: Blobs::new(root.join("blobs")), root, _folder: folder }
        }

        /// A folder of this mode.
        fn shut(&self, name: &str, mode: u32) -> Shut {
            let path = self.root.join(name);
            fs::create_dir(&path).unwrap();
            self.permit(name, mode);
            look_at(&path).unwrap()
        }

        fn permit(&self, name: &str, mode: u32) {
            fs::set_permissions(self.root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }

        fn mode(&self, name: &str) -> u32 {
            fs::metadata(self.root.join(name)).unwrap().mode() & 0o7777
        }

        fn opened(&self, shut: Vec<Shut>) -> Access {
            let mut access = Access::default();
            access.open_all(&self.blobs, shut).unwrap();
            access
        }

        fn notes(&self) -> usize {
            fs::read_dir(self.blobs.notes()).unwrap().count()
        }
    }

    #[test]
    fn a_note_stays_for_as_long_as_a_mode_cannot_be_given_back() {
        let ground = Ground::new();
        let folder = ground.shut("folder", 0o555);
        // A name that no file system takes.
        let path = ground.root.join("x".repeat(300)).join("folder");
        let access = ground.opened(vec![folder]);
        access.shut.lock().push(Shut { path, inode: 1, mode: 0o40_555 });
        assert_eq!((ground.mode("folder"), ground.notes()), (0o755, 1));
        access.close().unwrap_err();
        assert_eq!(ground.notes(), 1);
        // As if that had failed for the folder.
        ground.permit("folder", 0o755);
        restore_left(&ground.blobs).unwrap();
        assert_eq!((ground.mode("folder"), ground.notes()), (0o555, 0));
    }

    #[test]
    fn a_note_of_a_process_that_lives_is_left_alone() {
        let ground = Ground::new();
        let access = ground.opened(vec![ground.shut("folder", 0o555)]);
        restore_left(&ground.blobs).unwrap();
        assert_eq!((ground.mode("folder"), ground.notes()), (0o755, 1));
        access.close().unwrap();
        assert_eq!((ground.mode("folder"), ground.notes()), (0o555, 0));
    }

    #[test]
    fn a_note_that_another_process_has_removed_or_replaced_is_noticed() {
        let ground = Ground::new();
        let note = new_note(&ground.blobs).unwrap();
        assert!(is_at(note.path(), note.as_file()).unwrap());
        fs::remove_file(note.path()).unwrap();
        assert!(!is_at(note.path(), note.as_file()).unwrap());
        fs::write(note.path(), "theirs").unwrap();
        assert!(!is_at(note.path(), note.as_file()).unwrap());
    }

    #[test]
    fn a_folder_that_lost_its_group_bit_when_it_was_opened_is_closed_again() {
        let ground = Ground::new();
        let access = ground.opened(vec![ground.shut("folder", 0o2555)]);
        // As the kernel does for an owner who is not in the group.
        ground.permit("folder", 0o755);
        access.close().unwrap();
        assert_eq!(ground.mode("folder") & 0o777, 0o555);
    }
}

//! [`Listing`] makes the [`Bulk`] of a command: its changes below folders that Git ignores, if there are too many to
//! record. Each path is listed, so that it can be judged and moved from the view into the workspace.
use super::{
    super::upper::{Seen, SeenFolder, look},
    Difference,
};
use crate::{
    access::{Access, CHANGE},
    attributes,
    blobs::Blobs,
    place::{Lookup, OWNER, Place},
    sparse,
};
use haft_core::{Bulk, BulkFolder, FileState, is_gits_own};
use rustix::{
    fs::{CWD, RenameFlags, lgetxattr},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Metadata},
    io,
    ops::Add,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

/// Setuid and setgid.
const SET_ID: u32 = 0o6_000;

/// The moves, in the order in which they are made.
#[derive(Default)]
pub(in crate::overlay) struct Moves {
    /// Creations and replacements, including the removal of entries that are in the way.
    first: Vec<Move>,
    /// Removals, which are made after all creations.
    last: Vec<Move>,
}

struct Move {
    /// Relative to the workspace.
    path: PathBuf,
    what: What,
    /// The file in the workspace when the command had ended.
    was: Option<Identity>,
}

enum What {
    /// Create a folder like this one.
    Folder(PathBuf),
    /// Set the mode of a folder.
    Mode(u32),
    /// Put this file or link of the view there.
    FromView(PathBuf),
    /// Put this file or link of the workspace there, whose folder has another name in the view. The path is relative to
    /// the workspace.
    FromWorkspace(PathBuf),
    RemoveFile,
    RemoveFolder,
}

/// Detects whether another process changed a file: inode number, length, and the time of the last change of the content
/// (seconds and nanoseconds). Not the time of the last change of the inode, since the removal of a hard link changes
/// that, too.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64, i64, i64);

impl Identity {
    fn of(found: &Metadata) -> Self {
        Self(found.ino(), found.len(), found.mtime(), found.mtime_nsec())
    }
}

/// Lists the differences below ignored folders that were put off.
pub(in crate::overlay) struct Listing<'a, 'b> {
    difference: &'a mut Difference<'b>,
    upper: &'a Path,
    /// The folders that were put off.
    roots: Vec<PathBuf>,
    /// Whether all changes are bulk, and nothing is recorded.
    is_all: bool,
    moves: Moves,
    bulk: Bulk,
}

/// An ignored path, its state in the view, and its state in the workspace.
pub(in crate::overlay) type PutOff = (PathBuf, Seen, Option<Metadata>);

impl<'a, 'b> Listing<'a, 'b> {
    /// Lists the bulk changes. Changes that must be recorded nevertheless are added to `difference`: Git's own files,
    /// and programs that run with the rights of another user.
    pub(in crate::overlay) fn of(
        difference: &'a mut Difference<'b>,
        upper: &'a Path,
        put_off: Vec<PutOff>,
    ) -> io::Result<(Bulk, Moves)> {
        let roots = put_off.iter().map(|(path, ..)| path.clone()).collect();
        let mut listing =
            Self { difference, upper, roots, is_all: false, moves: Moves::default(), bulk: Bulk::default() };
        for (path, seen, found) in put_off {
            listing.bulk.folders.push(BulkFolder { path: path.clone(), written: 0, removed: 0, bytes: 0 });
            let before = listing.bulk.paths.len();
            listing.visit(path, seen, found)?;
            if listing.bulk.paths.len() == before {
                listing.bulk.folders.pop();
            }
        }
        Ok((listing.bulk, listing.moves))
    }

    /// Lists all differences.
    pub(in crate::overlay) fn of_all(
        difference: &'a mut Difference<'b>,
        upper: &'a Path,
    ) -> io::Result<(Bulk, Moves)> {
        let (roots, moves, bulk) = (vec![PathBuf::new()], Moves::default(), Bulk::default());
        let seen = SeenFolder { upper: Some(upper.to_owned()), lower: Some(difference.root().to_owned()) };
        let mut listing = Self { difference, upper, roots, is_all: true, moves, bulk };
        for (name, child, found) in listing.difference.children(Path::new(""), &seen, true)? {
            listing.visit(name.into(), child, found)?;
        }
        Ok((listing.bulk, listing.moves))
    }

    fn visit(&mut self, path: PathBuf, seen: Seen, found: Option<Metadata>) -> io::Result<()> {
        if self.is_recorded(&path, &seen)? {
            return self.difference.compare(&path, seen, found);
        }
        match seen {
            Seen::File(file) if file == self.difference.root().join(&path) => Ok(()),
            Seen::Absent => self.removed(path, found),
            Seen::File(file) => self.file(path, file, found),
            Seen::Folder(folder) => self.folder(path, &folder, found),
            Seen::Other => Ok(()),
        }
    }

    fn is_recorded(&self, path: &Path, seen: &Seen) -> io::Result<bool> {
        if self.is_all {
            return Ok(false);
        }
        if is_gits_own(path) {
            return Ok(true);
        }
        match seen {
            Seen::File(file) => gives_rights(file),
            Seen::Folder(folder) => is_repository(folder, self.difference.root()),
            Seen::Absent | Seen::Other => Ok(false),
        }
    }

    fn file(&mut self, path: PathBuf, lies: PathBuf, found: Option<Metadata>) -> io::Result<()> {
        let what = match lies.strip_prefix(self.upper) {
            Ok(_) => What::FromView(lies.clone()),
            Err(_) => {
                let root = self.difference.root();
                let inside = lies.strip_prefix(root).map_err(io::Error::other)?.to_owned();
                // A file that git does not ignore is recorded as removed at its old path.
                if !self.roots.iter().any(|ignored| inside.starts_with(ignored)) {
                    return self.difference.compare(&path, Seen::File(lies), found);
                }
                What::FromWorkspace(inside)
            }
        };
        if !self.clear_the_way(&path, found.as_ref())? {
            return Ok(());
        }
        if let Some(folder) = self.bulk.folders.last_mut() {
            folder.written += 1;
            folder.bytes += fs::symlink_metadata(&lies)?.len();
        }
        let was = found.filter(|found| !found.is_dir());
        self.add_first(path, what, was.as_ref());
        Ok(())
    }

    fn folder(&mut self, path: PathBuf, seen: &SeenFolder, found: Option<Metadata>) -> io::Result<()> {
        let lies = seen.lies().to_owned();
        let mode = fs::symlink_metadata(&lies)?.mode();
        let is_there = found.as_ref().is_some_and(Metadata::is_dir);
        if !is_there {
            if !self.clear_the_way(&path, found.as_ref())? {
                return Ok(());
            }
            if let Some(found) = &found {
                let (path, was) = (path.clone(), Some(Identity::of(found)));
                self.moves.first.push(Move { path, what: What::RemoveFile, was });
            }
            self.add_first(path.clone(), What::Folder(lies), None);
        }
        for (name, child, below) in self.difference.children(&path, seen, is_there)? {
            self.visit(path.join(name), child, below)?;
        }
        // Set after the folder is complete, because the mode may prevent its owner from writing.
        let differs = found.filter(|_| is_there).is_none_or(|found| found.mode() != mode);
        if is_there && differs || mode & OWNER != OWNER {
            self.add_first(path, What::Mode(mode), None);
        }
        Ok(())
    }

    /// Whether something may be put at `path`: `false` if another process has changed the file there since the command
    /// began. Adds the removal of a folder at `path` before.
    fn clear_the_way(&mut self, path: &Path, found: Option<&Metadata>) -> io::Result<bool> {
        match found {
            Some(found) if found.is_dir() => {
                let others = self.difference.others.len();
                let last = std::mem::take(&mut self.moves.last);
                self.removed(path.to_owned(), Some(found.clone()))?;
                let before = std::mem::replace(&mut self.moves.last, last);
                self.moves.first.extend(before);
                Ok(self.difference.others.len() == others)
            }
            Some(found) if self.difference.is_newer(found) => {
                self.difference.others.push(path.to_owned());
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    /// Adds the removal of a file or folder. The contents of a folder are removed before it.
    fn removed(&mut self, path: PathBuf, found: Option<Metadata>) -> io::Result<()> {
        let Some(found) = found else { return Ok(()) };
        if !self.is_all && is_gits_own(&path) {
            return self.difference.compare(&path, Seen::Absent, Some(found));
        }
        let real = self.difference.root().join(&path);
        let what = if found.is_dir() {
            for entry in fs::read_dir(&real)? {
                let name = entry?.file_name();
                let below = look(&real.join(&name))?;
                self.removed(path.join(name), below)?;
            }
            What::RemoveFolder
        } else if self.difference.is_newer(&found) {
            self.difference.others.push(path);
            return Ok(());
        } else {
            if let Some(folder) = self.bulk.folders.last_mut() {
                folder.removed += 1;
            }
            What::RemoveFile
        };
        self.bulk.paths.push(path.clone());
        self.moves.last.push(Move { path, what, was: Some(Identity::of(&found)) });
        Ok(())
    }

    fn add_first(&mut self, path: PathBuf, what: What, was: Option<&Metadata>) {
        self.bulk.paths.push(path.clone());
        self.moves.first.push(Move { path, what, was: was.map(Identity::of) });
    }
}

/// Whether the file is setuid or setgid.
fn gives_rights(file: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(file)?;
    let has_capabilities = || lgetxattr(file, "security.capability", &mut [0_u8; 64]).is_ok();
    Ok(found.is_file() && (found.mode() & SET_ID != 0 || has_capabilities()))
}

/// Whether the folder in the view is the `.git` folder of a repository, whatever its name (gitrepository-layout(5)).
fn is_repository(folder: &SeenFolder, root: &Path) -> io::Result<bool> {
    let has = |name: &str| Ok::<_, io::Error>(!matches!(folder.seen(OsStr::new(name), root)?, Seen::Absent));
    Ok(has("HEAD")? && (has("commondir")? || has("objects")? && has("refs")?))
}

impl Moves {
    /// Makes all moves below `root`. Returns the paths that were left unchanged, because another process changed them
    /// or a link leads there.
    pub(in crate::overlay) fn apply(&self, blobs: &Blobs, root: &Path) -> io::Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        let steps = || self.first.iter().chain(&self.last);
        let sources = steps().filter_map(|step| match &step.what {
            What::FromWorkspace(inside) => Some(inside),
            _ => None,
        });
        let paths = steps().map(|step| &step.path).chain(sources);
        let access = Access::open_paths(blobs, root, paths.map(|path| (root.join(path), CHANGE)))?;
        for step in steps() {
            let done = step.apply(root, &access).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot change `{}`: {error}", step.path.display()))
            })?;
            if !done {
                left.push(step.path.clone());
            }
        }
        access.close()?;
        Ok(left)
    }
}

impl Move {
    /// Makes the move. Returns whether the workspace has the intended state at this path. Idempotent.
    fn apply(&self, root: &Path, access: &Access) -> io::Result<bool> {
        let place = match Place::find(&root.join(&self.path))? {
            Lookup::Open(place) => place,
            Lookup::Missing => return Ok(matches!(self.what, What::RemoveFile | What::RemoveFolder)),
            Lookup::Blocked => return Ok(false),
        };
        match &self.what {
            What::Folder(lies) => make_folder(&place, lies),
            What::Mode(mode) => match place.stat(&place.name) {
                Some(found) if is_folder(found.st_mode) => {
                    place.set_mode(&place.name, mode | OWNER)?;
                    access.finally(root.join(&self.path), &found, *mode);
                    Ok(true)
                }
                _ => Ok(false),
            },
            What::FromView(lies) => match self.is_as_it_was(&place) {
                true => from_view(lies, &place),
                false => Ok(look(lies)?.is_none()),
            },
            What::FromWorkspace(inside) => match Place::find(&root.join(inside))? {
                Lookup::Open(from) if from.stat(&from.name).is_some() => {
                    if !self.is_as_it_was(&place) {
                        return Ok(false);
                    }
                    rustix::fs::renameat(&from.folder, &from.name, &place.folder, &place.name)?;
                    Ok(true)
                }
                Lookup::Open(_) | Lookup::Missing => Ok(place.stat(&place.name).is_some()),
                Lookup::Blocked => Ok(false),
            },
            What::RemoveFile => match (place.stat(&place.name), self.is_as_it_was(&place)) {
                (None, _) => Ok(true),
                (Some(_), true) => place.unlink(&place.name).map(|()| true).map_err(Into::into),
                (Some(_), false) => Ok(false),
            },
            What::RemoveFolder => match place.remove_folder(&place.name) {
                Ok(()) | Err(Errno::NOENT) => Ok(true),
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
                Err(error) => Err(error.into()),
            },
        }
    }

    fn is_as_it_was(&self, place: &Place) -> bool {
        let now = place.stat(&place.name);
        now.map(|now| Identity(now.st_ino, now.st_size as u64, now.st_mtime, now.st_mtime_nsec as i64))
            == self.was
    }
}

fn is_folder(mode: u32) -> bool {
    rustix::fs::FileType::from_raw_mode(mode).is_dir()
}

fn make_folder(place: &Place, lies: &Path) -> io::Result<bool> {
    match place.make_folder(&place.name) {
        Err(Errno::EXIST) if !place.stat(&place.name).is_some_and(|found| is_folder(found.st_mode)) => {
            return Ok(false);
        }
        Err(Errno::EXIST) => {}
        made => made?,
    }
    let mode = fs::symlink_metadata(lies)?.mode() | OWNER;
    let attributes = attributes::at(lies).filter(|attributes| !attributes.is_empty());
    place.set_state(&place.name, &FileState::folder(mode).with_attributes(attributes)).map(|()| true)
}

/// Replaces the file or link at `place`. Other hard links of it keep their content.
fn from_view(lies: &Path, place: &Place) -> io::Result<bool> {
    match rustix::fs::renameat(CWD, lies, &place.folder, &place.name) {
        Err(Errno::XDEV) => copy(lies, place).map(|()| true),
        Err(Errno::ISDIR | Errno::NOTEMPTY) => Ok(false),
        moved => moved.map(|()| true).map_err(Into::into),
    }
}

/// Copies from another file system: first beside the target, so that readers never see an incomplete file.
fn copy(lies: &Path, place: &Place) -> io::Result<()> {
    let found = fs::symlink_metadata(lies)?;
    let beside = free_name(place)?;
    let copied = if found.is_symlink() {
        let target = fs::read_link(lies)?;
        place.make_link(&beside, target.as_os_str().as_bytes()).map_err(Into::into)
    } else {
        copy_file(lies, &found, place, &beside)
    };
    let copied = copied.and_then(|()| Ok(place.rename(&beside, &place.name, RenameFlags::empty())?));
    if copied.is_err() {
        let _was_never_made = place.unlink(&beside);
    }
    copied
}

fn copy_file(lies: &Path, found: &Metadata, place: &Place, beside: &OsStr) -> io::Result<()> {
    let mut to = place.create(beside)?;
    sparse::copy(&File::open(lies)?, &mut to)?;
    if let Some(attributes) = attributes::at(lies) {
        attributes::set(&to, &attributes)?;
    }
    to.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7_777))?;
    to.set_modified(found.modified()?)
}

/// Maximum temporary names that are tried.
const MAX_NAMES: usize = 100;

fn free_name(place: &Place) -> io::Result<OsString> {
    let mut names = (0..MAX_NAMES).map(|number| OsString::from(format!(".haft-moved-{number}")));
    let free = names.find(|name| place.stat(name).is_none());
    free.ok_or_else(|| io::Error::new(io::ErrorKind::AlreadyExists, "all names beside it are taken"))
}

/// The number and size of a view's own files below a path.
pub(in crate::overlay) fn weight(upper: &Path) -> io::Result<Weight> {
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

/// A number of files, links and folders, and of bytes in them.
#[derive(Clone, Copy, Default)]
pub(in crate::overlay) struct Weight {
    pub(in crate::overlay) entries: u64,
    pub(in crate::overlay) bytes: u64,
}

impl Weight {
    pub(in crate::overlay) fn is_within(&self, limit: &Self) -> bool {
        self.entries <= limit.entries && self.bytes <= limit.bytes
    }
}

impl Add for Weight {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { entries: self.entries + other.entries, bytes: self.bytes + other.bytes }
    }
}

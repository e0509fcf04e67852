//! [`Copied`]: a view without an overlay: a copy of the workspace in the upper folder. After the command, unchanged
//! files are removed from it, so that it can be read like the upper folder of an overlay.
use super::{
    difference::{Weight, renamed_hidden},
    upper::look,
};
use crate::{attributes, sparse};
use rustix::fs::{CWD, FileType, Mode, ioctl_ficlone, lremovexattr, mknodat};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink},
    path::{Path, PathBuf},
};

/// Maximum weight of a workspace that is copied. If copies share blocks with the originals (reflinks), only the number
/// of files counts.
const MAX_COPIED: Weight = Weight { entries: 20_000, bytes: 64 << 20 };

/// The copied files, by path.
#[derive(Default)]
pub(super) struct Copied {
    marks: HashMap<PathBuf, Mark>,
    /// Names by folder.
    names: HashMap<PathBuf, Vec<OsString>>,
    /// Empty files in place of hidden ones, by their inode numbers, with the paths of the hidden files.
    hidden: HashMap<u64, PathBuf>,
    weight: Weight,
}

/// Flags that a write to a file does not set.
#[derive(PartialEq, Eq)]
struct Mark {
    number: u64,
    mode: u32,
    changed: (i64, i64),
}

impl Mark {
    fn of(found: &Metadata) -> Self {
        Self { number: found.ino(), mode: found.mode(), changed: (found.ctime(), found.ctime_nsec()) }
    }
}

/// The source and the target of a copy.
struct Copying<'a> {
    workspace: &'a Path,
    to: &'a Path,
    hidden: &'a [PathBuf],
}

impl Copied {
    /// Copies the workspace to the empty folder `to`. Skips files that this user may not read, and pipes, sockets and
    /// devices. Files in or below `hidden` are copied without content.
    pub(super) fn of(workspace: &Path, to: &Path, hidden: &[PathBuf]) -> io::Result<Self> {
        let mut copied = Self::default();
        let from = Copying { workspace, to, hidden };
        copied.folder(&from, Path::new(""))?;
        Ok(copied)
    }

    fn folder(&mut self, from: &Copying<'_>, path: &Path) -> io::Result<()> {
        for entry in fs::read_dir(from.workspace.join(path))? {
            let name = entry?.file_name();
            let child = path.join(&name);
            match self.entry(from, &child) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                // Another process has removed the file since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
            if let Some(made) = look(&from.to.join(&child))? {
                self.marks.insert(child, Mark::of(&made));
                self.names.entry(path.to_owned()).or_default().push(name);
            }
        }
        Ok(())
    }

    fn entry(&mut self, from: &Copying<'_>, path: &Path) -> io::Result<()> {
        let (real, own) = (&from.workspace.join(path), &from.to.join(path));
        let found = fs::symlink_metadata(real)?;
        self.weight.entries += 1;
        if found.is_symlink() {
            symlink(fs::read_link(real)?, own)?;
        } else if found.is_dir() {
            fs::read_dir(real)?;
            fs::create_dir(own)?;
            self.folder(from, path)?;
        } else if found.is_file() && from.hidden.iter().any(|hidden| real.starts_with(hidden)) {
            let empty = File::create_new(own)?;
            self.hidden.insert(empty.metadata()?.ino(), real.clone());
        } else if found.is_file() {
            self.file(real, own, found.len())?;
        } else {
            return Ok(());
        }
        if self.weight.entries > MAX_COPIED.entries || self.weight.bytes > MAX_COPIED.bytes {
            let (files, megabytes) = (MAX_COPIED.entries, MAX_COPIED.bytes >> 20);
            let why = format!(
                "it would have to be copied for each command, and has more than {files} files or {megabytes} MB"
            );
            return Err(io::Error::other(why));
        }
        let _only_root_may = lchown(own, Some(found.uid()), Some(found.gid()));
        if !found.is_symlink() {
            attributes::copy(real, own)?;
            File::open(own)?.set_modified(found.modified()?)?;
            fs::set_permissions(own, found.permissions())?;
        }
        Ok(())
    }

    fn file(&mut self, real: &Path, own: &Path, bytes: u64) -> io::Result<()> {
        let (from, mut to) = (File::open(real)?, File::create_new(own)?);
        if ioctl_ficlone(&to, &from).is_err() {
            self.weight.bytes += bytes;
            sparse::copy(&from, &mut to)?;
        }
        Ok(())
    }

    /// Removes unchanged files from `folder`, and creates a pipe for each removed name.
    pub(super) fn prune(&self, folder: &Path) -> io::Result<()> {
        self.prune_below(folder, Path::new(""))
    }

    fn prune_below(&self, root: &Path, path: &Path) -> io::Result<()> {
        let here = root.join(path);
        // A command may have made the folder unreadable.
        let mode = fs::symlink_metadata(&here)?.permissions().mode();
        fs::set_permissions(&here, fs::Permissions::from_mode(mode | 0o700))?;
        for name in ["user.overlay.opaque", "user.overlay.redirect"] {
            let _was_never_set = lremovexattr(&here, name);
        }
        // Marked before the unchanged files are removed, too.
        for name in self.names.get(path).into_iter().flatten() {
            let child = root.join(path).join(name);
            if look(&child)?.is_none() {
                gone(&child)?;
            }
        }
        for entry in fs::read_dir(&here)? {
            let (entry, found) = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?)))?;
            let child = path.join(entry);
            let is_as_it_was = self.marks.get(&child) == Some(&Mark::of(&found));
            if let Some(hidden) = self.hidden.get(&found.ino()).filter(|_| !is_as_it_was) {
                return Err(renamed_hidden(hidden));
            }
            if found.is_dir() {
                self.prune_below(root, &child)?;
            } else if is_as_it_was {
                fs::remove_file(root.join(&child))?;
            }
        }
        fs::set_permissions(&here, fs::Permissions::from_mode(mode))
    }
}

fn gone(path: &Path) -> io::Result<()> {
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::empty(), 0)?)
}

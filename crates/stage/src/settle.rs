//! Making changes real: each file from `before` to `after`, whole or not at all.
use crate::{
    blobs::{Blobs, hash_of, sync_folder},
    paths::resolve,
};
use haft_core::{Change, FileState};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// What lies at a path.
#[derive(Debug, PartialEq)]
pub(crate) enum State {
    Absent,
    File(FileState),
    /// A folder, a link, a pipe, a device; or the folder it would lie in is none.
    Other,
}

impl State {
    /// As a [`Change`] records it; `None` where it cannot.
    pub(crate) fn recorded(self) -> Option<Option<FileState>> {
        match self {
            Self::Absent => Some(None),
            Self::File(state) => Some(Some(state)),
            Self::Other => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn file(self) -> Option<FileState> {
        self.recorded().flatten()
    }
}

/// What lies at `path`, links not followed.
pub(crate) fn state_of(path: &Path) -> io::Result<State> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Absent),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(State::Other),
        Err(error) => return Err(error),
    };
    if !found.is_file() {
        return Ok(State::Other);
    }
    Ok(State::File(FileState { hash: hash_of(File::open(path)?)?, mode: found.mode() & 0o7777 }))
}

/// See [`haft_core::Stage::settle`]. The error names the file at which it stopped.
pub(crate) fn settle(blobs: &Blobs, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
    let workspace = resolve(workspace, Path::new(""));
    let mut conflicts = Vec::new();
    for change in changes {
        let settled = settle_one(blobs, &workspace.join(&change.path), change).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write `{}`: {error}", change.path.display()))
        })?;
        if !settled {
            conflicts.push(change.path.clone());
        }
    }
    Ok(conflicts)
}

/// Whether `target` is now as the change left it.
fn settle_one(blobs: &Blobs, target: &Path, change: &Change) -> io::Result<bool> {
    let Some(folder) = target.parent() else { return Ok(false) };
    // Recorded paths lead through no link. If this one does, somebody has put it there since.
    if resolve(folder, Path::new("")) != folder {
        return Ok(false);
    }
    if change.before.is_none() && change.after.is_some() && state_of(target)? == State::Absent {
        // There must be something to lock: two that make the same folder may make the same file in it.
        fs::create_dir_all(folder)?;
    }
    let _no_other_process_settles_here = locked(folder);
    let Some(now) = state_of(target)?.recorded() else { return Ok(false) };
    if now == change.after {
        return Ok(true);
    }
    if now != change.before {
        return Ok(false);
    }
    match &change.after {
        Some(after) => replace(blobs, folder, target, after)?,
        None => fs::remove_file(target)?,
    }
    sync_folder(folder)?;
    Ok(true)
}

/// Between looking at a file and replacing it, no other session may do the same. The lock ends with the returned
/// file. Where the folder is gone, or its file system knows no locks, there is none.
fn locked(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Writes beside the file and renames, so that nobody ever sees half of it. A hard link to the old file keeps the
/// old content.
fn replace(blobs: &Blobs, folder: &Path, target: &Path, after: &FileState) -> io::Result<()> {
    let mut content = blobs.open(&after.hash)?;
    let mut file = NamedTempFile::with_prefix_in(".haft-", folder)?;
    io::copy(&mut content, file.as_file_mut())?;
    keep_owner(target, file.path());
    file.as_file().set_permissions(fs::Permissions::from_mode(after.mode))?;
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// The new file belongs to whom the old one belonged. Only root can see to it, and only root needs to.
fn keep_owner(old: &Path, new: &Path) {
    if let (Ok(old), Ok(found)) = (fs::symlink_metadata(old), fs::symlink_metadata(new))
        && (old.uid(), old.gid()) != (found.uid(), found.gid())
    {
        let _not_ours_to_give = chown(new, Some(old.uid()), Some(old.gid()));
    }
}

//! [`Shown`]: puts changes into a view before a command begins, as if an earlier command had made them.
use super::upper::look;
use crate::{attributes, blobs::Blobs, sparse};
use haft_core::{Change, FileKind, FileState};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Component, Path, PathBuf},
};

/// A view that no command has seen yet.
pub(super) struct Shown<'a> {
    pub(super) blobs: &'a Blobs,
    /// The workspace.
    pub(super) root: &'a Path,
    /// The upper folder, with the differences.
    pub(super) upper: &'a Path,
    /// Whether `upper` has a copy of the whole workspace.
    pub(super) is_copy: bool,
}

impl Shown<'_> {
    /// Shows `changes` as made. Files that are hidden from commands stay hidden.
    ///
    /// # Errors
    /// Fails if a path leads out of the workspace, or a content is not kept.
    pub(super) fn show(&self, changes: &[Change], hidden: &[PathBuf]) -> io::Result<()> {
        let is_hidden = |path: &Path| hidden.iter().any(|hidden| self.root.join(path).starts_with(hidden));
        let mut changes: Vec<&Change> = changes.iter().filter(|change| !is_hidden(&change.path)).collect();
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        if let Some(outside) = changes.iter().find(|change| !is_inside(&change.path)) {
            let why = format!("`{}` lies outside of the workspace", outside.path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        for change in changes.iter().rev().filter(|change| !stays(change)) {
            self.remove(&change.path)?;
        }
        for change in changes {
            if let Some(state) = &change.after {
                self.put(&change.path, state)?;
            }
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let place = self.upper.join(path);
        match look(&place)? {
            Some(found) if found.is_dir() => fs::remove_dir_all(&place)?,
            Some(_) => fs::remove_file(&place)?,
            None => {}
        }
        if self.is_copy || look(&self.root.join(path))?.is_none() {
            return Ok(());
        }
        self.folders_above(path)?;
        // A whiteout, which marks a removed name in overlayfs. Creating one needs no privileges (Linux 5.8).
        Ok(mknodat(CWD, &place, FileType::CharacterDevice, Mode::empty(), 0)?)
    }

    fn put(&self, path: &Path, state: &FileState) -> io::Result<()> {
        self.folders_above(path)?;
        let (place, real) = (self.upper.join(path), self.root.join(path));
        match (look(&place)?, state.kind()) {
            (Some(found), FileKind::Folder) if found.is_dir() => {}
            (Some(_), _) => fs::remove_file(&place)?,
            (None, _) => {}
        }
        match state.kind() {
            FileKind::Link => return symlink(OsStr::from_bytes(&self.blobs.content(&state.hash)?), place),
            FileKind::Folder => fs::create_dir_all(&place)?,
            FileKind::File => sparse::copy(&self.blobs.open(&state.hash)?, &mut File::create_new(&place)?)?,
        }
        match (&state.attributes, look(&real)?) {
            (Some(recorded), _) => attributes::set(&File::open(&place)?, recorded)?,
            (None, Some(found)) if !found.is_symlink() => attributes::copy(&real, &place)?,
            (None, _) => {}
        }
        fs::set_permissions(&place, fs::Permissions::from_mode(state.permissions()))
    }

    /// Creates the folders above `path`, each like that of the workspace.
    fn folders_above(&self, path: &Path) -> io::Result<()> {
        let above: Vec<&Path> =
            path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        for folder in above.into_iter().rev() {
            let (place, real) = (self.upper.join(folder), self.root.join(folder));
            match look(&place)? {
                Some(found) if found.is_dir() => continue,
                Some(_) => fs::remove_file(&place)?,
                None => {}
            }
            fs::create_dir(&place)?;
            if let Some(found) = look(&real)?.filter(fs::Metadata::is_dir) {
                attributes::copy(&real, &place)?;
                fs::set_permissions(&place, found.permissions())?;
            }
        }
        Ok(())
    }
}

/// Whether a folder exists before and after the change.
fn stays(change: &Change) -> bool {
    let is_folder =
        |state: &Option<FileState>| state.as_ref().is_some_and(|state| state.kind() == FileKind::Folder);
    is_folder(&change.before) && is_folder(&change.after)
}

fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

//! [`Layer`]: a folder as a command sees it. The command's changes are stored in another folder.
use super::{
    ViewKind,
    copied::Copied,
    difference::{Difference, Listing, Moves},
    folder::{OverlayFolder, Views},
};
use crate::sparse::Stop;
use haft_core::{Bulk, WorkspaceMount};
use parking_lot::Mutex;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The workspace, or the folder that a command sees as `/tmp`.
pub(super) struct Layer {
    /// The real path of the folder.
    root: PathBuf,
    folder: OverlayFolder,
    /// The copy, if there is no overlay, until the changes are read.
    copied: Mutex<Option<Copied>>,
}

impl Layer {
    /// `hidden`: files and folders below `root` whose content a copy does not get.
    pub(super) fn open(
        views: &Arc<Views>,
        kind: &ViewKind,
        root: &Path,
        hidden: &[PathBuf],
    ) -> io::Result<Self> {
        let folder = views.view(root)?;
        let copied = match kind {
            ViewKind::Overlay => None,
            ViewKind::Copy(_) => Some(Copied::of(root, folder.upper(), hidden)?),
        };
        Ok(Self { root: root.to_owned(), folder, copied: Mutex::new(copied) })
    }

    pub(super) fn found(&self, kind: &ViewKind) -> WorkspaceMount {
        match kind {
            ViewKind::Overlay => WorkspaceMount::Overlay(self.folder.overlay()),
            ViewKind::Copy(_) => WorkspaceMount::Copy(self.folder.upper().to_owned()),
        }
    }

    /// The folder with the changes.
    pub(super) fn upper(&self) -> &Path {
        self.folder.upper()
    }

    /// The changes of the command. `hidden`: files and folders that keep their names.
    pub(super) fn difference<'a>(&self, stop: &'a Stop, hidden: &'a [PathBuf]) -> io::Result<Difference<'a>> {
        self.prune()?;
        Difference::of(&self.root, self.upper(), self.folder.opened(), stop, hidden)
    }

    /// Like [`Self::difference`], without reading contents: everything is moved.
    pub(super) fn moves(&self, stop: &Stop) -> io::Result<(Bulk, Moves)> {
        self.prune()?;
        let mut difference = Difference::empty(&self.root, self.folder.opened(), stop, &[]);
        Listing::of_all(&mut difference, self.upper())
    }

    fn prune(&self) -> io::Result<()> {
        match self.copied.lock().take() {
            Some(copied) => copied.prune(self.upper()),
            None => Ok(()),
        }
    }
}

//! Views of the whole workspace, for commands: what a command changes lies in a folder of its own, over the workspace.
//!
//! The kernel does it (overlayfs, Documentation/filesystems/overlayfs.rst): `haft-sandbox` mounts it where the process
//! starts, and here is read what was changed.
mod bulk;
mod copied;
mod difference;
mod folder;
mod ignored;
mod repository;
mod upper;

use crate::{blobs::Blobs, sparse::Stop};
use bulk::Moves;
use copied::Copied;
use difference::Difference;
use folder::{OverlayFolder, Views};
use haft_core::{Bulk, Change, Confinement, Effect, Found, How, ProcessLimits, Reach, View};
use haft_sandbox::{has_mounts_below, own_folder, try_confinement};
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

/// What commands see and reach besides the workspace.
#[derive(Clone, Debug, Default)]
pub struct CommandAccess {
    /// Folders outside of the workspace that they may change. What they do there is real at once, and not undone.
    pub writable: Vec<PathBuf>,
    /// Files and folders that look empty to them.
    pub hidden: Vec<PathBuf>,
    /// Whether hosts that they may reach by name may lie in private networks.
    pub private_hosts: bool,
    /// What each of them may use of the machine.
    pub limits: ProcessLimits,
}

/// Opens views for commands, where the system lets it.
pub(crate) struct Overlays {
    access: CommandAccess,
    /// By workspace: what views are made of, or why there are none.
    usable: Mutex<HashMap<PathBuf, Result<ViewKind, String>>>,
    /// By workspace: what commands see and reach that work in it itself; nothing where the system does not let them be
    /// confined.
    live: Mutex<HashMap<PathBuf, Option<Arc<Confinement>>>>,
    /// Where the views lie, once there is one.
    views: Mutex<Option<Arc<Views>>>,
}

/// What a view of a whole workspace is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// An overlay: only what is changed is copied.
    Overlay,
    /// A copy of all of it, since no overlay can be mounted; why not.
    Copy(String),
}

impl Overlays {
    pub(crate) fn new(access: CommandAccess) -> Self {
        Self { access, usable: Mutex::default(), live: Mutex::default(), views: Mutex::default() }
    }

    /// Whether a call with these effects works in such a view: it runs commands that say so, and writes nothing
    /// outside of the workspace.
    pub(crate) fn fits(&self, blobs: &Blobs, workspace: &Path, effects: &[Effect]) -> bool {
        let is_confined =
            |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.confined);
        let stays = |effect: &Effect| match effect {
            Effect::Write(path) => workspace.join(path).starts_with(workspace),
            Effect::Execute(execution) => execution.confined,
            Effect::Read(_) | Effect::Network(_) => true,
        };
        effects.iter().any(is_confined) && effects.iter().all(stays) && self.usable(blobs, workspace).is_ok()
    }

    /// What views of this workspace are made of, or why there are none. It is tried once.
    pub(crate) fn usable(&self, blobs: &Blobs, workspace: &Path) -> Result<ViewKind, String> {
        let mut known = self.usable.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(workspace) {
            return known.clone();
        }
        let usable = self.try_out(blobs, workspace);
        known.insert(workspace.to_owned(), usable.clone());
        usable
    }

    fn try_out(&self, blobs: &Blobs, workspace: &Path) -> Result<ViewKind, String> {
        if workspace.parent().is_none() {
            return Err("the workspace is the root of the file system".into());
        }
        if has_mounts_below(workspace) {
            return Err("another file system is mounted below the workspace".into());
        }
        let tried =
            |kind| self.open_as(kind, blobs, workspace).and_then(|view| try_confinement(&view.confinement));
        let refused = |error| format!("the system does not let a command be confined: {error}");
        let Err(error) = tried(&ViewKind::Overlay) else { return Ok(ViewKind::Overlay) };
        // Without an overlay it is known whether it is that alone.
        if self.live(blobs, workspace).is_none() {
            return Err(refused(error));
        }
        let copy = ViewKind::Copy(error.to_string());
        let uncopied = |why| format!("{}, and a copy of the workspace: {why}", refused(error));
        tried(&copy).map_err(uncopied)?;
        Ok(copy)
    }

    pub(crate) fn open(&self, blobs: &Blobs, workspace: &Path) -> io::Result<OverlayView> {
        let kind = self.usable(blobs, workspace).map_err(io::Error::other)?;
        self.open_as(&kind, blobs, workspace)
    }

    fn open_as(&self, kind: &ViewKind, blobs: &Blobs, workspace: &Path) -> io::Result<OverlayView> {
        let folder = self.views(blobs)?.view(workspace)?;
        let (finds, copied) = match kind {
            ViewKind::Overlay => (Found::Overlay(folder.overlay()), None),
            ViewKind::Copy(_) => {
                (Found::Copy(folder.upper().to_owned()), Some(Copied::of(workspace, folder.upper())?))
            }
        };
        Ok(OverlayView {
            blobs: blobs.clone(),
            confinement: Arc::new(self.confinement(blobs, workspace, finds)?),
            folder,
            copied: Mutex::new(copied),
            bulk: Mutex::default(),
            stop: Stop::default(),
        })
    }

    fn views(&self, blobs: &Blobs) -> io::Result<Arc<Views>> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        match &*views {
            Some(views) => Ok(views.clone()),
            None => Ok(views.insert(Arc::new(Views::new(blobs.folder()?)?)).clone()),
        }
    }

    /// What a command sees and reaches that works in the workspace itself. It is tried once.
    pub(crate) fn live(&self, blobs: &Blobs, workspace: &Path) -> Option<Arc<Confinement>> {
        let mut known = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = || {
            let confinement = self.confinement(blobs, workspace, Found::Itself)?;
            try_confinement(&confinement).map(|()| Arc::new(confinement))
        };
        known.entry(workspace.to_owned()).or_insert_with(|| tried().ok()).clone()
    }

    fn confinement(&self, blobs: &Blobs, workspace: &Path, finds: Found) -> io::Result<Confinement> {
        let tmp = blobs.folder()?.with_file_name("tmp");
        own_folder(&tmp)?;
        let CommandAccess { writable, hidden, private_hosts, limits } = self.access.clone();
        let (visible, reach) = (repository::elsewhere(workspace), Reach::Nothing);
        let workspace = workspace.to_owned();
        Ok(Confinement { workspace, finds, tmp, visible, writable, hidden, reach, private_hosts, limits })
    }
}

/// What one command sees.
pub(crate) struct OverlayView {
    blobs: Blobs,
    confinement: Arc<Confinement>,
    folder: OverlayFolder,
    /// Where there is no overlay, until it was looked at what was changed.
    copied: Mutex<Option<Copied>>,
    /// What is applied and not recorded, after [`View::changes`].
    bulk: Mutex<(Arc<Bulk>, Arc<Moves>)>,
    stop: Stop,
}

impl View for OverlayView {
    fn root(&self) -> &Path {
        &self.confinement.workspace
    }

    fn locate(&self, path: &Path) -> PathBuf {
        let real = self.root().join(path);
        let changed = real.strip_prefix(self.root()).ok().map(|inside| self.folder.upper().join(inside));
        // Commands start in folders by their real names.
        changed.filter(|changed| changed.is_file()).unwrap_or(real)
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        let (changes, others) = self.changes_of_its_own()?;
        match others.first() {
            None => Ok(changes),
            Some(path) => Err(io::Error::other(format!(
                "`{}` was changed by somebody else while the command ran, so nothing that the command did was kept",
                path.display()
            ))),
        }
    }

    fn changes_of_its_own(&self) -> io::Result<(Vec<Change>, Vec<PathBuf>)> {
        let upper = self.folder.upper();
        if let Some(copied) = self.copied.lock().unwrap_or_else(PoisonError::into_inner).take() {
            copied.prune(upper)?;
        }
        let difference = Difference::of(self.root(), upper, self.folder.opened(), &self.stop)?;
        let kept: Vec<_> = difference.contents.iter().map(|(file, state)| (file.as_path(), state)).collect();
        let named = difference.changes.iter().map(|change| &change.path).chain(&difference.bulk.paths);
        // What cannot be written down could not be taken back.
        if let Some(path) = named.into_iter().find(|path| path.to_str().is_none()) {
            let why = format!("the name `{}` is not UTF-8", path.to_string_lossy().escape_debug());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.blobs.keep(&kept, &self.stop)?;
        *self.bulk.lock().unwrap_or_else(PoisonError::into_inner) =
            (Arc::new(difference.bulk), Arc::new(difference.moves));
        Ok((difference.changes, difference.others))
    }

    fn bulk(&self) -> Arc<Bulk> {
        self.bulk.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn apply_bulk(&self) -> io::Result<()> {
        let moves = self.bulk.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        match moves.apply(self.root())?.first() {
            None => Ok(()),
            Some(path) => Err(io::Error::other(format!(
                "`{}` was changed by another process, or a link leads there, so it was left as it is",
                path.display()
            ))),
        }
    }

    fn stop(&self) {
        self.stop.set();
    }

    fn finish_by(&self, deadline: Instant) {
        self.stop.at(deadline);
    }

    fn how(&self) -> How {
        How::Staged
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        Some(self.confinement.clone())
    }
}

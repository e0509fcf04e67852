//! [`Overlays`]: views of the whole workspace for commands. The changes of a command are stored in a folder of its own,
//! as an overlay over the workspace.
//!
//! The kernel implements the overlay (overlayfs, Documentation/filesystems/overlayfs.rst): `haft-sandbox` mounts it
//! when the process starts, and this module reads the changes.
mod caches;
mod copied;
mod difference;
mod folder;
mod ignored;
mod layer;
mod shown;
mod upper;

use crate::{blobs::Blobs, sparse::Stop};
use caches::{Caches, ViewCaches};
use difference::Moves;
use folder::Views;
use haft_core::{
    Bulk, Change, Confinement, Effect, Outside, ProcessLimits, Reach, Tracking, View, WorkspaceMount,
};
use haft_process::own_folder;
use haft_sandbox::{has_mounts_below, hidden_places, try_confinement};
use layer::Layer;
use parking_lot::Mutex;
use shown::Shown;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// What commands can access besides the workspace.
#[derive(Clone, Debug, Default)]
pub struct CommandAccess {
    /// Folders outside of the workspace that they may change. Their changes there take effect at once and cannot be
    /// undone.
    pub writable: Vec<PathBuf>,
    /// Cache folders of build tools that they see unchanged and may write to, if commands work in an overlay. Later
    /// commands see what they write there; it is dropped with the [`LocalStage`](crate::LocalStage).
    pub caches: Vec<PathBuf>,
    /// Files and folders that appear empty to them.
    pub hidden: Vec<PathBuf>,
    /// Whether hosts that they may reach by name may be in private networks.
    pub private_hosts: bool,
    /// Resource limits of each command.
    pub limits: ProcessLimits,
}

/// Opens views for commands, if the system supports it.
pub(crate) struct Overlays {
    access: CommandAccess,
    /// How views are made, or why they cannot be, by workspace.
    usable: Mutex<HashMap<PathBuf, Result<CommandViews, String>>>,
    /// Confinement of commands that work in the workspace itself, by workspace; `None` if the system cannot confine
    /// them.
    live: Mutex<HashMap<PathBuf, Option<Arc<Confinement>>>>,
    /// The folder of the views, once there is one.
    views: Mutex<Option<Arc<Views>>>,
    caches: Caches,
}

/// How the views of commands are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandViews {
    /// How the view of the workspace is made.
    pub kind: ViewKind,
    /// How commands see the rest of the machine.
    pub outside: Outside,
    /// Whether [`CommandAccess::caches`] can be written to.
    pub caches: bool,
}

/// How a view of a whole workspace is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// As an overlay: only changed files are copied.
    Overlay,
    /// As a copy of all files, because no overlay can be mounted, for this reason.
    Copy(String),
}

/// Ways to protect other folders, the best first.
const OUTSIDE: [Outside; 2] = [Outside::Overlays, Outside::Bound];

impl Overlays {
    pub(crate) fn new(access: CommandAccess) -> Self {
        Self {
            access,
            usable: Mutex::default(),
            live: Mutex::default(),
            views: Mutex::default(),
            caches: Caches::default(),
        }
    }

    /// Whether a call with these effects works in such a view: it runs confined commands, and writes nothing outside of
    /// the workspace.
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

    /// Whether its commands can change folders outside of their views.
    pub(crate) fn writes_elsewhere(&self) -> bool {
        self.access.writable.iter().any(|folder| folder.is_dir())
    }

    /// How views of this workspace are made, or why there are none. Determined once by trying.
    pub(crate) fn usable(&self, blobs: &Blobs, workspace: &Path) -> Result<CommandViews, String> {
        let mut known = self.usable.lock();
        if let Some(known) = known.get(workspace) {
            return known.clone();
        }
        let usable = self.try_out(blobs, workspace);
        known.insert(workspace.to_owned(), usable.clone());
        usable
    }

    fn try_out(&self, blobs: &Blobs, workspace: &Path) -> Result<CommandViews, String> {
        if workspace.parent().is_none() {
            return Err("the workspace is the root of the file system".into());
        }
        if has_mounts_below(workspace) {
            return Err("another file system is mounted below the workspace".into());
        }
        let refused = |error| format!("the system does not let a command be confined: {error}");
        let error = match self.first_that_works(&ViewKind::Overlay, blobs, workspace) {
            Ok(views) => return Ok(views),
            Err(error) => error,
        };
        // Checks whether confinement without an overlay works.
        if self.live(blobs, workspace).is_none() {
            return Err(refused(error));
        }
        let copy = ViewKind::Copy(error.to_string());
        let uncopied = |why| format!("{}, and a copy of the workspace: {why}", refused(error));
        self.first_that_works(&copy, blobs, workspace).map_err(uncopied)
    }

    /// Tries the ways in `OUTSIDE`. Returns the error of the last one.
    fn first_that_works(&self, kind: &ViewKind, blobs: &Blobs, workspace: &Path) -> io::Result<CommandViews> {
        let has_caches = *kind == ViewKind::Overlay && !self.access.caches.is_empty();
        let caches = if has_caches { &[true, false][..] } else { &[false] };
        let tried = OUTSIDE.into_iter().flat_map(|outside| {
            caches.iter().map(move |caches| CommandViews { kind: kind.clone(), outside, caches: *caches })
        });
        let mut error = io::Error::other("nothing was tried");
        for views in tried {
            let view = self.open_as(&views, blobs, workspace)?;
            match try_confinement(&view.confinement) {
                Ok(()) => return Ok(views),
                Err(why) => error = why,
            }
        }
        Err(error)
    }

    pub(crate) fn open(&self, blobs: &Blobs, workspace: &Path) -> io::Result<OverlayView> {
        let views = self.usable(blobs, workspace).map_err(io::Error::other)?;
        self.open_as(&views, blobs, workspace)
    }

    /// Like [`Self::open`], with `changes` shown as made.
    pub(crate) fn open_with(
        &self,
        blobs: &Blobs,
        workspace: &Path,
        changes: &[Change],
    ) -> io::Result<OverlayView> {
        let view = self.open(blobs, workspace)?;
        let is_copy = matches!(view.confinement.finds, WorkspaceMount::Copy(_));
        let place = Shown { blobs, root: workspace, upper: view.files.upper(), is_copy };
        place.show(changes, &view.hidden)?;
        Ok(view)
    }

    fn open_as(&self, made: &CommandViews, blobs: &Blobs, workspace: &Path) -> io::Result<OverlayView> {
        let CommandViews { kind, outside, caches } = made;
        let (views, tmp) = (self.views(blobs)?, tmp(blobs)?);
        let hidden = self.hidden_in(workspace);
        let (files, scratch) =
            (Layer::open(&views, kind, workspace, &hidden)?, Layer::open(&views, kind, &tmp, &[])?);
        let folders = if *caches { self.access.caches.as_slice() } else { &[] };
        let opened = self.caches.open(&views, folders, workspace)?;
        let plain = self.confinement(tmp, workspace, *outside);
        let (finds, finds_tmp) = (files.found(kind), scratch.found(kind));
        Ok(OverlayView {
            blobs: blobs.clone(),
            confinement: Arc::new(Confinement { finds, finds_tmp, caches: opened.mounts(), ..plain }),
            hidden,
            _caches: opened,
            files,
            scratch,
            left: Mutex::default(),
            stop: Stop::default(),
        })
    }

    /// The hidden files and folders of the workspace.
    fn hidden_in(&self, workspace: &Path) -> Vec<PathBuf> {
        let hidden = hidden_places(&self.access.hidden, workspace);
        hidden.into_iter().filter(|place| place.starts_with(workspace)).collect()
    }

    fn views(&self, blobs: &Blobs) -> io::Result<Arc<Views>> {
        let mut views = self.views.lock();
        match &*views {
            Some(views) => Ok(views.clone()),
            None => Ok(views.insert(Arc::new(Views::new(blobs.folder()?)?)).clone()),
        }
    }

    /// The confinement of a command that works in the workspace itself, and in the session's own `/tmp`. Determined
    /// once by trying.
    pub(crate) fn live(&self, blobs: &Blobs, workspace: &Path) -> Option<Arc<Confinement>> {
        let mut known = self.live.lock();
        let tried = || {
            let tmp = tmp(blobs).ok()?;
            let mut all =
                OUTSIDE.map(|outside| self.confinement(tmp.clone(), workspace, outside)).into_iter();
            all.find(|confinement| try_confinement(confinement).is_ok()).map(Arc::new)
        };
        known.entry(workspace.to_owned()).or_insert_with(tried).clone()
    }

    fn confinement(&self, tmp: PathBuf, workspace: &Path, outside: Outside) -> Confinement {
        let CommandAccess { writable, caches: _, hidden, private_hosts, limits } = self.access.clone();
        let (finds, finds_tmp, reach) = (WorkspaceMount::Itself, WorkspaceMount::Itself, Reach::Nothing);
        let workspace = workspace.to_owned();
        Confinement {
            workspace,
            finds,
            tmp,
            finds_tmp,
            outside,
            writable,
            caches: Vec::new(),
            hidden,
            reach,
            private_hosts,
            limits,
        }
    }
}

/// The folder that commands of the session see as `/tmp`.
fn tmp(blobs: &Blobs) -> io::Result<PathBuf> {
    let tmp = blobs.folder()?.with_file_name("tmp");
    own_folder(&tmp)?;
    Ok(tmp)
}

/// The view of one command.
pub(crate) struct OverlayView {
    blobs: Blobs,
    confinement: Arc<Confinement>,
    /// Files of the workspace that the command must not see.
    hidden: Vec<PathBuf>,
    _caches: ViewCaches,
    files: Layer,
    /// `/tmp`.
    scratch: Layer,
    /// The changes that are applied without a record, known after [`View::changes`].
    left: Mutex<Left>,
    stop: Stop,
}

#[derive(Clone, Default)]
struct Left {
    bulk: Arc<Bulk>,
    files: Arc<Moves>,
    scratch: Arc<Moves>,
}

impl OverlayView {
    fn left(&self) -> Left {
        self.left.lock().clone()
    }
}

impl View for OverlayView {
    fn root(&self) -> &Path {
        &self.confinement.workspace
    }

    fn locate(&self, path: &Path) -> PathBuf {
        let real = self.root().join(path);
        let changed = real.strip_prefix(self.root()).ok().map(|inside| self.files.upper().join(inside));
        // Commands start in folders by their real paths.
        changed.filter(|changed| changed.is_file()).unwrap_or(real)
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        let (changes, others) = self.own_changes()?;
        match others.first() {
            None => Ok(changes),
            Some(path) => Err(io::Error::other(format!(
                "`{}` was changed by another process while the command ran, so nothing that the command did was kept",
                path.display()
            ))),
        }
    }

    fn own_changes(&self) -> io::Result<(Vec<Change>, Vec<PathBuf>)> {
        let difference = self.files.difference(&self.stop, &self.hidden)?;
        let kept: Vec<_> = difference.contents.iter().map(|(file, state)| (file.as_path(), state)).collect();
        let named = difference.changes.iter().map(|change| &change.path).chain(&difference.bulk.paths);
        // A path that is not UTF-8 cannot be recorded, and so could not be undone.
        if let Some(path) = named.into_iter().find(|path| path.to_str().is_none()) {
            let name = path.to_string_lossy();
            let why = format!(
                "the name `{}` is not UTF-8, so that no undo could find the file; nothing that the command changed is kept",
                name.escape_debug()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.blobs.keep(&kept, &self.stop)?;
        let (scratch, moves) = self.scratch.moves(&self.stop)?;
        let bulk = Bulk { changes_tmp: !scratch.paths.is_empty(), ..difference.bulk };
        *self.left.lock() =
            Left { bulk: Arc::new(bulk), files: Arc::new(difference.moves), scratch: Arc::new(moves) };
        Ok((difference.changes, difference.others))
    }

    fn bulk(&self) -> Arc<Bulk> {
        self.left().bulk
    }

    fn apply_bulk(&self) -> io::Result<()> {
        let Left { files, scratch, .. } = self.left();
        // Files that another command of the session wrote meanwhile stay.
        let _newer = scratch.apply(&self.blobs, &self.confinement.tmp)?;
        match files.apply(&self.blobs, self.root())?.first() {
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

    fn how(&self) -> Tracking {
        Tracking::Staged
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        Some(self.confinement.clone())
    }
}

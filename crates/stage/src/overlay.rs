//! Views of the whole workspace, for commands: what a command changes lies in a folder of its own, over the workspace.
//!
//! The kernel does it (overlayfs, Documentation/filesystems/overlayfs.rst): `haft-sandbox` mounts it where the process
//! starts, and here is read what was changed.
mod difference;
mod folder;
mod ignored;
mod moved;
mod upper;

use crate::blobs::Blobs;
use difference::Difference;
use folder::{OverlayFolder, remove_left_over};
use haft_core::{Change, Confinement, Effect, How, Overlay, ProcessLimits, Reach, View};
use haft_sandbox::{has_mounts_below, try_confinement};
use moved::Moving;
use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Once, PoisonError},
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
    /// By workspace: why not.
    usable: Mutex<HashMap<PathBuf, Result<(), String>>>,
    tidied: Once,
}

impl Overlays {
    pub(crate) fn new(access: CommandAccess) -> Self {
        Self { access, usable: Mutex::default(), tidied: Once::new() }
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

    /// Why commands have no view of this workspace, if they have none. It is tried once.
    pub(crate) fn usable(&self, blobs: &Blobs, workspace: &Path) -> Result<(), String> {
        let mut known = self.usable.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(workspace) {
            return known.clone();
        }
        let usable = self.try_out(blobs, workspace);
        known.insert(workspace.to_owned(), usable.clone());
        usable
    }

    fn try_out(&self, blobs: &Blobs, workspace: &Path) -> Result<(), String> {
        if workspace.parent().is_none() {
            return Err("the workspace is the root of the file system".into());
        }
        if has_mounts_below(workspace) {
            return Err("another file system is mounted below the workspace".into());
        }
        if let Some(repository) = repository_elsewhere(workspace) {
            let repository = repository.display();
            return Err(format!(
                "git keeps what it knows of the workspace in `{repository}`, which a view cannot hold"
            ));
        }
        let tried = self.open(blobs, workspace).and_then(|view| try_confinement(&view.confinement));
        tried.map_err(|error| format!("the system does not let a command be confined: {error}"))
    }

    pub(crate) fn open(&self, blobs: &Blobs, workspace: &Path) -> io::Result<OverlayView> {
        let above = blobs.folder()?;
        self.tidied.call_once(|| remove_left_over(above));
        let folder = OverlayFolder::new(above, workspace)?;
        let tmp = blobs.folder()?.with_file_name("tmp");
        fs::create_dir_all(&tmp)?;
        let overlay = Overlay { folder: workspace.to_owned(), upper: folder.upper(), work: folder.work() };
        let CommandAccess { writable, hidden, private_hosts, limits } = self.access.clone();
        let confinement = Confinement {
            workspace: overlay,
            tmp,
            writable,
            hidden,
            reach: Reach::Nothing,
            private_hosts,
            limits,
        };
        Ok(OverlayView {
            blobs: blobs.clone(),
            confinement: Arc::new(confinement),
            folder,
            moved: Mutex::default(),
        })
    }
}

/// Where git keeps what it knows of a work tree or a submodule: in the folder that its file `.git` names
/// (gitrepository-layout(5)). A command that could not write there could not commit.
fn repository_elsewhere(workspace: &Path) -> Option<PathBuf> {
    let named = workspace.ancestors().map(|folder| folder.join(".git")).find(|place| place.exists())?;
    if named.is_dir() {
        return (!named.starts_with(workspace)).then_some(named);
    }
    let text = fs::read_to_string(&named).ok()?;
    Some(PathBuf::from(text.strip_prefix("gitdir:")?.trim()))
}

/// What one command sees.
pub(crate) struct OverlayView {
    blobs: Blobs,
    confinement: Arc<Confinement>,
    folder: OverlayFolder,
    /// What is settled and not kept, once it was looked at what was changed.
    moved: Mutex<Vec<PathBuf>>,
}

impl View for OverlayView {
    fn root(&self) -> &Path {
        &self.confinement.workspace.folder
    }

    fn locate(&self, path: &Path) -> PathBuf {
        let real = self.root().join(path);
        let changed = real.strip_prefix(self.root()).ok().map(|inside| self.folder.upper().join(inside));
        // Commands start in folders by their real names.
        changed.filter(|changed| changed.is_file()).unwrap_or(real)
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        let difference = Difference::of(&self.confinement.workspace, self.folder.opened())?;
        let kept: Vec<_> = difference.contents.iter().map(|(file, state)| (file.as_path(), state)).collect();
        let named = difference.changes.iter().map(|change| &change.path).chain(&difference.moved);
        // What cannot be written down could not be taken back.
        if let Some(path) = named.into_iter().find(|path| path.to_str().is_none()) {
            let why = format!("the name `{}` is not UTF-8", path.to_string_lossy().escape_debug());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.blobs.keep(&kept)?;
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = difference.moved;
        Ok(difference.changes)
    }

    fn unkept(&self) -> Vec<PathBuf> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn settle_unkept(&self) -> io::Result<()> {
        let Overlay { folder, upper, .. } = &self.confinement.workspace;
        self.unkept().iter().try_for_each(|path| Moving { root: folder, upper }.settle(path))
    }

    fn how(&self) -> How {
        How::Staged
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        Some(self.confinement.clone())
    }
}

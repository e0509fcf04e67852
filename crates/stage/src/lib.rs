//! [`LocalStage`]: private views of a workspace, and settling of the changes made in them.
//!
//! A *view* is what one call sees of the workspace; its *changes* are written to the workspace when they are *settled*,
//! once. This crate has one kind of stage, [`LocalStage`], which tracks the files that a call's effects name, and the
//! changes of confined commands.
//!
//! How it works inside: `README.md` of this crate.

mod access;
mod attributes;
mod blobs;
mod local_stage;
mod lock;
mod overlay;
mod paths;
mod place;
mod settle;
mod sparse;
mod step;
mod sync;
mod temp_names;

use blobs::Blobs;
use haft_core::{Change, Effect, FileState, Hash, Stage, Tracking, View};
use lock::Locks;
use overlay::Overlays;
pub use overlay::{CommandAccess, CommandViews, ViewKind};
use place::{Lookup, Place};
use settle::Settling;
use sparse::Stop;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Views that hold private copies of the files which the effects of a call name for writing.
///
/// | effects | what the call works in | recorded |
/// | --- | --- | --- |
/// | some `Write`, no command | private copies of the written files | all of those |
/// | `Execute` of confined commands, where they have views | a view of the workspace | everything |
/// | only `Read` | the real workspace, nothing is copied | nothing can change |
/// | else `Execute`, `Network`, or none | the real workspace | nothing: `untracked` |
///
/// A command that continues after its call works in the real workspace and is confined otherwise, if the system
/// supports it.
///
/// Files that a call writes without declaring them are neither recorded nor kept. A file of more than 64 MB is not
/// copied: the view of a call that would write it cannot be opened.
pub struct LocalStage {
    blobs: Blobs,
    locks: Locks,
    overlays: Option<Overlays>,
}

impl LocalStage {
    /// `blobs`: folder for the contents that changes name, each in a file named by its SHA-256. It is created when it
    /// is first needed, and must lie outside every workspace. It also contains the folders of views, whose names begin
    /// with `.view-`; only a killed process leaves one behind.
    pub fn new(blobs: PathBuf) -> Self {
        Self { blobs: Blobs::new(blobs), locks: Locks::default(), overlays: None }
    }

    /// Sets a folder with lock files, so that processes with the same folder do not settle files of a workspace at the
    /// same time. The folder is created when it is first needed, and contains an empty file for each workspace. Without
    /// it, concurrent writes of two processes to the same file are detected only if the file system can exchange two
    /// names atomically, which nearly all can.
    pub fn with_locks(self, folder: PathBuf) -> Self {
        Self { locks: Locks::new(folder), ..self }
    }

    /// Gives calls that run confined commands a view of the whole workspace, if the system supports it: no change of a
    /// command takes effect before it is settled. `/tmp` of the commands is the folder `tmp` beside the contents; it
    /// has a view as well, and is changed when the call is settled.
    pub fn with_command_views(self, access: CommandAccess) -> Self {
        Self { overlays: Some(Overlays::new(access)), ..self }
    }

    /// How the views of commands are made in this workspace, or why they have none. Determined by trying.
    pub fn command_views(&self, workspace: &Path) -> Result<CommandViews, String> {
        let overlays = self.overlays.as_ref().ok_or("they were not asked for")?;
        overlays.usable(&self.blobs, workspace)
    }
}

impl Stage for LocalStage {
    fn how(&self, workspace: &Path, effects: &[Effect]) -> Tracking {
        match &self.overlays {
            Some(overlays) if overlays.fits(&self.blobs, workspace, effects) => Tracking::Staged,
            _ => local_stage::how(effects),
        }
    }

    fn unconfined(&self, workspace: &Path) -> Option<String> {
        self.overlays.as_ref()?.usable(&self.blobs, workspace).err()
    }

    fn writes_elsewhere(&self, workspace: &Path, effects: &[Effect]) -> bool {
        self.overlays
            .as_ref()
            .is_some_and(|all| all.writes_elsewhere() && all.fits(&self.blobs, workspace, effects))
    }

    fn open(&self, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
        if let Some(overlays) = self.overlays.as_ref().filter(|all| all.fits(&self.blobs, workspace, effects))
        {
            return Ok(Box::new(overlays.open(&self.blobs, workspace)?));
        }
        let lasts = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.lasting);
        let live = self.overlays.as_ref().filter(|_| effects.iter().any(lasts));
        if let Some(confinement) = live.and_then(|overlays| overlays.live(&self.blobs, workspace)) {
            return Ok(Box::new(local_stage::Real::confined(confinement)));
        }
        local_stage::open(&self.blobs, workspace, effects)
    }

    fn open_with(
        &self,
        workspace: &Path,
        effects: &[Effect],
        changes: &[Change],
    ) -> io::Result<Box<dyn View>> {
        match self.overlays.as_ref().filter(|all| all.fits(&self.blobs, workspace, effects)) {
            Some(overlays) => Ok(Box::new(overlays.open_with(&self.blobs, workspace, changes)?)),
            None => local_stage::open_with(&self.blobs, workspace, effects, changes),
        }
    }

    fn found(&self, workspace: &Path, path: &Path) -> io::Result<Option<FileState>> {
        let path = workspace.join(path);
        let state = match Place::find(&path)? {
            Lookup::Missing => return Ok(None),
            Lookup::Blocked => return Err(not_readable(&path, "a file or a link stands in the way")),
            Lookup::Open(place) => place.look()?.0.recorded(),
        };
        let state = state.ok_or_else(|| not_readable(&path, "it is no file, link or folder"))?;
        if let Some(state) = &state {
            self.blobs.keep(&[(&path, state)], &Stop::default())?;
        }
        Ok(state)
    }

    fn settle(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        Settling { blobs: &self.blobs, locks: &self.locks, workspace, is_first: false }.settle(changes)
    }

    fn settle_first(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        Settling { blobs: &self.blobs, locks: &self.locks, workspace, is_first: true }.settle(changes)
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.blobs.content(hash)
    }

    fn keep(&self, content: &[u8]) -> io::Result<Hash> {
        self.blobs.keep_content(content)
    }

    fn resolve(&self, workspace: &Path, path: &Path) -> PathBuf {
        paths::resolve(workspace, path)
    }
}

fn not_readable(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("cannot read `{}`: {why}", path.display()))
}

//! A workspace, and a stage beside it.
use haft_core::{Change, Effect, Stage, View};
use haft_stage::LocalStage;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A folder `w` to work in, a stage beside it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) stage: LocalStage,
}

impl Place {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::of(tempfile::tempdir().unwrap(), files)
    }
    /// In memory where there is such a place: there, everything goes faster than anybody can look.
    pub(crate) fn in_memory() -> Self {
        Self::of(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap(), &[])
    }
    fn of(folder: TempDir, files: &[(&str, &str)]) -> Self {
        let workspace = folder.path().canonicalize().unwrap().join("w");
        fs::create_dir(&workspace).unwrap();
        let stage = LocalStage::new(folder.path().join("blobs"));
        let place = Self { folder, workspace, stage };
        files.iter().for_each(|(path, text)| place.put(path, text));
        place
    }
    pub(crate) fn put(&self, path: &str, text: &str) {
        fs::write(self.workspace.join(path), text).unwrap();
    }
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace.join(path)).ok()
    }
    /// As the engine does: no path of an effect leads through a link.
    pub(crate) fn open(&self, effects: &[Effect]) -> Box<dyn View> {
        let resolve = |path: &Path| self.stage.resolve(&self.workspace, path);
        let effects = effects.iter().map(|effect| effect.clone().placed(resolve));
        self.stage.open(&self.workspace, &effects.collect::<Vec<_>>()).unwrap()
    }
    pub(crate) fn open_to_write(&self, path: impl Into<PathBuf>) -> Box<dyn View> {
        self.open(&[Effect::Write(path.into())])
    }
    pub(crate) fn settle(&self, changes: &[Change]) -> Vec<PathBuf> {
        self.stage.settle(&self.workspace, changes).unwrap()
    }
    /// The changes of a call that leaves `text` in `path`.
    pub(crate) fn written(&self, path: &str, text: &str) -> Vec<Change> {
        let view = self.open_to_write(path);
        fs::write(view.locate(Path::new(path)), text).unwrap();
        view.changes().unwrap()
    }
    /// The names in the workspace, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.workspace).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

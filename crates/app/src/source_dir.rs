//! [`SourceDir`]: a folder beside the configuration that a user or a project fills.
use crate::config::Places;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A folder that a person or a project fills: `agents`, `skills`, `commands`.
pub(crate) struct SourceDir {
    /// Where it lies.
    pub(crate) folder: PathBuf,
    /// Nothing outside of this is read; `None` if the user vouches for the folder.
    pub(crate) within: Option<PathBuf>,
}

/// Returns the person's folder of this name, and the project's.
pub(crate) fn both(places: &Places, workspace: &Path, name: &str) -> [SourceDir; 2] {
    let own = SourceDir { folder: places.user_file.with_file_name(name), within: None };
    let folder = workspace.join(".haft").join(name);
    [own, SourceDir { folder, within: Some(workspace.to_owned()) }]
}

impl SourceDir {
    /// Whether the person vouches for what lies here.
    pub(crate) fn is_own(&self) -> bool {
        self.within.is_none()
    }

    /// What lies in it, by name.
    pub(crate) fn entries(&self) -> Vec<PathBuf> {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        entries
    }
}

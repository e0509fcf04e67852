//! [`committable`] and [`untracked`]: the files that Git can commit.
use crate::git::said;
use std::{
    collections::HashSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Returns those of `paths`, relative to `workspace`, that are in the last commit or that a commit could add. Git's own
/// files, folders, ignored files that Git does not track, and deleted files are left out. `None` if `workspace` is not
/// in a repository.
#[must_use]
pub fn committable(workspace: &Path, paths: Vec<PathBuf>) -> Option<Vec<PathBuf>> {
    let words = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let listed = said(workspace, words)?;
    // A repository without commits has no `HEAD`.
    let committed = said(workspace, ["ls-tree", "-r", "--name-only", "-z", "HEAD"]).unwrap_or_default();
    let (listed, committed) = (names(&listed), names(&committed));
    let is_there = |path: &Path| workspace.join(path).symlink_metadata().is_ok();
    let can_be_committed = |path: &PathBuf| {
        let name = path.as_path();
        committed.contains(name) || listed.contains(name) && is_there(name)
    };
    Some(paths.into_iter().filter(can_be_committed).collect())
}

/// Returns the files below `folders`, relative to `workspace`, that Git does not track and does not ignore.
#[must_use]
pub fn untracked(workspace: &Path, folders: Vec<PathBuf>) -> Vec<PathBuf> {
    if folders.is_empty() {
        return Vec::new();
    }
    let words = ["ls-files", "--others", "--exclude-standard", "-z", "--"].map(OsString::from);
    let listed = said(workspace, words.into_iter().chain(folders.into_iter().map(Into::into)));
    names(&listed.unwrap_or_default()).into_iter().map(Path::to_owned).collect()
}

fn names(listed: &str) -> HashSet<&Path> {
    listed.split_terminator('\0').map(Path::new).collect()
}

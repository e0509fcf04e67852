//! Where git keeps what it knows of a workspace.
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files and folders outside of `workspace` that git needs to know its repository: where the workspace is a folder of
/// a repository, a work tree, or a submodule (gitrepository-layout(5)).
pub(super) fn elsewhere(workspace: &Path) -> Vec<PathBuf> {
    let named = workspace.ancestors().map(|folder| folder.join(".git")).find(|place| place.exists());
    let Some(named) = named else { return Vec::new() };
    let needed = [repository(&named), Some(named)];
    needed.into_iter().flatten().filter(|path| !path.starts_with(workspace)).collect()
}

/// The one that a file `.git` names.
fn repository(named: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(named).ok()?;
    let folder = named.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    // That of a work tree lies within the one that it shares with others.
    let shared = fs::read_to_string(folder.join("commondir")).map(|shared| folder.join(shared.trim()));
    shared.unwrap_or(folder).canonicalize().ok()
}

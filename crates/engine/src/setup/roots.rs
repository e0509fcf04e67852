//! [`checked_root`]: checks a folder that is to be added to a workspace.
use super::Setup;
use std::path::{Path, PathBuf};

/// Returns the real path of the folder `given`, which is relative to the workspace or begins with `~/`; links are
/// followed.
///
/// # Errors
///
/// Fails if it does not exist or is not a folder, is in the workspace or contains it, or contains the user's home
/// folder or Haft's sessions. The error says why, as the end of a sentence.
pub fn checked_root(setup: &Setup, given: &Path) -> Result<PathBuf, String> {
    let home =
        setup.access.environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    let path = match (given.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => setup.workspace.join(given),
    };
    let root = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        _ => error.to_string(),
    })?;
    if !root.is_dir() {
        return Err("it is not a folder".into());
    }
    if root.parent().is_none() {
        return Err("it is the root of the file system; name the folder that the work needs".into());
    }
    if root.starts_with(&setup.workspace) {
        return Err("it lies in the workspace, so its files can be read and changed already".into());
    }
    if setup.workspace.starts_with(&root) {
        return Err("it holds the workspace; begin a session there instead (`--cwd`)".into());
    }
    let holds = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&root));
    if home.is_some_and(holds) {
        return Err("it holds your home folder; name the folder that the work needs".into());
    }
    let sessions = setup.home.0.canonicalize().unwrap_or_else(|_| setup.home.0.clone());
    if holds(&sessions) || root.starts_with(&sessions) {
        return Err("Haft keeps its sessions there".into());
    }
    Ok(root)
}

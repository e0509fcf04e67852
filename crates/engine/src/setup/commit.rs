//! [`commit_of`]: reads the commit that is checked out in a workspace. Reads the files of the repository without
//! starting Git, because a session must begin within milliseconds.
use haft_process::read_regular;
use std::path::{Path, PathBuf};

/// Maximum bytes of a file of refs that is read.
const MAX_BYTES: u64 = 16 << 20;

/// The commit that is checked out in the repository around `workspace`, in hexadecimal. `None` without a repository, or
/// if it does not store its refs in files.
pub(crate) fn commit_of(workspace: &Path) -> Option<String> {
    let folder = workspace.ancestors().find_map(|folder| git_folder(&folder.join(".git")))?;
    let common = text(&folder.join("commondir")).map_or_else(|| folder.clone(), |path| folder.join(path));
    let head = text(&folder.join("HEAD"))?;
    let commit = match head.strip_prefix("ref: ") {
        None => Some(head),
        Some(name) => text(&common.join(plain(name)?)).or_else(|| packed(&common, name)),
    };
    commit.filter(|commit| is_commit(commit))
}

/// The folder of a repository, or the one that a file in its place names, as in a work tree.
fn git_folder(place: &Path) -> Option<PathBuf> {
    if place.is_dir() {
        return Some(place.to_owned());
    }
    let named = text(place)?;
    Some(place.parent()?.join(named.strip_prefix("gitdir: ")?))
}

/// Returns the name of a ref if it does not lead out of the folder.
fn plain(name: &str) -> Option<&str> {
    Some(name).filter(|name| name.starts_with("refs/") && !name.contains(".."))
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let refs = text(&common.join("packed-refs"))?;
    let commit = |line: &str| {
        line.split_once(' ').filter(|(_, found)| *found == name).map(|(commit, _)| commit.to_owned())
    };
    refs.lines().find_map(commit)
}

fn text(file: &Path) -> Option<String> {
    let bytes = read_regular(file, MAX_BYTES).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim_end().to_owned())
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

//! [`is_gits_own`]: recognizes files that belong to git itself. A program that writes them controls what the user's
//! next `git` command runs.
use crate::{Change, FileKind};
use std::{
    ffi::OsStr,
    path::{Component, Path},
};

/// Whether git itself reads `path`: a file or folder named `.git`, anything below one, or the file that makes a folder
/// a repository.
///
/// Checks only names. The engine recognizes repository folders that are not named `.git`.
pub fn is_gits_own(path: &Path) -> bool {
    let names = || {
        path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
    };
    // A folder with `objects` and `refs` is a repository once it has a `HEAD`; no source file has this name.
    names().any(|name| is_git(&name)) || names().next_back().is_some_and(|name| same(&name, "head"))
}

/// Names in a `.git` folder that git writes and never executes: objects, refs, and the current state. Not included are
/// configuration, hooks, attributes and the todo list of a rebase, which may name commands.
const DATA_NAMES: [&str; 18] = [
    "objects",
    "refs",
    "reftable",
    "logs",
    "index",
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "COMMIT_EDITMSG",
    "SQUASH_MSG",
    "packed-refs",
    "info/refs",
];

/// Names that make a folder a repository, or that name programs. They do not count as data, even below the data
/// folders: `git` would run programs from there.
const REPOSITORY_NAMES: [&str; 9] = [
    "alternates",
    "commondir",
    "config",
    "config.worktree",
    "hooks",
    "info",
    "modules",
    "objects",
    "worktrees",
];

/// Whether a change is of such data in the workspace's own repository, without symbolic links.
pub fn is_data(change: &Change) -> bool {
    let Ok(rest) = change.path.strip_prefix(".git") else { return false };
    let Some(data) = DATA_NAMES.iter().find(|name| rest.starts_with(name) || is_shared_index(rest, name))
    else {
        return false;
    };
    let mut states = [&change.before, &change.after].into_iter().flatten();
    let is_plain = states.all(|state| match state.kind() {
        FileKind::Link => false,
        FileKind::Folder => true,
        FileKind::File => state.permissions() & 0o111 == 0,
    });
    let mut names = rest.strip_prefix(data).unwrap_or(rest).iter().peekable();
    // The list of packs and the commit graph.
    names.next_if(|name| *data == "objects" && *name == "info");
    let is_known = |name: &OsStr| REPOSITORY_NAMES.iter().any(|known| same(&name.to_string_lossy(), known));
    is_plain && !names.any(is_known)
}

/// Whether `rest` is a shared part of a split index: `sharedindex.HASH` (git-update-index(1), "Split index").
fn is_shared_index(rest: &Path, name: &str) -> bool {
    let hash = rest.to_str().and_then(|rest| rest.strip_prefix("sharedindex."));
    name == "index" && hash.is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether `path` is a Git object of a repository. Git adds objects and never changes them; a branch, the index or a
/// stash may refer to them.
pub fn is_object(path: &Path) -> bool {
    let names = path.iter().map(|name| name.to_string_lossy());
    let mut below = names.skip_while(|name| !is_git(name)).skip(1);
    below.any(|name| name == "objects")
}

/// Whether a pattern names git's own files.
pub(super) fn names_git(pattern: &str) -> bool {
    pattern.split('/').any(is_git)
}

/// Whether a file system may take `name` for `.git`: some ignore case (NTFS, APFS), invisible characters (HFS+), or
/// dots and blanks at the end (NTFS, which also has the short name `GIT~1`). Git checks out nothing under these names
/// either (`core.protectHFS`, `core.protectNTFS`).
fn is_git(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']);
    same(name, ".git") || name.get(..4).is_some_and(|start| same(start, "git~"))
}

/// Compares names without regard to case; `wanted` is in lower case.
fn same(name: &str, wanted: &str) -> bool {
    let is_seen = |c: &char| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    name.chars().filter(is_seen).flat_map(char::to_lowercase).eq(wanted.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_a_repository_are_known() {
        for path in [".git/objects", "a/.git/objects/63/70", ".git/modules/x/objects/pack/p.idx"] {
            assert!(is_object(Path::new(path)), "{path}");
        }
        for path in ["objects/63", "a.git/objects/x", ".git/refs/heads/x", "objects/.git/HEAD"] {
            assert!(!is_object(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn data_of_the_workspaces_repository_is_known() {
        let is_known = |path: &str| {
            let state = crate::FileState::file(crate::Hash::of(std::io::empty()).unwrap(), 0o644);
            is_data(&Change { path: path.into(), before: None, after: Some(state), new_folders: 0 })
        };
        for path in [".git/index", ".git/sharedindex.0a1b", ".git/reftable/tables.list", ".git/refs/heads/x"]
        {
            assert!(is_known(path), "{path}");
        }
        for path in [".git/config", ".git/sharedindex.x/hooks", ".git/reftable/hooks/x", "reftable/x"] {
            assert!(!is_known(path), "{path}");
        }
    }

    #[test]
    fn gits_own_files_are_known_however_they_are_written() {
        let own = [
            ".git",
            ".git/commondir",
            ".git/modules/x/config",
            "a/b/.git",
            "/w/.git/hooks/pre-commit",
            ".GIT/config",
            ".Git/config",
            ".git./config",
            ".git /config",
            ".g\u{200c}it/config",
            "GIT~1/config",
            "x.git/HEAD",
            "head",
        ];
        for path in own {
            assert!(is_gits_own(Path::new(path)), "{path}");
        }
        let others =
            [".gitignore", ".github/x.yml", "git/config", "a.git/readme", "HEAD/x", "src/head.rs", ""];
        for path in others {
            assert!(!is_gits_own(Path::new(path)), "{path}");
        }
        assert!(names_git("**/.git/config") && names_git(".GIT/**") && !names_git("**"));
    }
}

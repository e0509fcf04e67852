//! [`workspace_files`]: lists the files of a workspace, for completing `@NAME`.
use ignore::WalkBuilder;
use std::path::Path;

/// Maximum number of files that are offered.
const MAX_FILES: usize = 500_000;

/// The files that no `.gitignore` matches, relative to `workspace`, sorted by name. Hidden files and those in hidden
/// folders come last; Git's own files are left out.
pub(crate) fn workspace_files(workspace: &Path) -> Vec<String> {
    let is_wanted = |entry: &ignore::DirEntry| entry.file_name() != ".git";
    let mut walk = WalkBuilder::new(workspace);
    let walk = walk.hidden(false).require_git(false).filter_entry(is_wanted).build().flatten();
    let is_file = |entry: &ignore::DirEntry| {
        entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink() && entry.path().is_file())
    };
    let files = walk.filter(is_file);
    let names =
        files.filter_map(|entry| Some(entry.path().strip_prefix(workspace).ok()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.take(MAX_FILES).collect();
    names.sort_by_cached_key(|name| (name.starts_with('.') || name.contains("/."), name.clone()));
    names
}

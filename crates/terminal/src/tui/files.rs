//! [`of`]: lists the files of the workspace, for `@NAME`.
use super::list::Item;
use ignore::WalkBuilder;
use std::path::Path;

/// More files than this are not offered.
const MAX_FILES: usize = 50_000;

/// Files that no `.gitignore` names, relative to `workspace`, in the order of their names.
pub(super) fn of(workspace: &Path) -> Vec<Item> {
    let walk = WalkBuilder::new(workspace).hidden(true).build().flatten();
    let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let names =
        files.filter_map(|entry| Some(entry.path().strip_prefix(workspace).ok()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.take(MAX_FILES).collect();
    names.sort();
    names.into_iter().map(|name| Item::new(name, "")).collect()
}

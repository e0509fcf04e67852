//! [`read`]: reads the instructions for agents: the files `AGENTS.md` of the user, of the repository and of the
//! workspace.
use crate::{
    config::Places,
    untrusted_file::{self, Warn},
};
use haft_engine::Note;
use std::path::Path;

/// Names of the file; the first one that exists in a folder is read.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The user's own file, then those from the repository's root down to `workspace`.
pub(crate) fn read(places: &Places, workspace: &Path, warn: Warn<'_>) -> Vec<Note> {
    let own = places.user_file.with_file_name(NAMES[0]);
    let own =
        untrusted_file::text(&own, None, warn).map(|text| Note { file: own.display().to_string(), text });
    let root = root(workspace);
    let folders: Vec<&Path> = workspace.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    let notes = folders.iter().enumerate().rev().filter_map(|(up, folder)| {
        NAMES.iter().find_map(|name| {
            let text = untrusted_file::text(&folder.join(name), Some(root), warn)?;
            Some(Note { file: format!("{}{name}", "../".repeat(up)), text })
        })
    });
    own.into_iter().chain(notes).collect()
}

/// The root of the repository around `workspace`, or `workspace` itself.
fn root(workspace: &Path) -> &Path {
    workspace.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(workspace)
}

//! [`note`]: tells the model about hard links of files that a call changed. A changed file is separated from its other
//! links.
use haft_core::{Change, edit_notes};
use std::{os::unix::fs::MetadataExt, path::Path};

/// Maximum files that the note names; it counts the rest.
const MAX_NAMED_FILES: usize = 10;

/// The note for the model about `changes`, which are not settled yet. `None` if no file has other hard links.
pub(crate) fn note(changes: &[Change], workspace: &Path) -> Option<String> {
    let has_others = |change: &&Change| {
        let found = workspace.join(&change.path).symlink_metadata();
        let is_written = change.before.is_some() && change.after.is_some();
        is_written && found.is_ok_and(|found| found.is_file() && found.nlink() > 1)
    };
    let linked: Vec<String> =
        changes.iter().filter(has_others).map(|change| format!("`{}`", change.path.display())).collect();
    let more = linked.len().saturating_sub(MAX_NAMED_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = linked.iter().take(MAX_NAMED_FILES).cloned().collect::<Vec<_>>().join(", ");
    (!linked.is_empty()).then(|| format!("\n[{named}{more}{NOTE}"))
}

/// The end of the note.
const NOTE: &str = ": now a file of its own; its other names (hard links) are as they were]";

/// Returns `content` of a result without the note: in a copy of the workspace, no file has other hard links.
pub fn without_link_note(content: &str) -> String {
    let is_note = |line: &&str| line.starts_with('[') && line.ends_with(NOTE);
    edit_notes(content, |text| text.split('\n').filter(|line| !is_note(line)).collect::<Vec<_>>().join("\n"))
}

//! [`moved`]: describes what an undo or a redo did to files.
use haft_core::Change;
use haft_present::{diff, safe};
use std::path::PathBuf;

/// Returns a line for each file, and one for what is not known.
pub(super) fn moved(changes: &[Change], conflicts: &[PathBuf], untracked: usize) -> String {
    let mut lines = Vec::new();
    for change in changes.iter().filter(|change| !conflicts.contains(&change.path)) {
        lines.push(format!("{} {}", diff::sign(change.kind()), safe::text(&change.path.to_string_lossy())));
    }
    for path in conflicts {
        let path = path.to_string_lossy();
        lines.push(format!("! {} was left alone: it was changed since", safe::text(&path)));
    }
    if changes.is_empty() {
        lines.push("There were no files to restore.".into());
    }
    if untracked > 0 {
        let s = if untracked == 1 { "" } else { "s" };
        lines.push(format!(
            "What {untracked} unconfined command{s} did to files was not recorded, and stays."
        ));
    }
    lines.join("\n")
}

//! Hard links of files that a call changed: what is changed is a file of its own afterwards.
use haft_core::Change;
use std::{os::unix::fs::MetadataExt, path::Path};

/// More files are counted.
const NAMED: usize = 10;

/// What the model is told of `changes`, which are not real yet; nothing where no file has another name.
pub(crate) fn told(changes: &[Change], workspace: &Path) -> Option<String> {
    let has_others = |change: &&Change| {
        let found = workspace.join(&change.path).symlink_metadata();
        let is_written = change.before.is_some() && change.after.is_some();
        is_written && found.is_ok_and(|found| found.is_file() && found.nlink() > 1)
    };
    let linked: Vec<String> =
        changes.iter().filter(has_others).map(|change| format!("`{}`", change.path.display())).collect();
    let more = linked.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = linked.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let told = "now a file of its own; its other names (hard links) are as they were";
    (!linked.is_empty()).then(|| format!("\n[{named}{more}: {told}]"))
}

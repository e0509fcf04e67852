//! [`replay_changes`]: applies the changes in the journal to a fresh work tree. [`lost_changes`]: what is not among them.
use crate::error::FleetError;
use haft_core::{
    Change, Changed, Entry, Stage, Tracking, active_path, arguments_in_brief, past_calls::PastCalls,
};
use std::{fs, path::Path, sync::Arc};

/// Applies the changes that calls of earlier attempts have settled to `tree`, which begins at the job's branch. Git's
/// own data came with the branch. `tree` must be unused so far, and used by this attempt only.
///
/// Fails if a content is missing, or a file cannot be written.
pub fn replay_changes(stage: &dyn Stage, tree: &Path, entries: &[Arc<Entry>]) -> Result<(), FleetError> {
    let path = active_path(entries);
    let mut changes = Changed::of(path.iter().map(|entry| &entry.fact)).whole();
    changes.retain(|change| !change.path.is_absolute() && !change.path.starts_with(".git"));
    let failed = |error: std::io::Error| FleetError::Local {
        action: "bring the work tree to what the journal says".to_owned(),
        why: error.to_string(),
    };
    if changes.is_empty() {
        return Ok(());
    }
    let odd = stage.settle(tree, &changes).map_err(failed)?;
    // Commands whose changes are not recorded changed these files as well; only the state after the last call is known.
    let anew: Vec<Change> = changes
        .into_iter()
        .filter(|change| odd.contains(&change.path))
        .map(|change| Change { before: None, ..change })
        .collect();
    for change in &anew {
        clear(&tree.join(&change.path)).map_err(failed)?;
    }
    let left = stage.settle(tree, &anew).map_err(failed)?;
    match left.first() {
        None => Ok(()),
        Some(path) => Err(failed(std::io::Error::other(format!("`{}` is in the way", path.display())))),
    }
}

/// Maximum number of calls that [`lost_changes`] names.
const MAX_NAMED: usize = 5;

/// A text for the model of a job that continues in a fresh work tree: the calls whose changes are not all in it, newest
/// first. `None` if all changes of the earlier attempts were recorded.
pub(crate) fn lost_changes(entries: &[Arc<Entry>]) -> Option<String> {
    let past = PastCalls::of(entries);
    let lost = past.calls.iter().rev();
    let lost = lost.filter(|call| call.how == Some(Tracking::Untracked) || !call.unrecorded.is_empty());
    let lost: Vec<String> =
        lost.map(|call| format!("\n- `{}` {}", call.name, arguments_in_brief(&call.arguments))).collect();
    let more = match lost.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("\n- and {more} earlier"),
    };
    let named: String = lost.iter().take(MAX_NAMED).map(String::as_str).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "The job continues in a new copy of the repository, with its commits and all recorded changes. Not \
             everything that these calls changed was recorded, so it is missing unless it was committed:{named}{more}\n\
             Look at what is there, and repeat what is needed."
        )
    })
}

fn clear(place: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(place),
        Ok(_) => fs::remove_file(place),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

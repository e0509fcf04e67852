//! [`carry_out`]: carries out an undo or a redo. If the process ends in the middle, the next one completes it.
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
};
use haft_call::{Moved, Unmoved};
use haft_core::{
    Change, Fact, FileKind, Rewind, Transcript,
    changed::{self, paths},
    undo,
};
use std::{collections::HashSet, path::PathBuf};

/// The error for a file that cannot be restored because its stored content is invalid.
const LOST: &str = "its saved content is missing or damaged";

/// Changes files, and the conversation with them. The plan is on disk before the first file is touched, and the result
/// is recorded before anything else: see [`undo`].
pub(crate) async fn carry_out(
    log: &mut Log,
    session: &SessionContext,
    rewind: Rewind,
) -> Result<(), JournalError> {
    log.record(Fact::Rewinding(rewind.clone()))?;
    log.journal.sync().await?;
    move_files(log, session, rewind).await
}

/// Completes an undo or redo that another process began. Files that were already changed stay, and temporary files are
/// removed.
pub(super) async fn finish(log: &mut Log, session: &SessionContext) -> Result<(), JournalError> {
    let entries = log.journal.entries();
    let Some((_, rewind)) = undo::interrupted(&entries) else { return Ok(()) };
    tracing::warn!(way = ?rewind.way, "finishing what an earlier process began");
    move_files(log, session, rewind.clone()).await
}

/// Changes the files. A file that cannot be written is reported as a conflict and does not affect the others.
async fn move_files(log: &mut Log, session: &SessionContext, rewind: Rewind) -> Result<(), JournalError> {
    let (calls, stop) = (&session.calls, &session.shared.stop);
    let mut rewind = rewind;
    // If the workspace was removed, it is not recreated.
    let Unmoved { files: mut conflicts, mut failed } = match calls.workspace.is_dir() {
        true => calls.move_files(&rewind.changes, stop).await,
        false => Unmoved { files: paths(&rewind.changes), ..Unmoved::default() },
    };
    // If the engine stops, the next process that opens the session changes the remaining files.
    if stop.is_cancelled() && !failed.is_empty() {
        return Ok(());
    }
    let left: Vec<PathBuf> = conflicts.iter().filter(|path| !failed.contains_key(*path)).cloned().collect();
    let moved = Moved { changes: rewind.changes.clone(), conflicts: left, ..Moved::default() };
    let merges = calls.merges(&moved).await;
    if !merges.is_empty() {
        let mut merged = moved;
        merges.iter().for_each(|change| merged.add_merged(change.clone()));
        rewind.changes = merged.changes;
        rewind.merged.extend(merged.merged);
        // A merged file must not be merged again.
        log.record(Fact::Rewinding(rewind.clone()))?;
        log.journal.sync().await?;
        let is_left = |path: &PathBuf| merges.iter().all(|change| change.path != *path);
        conflicts.retain(is_left);
        failed.retain(|path, _| is_left(path));
        let unmoved = calls.move_files(&merges, stop).await;
        conflicts.extend(unmoved.files);
        failed.extend(unmoved.failed);
    }
    let Rewind { way, changes, to, untracked, calls, mut merged, mut marked } = rewind;
    for files in [&mut merged, &mut marked] {
        files.retain(|path| !conflicts.contains(path));
    }
    let lost = lost(session, &changes, &conflicts).await;
    failed.extend(lost.into_iter().map(|path| (path, LOST.to_owned())));
    let rewound = Fact::Rewound { way, changes, conflicts, failed, untracked, calls, merged, marked };
    match to {
        None => log.record(rewound)?,
        Some(to) => {
            log.journal.append(rewound, Some(to))?;
            log.transcript = Transcript::replay(&log.journal.entries());
        }
    }
    log.journal.sync().await
}

/// The files of `left` whose saved content is missing or damaged.
async fn lost(session: &SessionContext, changes: &[Change], left: &[PathBuf]) -> Vec<PathBuf> {
    if left.is_empty() {
        return Vec::new();
    }
    let stage = session.calls.stage.clone();
    let (changes, left) = (changes.to_vec(), left.iter().cloned().collect::<HashSet<PathBuf>>());
    let find = move || {
        let whole = changed::squash(&changes).into_iter().filter(|change| left.contains(&change.path));
        let is_lost = |change: &Change| {
            let state = change.after.as_ref().filter(|state| state.kind() == FileKind::File);
            state.is_some_and(|state| stage.content(&state.hash).is_err())
        };
        whole.filter(is_lost).map(|change| change.path).collect()
    };
    tokio::task::spawn_blocking(find).await.unwrap_or_default()
}

//! Making what a call staged real, and knowing which of it is.
use super::errors::{conflict, not_settled};
use crate::session::context::SessionContext;
use haft_core::{
    Change, How, ToolError,
    changed::{self, paths},
};
use std::{
    io,
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// How long another process that writes files of the workspace is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// What came of it.
pub(crate) struct Settled {
    /// These files are as they were.
    pub(crate) unsettled: Vec<PathBuf>,
    /// Why.
    pub(crate) error: Option<ToolError>,
}

impl SessionContext {
    /// [`haft_core::Stage::settle`] in the real workspace, off the event loop. While another process is at it, it is
    /// tried again, but not for ever, and no more once `cancel` is set.
    async fn settle(&self, changes: &[Change], cancel: &CancellationToken) -> io::Result<Vec<PathBuf>> {
        let end = Instant::now() + PATIENCE;
        loop {
            let (stage, workspace) = (self.stage.clone(), self.shared.setup.workspace.clone());
            let changes = changes.to_vec();
            let settled = tokio::task::spawn_blocking(move || stage.settle(&workspace, &changes)).await;
            match settled.unwrap_or_else(|error| Err(io::Error::other(error))) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => {
                    tokio::select! {
                        () = cancel.cancelled() => return Err(error),
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
                settled => return settled,
            }
        }
    }

    /// Each file whole or not at all. Doing it twice is doing it once.
    pub(crate) async fn make_real(
        &self,
        changes: Vec<Change>,
        how: How,
        cancel: &CancellationToken,
    ) -> Settled {
        let (unsettled, error) = match self.settle(&changes, cancel).await {
            Ok(conflicts) if conflicts.is_empty() => (conflicts, None),
            Ok(conflicts) => {
                let error = conflict(&conflicts);
                (conflicts, Some(error))
            }
            Err(error) => {
                let unsettled = self.not_real(&changes).await;
                let is_partly = unsettled.len() < changes.len();
                (unsettled, Some(not_settled(error, is_partly)))
            }
        };
        // What a command wrote, the model has not seen.
        if how == How::Declared {
            let real = changes.iter().filter(|change| !unsettled.contains(&change.path));
            self.seen.wrote(&self.shared.setup.workspace, real);
        }
        Settled { unsettled, error }
    }

    /// Puts files back, or forward again: each for itself, so that one that cannot be moved leaves the others alone. Gives
    /// those that were not moved.
    pub(crate) async fn move_files(&self, steps: &[Change], cancel: &CancellationToken) -> Vec<PathBuf> {
        // Nearly always all of them can be, and then one sync is enough for all.
        let whole = changed::whole(steps);
        let left = match self.settle(&whole, cancel).await {
            Ok(left) => left,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tracing::warn!(%error, "cannot move files");
                return self.not_real(&whole).await;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot move all files together");
                self.not_real(&whole).await
            }
        };
        let mut unmoved: Vec<PathBuf> = Vec::new();
        for step in steps.iter().filter(|step| left.contains(&step.path)) {
            let moved = self.settle(std::slice::from_ref(step), cancel).await;
            let is_moved = moved.as_ref().is_ok_and(Vec::is_empty);
            if let Err(error) = moved {
                tracing::warn!(%error, "cannot move a file");
            }
            if !is_moved && !unmoved.contains(&step.path) {
                unmoved.push(step.path.clone());
            }
        }
        unmoved
    }

    /// After an error; where nothing can be read, either, nothing is taken for done.
    pub(crate) async fn not_real(&self, changes: &[Change]) -> Vec<PathBuf> {
        let done = changes.iter().map(|change| Change { before: change.after.clone(), ..change.clone() });
        self.compare(done.collect()).await.unwrap_or_else(|_| paths(changes))
    }

    /// The files that are not as they were before `changes`: from a state to itself, settling only compares.
    pub(crate) async fn compare(&self, changes: Vec<Change>) -> io::Result<Vec<PathBuf>> {
        let compared = changes.into_iter().map(|change| Change { after: change.before.clone(), ..change });
        // To compare waits for nobody.
        self.settle(&compared.collect::<Vec<_>>(), &CancellationToken::new()).await
    }
}

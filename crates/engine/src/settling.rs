//! Making what a call staged real, and knowing which of it is.
use crate::{
    call_errors::{conflict, not_settled},
    turn::Means,
};
use haft_core::{Change, ToolError, changed::paths};
use std::{io, path::PathBuf};

/// What came of it.
pub(crate) struct Settled {
    /// These files are as they were.
    pub(crate) unsettled: Vec<PathBuf>,
    /// Why.
    pub(crate) error: Option<ToolError>,
}

impl Means {
    /// Each file whole or not at all. Doing it twice is doing it once.
    pub(crate) async fn make_real(&self, changes: Vec<Change>) -> Settled {
        let (unsettled, error) = match self.settle(changes.clone()).await {
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
        let real = changes.iter().filter(|change| !unsettled.contains(&change.path));
        self.seen.wrote(real.map(|change| self.shared.setup.workspace.join(&change.path)));
        Settled { unsettled, error }
    }

    /// After an error; where nothing can be read, either, nothing is taken for done.
    pub(crate) async fn not_real(&self, changes: &[Change]) -> Vec<PathBuf> {
        let done = changes.iter().map(|change| Change { before: change.after.clone(), ..change.clone() });
        self.compare(done.collect()).await.unwrap_or_else(|_| paths(changes))
    }

    /// The files that are not as they were before `changes`: from a state to itself, settling only compares.
    pub(crate) async fn compare(&self, changes: Vec<Change>) -> io::Result<Vec<PathBuf>> {
        let compared = changes.into_iter().map(|change| Change { after: change.before.clone(), ..change });
        self.settle(compared.collect()).await
    }
}

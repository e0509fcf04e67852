//! [`Report`]: the result of a turn.
use super::closed_sets::{FileChangeKind, TurnOutcome};
use crate::error::ApiError;
use haft_core::{Change, Entry, Fact, Seq, Usage};
use haft_engine::{Session, TurnReport};
use haft_present::timeline::rounded_usd;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Result of a turn, as `--output json` prints it
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Report {
    /// Session ID
    session: String,
    /// How the turn ended; `null` if there was no turn
    outcome: Option<TurnOutcome>,
    /// Last reply
    text: String,
    /// Number of model calls
    rounds: u32,
    usage: Tokens,
    /// Cost in US dollars; `null` if a price is unknown
    cost_usd: Option<f64>,
    /// Changed files
    changes: Vec<FileChange>,
    /// Why the turn did not finish
    error: Option<String>,
}

/// Token counts
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<Usage> for Tokens {
    fn from(Usage { input, output, cache_read, cache_write }: Usage) -> Self {
        Self { input, output, cache_read, cache_write }
    }
}

/// A changed file
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileChange {
    path: String,
    /// What happened to it
    kind: FileChangeKind,
}

impl From<&Change> for FileChange {
    fn from(change: &Change) -> Self {
        Self { path: change.path.display().to_string(), kind: change.kind().into() }
    }
}

impl Report {
    /// Reports what is recorded from the entry `from` on, for a turn that was cut off or has ended.
    pub(super) fn since(session: &Session, from: u64) -> Self {
        let entries = session.entries_since(Seq(from));
        let is_end = |entry: &Arc<Entry>| matches!(entry.fact, Fact::TurnEnded { .. });
        let end = entries.iter().position(is_end).map_or(entries.len(), |last| last + 1);
        let mut report = TurnReport::of(&entries[..end]);
        if report.outcome.is_none() {
            report.error =
                Some("the server ended in the middle of the turn; `continue` takes it up".to_owned());
        }
        Self::of(session, &report)
    }

    pub(crate) fn of(session: &Session, report: &TurnReport) -> Self {
        Self {
            session: session.id().0.clone(),
            outcome: report.outcome.map(TurnOutcome::from),
            text: report.text.clone(),
            rounds: report.rounds,
            usage: report.usage.into(),
            cost_usd: report.cost_usd.map(rounded_usd),
            changes: report.changes.iter().map(FileChange::from).collect(),
            error: report.error.clone(),
        }
    }
}

/// Why the session closed, if its journal could not be written.
pub(super) fn unrecorded(session: &Session) -> Option<ApiError> {
    let journal = session.journal();
    journal.failure().filter(|_| journal.could_not_write()).map(ApiError::unrecorded)
}

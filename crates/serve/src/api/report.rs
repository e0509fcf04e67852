//! [`Report`]: the result of a turn.
use haft_core::{Change, Entry, Fact, Seq, Usage};
use haft_engine::{Session, TurnReport};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What a turn came to; as `--output json` prints it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Report {
    session: String,
    /// `finished`, `interrupted`, `failed`, `round_limit`, `budget`, `repeating`, `refused`, `unproven`; none where there was no turn
    outcome: Option<String>,
    /// The last reply
    text: String,
    /// Requests to the model
    rounds: u32,
    usage: Tokens,
    /// None where a price is not known
    cost_usd: Option<f64>,
    changes: Vec<FileChange>,
    /// Why it did not end by itself
    error: Option<String>,
}

/// Tokens.
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

/// What became of a file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileChange {
    path: String,
    /// `created`, `modified` or `deleted`
    kind: String,
}

impl From<&Change> for FileChange {
    fn from(change: &Change) -> Self {
        let kind = serde_json::to_value(change.kind()).ok();
        let kind = kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
        Self { path: change.path.display().to_string(), kind }
    }
}

impl Report {
    /// Of what is recorded from the entry `from` on: the turn was cut off, or has ended.
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
        let outcome = report.outcome.and_then(|outcome| serde_json::to_value(outcome).ok());
        Self {
            session: session.id().0.clone(),
            outcome: outcome.and_then(|outcome| outcome.as_str().map(str::to_owned)),
            text: report.text.clone(),
            rounds: report.rounds,
            usage: report.usage.into(),
            cost_usd: report.cost_usd,
            changes: report.changes.iter().map(FileChange::from).collect(),
            error: report.error.clone(),
        }
    }
}

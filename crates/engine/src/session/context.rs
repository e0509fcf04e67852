//! [`SessionContext`]: what a session works with; and [`Log`]: what it has recorded.
use super::{budget::TurnBudget, queue::PromptQueue, shared::Shared, tool_set::LiveToolSet};
use crate::{
    journal::{Journal, JournalError},
    setup::Model,
};
use haft_call::CallScope;
use haft_core::{Fact, Limits, Transcript};
use std::sync::Arc;

/// What a session works with. Nothing of it is replaced while the session runs.
pub(crate) struct SessionContext {
    /// What its calls share.
    pub(crate) calls: CallScope,
    /// When a turn ends that does not end by itself.
    pub(crate) limits: Limits,
    /// The model of the agent.
    pub(crate) model: Model,
    pub(crate) toolbox: LiveToolSet,
    pub(crate) queue: PromptQueue,
    pub(crate) shared: Arc<Shared>,
    /// What this turn has spent, shared with the sessions below.
    pub(crate) budget: Arc<TurnBudget>,
    /// Whether a turn of this session opens the budget.
    pub(crate) owns_budget: bool,
}

impl SessionContext {
    /// Forgets which calls were made in this turn; with `read`, also which files the model has read.
    pub(crate) fn forget(&self, read: bool) {
        self.calls.repeats.clear();
        if read {
            self.calls.reads.clear();
        }
    }
}

/// The transcript and its journal, kept in step.
pub(crate) struct Log {
    pub(crate) journal: Journal,
    pub(crate) transcript: Transcript,
}

impl Log {
    pub(crate) fn record(&mut self, fact: Fact) -> Result<(), JournalError> {
        let entry = self.journal.append(fact, None)?;
        self.transcript.apply(&entry.fact);
        Ok(())
    }
}

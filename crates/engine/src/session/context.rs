//! [`SessionContext`]: the parts that a session works with. [`Log`]: its transcript and its journal.
use super::{budget::TurnBudget, queue::PromptQueue, shared::Shared, tool_set::LiveToolSet};
use crate::{
    journal::{Journal, JournalError},
    setup::Model,
};
use haft_call::CallScope;
use haft_core::{Fact, Limits, ModelFault, Transcript};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    iter,
    sync::{Arc, Mutex},
};

/// The parts that a session works with. They stay the same while the session runs.
pub(crate) struct SessionContext {
    /// The parts that its calls share.
    pub(crate) calls: CallScope,
    /// Limits at which a turn ends.
    pub(crate) limits: Limits,
    /// The model of the agent, which each turn begins with.
    pub(crate) model: Model,
    /// Models that cannot answer until the user resolves a fault, for as long as the session is open.
    pub(crate) lasting_faults: Mutex<HashMap<String, (ModelFault, String)>>,
    pub(crate) toolbox: LiveToolSet,
    pub(crate) queue: PromptQueue,
    pub(crate) shared: Arc<Shared>,
    /// The budget of this turn, shared with child sessions.
    pub(crate) budget: Arc<TurnBudget>,
    /// Whether a turn of this session opens the budget.
    pub(crate) owns_budget: bool,
    /// Sampling settings by the wire's own names.
    pub(crate) options: Map<String, Value>,
}

impl SessionContext {
    /// The model that the turn asks.
    pub(crate) fn model(&self, transcript: &Transcript) -> &Model {
        let took_over = transcript.models().in_use();
        took_over.and_then(|(spec, _)| self.model_named(spec)).unwrap_or(&self.model)
    }

    /// The model of the agent, and its fallbacks.
    pub(crate) fn models(&self) -> impl Iterator<Item = &Model> {
        iter::once(&self.model).chain(&self.model.fallbacks)
    }

    /// The model with this `PROVIDER/MODEL`.
    pub(crate) fn model_named(&self, spec: &str) -> Option<&Model> {
        self.models().find(|model| model.spec == spec)
    }

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

//! What a session works with, and what it has recorded.
use super::{
    background::BackgroundCommands,
    budget::TurnBudget,
    inbox::Inbox,
    parent::{Delegates, ParentCall},
    permission::Permission,
    repeats::Repeats,
    seen::Seen,
    shared::Shared,
    toolbox::Toolbox,
    tree::Tree,
};
use crate::{
    journal::{Journal, JournalError},
    setup::Model,
};
use haft_core::{Access, Fact, Limits, SessionId, Stage, Transcript};
use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

/// What a session works with; never changes while it runs.
pub(crate) struct SessionContext {
    pub(crate) id: SessionId,
    /// The agent's name.
    pub(crate) agent: String,
    /// When a turn of this agent ends that does not end by itself.
    pub(crate) limits: Limits,
    /// Who may do what in this session.
    pub(crate) permission: Permission,
    /// Whom this agent asks.
    pub(crate) model: Model,
    /// The sessions above and below.
    pub(crate) tree: Tree,
    /// Where what this session does to files is told before it is real; none where a person opened it.
    pub(crate) parent: Option<Arc<ParentCall>>,
    pub(crate) toolbox: Toolbox,
    pub(crate) stage: Arc<dyn Stage>,
    pub(crate) inbox: Inbox,
    pub(crate) jobs: Arc<BackgroundCommands>,
    pub(crate) shared: Arc<Shared>,
    /// What the processes of this session may reach.
    pub(crate) access: Access,
    pub(crate) seen: Seen,
    pub(crate) repeats: Repeats,
    /// Whether [`Fact::Unconfined`] was recorded.
    pub(crate) told_unconfined: AtomicBool,
    /// See [`haft_core::ToolContext::artifacts`].
    pub(crate) artifacts: PathBuf,
    /// What this turn has spent, shared with those below.
    pub(crate) budget: Arc<TurnBudget>,
    /// Whether a turn of this session opens it.
    pub(crate) owns_budget: bool,
    /// How a call lets another agent work.
    pub(crate) delegates: Arc<dyn Delegates>,
}

impl SessionContext {
    /// Forgets which calls were made in this turn; with `read`, also which files the model knows.
    pub(crate) fn forget(&self, read: bool) {
        self.repeats.clear();
        if read {
            self.seen.clear();
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

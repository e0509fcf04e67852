//! [`Shared`]: state that all sessions of an engine share.
use super::{budget::TurnBudget, registry::SessionRegistry, tool_set::ToolSet};
use crate::setup::{Agent, Setup};
use haft_core::{Budget, Registry, SessionId};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The parts of an engine, and its open sessions.
pub(crate) struct Shared {
    pub(crate) setup: Setup,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// The budgets of the open sessions, for their child sessions.
    budgets: Mutex<HashMap<SessionId, Weak<TurnBudget>>>,
    pub(crate) live: SessionRegistry,
    /// The tool sets of agents without tools of sources, by the agent's name and whether it may delegate. Shared by all
    /// sessions.
    kits: Mutex<HashMap<(String, bool), Arc<ToolSet>>>,
}

impl Shared {
    /// Makes the shared state, without open sessions.
    pub(crate) fn new(setup: Setup) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self {
            setup,
            tasks,
            stop,
            budgets: Mutex::default(),
            live: SessionRegistry::default(),
            kits: Mutex::default(),
        }
    }

    /// The tool set of `agent` among `own`, which depends on whether it may delegate.
    pub(crate) fn kit(&self, agent: &Agent, own: &Registry, may_delegate: bool) -> Arc<ToolSet> {
        let mut kits = self.kits.lock().expect("no code panics while it holds the kits");
        let made = || Arc::new(ToolSet::new(&self.setup, agent, own, &[]));
        kits.entry((agent.name.clone(), may_delegate)).or_insert_with(made).clone()
    }

    /// A part of the budget of `parent`, which has the limits `whole`.
    pub(crate) fn part_of_budget(
        &self,
        id: &SessionId,
        parent: &SessionId,
        whole: Budget,
    ) -> Arc<TurnBudget> {
        let (of_parent, _) = self.budget(parent, Some(parent));
        let budget = Arc::new(TurnBudget::part_of(of_parent, whole));
        let mut budgets = self.budgets.lock().expect("no code panics while it holds the budgets");
        budgets.insert(id.clone(), Arc::downgrade(&budget));
        budget
    }

    /// Returns the budget of `parent`, or without a parent a budget of its own, and whether it is its own.
    pub(crate) fn budget(&self, id: &SessionId, parent: Option<&SessionId>) -> (Arc<TurnBudget>, bool) {
        let mut budgets = self.budgets.lock().expect("no code panics while it holds the budgets");
        budgets.retain(|_, budget| budget.strong_count() > 0);
        let shared = parent.and_then(|parent| budgets.get(parent)?.upgrade());
        let is_own = shared.is_none();
        let budget = shared.unwrap_or_default();
        budgets.insert(id.clone(), Arc::downgrade(&budget));
        (budget, is_own)
    }
}

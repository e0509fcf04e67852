//! What all sessions of an engine have in common.
use super::{budget::Purse, live::Live};
use crate::setup::Setup;
use haft_core::SessionId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The parts of an engine, and what it has open.
pub(crate) struct Shared {
    pub(crate) setup: Setup,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// The purses of the sessions that are open, for those below them.
    purses: Mutex<HashMap<SessionId, Weak<Purse>>>,
    pub(crate) live: Live,
}

impl Shared {
    /// Nothing is open yet.
    pub(crate) fn new(setup: Setup) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self { setup, tasks, stop, purses: Mutex::default(), live: Live::default() }
    }

    /// The purse of `parent` where there is one, else one of its own; and whether it is its own.
    pub(crate) fn purse(&self, id: &SessionId, parent: Option<&SessionId>) -> (Arc<Purse>, bool) {
        let mut purses = self.purses.lock().expect("no code panics while it holds the purses");
        purses.retain(|_, purse| purse.strong_count() > 0);
        let shared = parent.and_then(|parent| purses.get(parent)?.upgrade());
        let is_own = shared.is_none();
        let purse = shared.unwrap_or_default();
        purses.insert(id.clone(), Arc::downgrade(&purse));
        (purse, is_own)
    }
}

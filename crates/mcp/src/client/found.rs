//! [`Found`]: the tools that each session has found with `tool_search`.
use haft_core::SessionId;
use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Names of tools, by session. Clones share the same state.
#[derive(Clone, Default)]
pub(super) struct Found(Arc<Mutex<HashMap<SessionId, BTreeSet<String>>>>);

impl Found {
    pub(super) fn add(&self, session: &SessionId, names: &[String]) {
        self.0.lock().entry(session.clone()).or_default().extend(names.iter().cloned());
    }

    pub(super) fn of(&self, session: &SessionId) -> BTreeSet<String> {
        self.0.lock().get(session).cloned().unwrap_or_default()
    }
}

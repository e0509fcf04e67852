//! What a session below does to files stands in the journals above it before it is real: an undo there takes it back,
//! and after a crash nobody does it again.
use super::{
    asking::Asking,
    notes::{Notes, Unrecorded, WeakNotes},
    permission::Permission,
    tree::Tree,
};
use haft_core::{CallId, Change, Fact, How, Limits, SessionId, Stage, Subagents};
use std::{iter, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

/// How calls let other agents work.
pub(crate) trait Delegates: Send + Sync {
    /// For one call of the session of `caller`, which works as `agent`; `person` answers for what the others want to do.
    fn subagents(&self, caller: Caller, agent: String, person: Asking) -> Arc<dyn Subagents>;
}

/// What a session below gets from the call that delegated to it.
#[derive(Clone)]
pub(crate) struct Caller {
    /// The session of that call.
    pub(crate) session: SessionId,
    /// The place of the session below.
    pub(crate) tree: Tree,
    pub(crate) ceiling: Ceiling,
    /// One for all sessions of a tree: each can show what another one did.
    pub(crate) stage: Arc<dyn Stage>,
    pub(crate) parent: ParentCall,
}

/// The call that delegated, and those above it.
#[derive(Clone)]
pub(crate) struct ParentCall {
    pub(crate) call: CallId,
    /// They last as long as the call: who works on for one that is gone must not hold up its round.
    pub(crate) notes: WeakNotes,
    pub(crate) above: Option<Arc<ParentCall>>,
    /// The call waits no more, whatever becomes of its round.
    pub(crate) ended: CancellationToken,
}

/// The calls above, whose rounds do not end while this is held.
pub(crate) struct Recorded(Vec<(CallId, Notes)>);

impl Recorded {
    /// Of what they saw these files were left as they were, after all.
    pub(crate) async fn unsettled(&self, paths: &[PathBuf]) {
        for (call, notes) in &self.0 {
            let fact = Fact::Unsettled { call: call.clone(), paths: paths.to_vec() };
            let _its_session_is_closing = notes.record(fact).await;
        }
    }
}

impl ParentCall {
    /// On return all journals above have on disk what `session` is about to do. An error means that nobody waits for
    /// it any more, so that it must not happen.
    pub(crate) async fn see(
        &self,
        session: &SessionId,
        changes: &[Change],
        how: How,
    ) -> Result<Recorded, Unrecorded> {
        let parents = iter::successors(Some(self), |parent| parent.above.as_deref());
        // All of them or none: what one of them does not see must not happen.
        let held: Result<Vec<_>, _> = parents.map(Self::held).collect();
        let seen = Recorded(held?);
        for (call, notes) in &seen.0 {
            let (call, session, changes) = (call.clone(), session.clone(), changes.to_vec());
            notes.record_durably(Fact::ChangedBelow { call, session, changes, how }).await?;
        }
        Ok(seen)
    }

    fn held(&self) -> Result<(CallId, Notes), Unrecorded> {
        let notes = self.notes.upgrade().filter(|_| !self.ended.is_cancelled());
        notes.map(|notes| (self.call.clone(), notes)).ok_or(Unrecorded)
    }
}

/// What the session above may do.
#[derive(Clone)]
pub(crate) struct Ceiling {
    pub(crate) permission: Permission,
    pub(crate) limits: Limits,
}

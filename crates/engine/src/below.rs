//! What a session below does to files stands in the journals above it before it is real: an undo there takes it back,
//! and after a crash nobody does it again.
use crate::{
    call_errors::{conflict, interrupted, not_settled},
    engine::Ceiling,
    tool_runner::{Notes, Unrecorded, WeakNotes},
    tree::{Alone, Tree},
    turn::Means,
};
use haft_core::{CallId, Change, Fact, How, SessionId, Stage, ToolError};
use std::{iter, sync::Arc};

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
    pub(crate) witness: Witness,
}

/// The call that delegated, and those above it.
#[derive(Clone)]
pub(crate) struct Witness {
    pub(crate) call: CallId,
    /// They last as long as the call: who works on for one that is gone must not hold up its round.
    pub(crate) notes: WeakNotes,
    pub(crate) above: Option<Arc<Witness>>,
}

/// The rounds above, which do not end while this is held.
pub(crate) struct Seen(#[expect(dead_code, reason = "held, not read")] Vec<Notes>);

impl Witness {
    /// On return all journals above have on disk what `session` is about to do. An error means that nobody waits for
    /// it any more, so that it must not happen.
    pub(crate) async fn see(
        &self,
        session: &SessionId,
        changes: &[Change],
        how: How,
    ) -> Result<Seen, Unrecorded> {
        let mut held = Vec::new();
        for witness in iter::successors(Some(self), |witness| witness.above.as_deref()) {
            let notes = witness.notes.upgrade().ok_or(Unrecorded)?;
            let (call, session) = (witness.call.clone(), session.clone());
            let changes = changes.to_vec();
            notes.record_durably(Fact::ChangedBelow { call, session, changes, how }).await?;
            held.push(notes);
        }
        Ok(Seen(held))
    }
}

impl Means {
    /// Below another session: keeps others of the tree from settling while the result is held. A change that comes too
    /// late is refused before it is told above: there stands only what really happens, in the order in which it does.
    pub(crate) async fn before_others(&self, changes: &[Change]) -> Result<Option<Alone>, ToolError> {
        if self.witness.is_none() {
            return Ok(None);
        }
        let alone = self.tree.alone().await;
        // From a state to itself: settling that only compares.
        let compared =
            changes.iter().map(|change| Change { after: change.before.clone(), ..change.clone() }).collect();
        let conflicts = self.settle(compared).await.map_err(not_settled)?;
        if conflicts.is_empty() { Ok(Some(alone)) } else { Err(conflict(&conflicts)) }
    }

    /// Nothing of this is real before those above know of it; an error says that nobody waits any more.
    pub(crate) async fn tell_above(&self, changes: &[Change], how: How) -> Result<Option<Seen>, ToolError> {
        let Some(witness) = &self.witness else { return Ok(None) };
        let seen = witness.see(&self.id, changes, how).await;
        seen.map(Some).map_err(|Unrecorded| interrupted())
    }
}

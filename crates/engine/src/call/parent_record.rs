//! What a call of a session below another one tells the sessions above it.
use super::errors::{conflict, interrupted, not_settled};
use crate::session::{context::SessionContext, notes::Unrecorded, parent::Recorded, tree::Alone};
use haft_core::{Change, How, ToolError};

impl SessionContext {
    /// Below another session: keeps others of the tree from settling while the result is held. A change that comes too
    /// late is refused before it is told above: there stands only what really happens, in the order in which it does.
    pub(crate) async fn before_others(&self, changes: &[Change]) -> Result<Option<Alone>, ToolError> {
        if self.parent.is_none() {
            return Ok(None);
        }
        let alone = self.tree.alone().await;
        let conflicts = self.compare(changes.to_vec()).await;
        let conflicts = conflicts.map_err(|error| not_settled(error, false))?;
        if conflicts.is_empty() { Ok(Some(alone)) } else { Err(conflict(&conflicts)) }
    }

    /// Nothing of this is real before those above know of it; an error says that nobody waits any more.
    pub(crate) async fn record_in_parents(
        &self,
        changes: &[Change],
        how: How,
    ) -> Result<Option<Recorded>, ToolError> {
        let Some(parent) = &self.parent else { return Ok(None) };
        let seen = parent.see(&self.id, changes, how).await;
        seen.map(Some).map_err(|Unrecorded| interrupted())
    }
}

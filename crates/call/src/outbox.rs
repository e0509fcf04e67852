//! [`CallRun::queue`]: queues a call whose effects cannot be undone, in a session with an outbox, and tells the model
//! so.
use crate::{
    checked::CheckedCall,
    round::{CallRun, Done, Stopped},
    scope::CallScope,
};
use haft_core::{Fact, QueuedCall, ToolCall, ToolOutput, outbox, queued};
use serde_json::json;
use std::sync::atomic::Ordering::Relaxed;

impl CallScope {
    /// The ID of the next item.
    fn next_item(&self) -> String {
        outbox::item_id(&self.session, self.queued.fetch_add(1, Relaxed) + 1)
    }
}

impl CallRun<'_> {
    /// Puts the call into the outbox of its session and answers it without running it.
    pub(crate) async fn queue(&self, checked: &CheckedCall, reason: String) -> Result<Done, Stopped> {
        let scope = self.round.scope;
        let item = scope.next_item();
        let text = format!(
            "Queued as item {item} of the outbox. Nothing was sent, and no result will come in this turn: the user decides \
             later. Go on without it, and do not make this call again."
        );
        let (kind, target) = queued::kind_of(&checked.effects);
        let shown = format!("item {item} of the outbox: {kind} {target}");
        let output = ToolOutput::text(text).show(shown).details(json!({"outbox_item": item}));
        let result = self.render_result(Ok(output));
        let spec = checked.tool.spec();
        let sends = checked.tool.outside(checked.arguments.clone());
        let queued = QueuedCall {
            call: self.call.id.clone(),
            item,
            kind,
            target,
            reason,
            name: self.call.name.clone(),
            arguments: self.call.arguments.clone(),
            sends: ToolCall::new(String::new(), spec.name.clone(), sends),
            result: result.clone(),
        };
        self.round.recorder.record_durably(Fact::Queued(Box::new(queued))).await?;
        Ok(Done::without_changes(result))
    }
}

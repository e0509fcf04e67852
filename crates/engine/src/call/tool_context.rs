//! What a call may know and do, made from what its session has.
use crate::session::{
    asking::Asking,
    context::Means,
    notes::Notes,
    parent::{Caller, Ceiling, Witness},
};
use haft_core::{Alone, Subagents, ToolCall, ToolContext, Update, View, clip};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Live output beyond this is cut; the whole of it reaches the model by another way.
const MAX_CHUNK: usize = 4_096;

pub(crate) fn context(
    means: &Means,
    call: &ToolCall,
    view: &Arc<dyn View>,
    cancel: &CancellationToken,
    notes: &Notes,
) -> ToolContext {
    let (progress, id) = (notes.downgrade(), call.id.clone());
    let person = Asking { call: call.id.clone(), desk: means.desk.clone(), notes: notes.downgrade() };
    ToolContext {
        session: means.id.clone(),
        call: call.id.clone(),
        channel: None,
        workspace: view.root().to_owned(),
        live: means.shared.setup.workspace.clone(),
        access: means.access.clone(),
        readable: Arc::default(),
        artifacts: means.artifacts.clone(),
        jobs: means.jobs.clone(),
        subagents: subagents(means, &person),
        person: Arc::new(person),
        cancel: cancel.child_token(),
        on_progress: Arc::new(move |chunk| {
            let chunk = clip::head(&chunk, MAX_CHUNK).to_owned();
            if let Some(notes) = progress.upgrade() {
                notes.live(Update::ToolOutput { call: id.clone(), chunk });
            }
        }),
        view: view.clone(),
    }
}

fn subagents(means: &Means, person: &Asking) -> Arc<dyn Subagents> {
    if !means.tree.may_delegate() {
        return Arc::new(Alone);
    }
    let (call, notes) = (person.call.clone(), person.notes.clone());
    let caller = Caller {
        session: means.id.clone(),
        tree: means.tree.clone(),
        ceiling: Ceiling { permission: means.permission.clone(), limits: means.limits.clone() },
        stage: means.stage.clone(),
        witness: Witness { call, notes, above: means.witness.clone(), ended: CancellationToken::new() },
    };
    means.delegates.subagents(caller, means.agent.clone(), person.clone())
}

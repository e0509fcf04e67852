//! What a call may know and do, made from what its session has.
use crate::session::{
    asking::Asking,
    context::SessionContext,
    notes::Notes,
    parent::{Caller, Ceiling, ParentCall},
};
use haft_core::{Alone, Channel, JobOutput, Subagents, ToolCall, ToolContext, Update, View, clip};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tokio_util::sync::CancellationToken;

/// At most this many bytes of a call are shown while it runs: more would only wait in memory.
const LIVE: usize = 1_000_000;
/// Live output beyond this is cut; the whole of it reaches the model by another way.
const MAX_CHUNK: usize = 4_096;

/// What the calls of one reply have in common.
pub(crate) struct Round {
    /// How often the same calls were made in a row.
    pub(crate) repeats: usize,
    /// Where the conversation takes place.
    pub(crate) channel: Option<Channel>,
    /// The place of the reply in the journal.
    pub(crate) message: String,
}

pub(crate) fn context(
    session: &SessionContext,
    call: &ToolCall,
    round: &Round,
    (view, said): (&Arc<dyn View>, &JobOutput),
    cancel: &CancellationToken,
    notes: &Notes,
) -> ToolContext {
    let (progress, id, said) = (notes.downgrade(), call.id.clone(), said.clone());
    let room = AtomicUsize::new(LIVE);
    let person = Asking { call: call.id.clone(), inbox: session.inbox.clone(), notes: notes.downgrade() };
    ToolContext {
        session: session.id.clone(),
        message: round.message.clone(),
        agent: session.agent.clone(),
        call: call.id.clone(),
        channel: round.channel.clone(),
        workspace: view.root().to_owned(),
        live: session.shared.setup.workspace.clone(),
        access: session.access.clone(),
        readable: Arc::default(),
        artifacts: session.artifacts.clone(),
        jobs: session.jobs.clone(),
        subagents: subagents(session, &person),
        person: Arc::new(person),
        cancel: cancel.child_token(),
        on_progress: Arc::new(move |chunk| {
            said.push(&chunk);
            let left = room.load(Relaxed);
            room.store(left.saturating_sub(chunk.len()), Relaxed);
            if left == 0 {
                return;
            }
            let chunk = clip::head(&chunk, MAX_CHUNK).to_owned();
            if let Some(notes) = progress.upgrade() {
                notes.live(Update::ToolOutput { call: id.clone(), chunk });
            }
        }),
        view: view.clone(),
    }
}

fn subagents(session: &SessionContext, person: &Asking) -> Arc<dyn Subagents> {
    if !session.tree.may_delegate() {
        return Arc::new(Alone);
    }
    let (call, notes) = (person.call.clone(), person.notes.clone());
    let caller = Caller {
        session: session.id.clone(),
        tree: session.tree.clone(),
        ceiling: Ceiling { permission: session.permission.clone(), limits: session.limits.clone() },
        stage: session.stage.clone(),
        parent: ParentCall { call, notes, above: session.parent.clone(), ended: CancellationToken::new() },
    };
    session.delegates.subagents(caller, session.agent.clone(), person.clone())
}

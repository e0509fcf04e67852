//! Makes the [`ToolContext`] of a call.
use crate::{
    ancestors::ParentCall,
    approvals::Asker,
    attempts::{Attempt, Attempted},
    round::CallRun,
    sampling::CallSampler,
};
use haft_core::{Access, Readable, ToolContext, ToolError, Update, View, clip};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tokio_util::sync::CancellationToken;

/// Upper limit of a call's output that is shown while it runs, in bytes.
const MAX_LIVE_BYTES: usize = 1_000_000;
/// Longest piece of output that is shown at once, in bytes. The whole of it reaches the model by the result.
const MAX_CHUNK_BYTES: usize = 4_096;

impl CallRun<'_> {
    /// What the tool may know and do while it works in `view`.
    pub(crate) fn context(
        &self,
        view: &Arc<dyn View>,
        access: Access,
        readable: Arc<Readable>,
    ) -> ToolContext {
        let (round, scope) = (self.round, self.round.scope);
        let parent = self.as_parent();
        ToolContext {
            session: scope.session.clone(),
            message: round.message.clone(),
            agent: scope.agent.clone(),
            call: self.call.id.clone(),
            channel: round.channel.clone(),
            workspace: view.root().to_owned(),
            live: scope.workspace.clone(),
            access,
            readable,
            artifacts: scope.artifacts.clone(),
            jobs: scope.background.clone(),
            subagents: scope.delegates.subagents(scope, parent, self.asker()),
            person: Arc::new(self.asker()),
            sampler: Arc::new(self.sampler()),
            cancel: round.cancel.child_token(),
            on_progress: self.on_progress(),
            view: view.clone(),
        }
    }

    /// Makes `attempt` in a session below that of the call, from its beginning to its end.
    ///
    /// # Errors
    /// Fails if no such session can be opened.
    pub async fn attempt(&self, attempt: Attempt) -> Result<Attempted, ToolError> {
        let scope = self.round.scope;
        scope.delegates.attempt(scope, attempt, self.as_parent(), self.asker()).await
    }

    /// The call, as sessions below it know it.
    fn as_parent(&self) -> ParentCall {
        ParentCall {
            call: self.call.id.clone(),
            recorder: self.round.recorder.downgrade(),
            above: self.round.scope.ancestors.as_ref().map(|ancestors| ancestors.parent.clone()),
            ended: CancellationToken::new(),
        }
    }

    /// Asks the person in the name of this call.
    pub(crate) fn asker(&self) -> Asker {
        let round = self.round;
        Asker::new(self.call.id.clone(), round.scope.interactions.clone(), round.recorder.downgrade())
    }

    /// Asks the model in the name of this call.
    fn sampler(&self) -> CallSampler {
        let round = self.round;
        let (sampler, recorder) = (round.scope.sampler.clone(), round.recorder.downgrade());
        CallSampler { call: self.call.id.clone(), sampler, recorder }
    }

    /// Keeps what the call prints, for the result of an interrupted one, and shows it.
    fn on_progress(&self) -> Arc<dyn Fn(String) + Send + Sync> {
        let (recorder, call, output) =
            (self.round.recorder.downgrade(), self.call.id.clone(), self.output.clone());
        let room = AtomicUsize::new(MAX_LIVE_BYTES);
        Arc::new(move |chunk| {
            output.push(&chunk);
            let left = room.load(Relaxed);
            room.store(left.saturating_sub(chunk.len()), Relaxed);
            if left == 0 {
                return;
            }
            let chunk = clip::head(&chunk, MAX_CHUNK_BYTES).to_owned();
            if let Some(recorder) = recorder.upgrade() {
                recorder.live(Update::ToolOutput { call: call.clone(), chunk });
            }
        })
    }
}

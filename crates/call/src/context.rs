//! [`CallRun`]'s [`ToolContext`]: what the tool gets from its call.
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

/// Maximum bytes of a call's output that are shown while it runs.
const MAX_LIVE_BYTES: usize = 1_000_000;
/// Maximum bytes of output in one update. The result for the model has the complete output.
const MAX_CHUNK_BYTES: usize = 4_096;

impl CallRun<'_> {
    /// Returns the context of the tool while it works in `view`.
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

    /// Runs the complete `attempt` in a child session of the call's session.
    ///
    /// # Errors
    /// Fails if no such session can be opened.
    pub async fn attempt(&self, attempt: Attempt) -> Result<Attempted, ToolError> {
        let scope = self.round.scope;
        scope.delegates.attempt(scope, attempt, self.as_parent(), self.asker()).await
    }

    /// The call as the parent of child sessions.
    fn as_parent(&self) -> ParentCall {
        ParentCall {
            call: self.call.id.clone(),
            recorder: self.round.recorder.downgrade(),
            above: self.round.scope.ancestors.as_ref().map(|ancestors| ancestors.parent.clone()),
            ended: CancellationToken::new(),
        }
    }

    /// Returns an asker that asks the user on behalf of this call.
    pub(crate) fn asker(&self) -> Asker {
        let round = self.round;
        Asker::new(self.call.id.clone(), round.scope.interactions.clone(), round.recorder.downgrade())
    }

    /// Returns a sampler that asks the model on behalf of this call.
    fn sampler(&self) -> CallSampler {
        let round = self.round;
        let (sampler, recorder) = (round.scope.sampler.clone(), round.recorder.downgrade());
        CallSampler { call: self.call.id.clone(), sampler, recorder }
    }

    /// Returns a function that shows the call's output, and keeps it for the result if the call is interrupted.
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

//! [`Runner`]: runs calls without a session, on the same path as calls of sessions.
use crate::{
    CallContext, Error, Message, Registry, Result, ToolCall, builder::folder_to_work_in,
    call_context::wording,
};
pub use haft_call::Executed;
use haft_call::{CallRules, CallScope, Recorder, Round, Unread, run_calls};
use haft_core::{SessionId, ToolError, ToolErrorKind};
use haft_stage::LocalStage;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Returns the messages with the results of a reply's calls, in the same order. They must follow that reply.
pub fn result_messages(results: impl IntoIterator<Item = Executed>) -> Vec<Message> {
    results.into_iter().map(Message::from).collect()
}

/// Runs the calls of replies in one workspace.
pub(crate) struct Runner<'a> {
    context: &'a CallContext,
    scope: CallScope,
}

impl<'a> Runner<'a> {
    /// Fails if the workspace is not a folder, or the folder for private views cannot be made.
    pub(crate) fn new(context: &'a CallContext) -> Result<Self> {
        let made = context.folder.get_or_init(|| tempfile::tempdir().map_err(|error| error.to_string()));
        let made =
            made.as_ref().map_err(|why| Error::new(format!("cannot make a folder for private views: {why}")));
        let folder = made?.path().to_owned();
        let workspace = folder_to_work_in(&context.workspace)?;
        let stage = Arc::new(LocalStage::new(folder.join("contents")));
        let scope = CallScope::standalone(workspace, stage, context.policy.clone(), folder);
        let background = context.background.clone().unwrap_or_else(|| scope.background.clone());
        let rules = CallRules {
            validation: context.validation,
            unread: Unread::Allow,
            render: wording(),
            call_seconds: context.call_seconds,
            clip: context.clip,
            ..CallRules::default()
        };
        let (session, agent): (SessionId, String) = (context.session.clone(), context.agent.clone());
        Ok(Self { context, scope: CallScope { session, agent, background, rules, ..scope } })
    }

    /// Runs the calls of one reply, and returns the results in the same order. An error of a call is its result.
    pub(crate) async fn run(&self, tools: &Registry, calls: Vec<ToolCall>, parallel: bool) -> Vec<Executed> {
        let cancel = CancellationToken::new();
        // Dropping the future also stops tools that block.
        let _stopped_on_drop = cancel.clone().drop_guard();
        let round = Round {
            scope: &self.scope,
            tools,
            repeats: 0,
            channel: self.context.channel.clone(),
            message: self.context.message.clone(),
            parallel,
            recorder: Recorder::none(),
            cancel: &cancel,
        };
        run_calls(&round, calls).await
    }
}

/// Runs `calls` of one reply: adjacent calls that only read run concurrently, all others one after the other.
pub(crate) async fn all(tools: &Registry, calls: Vec<ToolCall>, context: &CallContext) -> Vec<Executed> {
    match Runner::new(context) {
        Ok(runner) => runner.run(tools, calls, true).await,
        Err(error) => calls.into_iter().map(|call| refused(call, &error)).collect(),
    }
}

fn refused(call: ToolCall, error: &Error) -> Executed {
    let error = ToolError::new(ToolErrorKind::System, error.to_string());
    let result = wording().result(&call, Err(error));
    Executed { call, result }
}

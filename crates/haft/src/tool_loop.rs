//! The loop alone, over messages of the caller's own: ask the model, run its calls, ask again.
use crate::{Error, Result, builder::folder_to_work_in};
use futures::{FutureExt, StreamExt};
use haft_core::{
    Access, Alone, Channel, Message, NoJobs, Nobody, Part, Policy, Provider, ProviderError, Registry, Render,
    Reply, Request, SessionId, Stage, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolOutput, Usage,
    Validation, Verdict, View, text_of,
};
use haft_engine::{as_found, is_repository};
use haft_stage::Declared;
use serde_json::{Map, Value};
use std::{io, panic::AssertUnwindSafe, path::PathBuf, sync::Arc};

/// What the loop works with. The same one serves any number of runs, for an agent and for those below it.
#[derive(Clone)]
pub struct ToolLoop {
    /// Whom it asks.
    pub provider: Arc<dyn Provider>,
    /// The model, as the provider spells it.
    pub model: String,
    /// What may be called; empty for nothing.
    pub tools: Registry,
    /// Replies of the model at most.
    pub max_iterations: u32,
    /// Tokens of one reply at most; 0 for the provider's own limit.
    pub max_output: u32,
    /// Sampling settings by the wire's own names: `temperature`, `top_p`, …
    pub options: Map<String, Value>,
    /// Judges what calls want to touch. Nobody is asked: what it would ask for is refused.
    pub policy: Policy,
    /// The folder that tools work in.
    pub workspace: PathBuf,
}

impl ToolLoop {
    /// Asks `model` of `provider` with no tools, 20 iterations, and the current folder.
    pub fn new(provider: impl Provider + 'static, model: impl Into<String>) -> Self {
        Self {
            provider: Arc::new(provider),
            model: model.into(),
            tools: Registry::default(),
            max_iterations: 20,
            max_output: 0,
            options: Map::new(),
            policy: Policy::default(),
            workspace: PathBuf::from("."),
        }
    }
}

/// Messages of a caller, with the system prompt that stands before them.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The system prompt; empty for none.
    pub system: String,
    /// What was said so far. Each call has exactly one result, in call order.
    pub messages: Vec<Message>,
}

impl Conversation {
    /// Begins a conversation with a system prompt.
    pub fn new(system: impl Into<String>) -> Self {
        Self { system: system.into(), messages: Vec::new() }
    }

    /// Adds what a person says next.
    pub fn user(mut self, text: impl Into<String>) -> Self {
        self.messages.push(Message::User { parts: vec![Part::text(text)] });
        self
    }
}

impl From<Vec<Message>> for Conversation {
    fn from(messages: Vec<Message>) -> Self {
        Self { system: String::new(), messages }
    }
}

/// What a run of the loop came to.
#[derive(Clone, Debug)]
pub struct ToolLoopResult {
    /// The text of the last reply.
    pub content: String,
    /// Replies of the model.
    pub iterations: u32,
    /// The conversation with all that was added, to go on from.
    pub messages: Vec<Message>,
    /// Tokens of all replies, as far as the provider told them.
    pub usage: Usage,
}

/// Asks the model, runs the calls of its reply one after the other, and asks again with their results, until a reply has
/// no calls or [`ToolLoop::max_iterations`] are reached. `channel` is what tools learn of where the conversation takes
/// place.
///
/// Nothing is journaled. Files that a call declares to write are changed when it has succeeded, as in a session. A call
/// that fails is told to the model. Dropping the future stops the loop and the call that runs.
///
/// # Errors
/// Fails where the model cannot be asked or breaks off, and where the workspace is not a folder.
pub async fn run_tool_loop(
    config: &ToolLoop,
    messages: impl Into<Conversation>,
    channel: Option<Channel>,
) -> Result<ToolLoopResult> {
    let Conversation { system, messages } = messages.into();
    let mut messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    let hands = Hands::new(config, channel)?;
    let (mut content, mut iterations, mut usage) = (String::new(), 0, Usage::default());
    while iterations < config.max_iterations {
        let reply = ask(config, &system, &messages).await?;
        iterations += 1;
        usage += reply.usage();
        let parts = reply.into_parts();
        content = text_of(&parts);
        let calls: Vec<ToolCall> = parts.iter().filter_map(Part::as_call).cloned().collect();
        messages.push(Arc::new(Message::Assistant { parts }));
        if calls.is_empty() {
            break;
        }
        for call in calls {
            messages.push(Arc::new(hands.answer(call).await));
        }
    }
    let messages = messages.into_iter().map(Arc::unwrap_or_clone).collect();
    Ok(ToolLoopResult { content, iterations, messages, usage })
}

/// One whole reply.
async fn ask(config: &ToolLoop, system: &str, messages: &[Arc<Message>]) -> Result<Reply> {
    let mut deltas = config.provider.stream(Request {
        model: config.model.clone(),
        system: system.to_owned(),
        messages: messages.to_vec(),
        tools: config.tools.specs(),
        max_output: config.max_output,
        form: None,
        options: config.options.clone(),
    });
    let (mut reply, mut is_whole) = (Reply::default(), false);
    while let Some(delta) = deltas.next().await {
        let delta = delta.map_err(|error| failed(&config.model, error))?;
        is_whole = matches!(delta, haft_core::Delta::Stop(_));
        reply.push(delta);
        if reply.is_too_large() {
            return Err(Error::new(format!(
                "`{}` did not come to an end: its reply grew too large",
                config.model
            )));
        }
    }
    match is_whole {
        true => Ok(reply),
        false => Err(Error::new(format!("the reply of `{}` broke off", config.model)).with_hint("ask again")),
    }
}

fn failed(model: &str, error: ProviderError) -> Error {
    let hint = error.hint().map(str::to_owned);
    let failed = Error::new(format!("cannot ask `{model}`: {error}")).caused_by(error);
    match hint {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}

/// Runs calls.
struct Hands<'a> {
    config: &'a ToolLoop,
    channel: Option<Channel>,
    workspace: PathBuf,
    stage: Arc<dyn Stage>,
    /// Holds what calls write until it is in place; gone with the run.
    folder: tempfile::TempDir,
}

impl<'a> Hands<'a> {
    fn new(config: &'a ToolLoop, channel: Option<Channel>) -> Result<Self> {
        let folder = tempfile::tempdir()
            .map_err(|error| Error::new(format!("cannot make a folder for private views: {error}")))?;
        let workspace = folder_to_work_in(&config.workspace)?;
        let stage = Arc::new(Declared::new(folder.path().join("contents")));
        Ok(Self { config, channel, workspace, stage, folder })
    }

    /// Runs `call`, and words its result for the model.
    async fn answer(&self, call: ToolCall) -> Message {
        let ran = AssertUnwindSafe(self.run(&call)).catch_unwind().await;
        let ran = ran.unwrap_or_else(|_| Err(ToolError::new(ToolErrorKind::System, "the tool has a fault")));
        let result = Render::default().result(&call, ran);
        Message::Tool { call: call.id, name: call.name, result }
    }

    async fn run(&self, call: &ToolCall) -> Result<ToolOutput, ToolError> {
        if let Some(problem) = &call.problem {
            let message = format!("cannot call `{}`: {problem}", call.name);
            return Err(ToolError::new(ToolErrorKind::Validation, message));
        }
        let registered = self.config.tools.find(&call.name)?;
        let arguments = registered.check(&call.arguments, Validation::default())?;
        let effects = registered.tool.effects(&arguments, &self.workspace)?;
        let effects = as_found(effects, &*self.stage, &self.workspace);
        match self.config.policy.judge(&effects, &self.workspace, &is_repository) {
            Verdict::Allow => {}
            Verdict::Ask { reason } | Verdict::Deny { reason } => {
                let message = format!("`{}` may not run here: {reason}", call.name);
                return Err(ToolError::new(ToolErrorKind::Permission, message));
            }
        }
        let view: Arc<dyn View> = self.stage.open(&self.workspace, &effects).map_err(not_staged)?.into();
        let output = registered.tool.call(arguments, &self.context(call, &view)).await?;
        let changes = view.changes().map_err(not_staged)?;
        let left = self.stage.settle(&self.workspace, &changes).map_err(not_staged)?;
        match left.first() {
            None => Ok(output),
            Some(path) => {
                let message = format!("cannot write `{}`: somebody changed it meanwhile", path.display());
                Err(ToolError::new(ToolErrorKind::System, message).hint("read it again first"))
            }
        }
    }

    fn context(&self, call: &ToolCall, view: &Arc<dyn View>) -> ToolContext {
        ToolContext {
            session: SessionId("loop".into()),
            call: call.id.clone(),
            channel: self.channel.clone(),
            workspace: view.root().to_owned(),
            live: self.workspace.clone(),
            access: Access::default(),
            readable: Arc::default(),
            artifacts: self.folder.path().join("outputs"),
            jobs: Arc::new(NoJobs),
            person: Arc::new(Nobody),
            subagents: Arc::new(Alone),
            cancel: Default::default(),
            on_progress: Arc::new(|_| {}),
            view: view.clone(),
        }
    }
}

fn not_staged(error: io::Error) -> ToolError {
    ToolError::new(ToolErrorKind::System, format!("cannot work on the files: {error}"))
}

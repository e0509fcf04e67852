//! [`ToolLoop`]: the loop without a session, over the caller's own messages: ask the model, run its calls, ask again.
use crate::{CallContext, Error, Result, SharedRegistry, execute::Runner};
use futures::StreamExt;
use haft_call::add_late_usage;
use haft_core::{
    Channel, Clip, Delta, Limits, Message, ModelFault, Part, Policy, Provider, ProviderError, Registry,
    Reply, Request, StopReason, ToolCall, Usage, text_of,
};
use serde_json::{Map, Value};
use std::{fmt, path::PathBuf, sync::Arc};

/// The model, the tools and the limits of the loop. One value serves any number of runs, of an agent and of its
/// subagents.
#[derive(Clone)]
pub struct ToolLoop {
    /// The provider to ask.
    pub provider: Arc<dyn Provider>,
    /// The model, as the provider spells it.
    pub model: String,
    /// The tools that may be called; empty for none. A change takes effect with the next iteration.
    pub tools: SharedRegistry,
    /// Maximum number of replies of the model.
    pub max_iterations: u32,
    /// Maximum tokens of one reply; 0 for the provider's own limit.
    pub max_output: u32,
    /// Sampling settings, by the names that the provider uses: `temperature`, `top_p`, …
    pub options: Map<String, Value>,
    /// Judges the effects of calls. A call that would need an approval is denied, since no user can be asked.
    pub policy: Policy,
    /// The folder in which tools work.
    pub workspace: PathBuf,
    /// Timeout of a call, in seconds; 0 for no limit.
    pub call_seconds: u64,
    /// Maximum length of a result for the model; `None` for no limit.
    pub clip: Option<Clip>,
}

impl ToolLoop {
    /// Makes a loop with `model` of `provider`, no tools, at most 20 iterations, the current folder, and results as
    /// long as those of a session.
    pub fn new(provider: impl Provider + 'static, model: impl Into<String>) -> Self {
        Self {
            provider: Arc::new(provider),
            model: model.into(),
            tools: SharedRegistry::default(),
            max_iterations: 20,
            max_output: 0,
            options: Map::new(),
            policy: Policy::default(),
            workspace: PathBuf::from("."),
            call_seconds: Limits::default().call_seconds,
            clip: Some(Clip::default()),
        }
    }
}

/// Messages of a caller, and the system prompt before them.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The system prompt; empty for none.
    pub system: String,
    /// The conversation so far. Each call has exactly one result, in call order.
    pub messages: Vec<Message>,
}

impl Conversation {
    /// Begins a conversation with a system prompt.
    pub fn new(system: impl Into<String>) -> Self {
        Self { system: system.into(), messages: Vec::new() }
    }

    /// Adds the next message of the user.
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

/// The result of a run of the loop.
#[derive(Clone, Debug)]
pub struct ToolLoopResult {
    /// The text of the last reply.
    pub content: String,
    /// Number of replies of the model.
    pub iterations: u32,
    /// Whether the loop ended at [`ToolLoop::max_iterations`] while the model still called tools, so that it never read the
    /// last results.
    pub reached_limit: bool,
    /// The conversation with all added messages, to continue from.
    pub messages: Vec<Message>,
    /// Tokens of all replies, as far as the provider reported them.
    pub usage: Usage,
}

/// Why a run of the loop failed, and its result until then.
///
/// Displayed like its [`Error`], and converted to it by `?`.
#[derive(Debug)]
pub struct ToolLoopError {
    /// The error.
    pub error: Error,
    /// The result before the error. [`run_tool_loop`] continues from its messages, in a [`Conversation`] with the same
    /// system prompt, and repeats no call. An incomplete reply is not included.
    pub so_far: ToolLoopResult,
}

impl fmt::Display for ToolLoopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ToolLoopError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl From<ToolLoopError> for Error {
    fn from(failed: ToolLoopError) -> Self {
        failed.error
    }
}

/// Asks the model, runs the calls of its reply one after the other, and asks again with their results, until a reply
/// has no calls or [`ToolLoop::max_iterations`] are reached. `channel` tells tools where the conversation takes place.
///
/// Nothing is journaled. Files that a call declares to write are changed when it has succeeded, as in a session. A call
/// that fails is an error for the model. If a call continues in the background, the loop waits for it. Dropping the
/// future stops the loop and the running call.
///
/// # Errors
/// Fails if the model cannot be asked, stops in the middle of a reply or replies nothing, or if the workspace is not a
/// folder. The error contains the conversation so far.
pub async fn run_tool_loop(
    config: &ToolLoop,
    messages: impl Into<Conversation>,
    channel: impl Into<Option<Channel>>,
) -> Result<ToolLoopResult, ToolLoopError> {
    let Conversation { system, messages } = messages.into();
    let mut run = Run {
        config,
        system,
        messages: messages.into_iter().map(Arc::new).collect(),
        content: String::new(),
        iterations: 0,
        usage: Usage::default(),
    };
    match run.finish(channel.into()).await {
        Ok(reached_limit) => Ok(run.result(reached_limit)),
        Err(error) => Err(ToolLoopError { error, so_far: run.result(false) }),
    }
}

/// A run of the loop.
struct Run<'a> {
    config: &'a ToolLoop,
    system: String,
    messages: Vec<Arc<Message>>,
    content: String,
    iterations: u32,
    usage: Usage,
}

impl Run<'_> {
    /// Runs the loop; returns whether it ended at the limit of iterations.
    async fn finish(&mut self, channel: Option<Channel>) -> Result<bool> {
        let config = self.config;
        let context = CallContext::new("loop", "", &config.model).channel(channel);
        let context = context.workspace(&config.workspace).policy(config.policy.clone());
        let context = CallContext { clip: config.clip, ..context.call_seconds(config.call_seconds) };
        let runner = Runner::new(&context)?;
        while self.iterations < config.max_iterations {
            let tools = config.tools.snapshot();
            let reply = ask(config, &tools, &self.system, &self.messages).await?;
            self.iterations += 1;
            self.usage += reply.usage();
            check_answer(&reply)?;
            let parts = reply.into_parts();
            self.content = text_of(&parts);
            let calls: Vec<ToolCall> = parts.iter().filter_map(Part::as_call).cloned().collect();
            self.messages.push(Arc::new(Message::Assistant { parts }));
            if calls.is_empty() {
                return Ok(false);
            }
            let results = runner.run(&config.tools.snapshot(), calls, false).await;
            self.messages.extend(results.into_iter().map(|executed| Arc::new(executed.into())));
        }
        Ok(true)
    }

    fn result(self, reached_limit: bool) -> ToolLoopResult {
        let Self { content, iterations, usage, .. } = self;
        let messages = self.messages.into_iter().map(Arc::unwrap_or_clone).collect();
        ToolLoopResult { content, iterations, reached_limit, messages, usage }
    }
}

/// Asks the model and collects the complete reply.
async fn ask(config: &ToolLoop, tools: &Registry, system: &str, messages: &[Arc<Message>]) -> Result<Reply> {
    let request = Request {
        model: config.model.clone(),
        system: system.to_owned(),
        messages: messages.to_vec(),
        tools: tools.specs(),
        max_output: config.max_output,
        form: None,
        answer: None,
        options: config.options.clone(),
    };
    let mut deltas = haft_call::ask(&*config.provider, request);
    let mut reply = Reply::default();
    while let Some(delta) = deltas.next().await {
        let delta = delta.map_err(|error| failed(&config.model, error))?;
        let is_whole = matches!(delta, Delta::Stop(_));
        reply.push(delta);
        if is_whole {
            add_late_usage(&mut deltas, &mut reply).await;
            return Ok(reply);
        }
        if reply.is_too_large() {
            return Err(Error::new(format!(
                "`{}` did not come to an end: its reply grew too large",
                config.model
            )));
        }
    }
    Err(Error::new(format!("the reply of `{}` broke off", config.model)).with_hint("ask again"))
}

/// A reply without text and calls is an error, as in a session.
fn check_answer(reply: &Reply) -> Result<()> {
    if !reply.is_no_answer() {
        return Ok(());
    }
    match reply.stop() {
        StopReason::Refusal => {
            let message =
                format!("the model {}: its vendor's content policy", ModelFault::Refused.sentence());
            Err(Error::new(message).with_hint("say it in other words, or ask another model"))
        }
        _ => Err(Error::new("the model answered nothing").with_hint("ask again, or take another model")),
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

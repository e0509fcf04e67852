//! [`Tool`]: the contract of a tool. [`ToolContext`]: what a call gets.
pub mod access;
pub mod alias;
pub mod background;
pub mod confinement;
pub mod diagnostics;
pub mod effect;
pub mod hook;
pub mod network;
pub mod notes;
pub mod person;
pub mod present;
pub mod registry;
pub(crate) mod renames;
pub mod render;
pub mod report;
pub mod result;
pub mod sampling;
pub mod schema;
pub mod skill;
pub mod source;
pub mod split;
pub mod subagent;

use crate::{
    Access, Aliases, BackgroundTasks, CallId, Effect, Person, Sampler, Subagents, ToolError, ToolErrorKind,
    ToolOutput, View, schema::Described,
};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    fmt,
    future::Future,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};
use tokio_util::sync::CancellationToken;

/// Something a model may call. Implement this, or write `#[tool]` on a plain function.
///
/// For each call the engine checks the arguments against the schema of `Args`, asks for the [`Effect`]s, lets
/// the policy judge them, opens a private view of the workspace, and only then calls `run`. The call is stopped by
/// being dropped, so `run` must not leave anything behind that its guards do not clean up. A panic becomes an
/// error for the model. What `run` did to files is recorded and made real after it returned `Ok`.
pub trait Tool: Send + Sync + 'static {
    /// What the model calls. Lower case, words joined by `_`.
    const NAME: &'static str;
    /// The arguments. Its doc comment is the description that the model reads, and the doc comments of its
    /// fields are those of the parameters: short, imperative, with the unit.
    ///
    /// What a model may give though it is not advertised: a field with `#[schemars(extend("x-hidden" = true))]`, and
    /// another schema of a field with `#[schemars(extend("x-accepts" = {…}))]`.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// What other systems call this tool and its parameters.
    const ALIASES: Aliases = Aliases::NONE;
    /// Whether a terminal shows nothing that moves while a call runs.
    const SUPPRESS_ANIMATION: bool = false;
    /// Whether a call has a time limit of its own, or waits for a person. If not, [`crate::Limits::call_seconds`]
    /// applies.
    const ENDS_ITSELF: bool = false;
    /// Whether no call changes a file of the workspace, though no effects say so: it speaks to a person, to the network, or
    /// of the conversation. An undo then warns of nothing that was not recorded.
    const LEAVES_FILES: bool = false;
    /// Whether making a call twice is making it once: a question, or a search. A call that a crash cut off is made again
    /// then; otherwise the model is told that what it did is unknown. Only for a tool that leaves files.
    const IDEMPOTENT: bool = false;
    /// Whether the arguments of a call quote files as the model has read them, as those of an edit do. A call is refused if
    /// such a file was changed since. Other tools that read what they write see it as it is, and so are not refused.
    const QUOTES_FILES: bool = false;

    /// Returns what a call with these arguments would touch, stated before it runs and without looking at files.
    /// Empty: nothing that the user must be asked about, and not to be repeated after a crash either, unless the tool is
    /// [idempotent](Self::IDEMPOTENT).
    fn effects(&self, args: &Self::Args, workspace: &Path) -> Vec<Effect>;

    /// Returns the arguments with all that the call needs to reach what lies outside of its view. `args` has passed the check
    /// against the schema.
    fn outside(&self, args: Value) -> Value {
        args
    }

    /// Runs the call. Files are reached through [`ToolContext::path`] only.
    fn run(
        &self,
        args: Self::Args,
        ctx: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;

    /// Returns worked examples, for models so small that they only follow what they have seen.
    fn examples(&self) -> Vec<Example> {
        Vec::new()
    }
}

/// Everything a call may know and do. Made anew for each call, so nothing is shared by accident.
#[derive(Clone)]
pub struct ToolContext {
    /// The session that the call belongs to.
    pub session: crate::SessionId,
    /// The message that the call is in: in a session the place of the reply in its journal.
    pub message: String,
    /// The agent that makes the call.
    pub agent: String,
    /// The call itself.
    pub call: CallId,
    /// Where the conversation takes place, e.g. a Telegram chat.
    pub channel: Option<crate::Channel>,
    /// The call's own view of the workspace, and the folder in which commands start.
    pub workspace: PathBuf,
    /// The real workspace, for jobs: they outlive the view, so what they do is not staged.
    pub live: PathBuf,
    /// What processes may reach.
    pub access: Access,
    /// What is below the folders that the call may read, and may be read as well.
    pub readable: Arc<crate::Readable>,
    /// Folder of the session for what is too long for a result. It may not be there yet; reading in it needs no
    /// approval.
    pub artifacts: PathBuf,
    /// Work that outlives the call.
    pub jobs: Arc<dyn BackgroundTasks>,
    /// The user who may be asked.
    pub person: Arc<dyn Person>,
    /// The subagents that may do a part of the work.
    pub subagents: Arc<dyn Subagents>,
    /// A model that answers beside the conversation, once the person has agreed.
    pub sampler: Arc<dyn Sampler>,
    /// For blocking loops; ordinary async code is stopped by being dropped.
    pub cancel: CancellationToken,
    /// Called through [`ToolContext::progress`].
    pub on_progress: Arc<dyn Fn(String) + Send + Sync>,
    /// Finds the files of this call.
    pub view: Arc<dyn View>,
}

impl ToolContext {
    /// Shows `chunk` to clients that watch. Not recorded, not sent to the model.
    pub fn progress(&self, chunk: impl Into<String>) {
        (self.on_progress)(chunk.into());
    }

    /// Returns where the file that the model calls `path` is in this call's view.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.view.locate(path.as_ref())
    }
}

/// How a tool presents itself to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// What the model calls.
    pub name: String,
    /// When to use it and what it gives.
    pub description: String,
    /// JSON Schema (draft 2020-12) of an object, without references.
    pub parameters: Value,
    /// For models so small that they only follow what they have seen.
    pub examples: Examples,
}

/// A worked example: a request, the call that it needs, the call's result, and the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// What a person asked.
    pub request: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// What the model read.
    pub result: String,
    /// What the model answered.
    pub answer: String,
}

impl Example {
    /// `Example::new("Read a.txt.", json!({"path": "a.txt"}), "hello", "It says hello.")`
    pub fn new(request: &str, arguments: Value, result: &str, answer: &str) -> Self {
        Self { request: request.into(), arguments, result: result.into(), answer: answer.into() }
    }
}

/// Worked examples, made on first use: large models never need them.
#[derive(Clone)]
pub struct Examples(Arc<LazyExamples>);

type LazyExamples = LazyLock<Vec<Example>, Box<dyn FnOnce() -> Vec<Example> + Send>>;

impl Examples {
    /// Examples that `make` returns, which is called at most once, when they are needed.
    pub fn when_needed(make: impl FnOnce() -> Vec<Example> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }
}

impl std::ops::Deref for Examples {
    type Target = [Example];
    fn deref(&self) -> &[Example] {
        &self.0
    }
}

impl From<Vec<Example>> for Examples {
    fn from(examples: Vec<Example>) -> Self {
        Self::when_needed(move || examples)
    }
}

impl Default for Examples {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl PartialEq for Examples {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl ToolSpec {
    /// Returns a description with this name; text and parameters come from the doc comments and types of `A`.
    pub fn of<A: JsonSchema>(name: &str) -> Self {
        let Described { description, told, .. } = schema::describe::<A>();
        Self { name: name.into(), description, parameters: told, examples: Examples::default() }
    }

    /// Returns `{"type":"function","function":{name,description,parameters}}`.
    pub fn definition(&self) -> Value {
        serde_json::json!({"type": "function", "function": {
            "name": self.name, "description": self.description, "parameters": self.parameters,
        }})
    }
}

/// The object-safe twin of [`Tool`]. Registries hold it; tools from an MCP server implement it directly.
pub trait AnyTool: Send + Sync {
    /// Returns how the tool presents itself. Constant while the tool is registered.
    fn spec(&self) -> &ToolSpec;
    /// Returns the JSON Schema that arguments are held against. It may allow more than the model is shown.
    fn accepts(&self) -> Value {
        self.spec().parameters.clone()
    }
    /// See [`Tool::ALIASES`].
    fn aliases(&self) -> Aliases {
        Aliases::NONE
    }
    /// See [`Tool::SUPPRESS_ANIMATION`].
    fn suppresses_animation(&self) -> bool {
        false
    }
    /// See [`Tool::ENDS_ITSELF`].
    fn ends_itself(&self) -> bool {
        false
    }
    /// See [`Tool::LEAVES_FILES`].
    fn leaves_files(&self) -> bool {
        false
    }
    /// See [`Tool::IDEMPOTENT`].
    fn is_idempotent(&self) -> bool {
        false
    }
    /// See [`Tool::QUOTES_FILES`].
    fn quotes_files(&self) -> bool {
        false
    }
    /// Returns whether a call claims to change nothing, wherever it works: such calls run in parallel once they are
    /// allowed. What they may do is still for [`AnyTool::effects`] to say.
    fn is_read_only(&self) -> bool {
        false
    }
    /// See [`Tool::outside`].
    fn outside(&self, args: Value) -> Value {
        args
    }
    /// See [`Tool::effects`]. `args` has passed the check against the schema.
    fn effects(&self, args: &Value, workspace: &Path) -> Result<Vec<Effect>, ToolError>;
    /// See [`Tool::run`].
    fn call<'a>(&'a self, args: Value, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

pub(crate) fn erase<T: Tool>(tool: T) -> impl AnyTool {
    let tool = Arc::new(tool);
    let maker = tool.clone();
    let examples = Examples::when_needed(move || maker.examples());
    let Described { description, told, accepted } = schema::describe::<T::Args>();
    let spec = ToolSpec { name: T::NAME.into(), description, parameters: told, examples };
    Erased { spec, accepted, tool }
}

struct Erased<T> {
    tool: Arc<T>,
    spec: ToolSpec,
    accepted: Value,
}

impl<T: Tool> AnyTool for Erased<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn accepts(&self) -> Value {
        self.accepted.clone()
    }
    fn aliases(&self) -> Aliases {
        T::ALIASES
    }
    fn suppresses_animation(&self) -> bool {
        T::SUPPRESS_ANIMATION
    }
    fn ends_itself(&self) -> bool {
        T::ENDS_ITSELF
    }
    fn leaves_files(&self) -> bool {
        T::LEAVES_FILES
    }
    fn is_idempotent(&self) -> bool {
        T::IDEMPOTENT
    }
    fn quotes_files(&self) -> bool {
        T::QUOTES_FILES
    }
    fn outside(&self, args: Value) -> Value {
        self.tool.outside(args)
    }
    fn effects(&self, args: &Value, workspace: &Path) -> Result<Vec<Effect>, ToolError> {
        Ok(self.tool.effects(&decode(args.clone())?, workspace))
    }
    fn call<'a>(&'a self, args: Value, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.tool.run(decode(args)?, ctx).await })
    }
}

fn decode<A: DeserializeOwned>(args: Value) -> Result<A, ToolError> {
    serde_json::from_value(args).map_err(|error| {
        ToolError::new(ToolErrorKind::Validation, format!("cannot use the arguments: {error}"))
    })
}

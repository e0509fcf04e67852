//! [`Tool`]: the contract of a tool. [`ToolContext`]: the data and functions that a call gets.
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

/// A tool that a model may call. Implement this, or write `#[tool]` on a plain function.
///
/// For each call, the engine checks the arguments against the schema of `Args`, asks for the [`Effect`]s, lets the
/// policy judge them, opens a private view of the workspace, and only then calls `run`. A call is stopped by dropping
/// its future, so its guards must clean up everything that `run` leaves behind. A panic becomes an error for the model.
/// The changes of files that `run` makes are recorded, and applied to the workspace after it returned `Ok`.
pub trait Tool: Send + Sync + 'static {
    /// The name by which the model calls the tool: lower case, words joined by `_`.
    const NAME: &'static str;
    /// The arguments. Its doc comment is the description that the model reads, and the doc comments of its
    /// fields are those of the parameters: short, imperative, with the unit.
    ///
    /// A model may give parameters that it is not shown: fields with `#[schemars(extend("x-hidden" = true))]`. With
    /// `#[schemars(extend("x-accepts" = {…}))]`, a field accepts another schema than the one that the model is shown.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// Names that other systems use for this tool and its parameters.
    const ALIASES: Aliases = Aliases::NONE;
    /// Whether terminals must not animate while a call runs.
    const SUPPRESS_ANIMATION: bool = false;
    /// Whether a call has a timeout of its own, or waits for the user. If not, [`crate::Limits::call_seconds`] applies.
    const ENDS_ITSELF: bool = false;
    /// Whether no call changes files of the workspace, although it states no effects: it communicates with the user or
    /// the network, or concerns only the conversation. An undo then does not warn of changes that were not recorded.
    const LEAVES_FILES: bool = false;
    /// Whether a call that a crash interrupted is made again, since making it twice does no harm: a question, or a search.
    /// Otherwise the model is told that its effects are unknown. Applies to tools with [`Self::LEAVES_FILES`].
    const IDEMPOTENT: bool = false;
    /// Whether the arguments of a call quote files as the model has read them, like those of an edit. A call is refused
    /// if such a file has changed since. Tools that read the current content before they write are not refused.
    const QUOTES_FILES: bool = false;

    /// Returns the effects of a call with these arguments, before it runs and without reading files. Empty if no
    /// approval is needed for anything; such a call is also not repeated after a crash, unless the tool is
    /// [idempotent](Self::IDEMPOTENT).
    fn effects(&self, args: &Self::Args, workspace: &Path) -> Vec<Effect>;

    /// Returns the arguments, extended by everything that the call needs to reach beyond its view. `args` has passed
    /// the check against the schema.
    fn outside(&self, args: Value) -> Value {
        args
    }

    /// Runs the call. Files must be accessed through [`ToolContext::path`].
    fn run(
        &self,
        args: Self::Args,
        ctx: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;

    /// Returns worked examples, for models so small that they can only imitate them.
    fn examples(&self) -> Vec<Example> {
        Vec::new()
    }
}

/// The data and functions that a call may use. Made for each call, so that nothing is shared by accident.
#[derive(Clone)]
pub struct ToolContext {
    /// The session that the call belongs to.
    pub session: crate::SessionId,
    /// The message that contains the call; in a session, the sequence number of the reply in the journal.
    pub message: String,
    /// The agent that makes the call.
    pub agent: String,
    /// The call itself.
    pub call: CallId,
    /// Where the conversation takes place, e.g. a Telegram chat.
    pub channel: Option<crate::Channel>,
    /// The call's own view of the workspace, and the folder in which commands start.
    pub workspace: PathBuf,
    /// The real workspace, for background tasks: they outlive the view, so their changes are not staged.
    pub live: PathBuf,
    /// What processes may access.
    pub access: Access,
    /// The rules on which files below readable folders the call may read.
    pub readable: Arc<crate::Readable>,
    /// Folder of the session for output that is too long for a result. It may not exist yet; reading in it needs no
    /// approval.
    pub artifacts: PathBuf,
    /// Runs work that outlives the call.
    pub jobs: Arc<dyn BackgroundTasks>,
    /// Asks the user.
    pub person: Arc<dyn Person>,
    /// Runs subagents that do a part of the work.
    pub subagents: Arc<dyn Subagents>,
    /// Asks a model outside of the conversation, after the user has agreed.
    pub sampler: Arc<dyn Sampler>,
    /// Canceled when the call is stopped; for blocking loops. Async code need not check it: its future is dropped.
    pub cancel: CancellationToken,
    /// Called through [`ToolContext::progress`].
    pub on_progress: Arc<dyn Fn(String) + Send + Sync>,
    /// Finds the files of this call.
    pub view: Arc<dyn View>,
}

impl ToolContext {
    /// Shows `chunk` to clients that follow the call. It is neither recorded nor sent to the model.
    pub fn progress(&self, chunk: impl Into<String>) {
        (self.on_progress)(chunk.into());
    }

    /// Returns the path, in this call's view, of the file that the model names `path`. What is written there after the
    /// call has ended is lost, unless [`BackgroundTasks::start_in`] keeps the view.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.view.locate(path.as_ref())
    }
}

/// How a tool presents itself to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that the model uses.
    pub name: String,
    /// When to use the tool, and what it returns.
    pub description: String,
    /// JSON Schema (draft 2020-12) of an object, without references.
    pub parameters: Value,
    /// Worked examples, for models so small that they can only imitate them.
    pub examples: Examples,
}

/// A worked example: a request, the call that it needs, the call's result, and the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The request of the user.
    pub request: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The result that the model reads.
    pub result: String,
    /// The model's answer.
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
    /// Makes examples from `make`, which is called at most once, when they are needed.
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

/// The object-safe variant of [`Tool`]. Registries store it; tools of MCP servers implement it directly.
pub trait AnyTool: Send + Sync {
    /// Returns how the tool presents itself. Constant while the tool is registered.
    fn spec(&self) -> &ToolSpec;
    /// Returns the JSON Schema against which arguments are checked. It may allow more than the schema that the model is
    /// shown.
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
    /// Returns whether no call changes anything, wherever the tool works: such calls run in parallel after they are
    /// allowed. [`AnyTool::effects`] still states their effects.
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

//! [`Host`]: what front-ends that open sessions need from the program.
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Entry, Mode, Part};
use haft_engine::{Engine, Session, Stages, Summary};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Creates engines, and knows the prompts, files and servers of a workspace. The binary uses the implementation of
/// `haft-app`.
pub trait Host: Send + Sync {
    /// Creates the engine for the requested sessions.
    fn engine(&self, request: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>>;

    /// The agent that new sessions use.
    fn agent(&self) -> String {
        "haft".to_owned()
    }

    /// The prompts in files of the user and of the project.
    fn prompts(&self, _workspace: &Path) -> Vec<SavedPrompt> {
        Vec::new()
    }

    /// The files of a workspace that a prompt may name as `@NAME`: relative paths, sorted by name.
    fn files(&self, _workspace: &Path) -> Vec<String> {
        Vec::new()
    }

    /// Expands a prompt that begins with `/`: to the text of a saved prompt, or to itself. `listed_by`: the front-end's
    /// command that lists saved prompts; a problem names it.
    fn expand(&self, _workspace: &Path, prompt: &str, _listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        Ok(ExpandedPrompt { prompt: prompt.to_owned(), ..ExpandedPrompt::default() })
    }

    /// Opens a session, for a front-end that switches between sessions.
    fn open(&self, _request: OpenRequest) -> BoxFuture<'_, Result<Conversation, Problem>> {
        async { Err(Problem::usage("no other session can be opened here")) }.boxed()
    }

    /// The models to choose from, as `PROVIDER/MODEL`, each with a short description.
    fn models(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Like [`Self::models`], with all models of providers with a known key and of servers on this machine, once they
    /// have answered.
    fn live_models(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        async { self.models() }.boxed()
    }

    /// The levels of reasoning effort of a model, lowest first; empty if it has none.
    fn efforts(&self, _model: &str) -> Vec<&'static str> {
        Vec::new()
    }

    /// Starts each MCP server that the user has configured.
    fn servers<'a>(&'a self, _workspace: &Path) -> BoxFuture<'a, Vec<TriedServer>> {
        async { Vec::new() }.boxed()
    }

    /// Reads a PDF for a prompt to a model that accepts documents.
    fn document<'a>(&'a self, _file: &Path) -> BoxFuture<'a, Result<Part, Problem>> {
        async { Err(Problem::usage("PDFs cannot be attached here")) }.boxed()
    }

    /// Formats a session as Markdown.
    fn markdown(&self, _entries: &[Arc<Entry>]) -> String {
        String::new()
    }

    /// The sessions of another machine, if conversations take place there; `None` if they are on this one.
    fn remote(&self) -> Option<Arc<dyn RemoteSessions>> {
        None
    }

    /// Shows a note to the user who runs the program.
    fn note(&self, _note: String) {}
}

/// Sessions on another machine: the operations on them other than conversations.
pub trait RemoteSessions: Send + Sync {
    /// Lists the sessions, newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Summary>, Problem>>;

    /// Copies a session, and returns the ID of the copy.
    fn fork<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<String, Problem>>;

    /// Renames a session.
    fn rename<'a>(&'a self, id: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), Problem>>;
}

/// The sessions for which an engine is requested. Fields that are `None` use the program's defaults.
#[derive(Default)]
pub struct EngineRequest {
    /// The directory to work in.
    pub workspace: Option<PathBuf>,
    /// The model, as `PROVIDER/MODEL`.
    pub model: Option<String>,
    /// Name of the profile.
    pub profile: Option<String>,
    /// The reasoning effort, if the model supports it.
    pub effort: Option<String>,
    /// The most permissive mode of the sessions, in addition to the limit of the front-end.
    pub up_to: Option<Mode>,
    /// Maximum cost of a turn in US dollars, in addition to the limit of the front-end.
    pub max_cost: Option<f64>,
    /// The models that sessions and their subagents may use, as `PROVIDER/MODEL`, in which `*` stands for any
    /// characters; if empty, all.
    pub models: Arc<[String]>,
    /// Whether tools may neither read nor write the journals in Haft's home, which include sessions of other users.
    pub is_guarded: bool,
    /// MCP servers whose tools the sessions may call, in addition to the user's own.
    pub servers: Vec<RequestedServer>,
    /// Wraps the engine's stages, so that files of the front-end (such as unsaved ones) take precedence over those on
    /// disk.
    pub stages: Option<WrapStages>,
}

/// See [`EngineRequest::stages`].
pub type WrapStages = Box<dyn FnOnce(Stages) -> Stages + Send>;

/// An MCP server that a client names. It may contain keys, so it does not implement `Debug`.
#[derive(Clone)]
pub struct RequestedServer {
    /// The server's name, which is part of its tools' names.
    pub name: String,
    /// How to reach the server.
    pub transport: ServerTransport,
}

/// How to reach an MCP server.
#[derive(Clone)]
pub enum ServerTransport {
    /// A program that communicates over its standard streams.
    Program {
        /// The file.
        program: PathBuf,
        /// Arguments of the program.
        arguments: Vec<String>,
        /// Environment variables, in addition to those of all processes.
        environment: Vec<(String, String)>,
    },
    /// A service that speaks Streamable HTTP.
    Url {
        /// Address of the service.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

/// A request for a session. Fields that are `None` use the program's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenRequest {
    /// ID of an existing session; `None` for a new one.
    pub session: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The reasoning effort.
    pub effort: Option<String>,
    /// Whether model and effort are saved for new sessions, too.
    pub is_kept: bool,
    /// The agent.
    pub agent: Option<String>,
}

impl OpenRequest {
    /// A request for the existing session with this ID, with its own agent and model.
    pub fn of_session(id: String) -> Self {
        Self { session: Some(id), ..Self::default() }
    }
}

/// An open session, and its engine.
pub struct Conversation {
    /// The engine that holds the session; shut it down before another engine opens the session.
    pub engine: Engine,
    /// The session, ready for commands.
    pub session: Session,
    /// The reasoning effort, if one was chosen and the model supports it.
    pub effort: Option<String>,
    /// Notices for the user: how the model was chosen, which part of a journal was damaged.
    pub notices: Vec<String>,
}

/// Name of an MCP server, with what it offers, or why it offers nothing.
pub type TriedServer = (String, Result<ServerOffer, String>);

/// What an MCP server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOffer {
    /// Names of its tools, as models call them.
    pub tools: Vec<String>,
    /// Texts that the user can type: `/SERVER:PROMPT ARGUMENTS` for each prompt, and `@SERVER:URI` for each resource.
    pub mentions: Vec<String>,
}

/// A prompt that is saved in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPrompt {
    /// Name without the `/`.
    pub name: String,
    /// Description in one line; empty if the file has none.
    pub description: String,
    /// The file.
    pub file: PathBuf,
}

/// The expansion of a prompt, and the agent and model that it requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedPrompt {
    /// The text of the prompt.
    pub prompt: String,
    /// The requested agent.
    pub agent: Option<String>,
    /// The requested model.
    pub model: Option<String>,
}

impl ExpandedPrompt {
    /// The text, for a session that has its agent and its model already.
    ///
    /// # Errors
    ///
    /// If the prompt requests an agent or a model. `typed`: the text that was expanded; `suggestion`: how to choose
    /// them here.
    pub fn in_session(self, typed: &str, suggestion: &str) -> Result<String, Problem> {
        match self {
            Self { prompt, agent: None, model: None } => Ok(prompt),
            Self { .. } => {
                Err(Problem::usage(format!("`{typed}` names an agent or a model")).hint(suggestion))
            }
        }
    }
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What was tried, on what, and why it failed.
    pub message: String,
    /// What to do next.
    pub suggestion: Option<String>,
    /// Whether the request is invalid; otherwise it was tried and failed.
    pub is_usage: bool,
}

impl Problem {
    /// The error for a request that is invalid.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), suggestion: None, is_usage: true }
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn hint(self, suggestion: impl Into<String>) -> Self {
        Self { suggestion: Some(suggestion.into()), ..self }
    }
}

/// Formats the problem in one line: `there is no model (hint: …)`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.suggestion.as_ref().map_or(Ok(()), |suggestion| write!(f, " (hint: {suggestion})"))
    }
}

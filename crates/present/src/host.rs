//! [`Host`]: what front-ends that open sessions need of the program around them.
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Entry, Mode, Part};
use haft_engine::{Engine, Session, Stages, Summary};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Makes engines, and knows what a workspace brings. `haft-app` has the one that the binary uses.
pub trait Host: Send + Sync {
    /// Makes the engine for sessions like this.
    fn engine(&self, request: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>>;

    /// The agent that new sessions use.
    fn agent(&self) -> String {
        "haft".to_owned()
    }

    /// The prompts that the user and the project keep in files.
    fn prompts(&self, _workspace: &Path) -> Vec<SavedPrompt> {
        Vec::new()
    }

    /// The files of a workspace that a person may name as `@NAME`, relative to it, in the order of their names.
    fn files(&self, _workspace: &Path) -> Vec<String> {
        Vec::new()
    }

    /// What a prompt stands for that begins with `/`: the text of a saved prompt, or itself. `listed_by` is the command that
    /// lists saved prompts here; a problem names it.
    fn expand(&self, _workspace: &Path, prompt: &str, _listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        Ok(ExpandedPrompt { prompt: prompt.to_owned(), ..ExpandedPrompt::default() })
    }

    /// Opens a session for a person who switches between them.
    fn open(&self, _request: OpenRequest) -> BoxFuture<'_, Result<Conversation, Problem>> {
        async { Err(Problem::usage("no other session can be opened here")) }.boxed()
    }

    /// The models that a person may choose, as `PROVIDER/MODEL`, each with a few words about it.
    fn models(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Like [`Self::models`], with all models of providers whose key is known and of servers on this machine, once they
    /// have answered.
    fn live_models(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        async { self.models() }.boxed()
    }

    /// The levels of reasoning effort that a model takes, from the least to the most; empty if it takes none.
    fn efforts(&self, _model: &str) -> Vec<&'static str> {
        Vec::new()
    }

    /// Starts each MCP server that the user has set up.
    fn servers<'a>(&'a self, _workspace: &Path) -> BoxFuture<'a, Vec<TriedServer>> {
        async { Vec::new() }.boxed()
    }

    /// A PDF for a prompt to a model that takes documents.
    fn document<'a>(&'a self, _file: &Path) -> BoxFuture<'a, Result<Part, Problem>> {
        async { Err(Problem::usage("PDFs cannot be attached here")) }.boxed()
    }

    /// A session as Markdown.
    fn markdown(&self, _entries: &[Arc<Entry>]) -> String {
        String::new()
    }

    /// The sessions that another machine keeps, if conversations are with those; `None` if they lie on this one.
    fn remote(&self) -> Option<Arc<dyn RemoteSessions>> {
        None
    }

    /// Tells the person who runs the program something.
    fn note(&self, _note: String) {}
}

/// Sessions that another machine keeps: what a person does with them beside talking.
pub trait RemoteSessions: Send + Sync {
    /// Lists them, the newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Summary>, Problem>>;

    /// Copies a session, and returns the ID of the copy.
    fn fork<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<String, Problem>>;

    /// Gives a session a name.
    fn rename<'a>(&'a self, id: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), Problem>>;
}

/// Which sessions an engine is for. What is left out is as the program was started.
#[derive(Default)]
pub struct EngineRequest {
    /// The directory to work in.
    pub workspace: Option<PathBuf>,
    /// The model, as `PROVIDER/MODEL`.
    pub model: Option<String>,
    /// The profile, by its name.
    pub profile: Option<String>,
    /// The reasoning effort, if the model takes it.
    pub effort: Option<String>,
    /// Most permissive mode of the sessions, in addition to what the front-end allows.
    pub up_to: Option<Mode>,
    /// Maximum cost of a turn in US dollars, in addition to what the front-end allows.
    pub max_cost: Option<f64>,
    /// The models that sessions and their subagents may use, as `PROVIDER/MODEL`, in which `*` stands for any characters;
    /// without any, all.
    pub models: Arc<[String]>,
    /// Tools neither read nor write the journals in Haft's home: sessions of others are among them.
    pub is_guarded: bool,
    /// MCP servers whose tools the sessions may call, in addition to the user's own.
    pub servers: Vec<RequestedServer>,
    /// Puts files of the front-end in front of those on disk: the engine's stages are what this makes of them.
    pub stages: Option<WrapStages>,
}

/// See [`EngineRequest::stages`].
pub type WrapStages = Box<dyn FnOnce(Stages) -> Stages + Send>;

/// An MCP server that a client names. It may hold keys, so it prints nothing of itself.
#[derive(Clone)]
pub struct RequestedServer {
    /// Part of its tools' names.
    pub name: String,
    /// How it is reached.
    pub transport: ServerTransport,
}

/// How an MCP server is reached.
#[derive(Clone)]
pub enum ServerTransport {
    /// A program that talks over its standard streams.
    Program {
        /// The file.
        program: PathBuf,
        /// Arguments of the program.
        arguments: Vec<String>,
        /// Names and values, in addition to what all processes get.
        environment: Vec<(String, String)>,
    },
    /// A service that talks Streamable HTTP.
    Url {
        /// Where.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
}

/// A request for a session. What is left out is as the program was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenRequest {
    /// An old session by its name; a new one if left out.
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
    /// The old session of this name, with its own agent and model.
    pub fn of_session(id: String) -> Self {
        Self { session: Some(id), ..Self::default() }
    }
}

/// A session that was opened, with the engine that it lives in.
pub struct Conversation {
    /// Holds the session; shut it down before another one opens the session again.
    pub engine: Engine,
    /// Ready for commands.
    pub session: Session,
    /// The reasoning effort, if one was chosen and the model takes it.
    pub effort: Option<String>,
    /// For the person: how the model was chosen, what of a journal was damaged.
    pub notices: Vec<String>,
}

/// An MCP server by its name, with what it offers, or the reason why it offers nothing.
pub type TriedServer = (String, Result<ServerOffer, String>);

/// What an MCP server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOffer {
    /// Names of its tools, as models call them.
    pub tools: Vec<String>,
    /// What a person can type: `/SERVER:PROMPT ARGUMENTS` for each prompt, and `@SERVER:URI` for each resource.
    pub mentions: Vec<String>,
}

/// A prompt that is kept in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPrompt {
    /// Without the `/`.
    pub name: String,
    /// In one line; empty if the file has none.
    pub description: String,
    /// The file.
    pub file: PathBuf,
}

/// What a prompt stands for, and what it is to be said to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedPrompt {
    /// The text.
    pub prompt: String,
    /// The agent that it names.
    pub agent: Option<String>,
    /// The model that it names.
    pub model: Option<String>,
}

impl ExpandedPrompt {
    /// The text, in a session that has its agent and its model already.
    ///
    /// # Errors
    ///
    /// If it names an agent or a model. `typed`: what stands for the prompt; `suggestion`: how to choose them here.
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
    /// Whether the request cannot be carried out as it is; otherwise it was tried and failed.
    pub is_usage: bool,
}

impl Problem {
    /// The error for a request that is invalid.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), suggestion: None, is_usage: true }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(self, suggestion: impl Into<String>) -> Self {
        Self { suggestion: Some(suggestion.into()), ..self }
    }
}

/// In one line: `there is no model (hint: …)`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.suggestion.as_ref().map_or(Ok(()), |suggestion| write!(f, " (hint: {suggestion})"))
    }
}

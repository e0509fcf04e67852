//! [`Setup`]: the parts of an engine, as values that the program chooses.
mod agent;
mod commit;
mod header;
pub(crate) mod knowledge;
mod profile;
mod roots;

pub use agent::{Agent, BadAgent};
pub(crate) use commit::commit_of;
pub use header::{BadHeader, with_header};
pub use knowledge::{Knowledge, Note};
pub use profile::{AgentInProfile, Chat, Edits, Profile, ProfileRules, Reasons};
pub use roots::checked_root;

use futures::future::BoxFuture;
use haft_call::Unread;
use haft_core::{
    Access, CallId, Diagnostics, Entry, Evidence, Hooks, Limits, Mode, NoSampler, Policy, Price, Provider,
    Registry, Sampler, Seq, SessionId, Stage, ToolSource,
};
use serde::Deserialize;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Creates the stage of a session. The argument is the folder for its contents.
pub type Stages = Arc<dyn Fn(&Path) -> Arc<dyn Stage> + Send + Sync>;

/// The parts an engine is made of. The binary chooses them; the engine only uses them.
pub struct Setup {
    /// The model of sessions.
    pub model: Model,
    /// All tools; an agent gets those that it names.
    pub tools: Registry,
    /// Sources of further tools while a session is open.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Agents that can be opened.
    pub agents: Vec<Agent>,
    /// Rules about effects. Its mode is the one in which sessions begin, until the user chooses another.
    pub policy: Policy,
    /// The most permissive mode that the user may choose in a session; `None` for the mode of `policy`.
    pub ceiling: Option<Mode>,
    /// Creates the stages with the private views.
    pub stages: Stages,
    /// The workspace: absolute, links followed.
    pub workspace: PathBuf,
    /// The folder of the sessions; outside the workspace.
    pub home: Home,
    /// Numbers, texts and shapes.
    pub profile: Profile,
    /// The access of processes: environment, secrets and network.
    pub access: Access,
    /// The user's notes and skills for agents.
    pub knowledge: Knowledge,
    /// Hooks, which may deny work or add context.
    pub hooks: Arc<dyn Hooks>,
    /// Compares errors and warnings before and after a change; `None` if no program does.
    pub diagnostics: Option<Arc<dyn Diagnostics>>,
    /// Checks the agent's claims against the facts, if the limits or a job require evidence.
    pub evidence: Arc<dyn Evidence>,
    /// Opens the models that agents name; without it, no agent may name one.
    pub models: Option<Models>,
    /// Answers requests of MCP servers to a model; `None` for the model of the session.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Creates the second stores of journals.
    pub replicas: Option<Replicas>,
    /// Receives what sessions record.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Setup {
    /// The most permissive mode that a session can have.
    pub fn widest_mode(&self) -> Mode {
        self.ceiling.unwrap_or(self.policy.mode)
    }

    /// Returns the setup for sessions of one call that a program or a user makes in place of a model: files may be
    /// changed without being read before, and the turn ends with the call, whatever the profile's settings for the end
    /// of a turn.
    pub fn for_one_call(mut self) -> Self {
        self.profile.unread = Unread::Allow;
        let call_seconds = self.profile.limits.call_seconds;
        self.profile.limits = Limits { call_seconds, ..Limits::default() };
        self.sampler = Some(Arc::new(NoSampler));
        self
    }
}

/// The folder of all sessions, outside every workspace: `HOME/sessions/ID/journal.jsonl`.
#[derive(Clone, Debug)]
pub struct Home(pub PathBuf);

/// Opens a model from `PROVIDER/MODEL`; an error says why it cannot.
pub type Models = Arc<dyn Fn(&str) -> Result<Model, String> + Send + Sync>;

/// A model and its provider.
#[derive(Clone)]
pub struct Model {
    /// The model, as the user writes it: `PROVIDER/MODEL`.
    pub spec: String,
    /// Name of the model, as the provider spells it.
    pub name: String,
    /// Reasoning effort, as the option writes it; `None` for the model's default.
    pub effort: Option<String>,
    /// Its context window in tokens, request and reply together; `None` if unknown.
    pub window: Option<u64>,
    /// What it costs; `None` if unknown.
    pub price: Option<Price>,
    /// Whether it accepts PDFs; otherwise it reads their text.
    pub documents: bool,
    /// The provider that is asked.
    pub provider: Arc<dyn Provider>,
    /// The models that take over in a turn, in this order, if this one cannot answer. Their own fallbacks are ignored.
    pub fallbacks: Vec<Model>,
}

impl Model {
    /// A model without a known window, price or effort; `spec` is `PROVIDER/MODEL`.
    pub fn plain(spec: &str, provider: Arc<dyn Provider>) -> Self {
        let name = spec.split_once('/').map_or(spec, |(_, name)| name).to_owned();
        let (effort, window, price, documents, fallbacks) = Default::default();
        Self { spec: spec.to_owned(), name, effort, window, price, documents, provider, fallbacks }
    }
}

/// A second, authoritative store for journal entries: a database that machines share. Through it a process detects that
/// another one has taken over the session.
pub trait Replica: Send + Sync {
    /// Receives an entry's line, including its newline, in order. Must not block.
    fn append(&self, seq: Seq, line: &str);

    /// Waits until the store has all lines received so far, and the contents that they name. Called before the model is
    /// asked, before a command without a view begins, before files are settled and at the end of a turn. Fails if
    /// another process writes this session, or the store cannot be reached; the session closes then.
    fn sync(&self) -> BoxFuture<'_, io::Result<()>>;
}

/// Creates the replica of a session.
pub type Replicas = Arc<dyn Fn(&SessionId) -> Arc<dyn Replica> + Send + Sync>;

/// Receives what sessions record, in order. Must not block.
pub trait Observer: Send + Sync {
    /// `session` is open; its journal holds `entries` already. `above` is the call that delegated to it, and the session of
    /// that call.
    fn opened(&self, session: &SessionId, above: Option<(&SessionId, &CallId)>, entries: &[Arc<Entry>]);

    /// `session` has recorded `entry`.
    fn recorded(&self, session: &SessionId, entry: &Entry);
}

/// Limits of delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Delegation {
    /// Levels of child sessions; 0 for no delegation.
    pub depth: usize,
    /// Maximum sessions of one level that work at the same time; others wait.
    pub at_once: usize,
    /// Maximum sessions in a tree while the process runs.
    pub total: usize,
}

impl Default for Delegation {
    /// One level; 16 at once, the maximum that models request in one reply; 200 in total.
    fn default() -> Self {
        Self { depth: 1, at_once: 16, total: 200 }
    }
}

//! [`Setup`]: what an engine is made of, as values that the program chooses.
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

/// Makes the stage of a session from the folder in which it may keep contents.
pub type Stages = Arc<dyn Fn(&Path) -> Arc<dyn Stage> + Send + Sync>;

/// The parts an engine is made of. The binary chooses them; the engine only uses them.
pub struct Setup {
    /// Whom to ask.
    pub model: Model,
    /// Every tool there is; an agent gets those that it names.
    pub tools: Registry,
    /// Where more tools come from while a session is open.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Agents that can be opened.
    pub agents: Vec<Agent>,
    /// Rules about effects. Its mode is the one in which sessions begin, until the user chooses another.
    pub policy: Policy,
    /// The widest mode that a person may choose in a session; none is the one of `policy`.
    pub ceiling: Option<Mode>,
    /// Private views.
    pub stages: Stages,
    /// The folder that is worked in: absolute, links followed.
    pub workspace: PathBuf,
    /// Where sessions lie; outside the workspace.
    pub home: Home,
    /// Numbers, texts and shapes.
    pub profile: Profile,
    /// What processes may reach.
    pub access: Access,
    /// What people wrote down for agents.
    pub knowledge: Knowledge,
    /// Hooks that watch the work and may object.
    pub hooks: Arc<dyn Hooks>,
    /// Compares errors and warnings before and after a change; `None` if no program does.
    pub diagnostics: Option<Arc<dyn Diagnostics>>,
    /// Checks what the agent says against the facts, if the limits or a job ask for evidence.
    pub evidence: Arc<dyn Evidence>,
    /// Opens the models that agents name; without it, no agent may name one.
    pub models: Option<Models>,
    /// Answers what MCP servers ask of a model; `None` for the model of the session.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Where else all that is recorded stands.
    pub replicas: Option<Replicas>,
    /// Is shown what sessions record.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Setup {
    /// The widest mode that a session can have.
    pub fn widest_mode(&self) -> Mode {
        self.ceiling.unwrap_or(self.policy.mode)
    }

    /// For sessions of one call that a program or a person makes in place of a model: nothing was read before it, and the
    /// turn is over when the call is, whatever the profile says of the end of a turn.
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

/// A model and the way to it.
#[derive(Clone)]
pub struct Model {
    /// The model, as the user writes it: `PROVIDER/MODEL`.
    pub spec: String,
    /// Name of the model, as the provider spells it.
    pub name: String,
    /// Reasoning effort, as the option writes it; `None` for the model's default.
    pub effort: Option<String>,
    /// Tokens that it takes in, request and reply together; `None` if unknown.
    pub window: Option<u64>,
    /// What it costs; `None` if unknown.
    pub price: Option<Price>,
    /// Whether it takes PDFs as they are; otherwise it reads their text.
    pub documents: bool,
    /// The provider that is asked.
    pub provider: Arc<dyn Provider>,
    /// The models that take over in a turn, in this order, where this one cannot answer. Their own are not asked.
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

/// A second, authoritative store for journal entries: a database that machines share. Through it a process notices that
/// another one has taken the session over.
pub trait Replica: Send + Sync {
    /// Takes an entry's line, newline included, in order, and waits for nothing.
    fn append(&self, seq: Seq, line: &str);

    /// Returns when all lines taken so far are there, and the contents that they name. Waited for before the model is
    /// asked, before a command that has no view begins, before files are settled and at the end of a turn. Fails where
    /// they never will: another process writes this session now, or the store cannot be reached. The session closes
    /// then.
    fn sync(&self) -> BoxFuture<'_, io::Result<()>>;
}

/// Makes the replica of a session.
pub type Replicas = Arc<dyn Fn(&SessionId) -> Arc<dyn Replica> + Send + Sync>;

/// Is shown what sessions record, in order, and waits for nothing.
pub trait Observer: Send + Sync {
    /// `session` is open; its journal holds `entries` already. `above` is the call that delegated to it, and the session of
    /// that call.
    fn opened(&self, session: &SessionId, above: Option<(&SessionId, &CallId)>, entries: &[Arc<Entry>]);

    /// `session` has recorded `entry`.
    fn recorded(&self, session: &SessionId, entry: &Entry);
}

/// How far work is delegated.
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
    /// One level; 16 at once, the most that models ask for in one reply; 200 in total.
    fn default() -> Self {
        Self { depth: 1, at_once: 16, total: 200 }
    }
}

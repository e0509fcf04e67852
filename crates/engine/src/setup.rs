//! [`Setup`]: what an engine is made of, as values that the program chooses.
mod agent;
mod choices;
mod header;
mod home;
pub(crate) mod knowledge;
mod model;
mod profile;
mod profile_rules;
mod replica;

pub use agent::{Agent, BadAgent};
pub use choices::Delegation;
pub use header::{BadHeader, with_header};
pub use home::Home;
pub use knowledge::{Knowledge, Note};
pub use model::{Model, Models};
pub use profile::{AgentInProfile, Chat, Edits, Profile, Reasons};
pub use profile_rules::ProfileRules;
pub use replica::{Replica, Replicas};

use haft_call::Unread;
use haft_core::{Access, Evidence, Hooks, Limits, Mode, Policy, Registry, Stage, ToolSource};
use std::{
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
    /// Who can be opened.
    pub agents: Vec<Agent>,
    /// Who may do what. Its mode is the one in which sessions begin: it holds until a person chooses another.
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
    /// Who looks at the work and may object.
    pub hooks: Arc<dyn Hooks>,
    /// Checks what the agent says against the facts, if the limits or a job ask for evidence.
    pub evidence: Arc<dyn Evidence>,
    /// Opens the models that agents name; without it, no agent may name one.
    pub models: Option<Models>,
    /// Where else all that is recorded stands.
    pub replicas: Option<Replicas>,
}

impl Setup {
    /// For sessions of one call that a program or a person makes in place of a model: nothing was read before it, and the
    /// turn is over when the call is, whatever the profile says of the end of a turn.
    pub fn for_one_call(mut self) -> Self {
        self.profile.unread = Unread::Allow;
        let call_seconds = self.profile.limits.call_seconds;
        self.profile.limits = Limits { call_seconds, ..Limits::default() };
        self
    }
}

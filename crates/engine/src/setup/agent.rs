//! [`Agent`]: a system prompt, a model and names of tools, parsed from a Markdown file with a header.
use crate::setup::{BadHeader, with_header};
use haft_core::{JobSpec, Limits, Mode, Part};
use serde::Deserialize;

/// An agent: its system prompt and its settings, which never allow more than the engine's own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agent {
    /// The name for `--agent`.
    pub name: String,
    /// A description in one line, for lists and for agents that delegate to it.
    pub description: String,
    /// The system prompt; in a file the text below the header.
    #[serde(skip)]
    pub system: String,
    /// Names of tools; `None` for all that are offered.
    pub tools: Option<Vec<String>>,
    /// The model as `PROVIDER/MODEL`; `None` for the engine's model.
    pub model: Option<String>,
    /// Maximum model calls per turn, if lower than the engine's limit.
    pub max_rounds: Option<u32>,
    /// The mode for effects that no rule matches, if stricter than the engine's.
    pub permission: Option<Mode>,
    /// Whether its jobs work on a branch and in a work tree of their own, if there is a repository.
    pub work_tree: bool,
    /// A tool of which a job must have made a call that succeeded.
    pub done: Option<String>,
    /// Whether that call is made in place of the model, if the model did not make it.
    pub finish: bool,
    /// A tool of which one run must have shown a fault, and a run after the last change shows none.
    pub proof: Option<String>,
    /// The type of its jobs, such as `build`; `None` for the agent's name.
    pub job: Option<String>,
    /// The first prompt of its jobs: a text with `{description}`.
    pub prompt: Option<String>,
}

/// The error for a file that is not a valid agent.
#[derive(Debug, thiserror::Error)]
pub enum BadAgent {
    /// The header is invalid.
    #[error(transparent)]
    Header(#[from] BadHeader),
    /// The name is missing or invalid.
    #[error("its header needs a `name` of the characters `a-z`, `0-9`, `-` and `_`")]
    NoName,
}

const BUILT_IN_AGENTS: [&str; 4] = [
    include_str!("../../agents/builder.md"),
    include_str!("../../agents/debugger.md"),
    include_str!("../../agents/reviewer.md"),
    include_str!("../../agents/triager.md"),
];

impl Agent {
    /// `builder`, `debugger`, `reviewer` and `triager`.
    pub fn built_in() -> Vec<Self> {
        BUILT_IN_AGENTS
            .iter()
            .map(|text| Self::parse(text).expect("the built-in agents are tested"))
            .collect()
    }

    /// The text of a built-in agent.
    pub fn source(name: &str) -> Option<&'static str> {
        let place = Self::built_in().iter().position(|agent| agent.name == name)?;
        BUILT_IN_AGENTS.get(place).copied()
    }

    /// Reads an agent from the text of a file: a header in YAML between two lines `---`, and the system prompt below.
    pub fn parse(text: &str) -> Result<Self, BadAgent> {
        let (mut agent, system): (Self, &str) = with_header(text)?;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if agent.name.is_empty() || !agent.name.chars().all(is_plain) {
            return Err(BadAgent::NoName);
        }
        agent.system = system.trim().to_owned();
        Ok(agent)
    }

    /// The limits of a turn of this agent, never higher than `whole`.
    pub(crate) fn within(&self, whole: &Limits) -> Limits {
        let narrower = match (self.max_rounds.filter(|own| *own > 0), whole.max_rounds) {
            (Some(own), Some(all)) if all > 0 => Some(own.min(all)),
            (Some(own), _) => Some(own),
            (None, all) => all,
        };
        Limits { max_rounds: narrower, ..whole.clone() }
    }

    /// The first prompt of a job of this agent.
    pub fn opening(&self, order: &JobSpec) -> Vec<Part> {
        let prompt = self.prompt.as_deref().unwrap_or("{description}");
        vec![Part::text(prompt.replace("{description}", &order.description))]
    }
}

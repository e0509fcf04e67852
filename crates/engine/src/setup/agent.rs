//! [`Agent`]: a prompt, a model and names of tools, as a Markdown file with a small header.
use crate::setup::{BadHeader, with_header};
use haft_core::{JobSpec, Limits, Mode, Part};
use serde::Deserialize;

/// An agent: its prompt, and what it may have. Never more than the engine's own settings allow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agent {
    /// What `--agent` takes.
    pub name: String,
    /// In one line, for lists and for agents that delegate to it.
    pub description: String,
    /// The system prompt; in a file the text below the header.
    #[serde(skip)]
    pub system: String,
    /// Names of tools; `None` for all that are offered.
    pub tools: Option<Vec<String>>,
    /// `PROVIDER/MODEL` in place of the one that is asked for otherwise.
    pub model: Option<String>,
    /// Model calls per turn, if fewer than elsewhere.
    pub max_rounds: Option<u32>,
    /// What happens with effects that no rule settles, if stricter than elsewhere.
    pub permission: Option<Mode>,
    /// A job of it works on a branch and in a work tree of its own, where there is a repository.
    pub work_tree: bool,
    /// A tool of which a job must have made a call that succeeded.
    pub done: Option<String>,
    /// If the model did not make that call, it is made in its place.
    pub finish: bool,
    /// A tool of which one run must have shown a fault, and a run after the last change shows none.
    pub proof: Option<String>,
    /// What its jobs are called, such as `build`; `None` for its own name.
    pub job: Option<String>,
    /// What a job begins with: a text with `{description}`.
    pub prompt: Option<String>,
}

/// A file that is not an agent.
#[derive(Debug, thiserror::Error)]
pub enum BadAgent {
    /// The header is invalid.
    #[error(transparent)]
    Header(#[from] BadHeader),
    /// Without a valid name it cannot be asked for.
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

    /// The limits of a turn of this agent, never wider than `whole`.
    pub(crate) fn within(&self, whole: &Limits) -> Limits {
        let narrower = match (self.max_rounds.filter(|own| *own > 0), whole.max_rounds) {
            (Some(own), Some(all)) if all > 0 => Some(own.min(all)),
            (Some(own), _) => Some(own),
            (None, all) => all,
        };
        Limits { max_rounds: narrower, ..whole.clone() }
    }

    /// What a job of this agent begins with.
    pub fn opening(&self, order: &JobSpec) -> Vec<Part> {
        let prompt = self.prompt.as_deref().unwrap_or("{description}");
        vec![Part::text(prompt.replace("{description}", &order.description))]
    }
}

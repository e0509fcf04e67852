//! [`Profile`]: the numbers, texts and formats in which agent systems differ, as data (`profiles/*.toml`).
//!
//! Code never checks a profile's name, only its settings.
use crate::setup::{Agent, Delegation};
use haft_call::{CallRules, Redundancy, Unread};
use haft_core::{Clip, Limits, Render, Rule, Ruling, Sandbox, Validation};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The settings of a way to work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name for `--profile`.
    pub name: String,
    /// A description in one line, for lists.
    pub title: String,
    /// The system prompt.
    pub system: String,
    /// Appended to the system prompt, with `{tools}` replaced by a line for each tool. `None` if requests contain the
    /// tools natively, which is the normal case.
    #[serde(default)]
    pub tool_list: Option<String>,
    /// The line of a tool, with `{name}`, `{parameters}` and `{description}` replaced.
    #[serde(default = "tool_line")]
    pub tool_line: String,
    /// Whether the user's notes for agents are a part of the system prompt.
    #[serde(default = "yes")]
    pub notes: bool,
    /// The dialect in which calls are written as text: a name, or `auto` to choose by the model's name; `None` for
    /// models that call natively.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Whether the model is shown the tools natively as well, and calls in `dialect` count only in a reply without
    /// native ones.
    #[serde(default)]
    pub native_first: bool,
    /// Whether calls of one reply that only read may run at the same time.
    #[serde(default = "yes")]
    pub parallel: bool,
    /// Replacements for settings of built-in agents, by the agent's name.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentInProfile>,
    /// Maximum tokens of one reply.
    pub max_output: u32,
    /// Sampling settings, by the wire's own names.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// How arguments are checked against their schema.
    #[serde(default)]
    pub validation: Validation,
    /// Which files that the model has not read may be changed.
    #[serde(default)]
    pub unread: Unread,
    /// Whether a repeated call that cannot give a different result runs again.
    #[serde(default)]
    pub redundancy: Redundancy,
    /// Limits at which a turn ends.
    #[serde(default)]
    pub limits: Limits,
    /// Rules that limit what may run.
    #[serde(default)]
    pub rules: ProfileRules,
    /// Whether commands are confined to a view of the workspace, so that their changes are judged before they are
    /// settled.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// Limits of delegation.
    #[serde(default)]
    pub delegation: Delegation,
    /// Texts for the ends of turns.
    #[serde(default)]
    pub reasons: Reasons,
    /// How results are worded.
    #[serde(default)]
    pub render: Render,
    /// Maximum length of a result.
    #[serde(default)]
    pub clip: Clip,
    /// Texts of a line-by-line conversation.
    #[serde(default)]
    pub chat: Chat,
    /// Settings of the tools, read by the crate that has them.
    #[serde(default)]
    pub tools: toml::Table,
}

/// A profile's texts for turns that did not end by themselves. Haft's own texts replace missing ones.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reasons {
    /// The model could not be asked, with `{n}` for the round, counted from 0, and `{why}`.
    pub inference: Option<String>,
    /// The rounds are used up, with `{n}` for their number.
    pub rounds: Option<String>,
    /// The journal could not be written, with `{why}`.
    pub save: Option<String>,
}

/// A profile's changes of an agent. Fields that are left out stay unchanged.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentInProfile {
    /// The system prompt.
    pub system: Option<String>,
    /// Names of its tools. The tool that ends its jobs is always available.
    pub tools: Option<Vec<String>>,
}

/// The texts of a line-by-line conversation. The front-end's own texts replace missing ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Chat {
    /// Printed at the start.
    pub banner: Option<String>,
    /// Printed before the user's input.
    pub prompt: Option<String>,
    /// Printed before the reply.
    pub reply: Option<String>,
    /// Printed before calls are run, with `{n}`.
    pub executing: Option<String>,
    /// Printed after a successful call, with `{name}`.
    pub done: Option<String>,
    /// Printed after a failed call, with `{name}`.
    pub failed: Option<String>,
    /// Printed when the limit on rounds is reached, with `{n}`.
    pub cap: Option<String>,
    /// Number of lines of a result that users see.
    pub preview_lines: usize,
    /// Settings for front-ends in which a reply is one message that grows.
    pub edits: Edits,
}

impl Default for Chat {
    fn default() -> Self {
        let (banner, prompt, reply, executing, done, failed, cap, edits) = Default::default();
        Self { banner, prompt, reply, executing, done, failed, cap, preview_lines: 3, edits }
    }
}

/// When to edit the message that shows a growing reply.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Edits {
    /// The message is edited after more new characters than this, or for a call, and never faster than the service
    /// accepts.
    pub more_than: usize,
    /// Maximum UTF-16 units of a message, if less than the service accepts.
    pub limit: Option<usize>,
}

fn tool_line() -> String {
    "- {name}({parameters}): {description}".into()
}

fn yes() -> bool {
    true
}

const BUILT_IN_PROFILES: [&str; 6] = [
    include_str!("../../profiles/default.toml"),
    include_str!("../../profiles/alfred.toml"),
    include_str!("../../profiles/pedro.toml"),
    include_str!("../../profiles/ally.toml"),
    include_str!("../../profiles/opencode.toml"),
    include_str!("../../profiles/picoclaw.toml"),
];

impl Profile {
    /// The default profile.
    pub fn standard() -> Self {
        Self::built_in(BUILT_IN_PROFILES[0])
    }

    /// A built-in profile.
    pub fn named(name: &str) -> Option<Self> {
        Self::source(name).map(Self::built_in)
    }

    /// The built-in profiles.
    pub fn all() -> Vec<Self> {
        BUILT_IN_PROFILES.map(Self::built_in).into()
    }

    /// The TOML of a built-in profile.
    pub fn source(name: &str) -> Option<&'static str> {
        // The name is in the first line, so that other profiles need not be parsed.
        let line = format!("name = \"{name}\"");
        BUILT_IN_PROFILES.into_iter().find(|text| text.lines().next() == Some(&line))
    }

    fn built_in(text: &str) -> Self {
        Self::parse(text).expect("the built-in profiles are tested")
    }

    /// A built-in agent as it is in this profile.
    pub fn agent(&self, mut agent: Agent) -> Agent {
        let AgentInProfile { system, tools } = self.agents.get(&agent.name).cloned().unwrap_or_default();
        agent.system = system.unwrap_or(agent.system);
        agent.tools = tools.or(agent.tools);
        agent
    }

    /// How calls are checked and their results worded.
    pub(crate) fn call_rules(&self, call_seconds: u64) -> CallRules {
        CallRules {
            validation: self.validation,
            unread: self.unread,
            redundancy: self.redundancy,
            render: self.render.clone(),
            clip: Some(self.clip),
            call_seconds,
        }
    }

    /// Parses a user's profile from TOML. The error names the line and what was expected.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}

/// Rules of a profile, which come before the user's rules.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileRules {
    /// Effects that are denied.
    #[serde(deserialize_with = "denying")]
    pub deny: Vec<Rule>,
    /// The only commands and network targets that are possible; without entries, all are.
    #[serde(deserialize_with = "limiting")]
    pub only: Vec<Rule>,
}

impl ProfileRules {
    pub(crate) fn all(&self) -> impl Iterator<Item = Rule> + use<> {
        [self.deny.clone(), self.only.clone()].into_iter().flatten()
    }
}

fn denying<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    rules(deserializer, Ruling::Deny)
}

fn limiting<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    rules(deserializer, Ruling::Only)
}

fn rules<'de, D: Deserializer<'de>>(deserializer: D, ruling: Ruling) -> Result<Vec<Rule>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| Rule::parse(ruling, text).map_err(D::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::OnCap;

    #[test]
    fn the_built_in_profiles_can_be_read() {
        let names: Vec<_> = Profile::all().into_iter().map(|profile| profile.name).collect();
        assert_eq!(names, ["default", "alfred", "pedro", "ally", "opencode", "picoclaw"]);
        for name in &names {
            assert_eq!(Profile::named(name).unwrap().name, *name);
        }
        assert!(["", "alf", "alfred\"", "edit_file"].iter().all(|name| Profile::named(name).is_none()));
    }

    //
    #[test]
    fn alfred_keeps_its_numbers_and_words() {
        let alfred = Profile::named("alfred").unwrap();
        assert_eq!((alfred.limits.max_rounds, alfred.max_output), (Some(10), 4000));
        assert_eq!(alfred.options["temperature"], 0.7);
        let apology =
            "I apologize, but I needed too many steps to complete this task. Please try breaking it down.";
        assert_eq!(alfred.limits.on_cap, OnCap::Apologize(apology.into()));
        let chat = alfred.chat;
        assert_eq!(chat.banner.as_deref(), Some("Alfred CLI. Type 'exit' to quit.\n\n"));
        assert_eq!((chat.prompt.as_deref(), chat.reply.as_deref()), (Some("You: "), Some("Alfred: ")));
        assert_eq!(chat.executing.as_deref(), Some("\n[Executing {n} tool(s)...]\n"));
        assert_eq!(
            (chat.done.as_deref(), chat.failed.as_deref()),
            (Some("[{name}] ✓\n"), Some("[{name}] ✗\n"))
        );
        assert_eq!(chat.cap.as_deref(), Some("\n[Max iterations reached]\n"));
        assert_eq!((chat.edits.more_than, chat.edits.limit), (50, Some(4000)));
    }
}

//! [`Profile`]: every number, text and shape that systems disagree on, as data (`profiles/*.toml`).
//!
//! No code asks for a profile's name; it asks for the setting.
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
    /// What `--profile` takes.
    pub name: String,
    /// In one line, for lists.
    pub title: String,
    /// The system prompt.
    pub system: String,
    /// Appended to the system prompt, with `{tools}` replaced by a line for each tool.
    /// `None` if the wire carries the tools, which is the rule.
    #[serde(default)]
    pub tool_list: Option<String>,
    /// That line, with `{name}`, `{parameters}` and `{description}` replaced.
    #[serde(default = "tool_line")]
    pub tool_line: String,
    /// Whether what people wrote down for agents is a part of the system prompt.
    #[serde(default = "yes")]
    pub notes: bool,
    /// The dialect in which calls are written as text: a name, `auto` for the one that the model's name tells; `None`
    /// for models that call natively.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Whether the model is shown the tools natively as well, and calls in `dialect` count only in a reply without
    /// native ones.
    #[serde(default)]
    pub native_first: bool,
    /// Whether calls of one reply that only read may run at the same time.
    #[serde(default = "yes")]
    pub parallel: bool,
    /// What agents that come with Haft have in place of their own, by name.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentInProfile>,
    /// Maximum tokens of one reply.
    pub max_output: u32,
    /// Sampling settings, by the wire's own names.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// How arguments are held against their schema.
    #[serde(default)]
    pub validation: Validation,
    /// Which files may be changed that the model has not read.
    #[serde(default)]
    pub unread: Unread,
    /// Whether a call is made again that can bring nothing new.
    #[serde(default)]
    pub redundancy: Redundancy,
    /// When a turn ends that does not end by itself.
    #[serde(default)]
    pub limits: Limits,
    /// What may run at all.
    #[serde(default)]
    pub rules: ProfileRules,
    /// Whether commands are confined to a view of the workspace, so that what they changed is judged before it is real.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// How far work is delegated.
    #[serde(default)]
    pub delegation: Delegation,
    /// How ends are worded.
    #[serde(default)]
    pub reasons: Reasons,
    /// How results are worded.
    #[serde(default)]
    pub render: Render,
    /// How long a result may be.
    #[serde(default)]
    pub clip: Clip,
    /// What a conversation line by line looks like.
    #[serde(default)]
    pub chat: Chat,
    /// Settings of the tools, read by the crate that has them.
    #[serde(default)]
    pub tools: toml::Table,
}

/// Why a turn did not end by itself, in the words of a profile. Haft's own texts replace those that are missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reasons {
    /// The model could not be asked, with `{n}` for the round, counted from 0, and `{why}`.
    pub inference: Option<String>,
    /// The rounds are used up, with `{n}` for their number.
    pub rounds: Option<String>,
    /// What happened could not be recorded, with `{why}`.
    pub save: Option<String>,
}

/// What a profile changes of an agent. What is left out stays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentInProfile {
    /// The system prompt.
    pub system: Option<String>,
    /// Names of its tools. The one that ends its jobs can be called, whether it is named here or not.
    pub tools: Option<Vec<String>>,
}

/// The words of a conversation line by line. The front-end's own texts replace those that are missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Chat {
    /// Printed at the start.
    pub banner: Option<String>,
    /// Before what the person types.
    pub prompt: Option<String>,
    /// Before the reply.
    pub reply: Option<String>,
    /// Before calls are run, with `{n}`.
    pub executing: Option<String>,
    /// After a call that worked, with `{name}`.
    pub done: Option<String>,
    /// After a call that did not, with `{name}`.
    pub failed: Option<String>,
    /// When the cap on rounds is reached, with `{n}`.
    pub cap: Option<String>,
    /// Lines of a result that people see.
    pub preview_lines: usize,
    /// Where a reply is one message that grows.
    pub edits: Edits,
}

impl Default for Chat {
    fn default() -> Self {
        let (banner, prompt, reply, executing, done, failed, cap, edits) = Default::default();
        Self { banner, prompt, reply, executing, done, failed, cap, preview_lines: 3, edits }
    }
}

/// How a message keeps up with a reply, where each change of it is an edit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Edits {
    /// The message is edited after more new characters than this, or for a call, and never faster than the service
    /// accepts.
    pub more_than: usize,
    /// UTF-16 units of a message, where that is less than the line takes.
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
        // It is the first line. Profiles that are not asked for are not parsed.
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

    /// A profile of one's own, from TOML. The error names the line and what was expected.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}

/// Rules as a person writes them, which are before the person's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileRules {
    /// Effects that are denied.
    #[serde(deserialize_with = "denying")]
    pub deny: Vec<Rule>,
    /// The only commands, and the only targets, that may be asked for; all are where none is named.
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

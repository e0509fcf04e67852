//! What may stand in the files: the person's own, and the project's.
use super::{
    environment::{EnvironmentFile, NarrowEnvironment},
    timeouts::TimeoutsFile,
};
use crate::mcp::McpFile;
use haft::{
    kernel::{Mode, Price, budget::amount},
    tools::HookSettings,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// The person's own file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UserFile {
    /// `VENDOR/MODEL`.
    pub(crate) model: Option<String>,
    /// `ask`, `accept-edits`, `full` or `read-only`.
    pub(crate) permission: Option<Mode>,
    /// A built-in profile or a TOML file.
    pub(crate) profile: Option<String>,
    /// Colors of the screen: `terminal`, `dark`, `light` or `plain`.
    pub(crate) theme: Option<String>,
    /// Model calls in a turn; 0 for no limit, here and below.
    pub(crate) max_rounds: Option<u32>,
    /// US dollars for a turn.
    #[serde(deserialize_with = "amount::optional")]
    pub(crate) max_cost: Option<f64>,
    /// Tokens for a turn.
    pub(crate) max_tokens: Option<u64>,
    /// Seconds for a turn.
    pub(crate) max_time: Option<u64>,
    /// Whether what a reply claims is held against what happened.
    pub(crate) evidence: Option<bool>,
    /// Windows and prices that Haft does not know, by `VENDOR/MODEL`.
    pub(crate) models: BTreeMap<String, ModelFile>,
    /// What of the environment commands get.
    pub(crate) environment: EnvironmentFile,
    /// How long models are waited for.
    pub(crate) timeouts: TimeoutsFile,
    /// By vendor name.
    pub(crate) vendors: BTreeMap<String, VendorFile>,
    /// Models behind a command, for `exec/NAME`.
    pub(crate) exec: BTreeMap<String, ExecFile>,
    /// Servers with tools, by the name that stands in their tools' names.
    pub(crate) mcp: BTreeMap<String, McpFile>,
    /// Over effects.
    pub(crate) rules: Rules,
    /// Settings of tools, over those of the profile: `[tools.fetch]`.
    pub(crate) tools: toml::Table,
    /// Commands and addresses that look at what happens.
    pub(crate) hooks: Vec<HookSettings>,
    /// The bot.
    pub(crate) telegram: TelegramFile,
}

/// What a person sets for `haft telegram`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TelegramFile {
    /// Who may talk, by Telegram's number.
    pub(crate) users: Vec<i64>,
    /// The variable that the bot's token stands in; the token itself is kept out of files.
    pub(crate) token_env: Option<String>,
}

/// What a person knows of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelFile {
    /// Tokens that it takes in, request and reply together.
    pub(crate) window: Option<u64>,
    /// US dollars for a million tokens.
    pub(crate) price: Option<Price>,
}

/// A command that answers one prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecFile {
    /// Looked up in the `PATH`, or a path.
    pub(crate) program: PathBuf,
    /// One by one, with `{prompt}` and `{model}`; without `{prompt}` it comes on standard input.
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
    /// The model's name: it says which dialect is spoken. Else the name of the table.
    pub(crate) model: Option<String>,
}

/// What a person sets for a vendor.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct VendorFile {
    /// Another server.
    pub(crate) base_url: Option<String>,
    /// The key itself; better kept in the vendor's variable.
    #[serde(skip_serializing)]
    pub(crate) key: Option<String>,
    /// In place of those for all vendors.
    pub(crate) timeouts: TimeoutsFile,
}

impl std::fmt::Debug for VendorFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VendorFile").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// Rules as written: `write:src/**`, `execute:git status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rules {
    /// Never.
    pub(crate) deny: Vec<String>,
    /// Only after a question.
    pub(crate) ask: Vec<String>,
    /// Without a question.
    pub(crate) allow: Vec<String>,
}

/// The project's own file, `.haft/config.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProjectFile {
    /// Used where it is narrower than the person's.
    pub(crate) permission: Option<Mode>,
    /// Used where it is lower than the person's.
    pub(crate) max_rounds: Option<u32>,
    /// Of the person's MCP servers only these; none for all of them.
    pub(crate) mcp: Option<Vec<String>>,
    /// The same.
    #[serde(deserialize_with = "amount::optional")]
    pub(crate) max_cost: Option<f64>,
    /// The same.
    pub(crate) max_tokens: Option<u64>,
    /// The same.
    pub(crate) max_time: Option<u64>,
    /// Taken from what commands get.
    pub(crate) environment: NarrowEnvironment,
    /// Added before the person's.
    pub(crate) rules: NarrowRules,
    /// None: they start programs, and nobody vouches for a repository.
    #[serde(skip_serializing, deserialize_with = "no_hooks")]
    pub(crate) hooks: (),
}

fn no_hooks<'de, D: serde::Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(serde::de::Error::custom("a project may not have hooks; they stand in the person's own file only"))
}

/// Rules that can only narrow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NarrowRules {
    /// Never.
    pub(crate) deny: Vec<String>,
    /// Only after a question.
    pub(crate) ask: Vec<String>,
}

//! [`ModelFile`], [`ExecFile`] and others: the tables of the configuration files.
use super::timeouts::TimeoutsFile;
use haft_core::Price;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// What a person sets for `haft telegram`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TelegramFile {
    /// IDs of the users who may talk to the bot.
    pub users: Vec<i64>,
    /// Name of the environment variable with the bot's token; `TELEGRAM_BOT_TOKEN` if left out.
    pub token_env: Option<String>,
}

/// What a person knows of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelFile {
    /// Context window: tokens of request and reply together.
    pub window: Option<u64>,
    /// Prices in US dollars for a million tokens.
    pub price: Option<Price>,
}

/// A command that answers one prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExecFile {
    /// Program to start: a name that is looked up in the `PATH`, or a path.
    pub program: PathBuf,
    /// Its arguments; `{prompt}` and `{model}` are replaced. Without `{prompt}` the prompt is written to standard input.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Model name, from which the format of its calls is derived; the name of the table if left out.
    pub model: Option<String>,
}

/// What a person sets for a vendor.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct VendorFile {
    /// Base URL of another server.
    pub base_url: Option<String>,
    /// API key; better kept in the vendor's environment variable.
    #[serde(skip_serializing)]
    pub key: Option<String>,
    /// Timeouts for this vendor, over `[timeouts]`.
    pub timeouts: TimeoutsFile,
}

impl std::fmt::Debug for VendorFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VendorFile").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// A program or an address. In `environment` and `headers` `${NAME}` stands for a variable of the environment.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct McpFile {
    /// Program to start, which speaks MCP on standard input and output.
    pub command: Option<String>,
    /// Its arguments.
    #[serde(alias = "args")]
    pub arguments: Vec<String>,
    /// Environment variables for it; `${NAME}` is replaced by the variable of that name.
    #[serde(alias = "env", skip_serializing)]
    pub environment: BTreeMap<String, String>,
    /// Address of a server that speaks Streamable HTTP.
    pub url: Option<String>,
    /// HTTP headers for every request; `${NAME}` is replaced by the variable of that name.
    #[serde(skip_serializing)]
    pub headers: BTreeMap<String, String>,
    /// Tools to offer, by the server's own names; all if left out.
    pub tools: Option<Vec<String>>,
    /// Run tools without approval that the server calls read-only.
    pub trust_hints: bool,
    /// Seconds until it must have listed its tools; 60 if left out.
    pub start_timeout: Option<u64>,
    /// Seconds for which a call may be silent; 300 if left out.
    pub call_timeout: Option<u64>,
}

impl std::fmt::Debug for McpFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (command, url) = (&self.command, &self.url);
        f.debug_struct("McpFile").field("command", command).field("url", url).finish_non_exhaustive()
    }
}

/// Rules as written: `write:src/**`, `execute:git status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Effects that are denied.
    pub deny: Vec<String>,
    /// The only commands that may run, in place of those that the profile lists.
    pub only: Vec<String>,
    /// Effects that are asked for.
    pub ask: Vec<String>,
    /// Effects that run without a question.
    pub allow: Vec<String>,
}

/// What confined commands may reach besides the workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CommandsFile {
    /// Folders that they may write, e.g. `~/.cargo/registry`. What they do there is real at once, and not undone.
    pub writable: Vec<String>,
    /// Files and folders that they see as empty, in addition to keys, browser profiles and Haft's own folders.
    pub hidden: Vec<String>,
    /// Allows hosts in private networks, if commands may reach them by name; never this machine.
    pub private_hosts: bool,
    /// Maximum processes and threads of one command, from 301; 4,096 if left out. For root this needs Linux 6.14.
    pub processes: Option<u32>,
    /// Maximum megabytes of a file that they write; a command that writes more is ended. No limit if left out.
    pub file_size: Option<u32>,
    /// Maximum megabytes of memory of each process of a command. No limit if left out.
    pub memory: Option<u32>,
}

/// Fails: hooks start programs, and a repository is not trusted.
pub(super) fn no_hooks<'de, D: serde::Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(serde::de::Error::custom("a project may not have hooks; they stand in the person's own file only"))
}

/// Rules that can only narrow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct NarrowRules {
    /// Effects that are denied.
    pub deny: Vec<String>,
    /// Effects that are asked for.
    pub ask: Vec<String>,
}

//! [`ModelFile`], [`ExecFile`] and others: the tables of the configuration files.
use super::timeouts::TimeoutsFile;
use haft_core::Price;
use haft_providers::CacheTtl;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf};

/// What a person sets for `haft telegram`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TelegramFile {
    /// IDs of the users who may use the bot.
    pub users: Vec<i64>,
    /// Environment variable that holds the bot's token (default: `TELEGRAM_BOT_TOKEN`).
    pub token_env: Option<String>,
}

/// Keys of the screen: by the name of a place, then by the name of an action.
pub type KeysFile = BTreeMap<String, BTreeMap<String, KeyNames>>;

/// The keys of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a key such as \"Ctrl+S\", or a list of keys")]
pub enum KeyNames {
    /// One key.
    One(String),
    /// Several keys, or none.
    Several(Vec<String>),
}

impl KeyNames {
    /// The names of the keys.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name.clone()],
            Self::Several(names) => names.clone(),
        }
    }
}

/// Where `haft update` looks for releases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct UpdateFile {
    /// HTTPS address of the index of releases, `…/index.json`; its signature is expected next to it, at `…/index.json.minisig` (default: set when Haft was built).
    pub index: Option<String>,
    /// Public minisign key that the index must be signed with; several with commas, e.g., while a key is replaced (default: set when Haft was built).
    pub key: Option<String>,
    /// Ask the index for a newer version at most once a day while the interactive screen is open, and say so when it opens the next time.
    pub check: bool,
    /// Maximum seconds for each 16 KiB of a download (default: 30).
    pub timeout: Option<NonZeroU32>,
}

/// What a person knows of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelFile {
    /// Context window: tokens of request and reply together.
    pub window: Option<u64>,
    /// Prices in US dollars per million tokens.
    pub price: Option<Price>,
    /// Whether the model takes PDFs as they are (default: known for models of Anthropic, OpenAI Responses and Gemini).
    pub documents: Option<bool>,
    /// Models that take over in a turn if this one cannot answer, in this order, as `PROVIDER/MODEL`, or `PROVIDER@ACCOUNT/MODEL` with the key of an account; `--fallback` replaces them.
    pub fallback: Vec<String>,
    /// Format of the calls that the model writes as text: a name that `haft parse --dialect '?'` lists, or `auto`; `--dialect` and the `dialect` of a profile go before it (default: native calls; `auto` for `exec/NAME`).
    pub dialect: Option<String>,
}

/// A command that answers one prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExecFile {
    /// Program to start: a path, or a name to look up in `PATH`.
    pub program: PathBuf,
    /// Its arguments; `{prompt}` and `{model}` are replaced. Without `{prompt}`, the prompt is written to standard input.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Model name, which determines the tool-call format (default: the name of the table).
    pub model: Option<String>,
}

/// What a person sets for an account.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AccountFile {
    /// Directories in which the account is used; of several that hold the workspace, the innermost one counts.
    pub folders: Vec<String>,
    /// API keys, by provider; prefer `haft login PROVIDER --account NAME`.
    #[serde(skip_serializing)]
    pub keys: BTreeMap<String, String>,
}

impl std::fmt::Debug for AccountFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccountFile").field("folders", &self.folders).finish_non_exhaustive()
    }
}

/// What a person sets for a vendor.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct VendorFile {
    /// Base URL of the API, in place of the provider's own.
    pub base_url: Option<String>,
    /// API key; prefer `haft login` or the provider's environment variable.
    #[serde(skip_serializing)]
    pub key: Option<String>,
    /// How long the provider keeps the conversation in its cache: `5m`, or `1h`, which costs twice the price of input to write; for `anthropic` and `vertex-anthropic`, the others decide themselves (default: 5m).
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub cache_ttl: Option<CacheTtl>,
    /// Region of a cloud, for `vertex` (default: `global`) and `bedrock`; its own variables override it.
    pub region: Option<String>,
    /// Project of Google Cloud, for `vertex`; `GOOGLE_CLOUD_PROJECT` overrides it.
    pub project: Option<String>,
    /// Profile in the shared files of AWS, for `bedrock`; `AWS_PROFILE` overrides it.
    pub profile: Option<String>,
    /// Timeouts for this provider; override `[timeouts]`.
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
    /// How `haft mcp login` introduces Haft to the authorization server of this address.
    pub oauth: McpOAuthFile,
    /// Tools to offer, by the server's own names (default: all).
    pub tools: Option<Vec<String>>,
    /// Do not require approval for tools that the server declares read-only.
    pub trust_hints: bool,
    /// Folders that it is told of if it asks for roots: `true` for the workspace, `false` for none, or a list of absolute paths (default: `true`, but `false` for a program with a folder among its arguments).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<McpRootsFile>,
    /// Let its calls ask your model, at your expense; you read each prompt and are asked before it is sent.
    pub sampling: bool,
    /// Maximum seconds until it lists its tools (default: 60).
    pub start_timeout: Option<u64>,
    /// Maximum seconds without output from a call (default: 300).
    pub call_timeout: Option<u64>,
}

/// The roots of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "`true`, `false`, or a list of folders")]
pub enum McpRootsFile {
    /// The workspace, or none.
    Workspace(bool),
    /// These folders.
    Folders(Vec<String>),
}

/// A client that was registered at an authorization server. Without one, Haft registers itself.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct McpOAuthFile {
    /// ID of a registered client, or the HTTPS address of a client ID metadata document.
    pub client_id: Option<String>,
    /// Secret of the client; `${NAME}` is replaced by the variable of that name.
    #[serde(skip_serializing)]
    pub client_secret: Option<String>,
    /// Scopes to ask for (default: those that the server names).
    pub scopes: Vec<String>,
    /// Port of this machine that the browser comes back to, if the client was registered with one (default: any free port).
    pub callback_port: Option<u16>,
}

impl std::fmt::Debug for McpOAuthFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpOAuthFile").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

impl McpFile {
    /// A server as Claude Code writes it, of a plugin or a project whose files lie in `files`.
    pub(crate) fn of_plugin(written: &serde_json::Value, files: &str) -> Self {
        // Visual Studio Code writes `${env:NAME}`.
        let filled = |text: &str| text.replace("${CLAUDE_PLUGIN_ROOT}", files).replace("${env:", "${");
        let text = |name: &str| written[name].as_str().map(filled);
        let map = |name: &str| {
            let pairs = written[name].as_object().into_iter().flatten();
            pairs.filter_map(|(name, value)| Some((name.clone(), filled(value.as_str()?)))).collect()
        };
        let arguments = written["args"].as_array().into_iter().flatten();
        Self {
            command: text("command"),
            arguments: arguments.filter_map(|word| word.as_str().map(filled)).collect(),
            environment: map("env"),
            url: text("url"),
            headers: map("headers"),
            ..Self::default()
        }
    }
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
    /// The only commands that may run; replaces the profile's list.
    pub only: Vec<String>,
    /// Effects that need approval.
    pub ask: Vec<String>,
    /// Effects that run without approval.
    pub allow: Vec<String>,
}

/// What confined commands may access in addition to the workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CommandsFile {
    /// Directories that they may write to, e.g., `~/.cargo/registry`. Changes there apply immediately and cannot be undone.
    pub writable: Vec<String>,
    /// Directories of build tools that they find as they are and may write to, in addition to `~/.cache`, `~/.cargo/registry`, `~/.npm` and the like. What they write there is dropped when Haft ends.
    pub caches: Vec<String>,
    /// Files and directories that appear empty to them, in addition to keys, browser profiles and Haft's own directories.
    pub hidden: Vec<String>,
    /// Allow hosts in private networks that they may reach by name; never this machine.
    pub private_hosts: bool,
    /// Maximum processes and threads per command, at least 301 (default: 4,096). For root, requires Linux 6.14.
    pub processes: Option<u32>,
    /// Maximum size in megabytes of a file that they write; a command that exceeds it is ended (default: no limit).
    pub file_size: Option<u32>,
    /// Maximum megabytes of memory per process of a command (default: no limit).
    pub memory: Option<u32>,
}

/// Fails: hooks start programs, and a repository is not trusted.
pub(super) fn no_hooks<'de, D: serde::Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(serde::de::Error::custom("a project may not define hooks; define them in your own file"))
}

/// Rules that can only narrow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct NarrowRules {
    /// Effects that are denied.
    pub deny: Vec<String>,
    /// Effects that need approval.
    pub ask: Vec<String>,
}

//! The table of settings. A row makes the option and its help, the variable, the key in the files, the line of `haft
//! config show` and the line in the documentation.
#[cfg(test)]
use super::lsp::LspServerFile;
use super::{
    environment::{EnvironmentFile, NarrowEnvironment},
    files::{
        AccountFile, CommandsFile, ExecFile, KeysFile, McpFile, ModelFile, NarrowRules, Rules, TelegramFile,
        UpdateFile, VendorFile, no_hooks,
    },
    lsp::LspFile,
    serve::ServeFile,
    setting::{Dollars, Kind, ModelList, Setting, Value, in_toml, settings},
    timeouts::TimeoutsFile,
    words::{EditorMode, Hyperlinks, NotificationKind},
};
use haft_core::{Mode, Network, Sandbox};
use haft_providers::Effort;
use haft_tools::{HookSettings, PluginHook};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, num::NonZeroU64};

settings! {
    own {
        /// Model to use, as PROVIDER/MODEL: `openai/gpt-5`, `anthropic/…`, `ollama/…`, `local/NAME|FILE.gguf`
        model: String { value: "MODEL", short: Some('m'), otherwise: "default model of the first provider with a key" },
        /// Reasoning effort; ignored for models without one
        effort: Effort { value: "LEVEL", otherwise: "the model's default" },
        /// Models that take over in a turn, in this order, if the model is overloaded, out of credit or quota, or refuses to answer: MODEL,MODEL
        fallback: ModelList { value: "MODELS", otherwise: "`fallback` of the model's own table" },
        /// If no model can answer, sleep until the time that the provider names, and go on; jobs always do
        wait: bool { is_of_profile: true },
        /// Maximum seconds per turn that `--wait` sleeps; 0 for never
        wait_limit: u32 { value: "SECONDS", otherwise: "21600 (6 hours)" },
        /// Account whose API keys to use, and no other ones
        account: String { value: "NAME", otherwise: "the account whose `folders` hold the workspace" },
        /// Profile to use: `default`, `alfred`, `pedro`, `ally`, `opencode`, `picoclaw`, or a TOML file
        profile: String { value: "NAME", otherwise: "default" },
        /// Check the claims of the reply against the journal; exit with 5 if one is unproven
        evidence: bool { is_of_profile: true },
        /// Command that proves the work for `--evidence`, e.g., `make check`; without it, any test run does
        check: String { value: "COMMAND", is_of_profile: true },
        /// Colors of the screen: `terminal`, `dark`, `light`, `plain`, or `NAME` for `themes/NAME.toml` beside your configuration
        theme: String { has_flag: false, otherwise: "terminal" },
        /// What the last line of the screen shows, such as `{model} · {folder} · {cost}`; `haft help terminal` lists the names
        status_line: String { has_flag: false, otherwise: "model, mode, window and cost" },
        /// Command for `sh` whose first line of output the last line of the screen shows; it reads JSON about the session
        status_command: String { has_flag: false, otherwise: "none" },
        /// Whether addresses and paths that are shown can be clicked (OSC 8): `auto` in terminals that are known to show links
        hyperlinks: Hyperlinks { value: "auto|always|never", has_flag: false, otherwise: "auto" },
        /// Keys of the text that you type on the screen: `normal`, or `vim` for those of vi
        editor_mode: EditorMode { has_flag: false, otherwise: "normal" },
        /// How the screen notifies you when a question waits, or a turn of ten seconds has ended, and the terminal is not focused: `osc9`, `osc777`, `bell` or `off`
        notifications: NotificationKind { has_flag: false, otherwise: "osc9" },
    }
    narrowed {
        /// What to do with an effect (a file read or written, a command, a host) that no rule matches; `ask` denies it if no user can answer
        permission: Mode { value: "MODE", otherwise: "ask" },
        /// Whether to confine commands: no network, and a view of the workspace, so that you see changes before they are applied
        sandbox: Sandbox { value: "auto|off|require", is_of_profile: true },
        /// Network access of confined commands: `off`, `ask`, `on`, or a list of allowed hosts: HOST,HOST
        network: Network { value: "NETWORK", otherwise: "ask" },
        /// Maximum model calls per turn (a prompt and the work that follows); 0 uses the profile's limit
        max_rounds: u32 { value: "N", is_of_profile: true },
        /// Maximum cost per turn in US dollars, including subagents
        max_cost: Dollars { value: "USD", is_of_profile: true },
        /// Maximum tokens per turn, input and output, including subagents
        max_tokens: NonZeroU64 { value: "N", is_of_profile: true },
        /// Maximum seconds per turn
        max_time: NonZeroU64 { value: "SECONDS", is_of_profile: true },
    }
    tables {
        /// What confined commands may access in addition to the workspace
        commands: CommandsFile,
        /// Context windows and prices of models that Haft does not know, what takes over for a model, and the format of its calls in text, by `PROVIDER/MODEL`
        models: BTreeMap<String, ModelFile>,
        /// Environment variables that commands get, by name; `*` matches any characters
        environment: EnvironmentFile,
        /// Timeouts for models, in seconds from 1 to 86,400
        timeouts: TimeoutsFile,
        /// Accounts with API keys of their own, by name
        accounts: BTreeMap<String, AccountFile>,
        /// Base URLs, API keys and timeouts, by provider
        vendors: BTreeMap<String, VendorFile>,
        /// Commands that answer one prompt, used as the model `exec/NAME`
        exec: BTreeMap<String, ExecFile>,
        /// MCP servers, by name; the name is the prefix of their tools' names
        mcp: BTreeMap<String, McpFile>,
        /// Language servers, by name, in addition to those that Haft knows, or in place of one of the same name; `lsp = false` starts none
        #[cfg_attr(test, schemars(with = "BTreeMap<String, LspServerFile>"))]
        lsp: LspFile,
        /// Rules about effects, such as `write:src/**` and `execute:git status`
        rules: Rules,
        /// Settings of tools; override those of the profile
        #[cfg_attr(test, schemars(with = "haft_tools::Settings"))]
        tools: toml::Table,
        /// Commands and URLs that are notified of events
        #[cfg_attr(test, schemars(with = "Vec<HookSettings>"))]
        hooks: Vec<HookSettings>,
        /// Commands that are notified in the protocol of Claude Code; they run confined, and their changes are dropped
        claude_hooks: Vec<PluginHook>,
        /// The Telegram bot
        telegram: TelegramFile,
        /// What users of `haft serve` may do
        serve: ServeFile,
        /// Where `haft update` finds releases
        update: UpdateFile,
        /// Keys of the screen, by place and action, e.g., `[keys.prompt]` with `submit = "Alt+Enter"`; a list binds several keys, an empty one none. `haft help keys` lists places and actions
        keys: KeysFile,
    }
    project_tables {
        /// Your MCP servers that this project may use (default: all)
        mcp: Option<Vec<String>>,
        /// Whether language servers may start for this project (default: yes)
        lsp: Option<bool>,
        /// Environment variables that commands do not get
        environment: NarrowEnvironment,
        /// Rules in addition to yours; `deny` rules are tried first, then `ask`, then `allow`
        rules: NarrowRules,
        /// Always empty: hooks start programs, and a repository is not trusted.
        #[cfg_attr(test, schemars(skip))]
        #[serde(skip_serializing, deserialize_with = "no_hooks")]
        hooks: (),
    }
}

/// The row with this key.
pub(super) fn setting(key: &str) -> &'static Setting {
    SETTINGS.iter().find(|setting| setting.key == key).expect("every key has a row")
}

impl Settings {
    /// Uses `model` if no model is set.
    pub fn with_model(&self, model: Option<String>) -> Self {
        self.clone().over(Self { model, ..Self::default() })
    }
}

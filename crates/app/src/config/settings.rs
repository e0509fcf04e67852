//! The one table of settings: a row makes the option and its help, the variable, the key in the files, the line of `haft
//! config show` and the one in the documentation.
use super::{
    environment::{EnvironmentFile, NarrowEnvironment},
    files::{
        CommandsFile, ExecFile, McpFile, ModelFile, NarrowRules, Rules, TelegramFile, VendorFile, no_hooks,
    },
    setting::{Dollars, Kind, Setting, Value, in_toml, settings},
    timeouts::TimeoutsFile,
};
use haft_core::{Mode, Network, Sandbox};
use haft_providers::Effort;
use haft_tools::HookSettings;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, num::NonZeroU64};

settings! {
    own {
        /// Model to use, as VENDOR/MODEL: `openai/gpt-5`, `anthropic/…`, `ollama/…`, `local/NAME|FILE.gguf`
        model: String { value: "SPEC", short: Some('m'), otherwise: "that of the first vendor whose key is set" },
        /// Reasoning effort: how long the model may think; models that take none are not sent one
        effort: Effort { value: "LEVEL", otherwise: "the model's own" },
        /// Profile to use: `default`, `alfred`, `pedro`, `ally`, `opencode`, `picoclaw`, or a TOML file
        profile: String { value: "NAME", otherwise: "default" },
        /// Check claims in the reply against the journal; exit with 5 if one is unproven
        evidence: bool { is_of_profile: true },
        /// Command that shows `--evidence` that the work is well, such as `make check`; any run of tests if left out
        check: String { value: "COMMAND", is_of_profile: true },
        /// Colors of the screen: `terminal`, `dark`, `light` or `plain`
        theme: String { has_flag: false, otherwise: "terminal" },
    }
    narrowed {
        /// What to do with an effect (a file read or written, a command, a host) that no rule matches; if no person can answer, `ask` denies it
        permission: Mode { value: "MODE", otherwise: "ask" },
        /// When commands run confined: without network, and in a view of the workspace, so that you see their changes before they are applied
        sandbox: Sandbox { value: "WHEN", is_of_profile: true },
        /// Network of confined commands: `off`, `ask`, `on`, or a list of the only hosts that they may reach: HOST,HOST
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
        /// What confined commands may reach besides the workspace
        commands: CommandsFile,
        /// Context windows and prices of models that Haft does not know, by `VENDOR/MODEL`
        models: BTreeMap<String, ModelFile>,
        /// Which environment variables commands get, by name; `*` stands for any letters
        environment: EnvironmentFile,
        /// Timeouts for models, in seconds from 1 to 86,400
        timeouts: TimeoutsFile,
        /// Servers and keys, by vendor
        vendors: BTreeMap<String, VendorFile>,
        /// Commands that answer one prompt each, used as the model `exec/NAME`
        exec: BTreeMap<String, ExecFile>,
        /// MCP servers, by the name that begins their tools' names
        mcp: BTreeMap<String, McpFile>,
        /// Rules about effects, such as `write:src/**` and `execute:git status`
        rules: Rules,
        /// Settings of tools, over those of the profile
        #[cfg_attr(test, schemars(with = "haft_tools::Settings"))]
        tools: toml::Table,
        /// Commands and addresses that are told what happens
        #[cfg_attr(test, schemars(with = "Vec<HookSettings>"))]
        hooks: Vec<HookSettings>,
        /// The Telegram bot
        telegram: TelegramFile,
    }
    project_tables {
        /// Your MCP servers that may be used in this project; all if left out
        mcp: Option<Vec<String>>,
        /// Environment variables that commands do not get
        environment: NarrowEnvironment,
        /// Rules added to yours: all `deny` rules are tried first, then `ask`, then `allow`
        rules: NarrowRules,
        /// None: they start programs, and a repository is not trusted.
        #[cfg_attr(test, schemars(skip))]
        #[serde(skip_serializing, deserialize_with = "no_hooks")]
        hooks: (),
    }
}

/// The row of this key.
pub(super) fn setting(key: &str) -> &'static Setting {
    SETTINGS.iter().find(|setting| setting.key == key).expect("every key has a row")
}

impl Settings {
    /// The same, with `model` where no model was named.
    pub fn with_model(&self, model: Option<String>) -> Self {
        self.clone().over(Self { model, ..Self::default() })
    }
}

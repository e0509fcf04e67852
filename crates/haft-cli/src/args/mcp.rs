//! [`McpArgs`]: the options of `haft mcp`.
use super::SettingsArgs;
use clap::Args;
use haft_app::SessionSpec;
use std::path::PathBuf;

/// `haft mcp`
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve Streamable HTTP on this loopback address, e.g., 127.0.0.1:8090 [default: standard input and output]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Accept clients without a token
    #[arg(long, requires = "listen")]
    pub(crate) no_token: bool,
    /// Tools to offer in addition to the agents
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) expose: Option<Vec<String>>,
    /// Offer only the tools of `--expose` and no agents; requires no model
    #[arg(long, requires = "expose")]
    pub(crate) no_agents: bool,
    /// Settings of the agents.
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Base URL of the provider's API
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

impl McpArgs {
    /// The sessions of the agents.
    pub(crate) fn spec(&self) -> SessionSpec {
        SessionSpec {
            settings: self.settings.0.clone(),
            base_url: self.base_url.clone(),
            workspace: self.cwd.clone(),
            ..SessionSpec::default()
        }
    }
}

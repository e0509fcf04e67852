//! What `haft mcp` takes.
use super::Permission;
use clap::Args;
use std::path::PathBuf;

/// `haft mcp`
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve Streamable HTTP on this address of the machine itself, e.g. 127.0.0.1:8090
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Let in whoever reaches that address, without a token
    #[arg(long, requires = "listen")]
    pub(crate) no_token: bool,
    /// Offer these tools, too
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) expose: Option<Vec<String>>,
    /// Do not offer the agents; then no model is needed
    #[arg(long, requires = "expose")]
    pub(crate) no_agents: bool,
    /// VENDOR/MODEL of the agents
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) model: Option<String>,
    /// Another server for the model's vendor
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Whose settings hold
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// At most so many model calls in a turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// What happens with an effect that no rule settles; `ask` asks through the client
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<Permission>,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Nothing on standard error but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// More on standard error; repeat for more
    #[arg(long, short, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

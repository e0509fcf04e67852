//! [`McpArgs`]: the options of `haft mcp`.
use super::SettingsArgs;
use clap::{Args, Subcommand};
use haft_app::SessionSpec;
use std::path::PathBuf;

/// `haft mcp`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    /// Command; `serve` if left out.
    #[command(subcommand)]
    pub(crate) command: Option<Mcp>,
    /// Options of `haft mcp serve`.
    #[command(flatten)]
    pub(crate) serve: McpServeArgs,
}

/// `haft mcp …`
#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Add a server to your configuration
    ///
    /// `haft mcp add files npx -y @modelcontextprotocol/server-filesystem ~/notes` adds a program, `haft mcp add docs https://example.com/mcp` a server that speaks Streamable HTTP. Options come before COMMAND. `haft mcp test NAME` tries it.
    Add(McpAddArgs),
    /// List the configured servers, without starting them
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show the servers that this project's `.mcp.json` or your other systems have, or add some to your configuration
    ///
    /// Reads `.mcp.json`, `.cursor/mcp.json` and `.vscode/mcp.json` of the project, and your own files of Claude Code, Codex, Gemini CLI, OpenCode and Cursor. Without NAME it shows what each server would run, and adds and starts nothing.
    Import {
        /// Names of the servers to add
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Print one JSON object per line
        #[arg(long, conflicts_with = "names")]
        json: bool,
        /// Directory to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Start a server and show what it offers
    Test {
        /// Name of the server
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// Directory to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Log in to a server behind HTTP, with OAuth
    ///
    /// Opens a browser. Without one, it shows a code to enter on another device, if the server can do that, or an address to open anywhere; then paste the address that the browser ends at.
    Login(McpLoginArgs),
    /// Forget a login, and revoke its tokens if the server can do that
    Logout {
        /// Name of the server
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a server from your configuration, and forget its login
    Remove {
        /// Name of the server
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Serve agents and tools to other programs (default)
    Serve(Box<McpServeArgs>),
}

/// `haft mcp add`
#[derive(Debug, Args)]
pub(crate) struct McpAddArgs {
    /// Environment variable for the program; write `${VARIABLE}` for a secret, which Haft fills in at the start
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// HTTP header for every request; write `${VARIABLE}` for a secret
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    /// Client ID for `haft mcp login`, if the authorization server registers no clients by itself
    #[arg(long, value_name = "ID|URL")]
    pub(crate) client_id: Option<String>,
    /// Port that the browser comes back to, if the client was registered with one
    #[arg(long, value_name = "PORT")]
    pub(crate) callback_port: Option<u16>,
    /// Use only these tools, by the server's own names
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Folders that the server is told of if it asks for roots [default: the workspace, unless a folder is among ARGS]
    #[arg(long, value_name = "DIR,DIR", value_delimiter = ',', conflicts_with = "no_roots")]
    pub(crate) roots: Vec<PathBuf>,
    /// Do not tell the server of any folder
    #[arg(long)]
    pub(crate) no_roots: bool,
    /// Let the server's calls ask your model, at your expense; you are asked each time
    #[arg(long)]
    pub(crate) sampling: bool,
    /// Do not require approval for tools that the server declares read-only
    #[arg(long)]
    pub(crate) trust_hints: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Name of the server: letters, digits, `-` and `_`
    pub(crate) name: String,
    /// Program, or address that begins with `http://` or `https://`
    #[arg(value_name = "COMMAND|URL")]
    pub(crate) target: String,
    /// Arguments of the program
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// `haft mcp login`
#[derive(Debug, Args)]
pub(crate) struct McpLoginArgs {
    /// Name of the server
    pub(crate) name: String,
    /// Scopes to ask for [default: those that the server names]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) scopes: Vec<String>,
    /// Show a code to enter on another device
    #[arg(long)]
    pub(crate) device: bool,
    /// Show the address to open, and start no browser
    #[arg(long, conflicts_with = "device")]
    pub(crate) no_browser: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as `NAME=VALUE`")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `NAME: VALUE`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// `haft mcp serve`
#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
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

impl McpServeArgs {
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

//! [`LoginArgs`] and [`LogoutArgs`]: the options of the commands for keys.
use clap::{Args, Subcommand};

/// `haft login`
#[derive(Debug, Default, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LoginArgs {
    /// Subcommand.
    #[command(subcommand)]
    pub(crate) command: Option<Login>,
    /// Provider, e.g., `openai` [default: choose from a list]
    pub(crate) vendor: Option<String>,
    /// Account that the key is for: `haft --account NAME` uses it
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Save the key without verifying it
    #[arg(long)]
    pub(crate) no_check: bool,
}

/// `haft login …`
#[derive(Debug, Subcommand)]
pub(crate) enum Login {
    /// List providers and the source of each key, never the key itself
    Status {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

/// `haft logout`
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Provider whose key to remove [default: the only one with a saved key]
    pub(crate) vendor: Option<String>,
    /// Account whose key to remove
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
}

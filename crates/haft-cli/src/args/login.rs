//! [`LoginArgs`] and [`LogoutArgs`]: the options of the commands for keys.
use clap::{Args, Subcommand};

/// `haft login`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LoginArgs {
    /// Another thing to do.
    #[command(subcommand)]
    pub(crate) command: Option<Login>,
    /// Vendor whose key to keep, e.g. `openai`; on a terminal without one, a list to choose from
    pub(crate) vendor: Option<String>,
    /// Keep the key without trying it
    #[arg(long)]
    pub(crate) no_check: bool,
}

/// `haft login …`
#[derive(Debug, Subcommand)]
pub(crate) enum Login {
    /// List vendors and where the key of each comes from, never the key
    Status {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

/// `haft logout`
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Vendor whose key to remove [default: the only one]
    pub(crate) vendor: Option<String>,
}

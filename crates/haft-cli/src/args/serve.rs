//! [`ServeArgs`]: the options of `haft serve`.
use super::{WorkArgs, mode};
use clap::{Args, Subcommand};
use haft_core::Mode;
use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf};

/// `haft serve`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    /// What to do in place of serving.
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// Address to listen on; a non-loopback address is reachable from the network, without TLS
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8171")]
    pub(crate) listen: SocketAddr,
    /// Accept this host name in the `Host` header, e.g., that of a proxy (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Also serve sessions in this directory and below (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Vec<PathBuf>,
    /// Serve the jobs of a fleet instead of sessions on this machine: `postgres://USER@HOST/DATABASE` [default: the variable `HAFT_FLEET`]
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<Option<String>>,
    /// Maximum number of jobs to run at the same time
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) workers: NonZeroUsize,
    /// Close a session after this many idle seconds; the next command opens it again
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) idle: u64,
    /// Most permissive mode that clients may select [default: the initial mode]
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) up_to: Option<Mode>,
    /// Write a line of JSON to standard output for each request: its ID, session, status and duration
    #[arg(long)]
    pub(crate) access_log: bool,
    /// Print the address with the token even if the token already exists
    #[arg(long)]
    pub(crate) show_token: bool,
    /// Options of each session's turns.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// `haft serve COMMAND`
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// List the users of the server and their roles
    Users {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a user, and print the user's token, which is not shown again
    ///
    /// A user of the same name gets another token and the new role.
    AddUser {
        /// Name of the user, e.g., an e-mail address
        name: String,
        /// `viewer`, `member`, `approver`, `admin`, or one of `[serve.roles]` in the configuration
        #[arg(long, value_name = "ROLE", default_value = "member")]
        role: String,
    },
    /// Remove a user; the token is refused from the next request on
    RemoveUser {
        /// Name of the user
        name: String,
    },
    /// Print the log of all requests of users that changed something, and check that it is whole
    ///
    /// Exits with 5 if a line was changed, moved or removed.
    Audit {
        /// Only requests of this user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

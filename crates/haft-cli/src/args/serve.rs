//! [`ServeArgs`]: the options of `haft serve`.
use super::{WorkArgs, mode};
use clap::Args;
use haft_core::Mode;
use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf};

/// `haft serve`
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Listen on this address; other machines can reach any but a loopback address, unencrypted
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8171")]
    pub(crate) listen: SocketAddr,
    /// Accept this name in the header `Host`, e.g. that of a proxy (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Serve sessions in this directory and below, besides the one to work in (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Vec<PathBuf>,
    /// Serve the jobs of a fleet instead of sessions on this machine; the URL of its PostgreSQL
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,
    /// Run at most this many jobs at a time
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) workers: NonZeroUsize,
    /// Close a session that has been idle for this many seconds; the next command opens it
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) idle: u64,
    /// Widest mode that clients can choose [default: the mode in which sessions begin]
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) up_to: Option<Mode>,
    /// Print the address with the token again
    #[arg(long)]
    pub(crate) show_token: bool,
    /// How the turns of each session go.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

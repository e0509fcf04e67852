//! [`OutboxCommand`]: the options of `haft outbox`.
use clap::Subcommand;
use std::path::PathBuf;

/// `haft outbox`
#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List queued calls and what became of them
    ///
    /// Lists those of all sessions in this directory, in the order in which they were queued.
    List {
        /// Only those of this session: its ID, a unique prefix of it, or its name
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Directory of the sessions [default: the current directory]
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Make queued calls, each once
    ///
    /// Works in the session's workspace as it is now. Exits with 1 if a call is not made or does not go well.
    Send {
        /// IDs of the items
        #[arg(value_name = "ID", required = true)]
        items: Vec<String>,
        /// Also send an item of which it is unknown whether it arrived
        #[arg(long)]
        again: bool,
        /// Print one JSON object per item
        #[arg(long)]
        json: bool,
    },
    /// Drop queued calls, so that they are never made
    Drop {
        /// IDs of the items
        #[arg(value_name = "ID", required = true)]
        items: Vec<String>,
        /// Print one JSON object per item
        #[arg(long)]
        json: bool,
    },
}

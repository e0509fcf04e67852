//! Commands that start jobs and tell of them.
use super::TurnArgs;
use clap::{Args, Subcommand};

/// `haft build`, `debug`, `review`, `triage`
#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// What to do
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// In this process, which is what happens anyway
    #[arg(long)]
    pub(crate) direct: bool,
    /// Keep what is made on the way
    #[arg(long)]
    pub(crate) debug: bool,
    /// How each turn goes.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// `haft jobs`
#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// All jobs, newest first
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// One job: what it is to do, how it stands, what proves it
    Show {
        /// The job, or the beginning of its name
        id: String,
        /// As an object
        #[arg(long)]
        json: bool,
    },
    /// Everything it did, one entry a line
    Logs {
        /// The job
        id: String,
    },
    /// Stop it
    Cancel {
        /// The job
        id: String,
    },
    /// Take it up again
    Retry {
        /// The job
        id: String,
        /// How each turn goes.
        #[command(flatten)]
        turn: TurnArgs,
    },
}

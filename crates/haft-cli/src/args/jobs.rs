//! [`JobArgs`], [`Jobs`] and [`Agents`]: the options of the commands for jobs and agents.
use super::TurnArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `haft build`, `debug`, `review`, `triage`; hidden is what a turn takes and a job does not, since it begins anew with an
/// agent of its own.
#[derive(Debug, Args)]
#[command(mut_arg("agent", |arg| arg.hide(true)), mut_arg("session", |arg| arg.hide(true)))]
#[command(mut_arg("newest", |arg| arg.hide(true)), mut_arg("image", |arg| arg.hide(true)))]
#[command(mut_arg("add_dir", |arg| arg.hide(true)))]
pub(crate) struct JobArgs {
    /// Task to do
    #[arg(value_name = "TEXT")]
    pub(crate) words: Vec<String>,
    /// Task to do; same as TEXT
    #[arg(long, value_name = "TEXT", conflicts_with = "words")]
    pub(crate) description: Option<String>,
    /// Run in this process (the default)
    #[arg(long)]
    pub(crate) direct: bool,
    /// Keep the job's work tree and saved output after it completes
    #[arg(long)]
    pub(crate) debug: bool,
    /// Options of each turn.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// `haft jobs`
#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// List all jobs, newest first
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show a job: its task, status and evidence
    Show {
        /// Job ID, or a unique prefix of it
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print a job's journal as JSON, one entry per line
    Logs {
        /// Job ID
        id: String,
        /// No effect: the output is always JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop a job, or delete a schedule
    Cancel {
        /// ID of the job or schedule
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a job that is over, with its journal and its work tree; a branch with commits stays
    #[command(alias = "remove")]
    Rm {
        /// Job ID
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Queue a job for `haft jobs serve`, once or on a schedule
    Add {
        /// Agent to use: `builder`, `debugger`, `reviewer`, `triager` or one of your own
        #[arg(long, value_name = "AGENT", default_value = "builder")]
        kind: String,
        /// Task to do
        #[arg(long, value_name = "TEXT")]
        description: String,
        /// Directory to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Repeat at this interval: `10m`, `2h`, `1d`
        #[arg(long, value_name = "INTERVAL", conflicts_with = "cron")]
        every: Option<String>,
        /// Repeat on a cron schedule (minute, hour, day of month, month, day of week): `0 9 * * 1-5`
        #[arg(long, value_name = "PATTERN")]
        cron: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Run queued and unfinished jobs one at a time until stopped
    Serve {
        /// Exit when the queue is empty
        #[arg(long)]
        once: bool,
        /// Options of each turn.
        #[command(flatten)]
        turn: TurnArgs,
    },
    /// Retry a job
    Retry {
        /// Job ID
        id: String,
        /// Options of each turn.
        #[command(flatten)]
        turn: TurnArgs,
    },
}

/// `haft agents`
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// List agents with their descriptions
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print an agent's definition, to copy and edit
    Show {
        /// Name of the agent
        name: String,
    },
}

//! What can be typed about jobs and agents.
use super::TurnArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

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
        /// It is JSON in any case
        #[arg(long)]
        json: bool,
    },
    /// Stop a job, or drop a plan
    Cancel {
        /// The job, or the plan
        id: String,
        /// The answer as an object
        #[arg(long)]
        json: bool,
    },
    /// Put a job down for `haft jobs serve`: once, or again and again
    Add {
        /// Which agent: `builder`, `debugger`, `reviewer`, `triager` or one of your own
        #[arg(long, value_name = "AGENT", default_value = "builder")]
        kind: String,
        /// What to do
        #[arg(long, value_name = "TEXT")]
        description: String,
        /// The folder to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// From one beginning to the next: `10m`, `2h`, `1d`
        #[arg(long, value_name = "SPAN", conflicts_with = "cron")]
        every: Option<String>,
        /// Minute, hour, day, month, day of the week: `0 9 * * 1-5`
        #[arg(long, value_name = "PATTERN")]
        cron: Option<String>,
        /// The answer as an object
        #[arg(long)]
        json: bool,
    },
    /// Work on what was put down or left half-done, one job after the other, until told to stop
    Serve {
        /// End when nothing is left
        #[arg(long)]
        once: bool,
        /// How each turn goes.
        #[command(flatten)]
        turn: TurnArgs,
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

/// `haft agents`
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Their names, and what they do
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// One as a file, to copy and change
    Show {
        /// Its name
        name: String,
    },
}

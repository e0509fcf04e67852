//! [`UsageArgs`]: the options of `haft usage`.
use super::positive;
use clap::{Args, ValueEnum};

/// `haft usage`
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Days to count, up to today
    #[arg(long, value_name = "N", default_value = "30", value_parser = positive)]
    pub(crate) days: usize,
    /// Show only this list
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<By>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `--by`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// By day, in local time
    Day,
    /// By the model that a session began with
    Model,
    /// By the directory that a session works in
    Project,
}

//! [`UsageArgs`]: the options of `haft usage`.
use super::positive;
use clap::{Args, ValueEnum};

/// `haft usage`
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Number of days to show, up to today
    #[arg(long, value_name = "N", default_value = "30", value_parser = positive)]
    pub(crate) days: usize,
    /// Show only this table
    #[arg(long, value_name = "GROUP")]
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
    /// By the model that a session started with
    Model,
    /// By the directory of a session
    Project,
}

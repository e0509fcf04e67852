//! [`UpdateArgs`]: the options of `haft update`.
use clap::Args;

/// `haft update`
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Only say whether there is a newer version
    #[arg(long, conflicts_with = "back")]
    pub(crate) check: bool,
    /// Go back to the version before the last update; run it again to undo that
    #[arg(long)]
    pub(crate) back: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

//! [`AttemptsCommand`]: the options of `haft attempts`.
use clap::Subcommand;

/// `haft attempts`
#[derive(Debug, Subcommand)]
pub(crate) enum AttemptsCommand {
    /// List attempts: how each ended, its cost, its files and its session
    ///
    /// Attempt 1 is the turn itself.
    List {
        /// Session: its ID, a unique prefix of it, or its name [default: the newest in this directory]
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show how the files of an attempt differ from the workspace or from another attempt
    ///
    /// Added lines are those that only attempt N has.
    Diff {
        /// Number of the attempt; 1 is the turn itself
        #[arg(value_name = "N")]
        number: u32,
        /// Attempt to compare it with [default: the workspace as it is]
        #[arg(value_name = "M")]
        other: Option<u32>,
        /// Session: its ID, a unique prefix of it, or its name [default: the newest in this directory]
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Print one JSON object per file
        #[arg(long)]
        json: bool,
    },
}

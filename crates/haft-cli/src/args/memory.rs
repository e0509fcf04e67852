//! [`MemoryCommand`]: the options of `haft memory`.
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `haft memory`
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List the lines of the notes that Haft proposed, with their sources
    List {
        /// The workspace.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show what past sessions add to the notes and take out, as a diff
    ///
    /// Nothing is written without `--apply`.
    Propose {
        /// The workspace.
        #[command(flatten)]
        place: Place,
        /// Write it; `haft undo` takes that back
        #[arg(long)]
        apply: bool,
    },
    /// Take a line out, and do not propose it again
    Forget {
        /// Number of the line in the list
        number: usize,
        /// The workspace.
        #[command(flatten)]
        place: Place,
    },
}

/// Where the notes are.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Directory of the workspace [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

//! [`Sessions`]: the commands for sessions.
use super::{TurnArgs, mode};
use clap::{Args, Subcommand, ValueEnum};
use haft_core::Mode;

/// `haft sessions …`
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List all sessions, newest first
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Find sessions that contain a text
    Search {
        /// Text to search for (case-insensitive)
        text: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show the conversation of a session
    Show {
        /// Session ID, a unique prefix of it, or its name [default: the newest session in this directory]
        id: Option<String>,
        /// Print the entries that were not undone, one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Permanently delete a session and its data; files in the workspace are not changed
    Rm {
        /// Session ID, a unique prefix of it, or its name
        id: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Resume an unfinished turn, or continue the conversation
    Resume(Box<ResumeArgs>),
    /// Start a new session from a copy of another one's entries
    Fork {
        /// Session ID, a unique prefix of it, or its name
        id: String,
        /// Last entry to copy [default: the last one]
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Name a session; commands accept the name in place of the ID
    Rename {
        /// Session ID, a unique prefix of it, or its name
        id: String,
        /// New name, of at most 60 characters; an empty one removes the name
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove saved file contents that no session needs
    Gc {
        /// Print what would be removed without removing anything
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Run a session's calls again in a copy of its workspace, and compare the results with the recorded ones
    Replay(ReplayArgs),
    /// Export a whole session
    Export {
        /// Session ID, a unique prefix of it, or its name
        id: String,
        /// Format to export to
        #[arg(long, default_value = "markdown")]
        format: ExportForm,
        /// Same as `--format json`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
}

/// `haft resume`, `haft sessions resume`
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Session ID, a unique prefix of it, or its name [default: you choose one; without a screen, the newest one in this directory]
    pub(crate) id: Option<String>,
    /// Continue the newest session in this directory
    #[arg(long, conflicts_with = "id")]
    pub(crate) last: bool,
    /// Options of the turn.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// `haft sessions replay`
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Session ID, a unique prefix of it, or its name
    pub(crate) id: String,
    /// Use this model instead of the recorded replies, starting with round `--from`
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Base URL of the provider's API
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,
    /// First round that uses the model, counted from 1 from the start of the session
    #[arg(long, value_name = "N", requires = "model", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) from: u32,
    /// Mode for commands: `full` also runs those that need approval; files in the copy are changed without approval
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) permission: Option<Mode>,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

/// `--format`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// Markdown
    Markdown,
    /// Journal, one entry per line
    Json,
    /// Self-contained HTML page, which loads nothing
    Html,
}

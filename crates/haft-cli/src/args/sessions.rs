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
    /// Find sessions by what was said in them
    Search {
        /// Text to look for, in whatever case
        text: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show what was said and done
    Show(SessionId),
    /// Delete a session and all that Haft keeps of it, for good; files in the workspace stay as they are
    Rm(SessionId),
    /// Resume an unfinished turn, or continue the conversation
    Resume(Box<ResumeArgs>),
    /// Begin a session with a copy of the entries of another one
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
    /// Name a session; lists show the name, and commands take it in place of the ID
    Rename {
        /// Session ID, a unique prefix of it, or its name
        id: String,
        /// New name, of at most 60 characters; an empty one takes the name away
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove saved file contents that no session needs any more
    Gc {
        /// Print what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Run the calls of a session again in a copy of its workspace, and compare what they give with what was recorded
    Replay(ReplayArgs),
    /// Export a whole session
    Export {
        /// Session ID, a unique prefix of it, or its name
        id: String,
        /// Format to export to
        #[arg(long, default_value = "markdown")]
        format: ExportForm,
    },
}

/// `haft resume`, `haft sessions resume`
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Session ID, a unique prefix of it, or its name [default: the newest of this directory]
    pub(crate) id: Option<String>,
    /// Continue the newest session of this directory (the default)
    #[arg(long, conflicts_with = "id")]
    pub(crate) last: bool,
    /// How the turn goes.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// `haft sessions replay`
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Session ID, a unique prefix of it, or its name
    pub(crate) id: String,
    /// Ask this model instead of using the recorded replies, from round `--from` on
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) model: Option<String>,
    /// Base URL of the vendor's server
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,
    /// First round in which the model is asked, counted from 1 over the whole session
    #[arg(long, value_name = "N", requires = "model", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) from: u32,
    /// `full` also runs commands that would be asked for; files in the copy are changed without asking
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) permission: Option<Mode>,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

/// A session by its name.
#[derive(Debug, Args)]
pub(crate) struct SessionId {
    /// Session ID, a unique prefix of it, or its name
    pub(crate) id: String,
}

/// `--format`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// Markdown for people
    Markdown,
    /// The journal, one entry per line
    Json,
    /// One page for a browser, with everything in it; it fetches nothing and runs no script
    Html,
}

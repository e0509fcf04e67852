//! [`Commands`], [`Skills`] and [`Profiles`]: the commands that list custom commands, skills and profiles.
use clap::Subcommand;

/// `haft commands`
#[derive(Debug, Subcommand)]
pub(crate) enum Commands {
    /// List saved prompts with their descriptions
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

/// `haft skills`
#[derive(Debug, Subcommand)]
pub(crate) enum Skills {
    /// List skills with their descriptions
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

/// `haft profiles`
#[derive(Debug, Subcommand)]
pub(crate) enum Profiles {
    /// List profiles with their descriptions
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print a profile as TOML, to copy and edit
    Show {
        /// Name of the profile
        name: String,
    },
}

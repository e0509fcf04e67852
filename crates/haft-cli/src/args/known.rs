//! Commands that tell what there is: commands and profiles.
use clap::Subcommand;

/// `haft commands`
#[derive(Debug, Subcommand)]
pub(crate) enum Commands {
    /// Their names, and what they are for
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
}

/// `haft profiles`
#[derive(Debug, Subcommand)]
pub(crate) enum Profiles {
    /// Their names, and what they are
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// One as TOML, to copy and change
    Show {
        /// Its name
        name: String,
    },
}

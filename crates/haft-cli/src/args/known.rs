//! Commands that tell what there is: agents, commands, profiles.
use clap::Subcommand;

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

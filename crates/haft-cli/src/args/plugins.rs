//! [`Plugins`]: the options of `haft plugins`.
use clap::{Args, Subcommand};

/// `haft plugins`
#[derive(Debug, Subcommand)]
pub(crate) enum Plugins {
    /// Install a plugin, after showing what it brings
    ///
    /// Its skills, commands and agents are used as `PLUGIN:NAME`.
    Add {
        /// Folder, Git address (with `#BRANCH` or `#TAG`), or OWNER/REPOSITORY at GitHub
        source: String,
        /// Plugin to install, if the source is a marketplace of several
        name: Option<String>,
        /// Answers in advance.
        #[command(flatten)]
        answers: Answers,
    },
    /// List installed plugins
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Install what the source has by now, after showing what differs
    Update {
        /// Plugin to update [default: all]
        name: Option<String>,
        /// Answers in advance.
        #[command(flatten)]
        answers: Answers,
    },
    /// Remove a plugin with everything that it brought
    Remove {
        /// Name of the plugin
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// What is otherwise asked at the terminal.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Answers {
    /// Install without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Let Haft start the plugin's MCP servers, which are not confined
    #[arg(long)]
    pub(crate) servers: bool,
    /// Print one JSON object for each plugin that was installed; what it brings goes to standard error
    #[arg(long)]
    pub(crate) json: bool,
}

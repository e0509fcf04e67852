//! What can be typed about models.
use clap::{Args, Subcommand};
use std::{num::NonZeroUsize, path::PathBuf};

/// `haft models …`
#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// Models to pull, models that are here, vendors and whether their keys are set; or what one vendor offers
    List {
        /// The vendor whose server is asked
        vendor: Option<String>,
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// Fetch a model into the models folder
    Pull {
        /// Its name in `haft models list`
        name: String,
    },
    /// Where a model lies
    Path {
        /// Its name, or a file
        name: String,
    },
    /// How well a model calls tools: small tasks, with its calls held to a form and without
    Check(CheckArgs),
}

/// `haft models check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// VENDOR/MODEL, as for `--model`
    pub(crate) spec: String,
    /// Another server for the model's vendor
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How the model writes calls as text; the server's own words if left out
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// More tasks, in TOML
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// Only the first N tasks
    #[arg(long, value_name = "N")]
    pub(crate) first: Option<NonZeroUsize>,
    /// Only with its calls held to a form
    #[arg(long)]
    pub(crate) held: bool,
    /// Also run commands that change things, on this machine and as you; without it those calls are refused
    #[arg(long)]
    pub(crate) full: bool,
    /// What came of each task
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// The table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

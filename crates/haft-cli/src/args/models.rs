//! [`Models`]: the commands for models.
use clap::{Args, Subcommand};
use std::{num::NonZeroUsize, path::PathBuf};

/// `haft models …`
#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// List models to download, models on this machine, and vendors; or the models of one vendor
    List {
        /// Vendor whose server is asked
        vendor: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Download a model
    Pull {
        /// Name, as in `haft models list`
        name: String,
    },
    /// Print the path of a model
    Path {
        /// Name, or a file
        name: String,
    },
    /// Test how well a model calls tools, with and without a grammar that constrains its calls
    Check(CheckArgs),
}

/// `haft models check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Model to test, as for `--model`
    pub(crate) spec: String,
    /// Base URL of the vendor's server
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Format in which the model writes calls as text [default: the server's native calls]
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// TOML file with more tasks
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// Run only the first N tasks
    #[arg(long, value_name = "N")]
    pub(crate) first: Option<NonZeroUsize>,
    /// Run only with constrained calls: a grammar made from the tools allows no malformed one
    #[arg(long)]
    pub(crate) held: bool,
    /// Also run commands that change things, on this machine and as you; otherwise they are refused
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

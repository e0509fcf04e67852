//! [`Models`]: the commands for models.
use clap::{Args, Subcommand};
use std::{num::NonZeroUsize, path::PathBuf};

/// `haft models …`
#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// List downloadable models, models on this machine, and providers; or the models of one provider
    List {
        /// Provider whose models to list
        vendor: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Download a model
    Pull {
        /// Name of the model, as in `haft models list`
        name: String,
    },
    /// Print the path of a model
    Path {
        /// Name of the model, or a file
        name: String,
    },
    /// Test how well a model calls tools, with and without constrained decoding
    Check(CheckArgs),
}

/// `haft models check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Model to test, as for `--model`
    #[arg(value_name = "MODEL")]
    pub(crate) spec: String,
    /// Base URL of the provider's API
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Tool-call format in which the model writes calls as text [default: the provider's native tool calls]
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// TOML file with more tasks
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// Run only the first N tasks
    #[arg(long, value_name = "N")]
    pub(crate) first: Option<NonZeroUsize>,
    /// Test only with constrained decoding, where a grammar of the tools prevents malformed calls
    #[arg(long)]
    pub(crate) held: bool,
    /// Also run commands that change things, unconfined and with your rights; they are denied otherwise
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

//! [`Policy`]: the commands for permissions.
use super::mode;
use clap::{Args, Subcommand};
use haft_core::Mode;
use std::path::PathBuf;

/// `haft policy …`
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Show whether an effect is allowed, needs approval or is denied, and which rule or mode decides
    Check(PolicyCheck),
}

/// `haft policy check`
#[derive(Debug, Args)]
pub(crate) struct PolicyCheck {
    /// Command (in quotes if it has options) or effect: `write:src/a.rs`, `network:example.org`
    #[arg(required = true, value_name = "COMMAND|EFFECT")]
    pub(crate) words: Vec<String>,
    /// What to do with an effect that no rule matches
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) permission: Option<Mode>,
    /// Profile to use
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

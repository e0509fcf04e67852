//! What each front-end takes that opens sessions for others: how their turns go.
use super::{LimitArgs, Permission, TurnArgs};
use clap::Args;

/// For each turn of each session.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// Model to use, as VENDOR/MODEL
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) model: Option<String>,
    /// Base URL of the vendor's server
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Format in which the model writes calls as text (`haft parse --dialect ?` lists them); `auto` detects it
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Profile to use
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Agent to use
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Tools to offer, instead of all
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Maximum model calls per turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// Where it stops besides.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Mode in which sessions begin: what happens to effects that no rule covers; `ask` asks there
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<Permission>,
    /// Print only errors to stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Log more to stderr; repeat for more detail
    #[arg(long, short, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl WorkArgs {
    /// As a turn takes them.
    pub(crate) fn turn(&self) -> TurnArgs {
        TurnArgs {
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            dialect: self.dialect.clone(),
            profile: self.profile.clone(),
            agent: self.agent.clone(),
            tools: self.tools.clone(),
            max_rounds: self.max_rounds,
            limits: self.limits.clone(),
            permission: self.permission,
            quiet: self.quiet,
            verbose: self.verbose,
            ..TurnArgs::default()
        }
    }
}

//! What each front-end takes that opens sessions for others: how their turns go.
use super::{LimitArgs, Permission, TurnArgs};
use clap::Args;

/// For each turn of each session.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// VENDOR/MODEL
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) model: Option<String>,
    /// Another server for the model's vendor
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How the model writes calls as text (`haft parse --dialect ?`); `auto` finds out
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Whose settings hold
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Who works
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only these tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// At most so many model calls in a turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// Where it stops besides.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// The mode in which sessions begin: what happens with an effect that no rule settles; `ask` asks there
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<Permission>,
    /// Nothing on standard error but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// More on standard error; repeat for more
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

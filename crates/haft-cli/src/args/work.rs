//! [`WorkArgs`]: the options of every front-end that opens sessions for others: how their turns go.
use super::TurnArgs;
use crate::config::Settings;
use clap::Args;

/// For each turn of each session.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// What the configuration can say, too.
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Base URL of the vendor's server
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Format in which the model writes calls as text (`haft parse --dialect ?` lists them); `auto` detects it
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Agent to use
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Offer only these tools, instead of the default set; `none` for no tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
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
            settings: self.settings.clone(),
            base_url: self.base_url.clone(),
            dialect: self.dialect.clone(),
            agent: self.agent.clone(),
            tools: self.tools.clone(),
            quiet: self.quiet,
            verbose: self.verbose,
            ..TurnArgs::default()
        }
    }
}

//! [`WorkArgs`]: the options of every command that opens sessions: how their turns go.
use super::SettingsArgs;
use clap::Args;
use haft_app::SessionSpec;

/// For each turn of each session.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WorkArgs {
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Base URL of the provider's API
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Tool-call format in which the model writes calls as text (`haft parse --dialect ?` lists them); `auto` detects it
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Agent to use
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Offer only these tools instead of the default set; `none` for no tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
}

impl WorkArgs {
    /// The sessions that these options ask for.
    pub(crate) fn spec(&self) -> SessionSpec {
        SessionSpec {
            settings: self.settings.0.clone(),
            base_url: self.base_url.clone(),
            dialect: self.dialect.clone(),
            agent: self.agent.clone(),
            tools: self.tools.clone(),
            ..SessionSpec::default()
        }
    }
}

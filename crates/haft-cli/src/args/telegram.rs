//! What `haft telegram` takes.
use super::{LimitArgs, Permission};
use clap::Args;
use std::path::PathBuf;

/// `haft telegram`
#[derive(Debug, Args)]
pub(crate) struct TelegramArgs {
    /// Who may talk, by the number that the bot tells strangers; repeatable
    #[arg(long, value_name = "ID")]
    pub(crate) allow: Vec<i64>,
    /// Print a code that lets one more person in; where nobody may talk yet, it is printed anyway
    #[arg(long)]
    pub(crate) pair: bool,
    /// Another server for the Bot API; else TELEGRAM_BASE_URL, else https://api.telegram.org
    #[arg(long, value_name = "URL")]
    pub(crate) api_url: Option<String>,
    /// VENDOR/MODEL of the conversations; `/model` takes another one for a chat
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) model: Option<String>,
    /// Another server for the model's vendor
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How the model writes calls as text
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
    #[arg(long, value_name = "N")]
    pub(crate) max_rounds: Option<u32>,
    /// Where it stops besides.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// What happens with an effect that no rule settles; `ask` asks in the chat
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<Permission>,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Less on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

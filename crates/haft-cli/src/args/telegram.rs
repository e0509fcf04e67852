//! [`TelegramArgs`]: the options of `haft telegram`.
use super::WorkArgs;
use clap::Args;
use std::path::PathBuf;

/// `haft telegram`
#[derive(Debug, Args)]
pub(crate) struct TelegramArgs {
    /// Allow this Telegram user ID (repeatable); the bot replies to unknown users with their ID
    #[arg(long, value_name = "ID")]
    pub(crate) allow: Vec<i64>,
    /// Print a code that lets one more user join; always printed if no user is allowed yet
    #[arg(long)]
    pub(crate) pair: bool,
    /// Base URL of the Bot API [default: the variable TELEGRAM_BASE_URL, or https://api.telegram.org]
    #[arg(long, value_name = "URL")]
    pub(crate) api_url: Option<String>,
    /// Options of each chat's turns.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

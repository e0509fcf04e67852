//! [`TelegramArgs`]: the options of `haft telegram`.
use super::WorkArgs;
use clap::Args;
use std::path::PathBuf;

/// `haft telegram`
#[derive(Debug, Args)]
pub(crate) struct TelegramArgs {
    /// Allow this Telegram user ID (repeatable); an unknown user who writes to the bot is sent their own ID
    #[arg(long, value_name = "ID")]
    pub(crate) allow: Vec<i64>,
    /// Print a code with which one more person can join; always printed while no user is allowed
    #[arg(long)]
    pub(crate) pair: bool,
    /// Base URL of the Bot API [default: TELEGRAM_BASE_URL, else https://api.telegram.org]
    #[arg(long, value_name = "URL")]
    pub(crate) api_url: Option<String>,
    /// How the turns of each chat go.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

//! What `haft telegram` takes.
use super::WorkArgs;
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
    /// How the turns of each chat go.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

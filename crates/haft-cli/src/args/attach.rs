//! [`AttachArgs`]: the options of `haft attach`.
use clap::Args;

/// `haft attach`
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Address of the server, or of a session on its page
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Attach to this session, by its ID or its title
    #[arg(long, value_name = "ID|TITLE", conflicts_with = "new")]
    pub(crate) session: Option<String>,
    /// Begin a session
    #[arg(long)]
    pub(crate) new: bool,
    /// Token of the server [default: the variable HAFT_SERVE_TOKEN, or what you type]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Attach without encryption to another machine, where others can read the token
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Print plain lines instead of the interactive screen, e.g., for a screen reader
    #[arg(long)]
    pub(crate) plain: bool,
}

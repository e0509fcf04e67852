//! [`BlameArgs`]: the options of `haft blame`.
use clap::Args;

/// `haft blame`
#[derive(Debug, Args)]
pub(crate) struct BlameArgs {
    /// File, or one line of it: prompt, model, call, approval and tests
    #[arg(value_name = "FILE[:LINE]")]
    pub(crate) target: String,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

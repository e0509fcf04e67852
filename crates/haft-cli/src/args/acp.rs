//! What `haft acp` takes.
use super::{Permission, WorkArgs};
use clap::Args;

/// `haft acp`
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// How the turns of each session go.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Widest mode that can be chosen in the editor [default: the mode in which sessions begin]
    #[arg(long, value_name = "MODE")]
    pub(crate) up_to: Option<Permission>,
}

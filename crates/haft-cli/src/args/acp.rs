//! What `haft acp` takes.
use super::{Permission, WorkArgs};
use clap::Args;

/// `haft acp`
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// How the turns of each session go.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// The widest mode that can be chosen in the editor; the one in which sessions begin if left out
    #[arg(long, value_name = "MODE")]
    pub(crate) up_to: Option<Permission>,
}

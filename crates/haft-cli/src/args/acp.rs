//! [`AcpArgs`]: the options of `haft acp`.
use super::{WorkArgs, mode};
use clap::Args;
use haft_core::Mode;

/// `haft acp`
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// How the turns of each session go.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Widest mode that can be chosen in the editor [default: the mode in which sessions begin]
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) up_to: Option<Mode>,
}

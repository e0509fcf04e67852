//! [`AcpArgs`]: the options of `haft acp`.
use super::{WorkArgs, mode};
use clap::Args;
use haft_core::Mode;

/// `haft acp`
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// Options of each session's turns.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Most permissive mode that the editor may select [default: the initial mode]
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) up_to: Option<Mode>,
}

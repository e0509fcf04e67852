//! [`acp`] (`haft acp`): runs the agent for an editor. Only the protocol uses standard output.
use crate::{CliContext, args::AcpArgs};
use haft_acp::{Settings, over_streams};
use haft_app::{AppHost, Failure};
use haft_process::is_read;
use haft_terminal::{Exit, signals::Interrupts};
use std::sync::Arc;
use tokio::io::{stdin, stdout};

/// Serves until the editor disconnects or a signal interrupts.
pub(crate) async fn acp(cli: &CliContext, args: &AcpArgs) -> Result<Exit, Failure> {
    let host = Arc::new(AppHost::new(cli, args.work.spec(), args.up_to.into()));
    let settings = Settings { home: cli.home(), host };
    let mut interrupts = Interrupts::listen()?;
    over_streams(stdin(), stdout(), || is_read(std::io::stdout()), settings, interrupts.next()).await?;
    Ok(Exit::Success)
}

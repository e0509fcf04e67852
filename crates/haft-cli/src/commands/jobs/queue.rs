//! [`work`] (`haft jobs serve`): works on queued jobs, and on those that lost their process.
use super::{begin, retry};
use crate::{CliContext, args::TurnArgs};
use futures::FutureExt;
use haft_app::{Failure, jobs::Task};
use haft_terminal::{Exit, signals::Interrupts};
use std::{
    io::{Write, stderr},
    time::Duration,
};

/// How long a signal that ended a job may take to arrive here.
const SIGNAL_TIMEOUT: Duration = Duration::from_millis(200);

/// One job after the other: what is due, then what was queued, the oldest first.
pub(super) async fn work(cli: &CliContext, turn: &TurnArgs, once: bool) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let mut queue = cli.jobs().worker_queue();
    loop {
        // A signal may have come while a job was closed.
        if interrupts.next().now_or_never().is_some() {
            return Ok(Exit::Interrupted);
        }
        let ended = match queue.next_task()? {
            Some(Task::Begin(request)) => begin(cli, request, turn).await,
            Some(Task::Resume(id)) => retry(cli, &id.0, turn).await,
            None if once => return Ok(Exit::Success),
            None => {
                tokio::select! {
                    () = tokio::time::sleep(queue.pause()?) => continue,
                    () = interrupts.next() => return Ok(Exit::Interrupted),
                }
            }
        };
        // A job that was cancelled is not a reason to stop; a signal that reached both is.
        if tell(ended)? == Exit::Interrupted
            && tokio::time::timeout(SIGNAL_TIMEOUT, interrupts.next()).await.is_ok()
        {
            return Ok(Exit::Interrupted);
        }
    }
}

/// One job that cannot begin does not keep others from it.
fn tell(ended: Result<Exit, Failure>) -> std::io::Result<Exit> {
    ended.or_else(|failure| {
        writeln!(stderr(), "error: {}", failure.message)?;
        Ok(failure.exit)
    })
}

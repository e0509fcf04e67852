//! [`work`] (`haft jobs serve`): works on queued jobs, and on those that lost their process.
use super::{Stop, begin, retry};
use crate::{CliContext, args::TurnArgs};
use futures::FutureExt;
use haft_app::{Failure, jobs::Task};
use haft_terminal::{Exit, signals::Interrupts};
use std::io::{Write, stderr};

/// One job after the other: what is due, then what was queued, the oldest first.
pub(super) async fn work(cli: &CliContext, turn: &TurnArgs, once: bool) -> Result<Exit, Failure> {
    let mut stop = Stop { interrupts: Interrupts::listen()?, has_come: false };
    let mut queue = cli.jobs().worker_queue();
    loop {
        // A signal may have come while a job was closed.
        if stop.comes().now_or_never().is_some() || stop.has_come {
            return Ok(Exit::Interrupted);
        }
        let ended = match queue.next_task()? {
            Some(Task::Begin(request)) => begin(cli, request, turn, Some(&mut stop)).await,
            Some(Task::Resume(id)) => retry(cli, &id.0, turn, Some(&mut stop)).await,
            None if once => return Ok(Exit::Success),
            None => {
                tokio::select! {
                    () = tokio::time::sleep(queue.pause()?) => continue,
                    () = stop.comes() => return Ok(Exit::Interrupted),
                }
            }
        };
        // One job that cannot begin does not keep others from it.
        if let Err(failure) = ended {
            writeln!(stderr(), "error: {}", failure.message)?;
        }
    }
}

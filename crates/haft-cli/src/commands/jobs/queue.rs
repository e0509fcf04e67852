//! [`work`] (`haft jobs serve`): works on queued jobs, and on those that lost their process.
use super::{Stop, begin, retry};
use crate::{CliContext, args::TurnArgs};
use futures::FutureExt;
use haft_app::{
    Failure,
    jobs::{Task, schedule},
};
use haft_present::safe;
use haft_terminal::{Exit, signals::Interrupts};
use std::io::{Write, stderr};

/// Runs one job after the other: schedules that are due, then queued jobs, the oldest first. With `once`, fails at the
/// end if a job could not begin or did not reach its goal.
pub(super) async fn work(cli: &CliContext, turn: &TurnArgs, once: bool) -> Result<Exit, Failure> {
    let mut stop = Stop { interrupts: Interrupts::listen()?, has_come: false };
    let mut queue = cli.jobs().worker_queue();
    schedule::list(&cli.home()).unreadable.into_iter().for_each(|(_, failure)| cli.warn(failure.message));
    let mut exit = Exit::Success;
    loop {
        // A signal may have arrived while a job was closed.
        if stop.comes().now_or_never().is_some() || stop.has_come {
            return Ok(Exit::Interrupted);
        }
        let ended = match queue.next_task()? {
            Some(Task::Begin(request)) => begin(cli, request, turn, Some(&mut stop)).await,
            Some(Task::Resume(id)) => retry(cli, &id.0, turn, Some(&mut stop)).await,
            None if once => return Ok(exit),
            None => {
                tokio::select! {
                    () = tokio::time::sleep(queue.pause()) => continue,
                    () = stop.comes() => return Ok(Exit::Interrupted),
                }
            }
        };
        // If a job cannot begin, the others still do.
        let ended = ended.or_else(|failure| {
            writeln!(stderr(), "error: {}", safe::text(&failure.message))?;
            failure.hint.iter().try_for_each(|hint| writeln!(stderr(), "hint: {}", safe::text(hint)))?;
            Ok::<_, Failure>(failure.exit)
        })?;
        if exit == Exit::Success {
            exit = ended;
        }
    }
}

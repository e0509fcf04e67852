//! [`Child`]: a process that this one started, and its three streams.
use crate::{begin::Begun, told::Told};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};
use std::{
    io, mem,
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::ExitStatus,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::sleep,
};

/// How often the system is asked whether a process has ended, if it cannot report that by itself.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process that this one has started. Killed on drop if it has not ended.
#[derive(Debug)]
pub(crate) struct Child {
    pid: Pid,
    ended: Option<ExitStatus>,
    /// Of a confined command, until it has ended.
    told: Option<Told>,
    /// Whether all processes that came of it ended before.
    is_last: bool,
    /// Becomes readable once the process has ended. Not every system offers it.
    end: Option<AsyncFd<OwnedFd>>,
    /// Its standard input, if it has one.
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

/// Our ends of a process's pipes.
pub(crate) struct Streams {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Child {
    /// A process that no other part of the program waits for. Needs a tokio runtime.
    pub(crate) fn new(Begun { pid, told }: Begun, streams: Streams) -> io::Result<Self> {
        // From here on a failure kills it.
        let mut child = Self {
            pid,
            ended: None,
            told,
            is_last: false,
            end: None,
            stdin: None,
            stdout: None,
            stderr: None,
        };
        let end = pidfd_open(pid, PidfdFlags::NONBLOCK).ok();
        child.end = end.map(end_of).transpose()?;
        child.stdin = streams.stdin.map(|pipe| ChildStdin::from_std(pipe.into())).transpose()?;
        child.stdout = Some(ChildStdout::from_std(streams.stdout.into())?);
        child.stderr = Some(ChildStderr::from_std(streams.stderr.into())?);
        Ok(child)
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// How it ended, once it has. May be dropped and asked again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(ended) = self.try_wait()? {
                return Ok(ended);
            }
            match &self.end {
                Some(end) => end.readable().await?.clear_ready(),
                None => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// How it ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            let ended = waitpid(Some(self.pid), WaitOptions::NOHANG)?;
            self.ended = ended.map(|(_, status)| self.status(ExitStatus::from_raw(status.as_raw())));
        }
        Ok(self.ended)
    }

    /// Whether it is known that all processes that came of it have ended, as those of a confined command have.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// `own`: how the process itself ended.
    fn status(&mut self, own: ExitStatus) -> ExitStatus {
        match self.told.take() {
            Some(told) if own.success() => {
                self.is_last = true;
                told.status().unwrap_or(own)
            }
            // The process that waited for the command was killed; those below it may still use what they share for a
            // moment.
            told => {
                mem::forget(told);
                own
            }
        }
    }
}

#[expect(unsafe_code, reason = "what is registered must stay the descriptor that it is")]
fn end_of(process: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is one descriptor, for as long as it is there.
    let registered = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) };
    Ok(registered?)
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_none() {
            mem::forget(self.told.take());
            let _ended_meanwhile = kill_process(self.pid, Signal::KILL);
            let mut killed = KILLED.lock().unwrap_or_else(PoisonError::into_inner);
            killed.push(self.pid);
            take_killed(&mut killed);
        }
    }
}

/// Killed processes that have not been waited for yet.
static KILLED: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Waits for the killed processes whenever another one is killed.
fn take_killed(killed: &mut Vec<Pid>) {
    for pid in mem::take(killed) {
        if let Ok(None) = waitpid(Some(pid), WaitOptions::NOHANG) {
            killed.push(pid);
        }
    }
}

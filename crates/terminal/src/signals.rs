//! [`Interrupts`]: waits for SIGINT, SIGTERM, and SIGHUP, which is sent when the terminal is gone.
use haft_process::appears;
use std::{
    future::Future,
    io::{self, IsTerminal},
    path::PathBuf,
    time::Duration,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    time::timeout,
};

/// How long after a failed write the signal of a gone terminal may arrive.
const HANGUP_DELAY: Duration = Duration::from_secs(1);

/// These signals, as one stream of interrupts.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if the program was started to outlive the terminal, as under `nohup`.
    hangup: Option<Signal>,
    has_hung_up: bool,
    is_terminated: bool,
    /// A file that counts as an interrupt when it appears.
    file: Option<PathBuf>,
}

impl Interrupts {
    /// Starts listening: from then on, these signals do not end the process by themselves.
    pub fn listen() -> io::Result<Self> {
        let hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, hangup, has_hung_up: false, is_terminated: false, file: None })
    }

    /// Adds a file as a source of interrupts: if another process creates it, it counts as an interrupt and is removed.
    pub fn or_file(self, file: PathBuf) -> Self {
        Self { file: Some(file), ..self }
    }

    /// Waits for the next interrupt. Cancel safe.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => self.is_terminated = true,
            () = hung_up(self.hangup.as_mut()) => {
                self.has_hung_up = true;
                // A terminal that goes away sends the signal more than once for one interrupt.
                self.hangup = None;
            }
            () = appears(self.file.as_deref()) => {}
        }
    }

    /// Whether an interrupt so far means that the terminal is gone, so that output is lost.
    pub fn has_hung_up(&self) -> bool {
        self.has_hung_up
    }

    /// Whether output fails with `error` because the terminal is gone: a write may notice that before the signal arrives.
    pub(crate) async fn is_hangup(&mut self, error: &anyhow::Error) -> bool {
        let is_of_terminal = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()));
        if let Some(hangup) = self.hangup.as_mut().filter(|_| is_of_terminal) {
            self.has_hung_up = timeout(HANGUP_DELAY, hangup.recv()).await.is_ok();
            self.hangup.take_if(|_| self.has_hung_up);
        }
        self.has_hung_up
    }

    /// Whether an interrupt so far asked the whole program to end, not only the current work.
    pub fn must_end(&self) -> bool {
        self.has_hung_up || self.is_terminated
    }

    /// Waits for `what`, such as the shutdown of an engine, or until the next interrupt. Returns whether `what` has
    /// completed.
    pub async fn or_leave(&mut self, what: impl Future<Output = ()>) -> bool {
        tokio::select! {
            () = what => true,
            () = self.next() => false,
        }
    }

    /// Runs the future that `begin` returns. The first interrupt asks it to end by itself; a second one drops it and
    /// returns `None`.
    pub async fn until<T, F>(&mut self, begin: impl FnOnce(Interrupted) -> F) -> Option<T>
    where
        F: Future<Output = T>,
    {
        let (stop, stopping) = oneshot::channel();
        let working = begin(Box::pin(async move {
            let _nobody_else_stops_it = stopping.await;
        }));
        let twice = async {
            self.next().await;
            let _it_has_ended = stop.send(());
            self.next().await;
        };
        tokio::select! {
            done = working => Some(done),
            () = twice => None,
        }
    }
}

/// Completes at the first interrupt; see [`Interrupts::until`].
pub type Interrupted = futures::future::BoxFuture<'static, ()>;

/// Whether SIGHUP is ignored, as under `nohup`. Listening would undo that.
fn ignores_hangup() -> bool {
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => is_ignored(&status),
        // Other systems do not tell; `nohup` redirects both streams away from the terminal.
        Err(_) => !io::stdout().is_terminal() && !io::stderr().is_terminal(),
    }
}

/// Whether the mask of ignored signals contains SIGHUP: signal 1, so the lowest bit (proc(5), `SigIgn`).
fn is_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

async fn hung_up(hangup: Option<&mut Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_started_with_nohup_outlives_the_terminal() {
        let table = [
            ("Name:\thaft\nSigIgn:\t0000000000000001\n", true),
            ("SigIgn:\t0000000000001000\n", false),
            ("SigIgn:\t0000000000001003\n", true),
            ("Name:\thaft\n", false),
        ];
        for (status, expected) in table {
            assert_eq!(is_ignored(status), expected, "{status:?}");
        }
    }
}

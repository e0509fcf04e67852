//! [`Watch`] and [`Running`]: a running command, and its output.
use haft_core::{TaskOutput, ToolContext};
use haft_process::{Finished, ProcessError, Shell};
use parking_lot::Mutex;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// Receives the output of a command while it runs. Clones share one state.
#[derive(Clone)]
pub(super) struct Watch(Arc<Mutex<State>>);

struct State {
    /// Shows the output to the front-ends that follow the call; `None` once the call is over.
    shown: Option<Shown>,
    output: TaskOutput,
    last: Instant,
}

type Shown = Arc<dyn Fn(String) + Send + Sync>;

impl Watch {
    /// Shows the output of a call to the front-ends that follow it.
    pub(super) fn new(ctx: &ToolContext) -> Self {
        Self::of(Some(ctx.on_progress.clone()))
    }

    /// Keeps the output for later.
    pub(super) fn silent() -> Self {
        Self::of(None)
    }

    fn of(shown: Option<Shown>) -> Self {
        let output = TaskOutput::default();
        Self(Arc::new(Mutex::new(State { shown, output, last: Instant::now() })))
    }

    /// The output that has not been read yet.
    pub(super) fn output(&self) -> TaskOutput {
        self.0.lock().output.clone()
    }

    /// Ends the display: the call is over, but the command is not.
    pub(super) fn hand_over(&self) -> TaskOutput {
        self.0.lock().shown = None;
        self.output()
    }

    fn push(&self, chunk: &str) {
        let mut state = self.0.lock();
        state.last = Instant::now();
        state.output.push(chunk);
        if let Some(show) = &state.shown {
            show(chunk.to_owned());
        }
    }

    /// Waits until the command takes longer than `most`, or prints nothing for `silence`, and returns which of these
    /// happened. `None` if the command has ended.
    pub(super) async fn outlasts(
        &self,
        running: &mut Running,
        most: Duration,
        silence: Duration,
    ) -> Option<String> {
        let end = Instant::now() + most;
        loop {
            let quiet = if silence.is_zero() { end } else { self.0.lock().last + silence };
            tokio::select! {
                biased;
                () = running.ended() => return None,
                () = sleep_until(end.min(quiet)) => {}
            }
            let now = Instant::now();
            if now >= end {
                return Some(format!("still running after {} s", most.as_secs()));
            }
            if !silence.is_zero() && now >= self.0.lock().last + silence {
                return Some(format!("no output for {} s, still running", silence.as_secs()));
            }
        }
    }
}

type Ended = Result<Finished, ProcessError>;

/// A running command. Killed on drop.
pub(super) struct Running {
    work: Pin<Box<dyn Future<Output = Ended> + Send>>,
    ended: Option<Ended>,
}

impl Running {
    /// Starts on the first poll.
    pub(super) fn new(shell: Shell, watch: Watch) -> Self {
        Self { work: Box::pin(shell.run(move |chunk| watch.push(chunk))), ended: None }
    }

    /// Waits for the end without taking the result.
    async fn ended(&mut self) {
        if self.ended.is_none() {
            self.ended = Some(self.work.as_mut().await);
        }
    }
}

impl Future for Running {
    type Output = Ended;
    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Ended> {
        match self.ended.take() {
            Some(ended) => Poll::Ready(ended),
            None => self.work.as_mut().poll(ctx),
        }
    }
}

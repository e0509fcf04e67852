//! [`interruptible`]: waits until Ctrl+C: after a question on the terminal, signals no longer end the program by
//! themselves.
use haft_app::Failure;
use haft_terminal::{Exit, signals::Interrupts};

/// What `work` comes to; a failure without words where a signal came first.
pub(super) async fn interruptible<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let mut interrupts = Interrupts::listen()?;
    tokio::select! {
        done = work => Ok(done),
        () = interrupts.next() => {
            Err(Failure { message: String::new(), hint: None, exit: Exit::Interrupted })
        }
    }
}

//! [`interruptible`]: stops work at Ctrl+C, because after a prompt on the terminal, signals do not end the program by
//! themselves.
use haft_app::Failure;
use haft_terminal::{Exit, signals::Interrupts};

/// The result of `work`; a failure without a message if a signal came first.
pub(super) async fn interruptible<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let mut interrupts = Interrupts::listen()?;
    tokio::select! {
        done = work => Ok(done),
        () = interrupts.next() => {
            Err(Failure { message: String::new(), hint: None, exit: Exit::Interrupted })
        }
    }
}

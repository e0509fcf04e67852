//! Interrupts from outside: SIGINT and SIGTERM.
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals, as one stream of interrupts.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// Counts as an interrupt once it is there.
    file: Option<PathBuf>,
}

/// How soon a file is noticed.
const LOOK: Duration = Duration::from_millis(500);

impl Interrupts {
    /// From here on the signals no longer end the process by themselves.
    pub fn listen() -> std::io::Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, file: None })
    }

    /// A file that somebody else makes interrupts as well; it is removed then.
    pub fn or_file(self, file: PathBuf) -> Self {
        Self { file: Some(file), ..self }
    }

    /// Waits for the next one. Dropping it loses none.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = appears(self.file.as_deref()) => {}
        }
    }
}

/// Waits until the file is there, and removes it; for ever without one.
pub(crate) async fn appears(file: Option<&Path>) {
    let Some(file) = file else { return std::future::pending().await };
    while std::fs::remove_file(file).is_err() {
        tokio::time::sleep(LOOK).await;
    }
}

//! [`Watch`]: tracks a long search: whether it was stopped, its progress, and what it could not read.
use haft_core::{ToolContext, ToolError, ToolErrorKind};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

pub(crate) struct Watch<'a> {
    pub(crate) ctx: &'a ToolContext,
    began: Instant,
    /// When the next progress update is due, in milliseconds after the start.
    next: AtomicU64,
    /// Number of files that were searched.
    pub(crate) files: AtomicU64,
    /// Number of results that were found in them.
    pub(crate) found: AtomicU64,
    unreadable: Arc<AtomicU64>,
    /// Number of files and folders that the rules do not let the call read.
    forbidden: Arc<AtomicU64>,
}

/// Interval between two progress updates, in milliseconds.
const UPDATE_INTERVAL: u64 = 1_000;

impl<'a> Watch<'a> {
    pub(crate) fn new(ctx: &'a ToolContext) -> Self {
        let (files, found, unreadable, forbidden) = Default::default();
        Self {
            ctx,
            began: Instant::now(),
            next: AtomicU64::new(UPDATE_INTERVAL),
            files,
            found,
            unreadable,
            forbidden,
        }
    }

    /// Whether the search should continue. Sends a progress update when one is due.
    pub(crate) fn goes_on(&self) -> bool {
        if is_due(&self.next, self.began.elapsed()) {
            let (files, found) = (self.files.load(Relaxed), self.found.load(Relaxed));
            self.ctx.progress(format!("looked at {files} files, found {found}\n"));
        }
        !self.ctx.cancel.is_cancelled()
    }

    /// Counts a file or folder that a walk could not enter. Ignores paths that were removed meanwhile.
    pub(crate) fn could_not_read(&self, error: &ignore::Error) {
        if error.io_error().is_none_or(|error| error.kind() != io::ErrorKind::NotFound) {
            self.unreadable.fetch_add(1, Relaxed);
        }
    }

    /// Counts a file that could not be opened or read.
    pub(crate) fn could_not_open(&self, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.unreadable.fetch_add(1, Relaxed);
        }
    }

    /// The counter of files, for callers that cannot borrow this.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        self.unreadable.clone()
    }

    /// The counter of files that the rules do not let the call read.
    pub(crate) fn forbidden(&self) -> Arc<AtomicU64> {
        self.forbidden.clone()
    }

    pub(crate) fn unreadable(&self) -> u64 {
        self.unreadable.load(Relaxed)
    }

    /// Fails if the search was stopped: an incomplete result is useless.
    pub(crate) fn done(&self) -> Result<(), ToolError> {
        if self.ctx.cancel.is_cancelled() {
            return Err(ToolError::new(ToolErrorKind::System, "the search was stopped"));
        }
        Ok(())
    }

    /// Notes on the results, each on a line.
    pub(crate) fn note(&self) -> String {
        let unreadable = match self.unreadable() {
            0 => String::new(),
            1 => "\n[1 file or folder could not be read and was left out]".into(),
            many => format!("\n[{many} files or folders could not be read and were left out]"),
        };
        unreadable + &not_allowed(self.forbidden.load(Relaxed))
    }
}

/// The note on files and folders that the rules do not let a call read.
pub(crate) fn not_allowed(number: u64) -> String {
    match number {
        0 => String::new(),
        1 => "\n[1 file or folder was left out: a rule does not let it be read]".into(),
        many => format!("\n[{many} files or folders were left out: rules do not let them be read]"),
    }
}

/// Returns true once for each due update, whichever thread calls it.
fn is_due(next: &AtomicU64, elapsed: Duration) -> bool {
    let (now, at) = (elapsed.as_millis() as u64, next.load(Relaxed));
    now >= at && next.compare_exchange(at, now + UPDATE_INTERVAL, Relaxed, Relaxed).is_ok()
}

/// Reads a file; fails when the search is stopped.
pub(crate) struct Watched<'a, R> {
    pub(crate) file: R,
    pub(crate) watch: &'a Watch<'a>,
}

impl<R: io::Read> io::Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.watch.goes_on() { self.file.read(buffer) } else { Err(io::Error::other("stopped")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-28, C-66
    #[test]
    fn a_word_is_due_every_second_and_only_once() {
        let next = AtomicU64::new(UPDATE_INTERVAL);
        let due = [0, 999, 1_000, 1_001, 1_999, 2_500, 3_499, 3_500];
        let said = due.map(|at| is_due(&next, Duration::from_millis(at)));
        assert_eq!(said, [false, false, true, false, false, true, false, true]);
    }
}

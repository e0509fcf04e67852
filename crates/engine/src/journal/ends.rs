//! Closes a journal, and tells its followers where it ends.
use super::Journal;
use haft_core::Seq;

impl Journal {
    /// The place behind the last entry.
    pub(crate) fn end(&self) -> Seq {
        self.lock().entries.last().map_or(Seq(0), |last| Seq(last.seq.0 + 1))
    }

    /// The place of what is recorded next; behind lines, too, that cannot be read.
    pub(crate) fn next(&self) -> Seq {
        self.lock().next
    }

    /// As [`Journal::close`] with a `failure`, if it is not closed yet.
    pub(crate) fn close_if_open(&self, failure: &str) {
        if !self.0.closed.is_cancelled() {
            self.close(Some(failure.to_owned()));
        }
    }
}

//! Finds where a kind of fact was recorded last.
use super::Journal;
use haft_core::{Fact, Seq};

impl Journal {
    /// The place of the last entry with such a fact. Asked in each round, so that nothing is copied.
    pub(crate) fn last(&self, is_wanted: impl Fn(&Fact) -> bool) -> Option<Seq> {
        self.lock().entries.iter().rfind(|entry| is_wanted(&entry.fact)).map(|entry| entry.seq)
    }
}

//! What a session has recorded, and what is folded from it.
use crate::journal::{Journal, JournalError};
use haft_core::{Fact, Transcript};

/// The transcript and its journal, kept in step.
pub(crate) struct Log {
    pub(crate) journal: Journal,
    pub(crate) transcript: Transcript,
}

impl Log {
    pub(crate) fn record(&mut self, fact: Fact) -> Result<(), JournalError> {
        let entry = self.journal.append(fact, None)?;
        self.transcript.apply(&entry.fact);
        Ok(())
    }
}

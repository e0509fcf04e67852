//! [`Evidence`]: checks what an agent says against the facts of its session.
use crate::Entry;
use std::sync::Arc;

/// Checks what an agent says against the facts of its session. The crate `haft-evidence` has the one that Haft uses.
pub trait Evidence: Send + Sync + 'static {
    /// Returns the claims of the last reply that nothing in `entries` shows, each in the reply's own words with what is
    /// missing. `check` is the command line that shows that the work is well; if it is `None`, any run of tests does.
    fn unproven(&self, entries: &[Arc<Entry>], check: Option<&str>) -> Vec<String>;

    /// Returns the tests that failed in the last run of the conversation `path`, and in none before its first change.
    fn failing_tests(&self, path: &[&Arc<Entry>]) -> Vec<String>;
}

/// Believes every claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvidence;

impl Evidence for NoEvidence {
    fn unproven(&self, _: &[Arc<Entry>], _: Option<&str>) -> Vec<String> {
        Vec::new()
    }

    fn failing_tests(&self, _: &[&Arc<Entry>]) -> Vec<String> {
        Vec::new()
    }
}

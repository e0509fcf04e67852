//! [`Evidence`]: checks the claims of an agent against the facts of its session.
use crate::Entry;
use std::sync::Arc;

/// Checks the claims of an agent against the facts of its session. The crate `haft-evidence` has the implementation
/// that Haft uses.
pub trait Evidence: Send + Sync + 'static {
    /// Returns the claims of the last reply that `entries` do not prove, each in the reply's own words with what is
    /// missing. `check` is the command line that proves the work; if it is `None`, any run of tests does.
    fn unproven(&self, entries: &[Arc<Entry>], check: Option<&str>) -> Vec<String>;

    /// Returns the tests that failed in the last test run of the conversation `path`, but in no run before its first
    /// change.
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

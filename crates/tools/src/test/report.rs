//! [`Report`]: the result of a test run, whatever the runner.
use haft_core::TestFailure;
use std::path::Path;

/// The result of a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// Tests that failed, and files or packages that could not be built or loaded.
    pub(super) failures: Vec<TestFailure>,
}

impl Report {
    /// Makes file names relative to `folder`.
    pub(super) fn seen_from(mut self, folder: &Path) -> Self {
        for failure in &mut self.failures {
            let file = failure.file.take();
            failure.file = file.map(|file| {
                let path = Path::new(file.strip_prefix("file://").unwrap_or(&file));
                path.strip_prefix(folder).unwrap_or(path).display().to_string()
            });
        }
        self
    }

    /// `2 passed, 1 failed, 1 skipped`.
    pub(super) fn counts(&self) -> String {
        let broken = self.failures.len() as u64;
        let broken = broken.saturating_sub(self.failed);
        let all = [
            (self.passed, "passed"),
            (self.failed, "failed"),
            (self.skipped, "skipped"),
            (broken, "not built or loaded"),
        ];
        let told = all.iter().enumerate().filter(|(index, (count, _))| *index < 2 || *count > 0);
        told.map(|(_, (count, what))| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.passed + self.failed + self.skipped == 0 && self.failures.is_empty()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed > 0 || !self.failures.is_empty()
    }
}

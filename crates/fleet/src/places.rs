//! [`Moved`]: the folder of a job. Each attempt has another folder, so stored journals use a fixed path for each job,
//! which exists on no machine.
use haft_core::{SessionId, relocated};
use std::path::{Path, PathBuf};

/// The folder of the job `id` in stored journals.
fn kept(id: &SessionId) -> String {
    format!("/fleet/{id}")
}

/// The folder of a job's files in stored journals.
pub fn work_place(id: &SessionId) -> PathBuf {
    PathBuf::from(kept(id)).join("tree")
}

/// The folder of an attempt, and its path in stored journals.
#[derive(Clone, Debug)]
pub struct Moved {
    folder: String,
    kept: String,
}

impl Moved {
    /// The places of the attempt in `folder`.
    pub fn new(id: &SessionId, folder: &Path) -> Self {
        Self { folder: folder.to_string_lossy().into_owned(), kept: kept(id) }
    }

    /// A line of the attempt with the paths of stored journals.
    pub fn kept(&self, line: &str) -> String {
        relocated(line, &self.folder, &self.kept)
    }

    /// A stored line with the paths of the attempt.
    pub fn here(&self, line: &str) -> String {
        relocated(line, &self.kept, &self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_the_same_again_wherever_the_next_attempt_works() {
        let id = SessionId("20261123-120000-x".into());
        let first = Moved::new(&id, Path::new("/var/a/20261123-120000-x-1"));
        let second = Moved::new(&id, Path::new("/srv/b"));
        let table = [
            (r#"{"cwd":"/var/a/20261123-120000-x-1/tree"}"#, r#"{"cwd":"/srv/b/tree"}"#),
            ("/var/a/20261123-120000-x-11/tree", "/var/a/20261123-120000-x-11/tree"),
            ("x/var/a/20261123-120000-x-1", "x/var/a/20261123-120000-x-1"),
            ("", ""),
        ];
        for (line, expected) in table {
            assert_eq!(second.here(&first.kept(line)), expected);
            assert_eq!(first.here(&first.kept(line)), line);
        }
    }
}

//! Where a job works. The folder of each attempt is another one, so that journals are kept as if every job worked in a
//! place of its own that exists nowhere.
use haft_core::{SessionId, relocated};
use std::path::{Path, PathBuf};

/// The folder of the job `id` in what is kept of it.
fn kept(id: &SessionId) -> String {
    format!("/fleet/{id}")
}

/// Where a job's files are in what is kept of it.
pub fn work_place(id: &SessionId) -> PathBuf {
    PathBuf::from(kept(id)).join("tree")
}

/// The folder of an attempt, and how it reads in what is kept.
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

    /// A line of the attempt, as it is kept.
    pub fn kept(&self, line: &str) -> String {
        relocated(line, &self.folder, &self.kept)
    }

    /// A line that is kept, as it reads in the attempt.
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

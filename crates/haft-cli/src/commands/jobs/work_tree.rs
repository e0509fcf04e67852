//! A copy of a repository's files on a branch of its own, for one job (`git worktree`).
use crate::failure::Failure;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where a job works.
pub(super) struct WorkTree {
    pub(super) branch: String,
    pub(super) folder: PathBuf,
    /// What a person may not expect.
    pub(super) note: Option<String>,
}

impl WorkTree {
    /// A branch `haft/KIND-…` from the last commit; `None` where there is no repository, or nothing was ever committed.
    pub(super) fn make(home: &Path, origin: &Path, kind: &str) -> Result<Option<Self>, Failure> {
        let Some(top) = said(origin, ["rev-parse", "--show-toplevel"]) else { return Ok(None) };
        if said(origin, ["rev-parse", "--verify", "HEAD"]).is_none() {
            return Ok(None);
        }
        let name = format!("{kind}-{}", name());
        let (branch, tree) = (format!("haft/{name}"), home.join("worktrees").join(&name));
        std::fs::create_dir_all(home.join("worktrees"))?;
        let made = git(origin)
            .args(["worktree", "add", "--quiet", "-b", &branch])
            .arg(&tree)
            .arg("HEAD")
            .output()?;
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
            return Err(Failure::failed(format!("cannot make a work tree: {why}")));
        }
        // Asked for in a folder of the repository, it works in the same folder of the work tree.
        let below = origin.strip_prefix(&top).unwrap_or(Path::new(""));
        let is_dirty = said(origin, ["status", "--porcelain"]).is_some_and(|lines| !lines.is_empty());
        let note = is_dirty
            .then(|| format!("the job works on `{branch}`; changes that are not committed are not there"));
        Ok(Some(Self { branch, folder: tree.join(below).canonicalize()?, note }))
    }

    /// The branch stays; so does a tree with something in it that is not committed.
    pub(super) fn remove(origin: &Path, folder: &Path) {
        let Some(top) = said(folder, ["rev-parse", "--show-toplevel"]) else { return };
        let removed = git(origin).args(["worktree", "remove"]).arg(top).stderr(Stdio::null()).status();
        let _stays_where_it_is = removed;
    }
}

/// No hook of the repository and nothing else of its own runs.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null()).env("LC_ALL", "C");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    command
}

fn said(folder: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Option<String> {
    let output = git(folder).args(words).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Sorts by time, and two in one second differ.
fn name() -> String {
    let now = jiff::Timestamp::now();
    format!("{}-{:04x}", now.strftime("%Y%m%d-%H%M%S"), now.subsec_nanosecond() / 16 % 0x1_0000)
}

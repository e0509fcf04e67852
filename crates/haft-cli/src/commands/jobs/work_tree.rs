//! A copy of a repository's files on a branch of its own, for one job (`git worktree`).
use crate::failure::Failure;
use haft::core::Start;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where a job works.
pub(super) struct WorkTree {
    pub(super) branch: String,
    pub(super) folder: PathBuf,
    /// Where it began.
    pub(super) start: Start,
    /// What a person may not expect.
    pub(super) note: Option<String>,
}

impl WorkTree {
    /// A branch `haft/KIND-…` from the last commit; `None` where there is no repository, or nothing was ever committed.
    pub(super) fn make(home: &Path, origin: &Path, kind: &str) -> Result<Option<Self>, Failure> {
        refuse_programs(origin)?;
        let Some(top) = said(origin, ["rev-parse", "--show-toplevel"]) else { return Ok(None) };
        let Some(commit) = said(origin, ["rev-parse", "--verify", "HEAD"]) else { return Ok(None) };
        let start = Start { commit, branch: said(origin, ["symbolic-ref", "--short", "--quiet", "HEAD"]) };
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
        let is_dirty = said(origin, ["status", "--porcelain", "--ignore-submodules=all"])
            .is_some_and(|lines| !lines.is_empty());
        let note = is_dirty
            .then(|| format!("the job works on `{branch}`; changes that are not committed are not there"));
        Ok(Some(Self { branch, folder: tree.join(below).canonicalize()?, start, note }))
    }

    /// The branch stays; so does a tree with something in it that is not committed.
    pub(super) fn remove(origin: &Path, folder: &Path) {
        let Some(top) = said(folder, ["rev-parse", "--show-toplevel"]) else { return };
        let removed = git(origin).args(["worktree", "remove"]).arg(top).stderr(Stdio::null()).status();
        let _stays_where_it_is = removed;
    }
}

/// No hook of the repository and nothing else of its own runs, and nothing of ours that looks like a key is told.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null()).env_clear();
    for name in ["PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.envs([("LC_ALL", "C"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")]);
    let off = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0"];
    command.args(off.iter().flat_map(|setting| ["-c", setting]));
    command
}

/// A filter would run a program with every file that is checked out. The person's own filters are the person's business.
fn refuse_programs(origin: &Path) -> Result<(), Failure> {
    let list = said(origin, ["config", "--list", "--show-scope", "--name-only"]).unwrap_or_default();
    let is_program = |key: &str| {
        let key = key.to_ascii_lowercase();
        key.starts_with("filter.") && ["clean", "smudge", "process"].iter().any(|end| key.ends_with(end))
    };
    let found = list.lines().find_map(|line| {
        let (scope, key) = line.split_once('\t')?;
        (["local", "worktree"].contains(&scope) && is_program(key)).then_some(key)
    });
    match found {
        None => Ok(()),
        Some(key) => Err(Failure::usage(format!(
            "cannot make a work tree safely: the repository's own configuration would run a program (`{key}`)"
        ))
        .hint("if it is yours, move it to your own configuration: `git config --global`")),
    }
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

//! [`make`]: clones a repository for a job. The clone's Git data is inside the job's workspace, so that views contain
//! it, and so that other jobs and the user never write the same files of Git. Existing objects are hard-linked, not
//! copied.
use crate::{
    Failure,
    git::{git, local, said},
};
use haft_process::own_folder;
use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Clones the repository of `origin` to `tree`, on the branch `branch`, which is made in both.
pub(super) fn make(origin: &Path, tree: &Path, branch: &str) -> Result<(), Failure> {
    own_folder(tree)?;
    tried(git(origin).args(["branch", "--quiet", "--no-track", branch, "HEAD"]))?;
    of_branch(origin, tree, branch)
}

/// Clones the repository on an existing branch.
pub(super) fn of_branch(origin: &Path, tree: &Path, branch: &str) -> Result<(), Failure> {
    let own = tree.join(".git");
    own_folder(tree)?;
    // Clones all refs unchanged, so that the job sees the same repository. `--local` is left out: it is Git's default,
    // which copies objects if it cannot link them. If the objects are elsewhere, the job gets its own copy, since it
    // may not read there.
    let all = ["clone", "--quiet", "--dissociate", "--mirror", "--template=", "--"];
    tried(local(origin).args(all).args([origin_of(origin)?.as_path(), &own]))?;
    take_settings(origin, &own)?;
    tried(git(tree).args(["checkout", "--quiet", branch, "--"]))
}

/// Whether `tree` has a repository of its own, as [`make`] makes it.
pub(super) fn is_one(tree: &Path) -> bool {
    let is_ours = tree.parent().and_then(Path::file_name) == Some(OsStr::new("worktrees"));
    is_ours && tree.join(".git").symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// If the user has checked the branch out, the user has to fetch it.
pub(super) fn bring_back(origin: &Path, tree: &Path, branch: &str) {
    fetch(origin, tree, &format!("+refs/heads/{branch}:refs/heads/{branch}"));
}

/// Moves the branch forward to the tree's commit, unless the branch has a commit that the tree lacks.
pub(super) fn bring_forward(origin: &Path, tree: &Path, branch: &str) {
    fetch(origin, tree, &format!("refs/heads/{branch}:refs/heads/{branch}"));
}

fn fetch(origin: &Path, tree: &Path, branch: &str) {
    let mut fetch = local(origin);
    fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--"]);
    if let Err(why) = tried(fetch.arg(tree).arg(branch)) {
        tracing::warn!(why = why.message, "cannot bring the job's branch back");
    }
}

/// Removes the tree, unless it has uncommitted changes, or commits that the repository of `origin` lacks.
pub(super) fn remove(origin: &Path, tree: &Path) {
    let is_clean = said(tree, ["status", "--porcelain", "--ignore-submodules=all"]).as_deref() == Some("");
    // Git does not report files in the folder of a submodule that was not cloned.
    let is_filled =
        |name: &String| fs::read_dir(tree.join(name)).is_ok_and(|mut files| files.next().is_some());
    if is_clean && !submodules(tree).iter().any(is_filled) && has_all(origin, tree).unwrap_or(false) {
        discard(tree);
    }
}

/// The folders of submodules, relative to `tree`.
pub(super) fn submodules(tree: &Path) -> Vec<String> {
    let staged = said(tree, ["ls-files", "--stage", "-z"]).unwrap_or_default();
    let is_module = |entry: &&str| entry.starts_with("160000 ");
    let name = |entry: &str| entry.split_once('\t').map(|(_, name)| name.to_owned());
    staged.split('\0').filter(is_module).filter_map(name).collect()
}

pub(super) fn discard(tree: &Path) {
    let _it_stays_where_it_is = fs::remove_dir_all(tree);
}

/// Whether the repository of `origin` has all commits that refs of `tree` name.
fn has_all(origin: &Path, tree: &Path) -> io::Result<bool> {
    let Some(named) = said(tree, ["for-each-ref", "--format=%(objectname)"]) else { return Ok(false) };
    let mut known = git(origin);
    let known = known.args(["cat-file", "--batch-check"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut known = known.stderr(Stdio::null()).spawn()?;
    let asked = known.stdin.take().map(|mut names| {
        // Git writes answers while it reads names. Writing from another thread avoids that both wait for each other.
        std::thread::spawn(move || names.write_all(named.as_bytes()))
    });
    let answers = known.wait_with_output()?;
    let is_asked = asked.is_some_and(|asked| matches!(asked.join(), Ok(Ok(()))));
    let answers = String::from_utf8_lossy(&answers.stdout);
    Ok(is_asked && !answers.lines().any(|answer| answer.ends_with(" missing")))
}

/// Copies the repository's settings, such as remotes and the user's name, its ignore and attribute rules, and its
/// hooks.
fn take_settings(origin: &Path, own: &Path) -> Result<(), Failure> {
    let common = origin_of(origin)?;
    fs::copy(common.join("config"), own.join("config"))?;
    for name in ["info/exclude", "info/attributes"].map(Path::new) {
        if common.join(name).symlink_metadata().is_ok_and(|found| found.is_file()) {
            fs::create_dir_all(own.join("info"))?;
            fs::copy(common.join(name), own.join(name))?;
        }
    }
    for hook in fs::read_dir(common.join("hooks")).into_iter().flatten().flatten() {
        let is_one = hook.file_type()?.is_file() && hook.path().extension() != Some(OsStr::new("sample"));
        if is_one {
            fs::create_dir_all(own.join("hooks"))?;
            fs::copy(hook.path(), own.join("hooks").join(hook.file_name()))?;
        }
    }
    let config = |words: &[&str]| {
        let set = git(own).args(["config", "--file"]).arg(own.join("config")).args(words).output();
        let _was_not_set = set;
    };
    config(&["core.bare", "false"]);
    config(&["--unset-all", "core.worktree"]);
    config(&["--unset-all", "extensions.worktreeConfig"]);
    let remotes =
        said(origin, ["config", "--local", "--get-regexp", r"^remote\..*\.(push)?url$"]).unwrap_or_default();
    for (key, url) in remotes.lines().filter_map(|line| line.split_once(' ')) {
        // Git reads such a URL relative to the repository.
        if url.starts_with("./") || url.starts_with("../") {
            let top = said(origin, ["rev-parse", "--show-toplevel"]).unwrap_or_default();
            config(&[key, &Path::new(&top).join(url).to_string_lossy()]);
        }
    }
    Ok(())
}

/// The folder with the Git data that all work trees of a repository share.
fn origin_of(origin: &Path) -> Result<PathBuf, Failure> {
    let common = said(origin, ["rev-parse", "--git-common-dir"]).unwrap_or_default();
    Ok(origin.join(common).canonicalize()?)
}

fn tried(command: &mut Command) -> Result<(), Failure> {
    let tried = command.output()?;
    match tried.status.success() {
        true => Ok(()),
        false => {
            let why = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
            Err(Failure::failed(format!("cannot create a work tree: {why}")))
        }
    }
}

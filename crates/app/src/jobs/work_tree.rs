//! [`WorkTree`]: a clone of a repository with a branch of its own, for one job.
mod clone;

use crate::{
    Failure,
    git::{git, said},
};
use haft_core::{BaseCommit, JobSpec};
use haft_process::own_folder;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};

/// The work tree of a job.
pub(super) struct WorkTree {
    pub(super) branch: String,
    pub(super) folder: PathBuf,
    /// The commit at which it began.
    pub(super) start: BaseCommit,
    /// A notice on something that the user may not expect.
    pub(super) note: Option<String>,
}

impl WorkTree {
    /// Makes a work tree with a branch `haft/KIND-…` from the last commit. If that fails, everything made so far is
    /// removed.
    pub(super) fn make(home: &Path, origin: &Path, kind: &str) -> Result<Self, Failure> {
        refuse_odd_files(origin)?;
        refuse_programs(origin)?;
        let top = said(origin, ["rev-parse", "--show-toplevel"]).ok_or_else(|| no_repository(origin))?;
        let commit = said(origin, ["rev-parse", "--verify", "HEAD"]).ok_or_else(|| no_commit(origin))?;
        let start =
            BaseCommit { commit, branch: said(origin, ["symbolic-ref", "--short", "--quiet", "HEAD"]) };
        let name = format!("{kind}-{}", name());
        let (branch, tree) = (format!("haft/{name}"), home.join("worktrees").join(&name));
        // If `origin` is a folder within the repository, the job works in the same folder of the work tree.
        let below = origin.strip_prefix(&top).unwrap_or(Path::new(""));
        let made = clone::make(origin, &tree, &branch).and_then(|()| folder_in(&tree, below));
        let folder = made.inspect_err(|_| discard(origin, &tree, &branch))?;
        let is_dirty = said(origin, ["status", "--porcelain", "--ignore-submodules=all"])
            .is_some_and(|lines| !lines.is_empty());
        let dirty =
            is_dirty.then(|| format!("the job works on `{branch}`; it does not see uncommitted changes"));
        let note =
            dirty.into_iter().chain(empty_submodules(&tree)).reduce(|one, other| format!("{one}; {other}"));
        Ok(Self { branch, folder, start, note })
    }

    /// If `folder` no longer exists, makes the work tree of the job again from the job's branch. Does nothing for a job
    /// without a branch.
    pub(super) fn restore(home: &Path, order: &JobSpec, folder: &Path) -> Result<(), Failure> {
        let Some(branch) = order.branch.as_deref().filter(|_| !folder.exists()) else { return Ok(()) };
        let Some(name) = branch.strip_prefix("haft/") else { return Ok(()) };
        let trees = home.join("worktrees");
        own_folder(&trees)?;
        let tree = trees.canonicalize()?.join(name);
        let Ok(below) = folder.strip_prefix(&tree) else { return Ok(()) };
        let made = clone::of_branch(&order.origin, &tree, branch).and_then(|()| folder_in(&tree, below));
        made.map(drop).inspect_err(|_| clone::discard(&tree))
    }

    /// Copies the job's commits to its branch in the repository where the job was asked for.
    pub(super) fn bring_back(order: &JobSpec, folder: &Path) {
        let Some(branch) = &order.branch else { return };
        let Some(tree) = top(folder).filter(|tree| clone::is_one(tree)) else { return };
        clone::bring_back(&order.origin, &tree, branch);
    }

    /// The work tree of the job, if it still exists.
    pub(super) fn left(home: &Path, order: &JobSpec) -> Option<PathBuf> {
        let name = order.branch.as_deref()?.strip_prefix("haft/")?;
        Some(home.join("worktrees").join(name)).filter(|tree| clone::is_one(tree))
    }

    /// Like [`Self::bring_back`] and [`Self::remove`], some time after the job ended. A branch that was deleted
    /// meanwhile is not made again. If the tree stays, the branch is moved only if it is still where the job began,
    /// because the user may have set it.
    pub(super) fn finish(order: &JobSpec, tree: &Path, is_removed: bool) {
        let Some(branch) = &order.branch else { return };
        let tip = said(&order.origin, ["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
        let is_at_start = order.start.as_ref().map(|start| &start.commit) == tip.as_ref();
        if tip.is_some() && (is_removed || is_at_start) {
            clone::bring_forward(&order.origin, tree, branch);
        }
        if is_removed {
            clone::remove(&order.origin, tree);
        }
    }

    /// Removes the tree, unless it has uncommitted changes. The branch stays.
    pub(super) fn remove(origin: &Path, folder: &Path, branch: &str) {
        let Some(tree) = top(folder) else { return };
        if clone::is_one(&tree) {
            clone::bring_back(origin, &tree, branch);
            return clone::remove(origin, &tree);
        }
        let removed = git(origin).args(["worktree", "remove"]).arg(tree).stderr(Stdio::null()).status();
        let _stays_where_it_is = removed;
    }

    /// Removes the tree with its uncommitted changes, and a branch without commits of the job. Returns the branch if it
    /// stays.
    pub(super) fn remove_all(order: &JobSpec, folder: &Path) -> Option<String> {
        let branch = order.branch.as_ref()?;
        Self::bring_back(order, folder);
        if let Some(tree) = top(folder).filter(|tree| clone::is_one(tree)) {
            clone::discard(&tree);
        }
        let tip = said(&order.origin, ["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")])?;
        if order.start.as_ref().is_some_and(|start| start.commit == tip) {
            delete_branch(&order.origin, branch);
            return None;
        }
        Some(branch.clone())
    }

    /// Removes the work tree and the branch of a job that never began.
    pub(super) fn discard(origin: &Path, folder: &Path, branch: &str) {
        if let Some(tree) = top(folder) {
            discard(origin, &tree, branch);
        }
    }
}

/// Returns a notice on the submodules of a tree: their content is not cloned, and a job cannot commit in them.
fn empty_submodules(tree: &Path) -> Option<String> {
    let names = clone::submodules(tree);
    let names = names.iter().map(|name| format!("`{}`", name.escape_debug())).collect::<Vec<_>>().join(", ");
    (!names.is_empty())
        .then(|| format!("submodules are empty for the job, which can change nothing in them: {names}"))
}

fn top(folder: &Path) -> Option<PathBuf> {
    said(folder, ["rev-parse", "--show-toplevel"]).map(PathBuf::from)
}

/// The folder `below` in the tree; made if no file in it was ever committed. Fails if a link leads out of the tree.
fn folder_in(tree: &Path, below: &Path) -> Result<PathBuf, Failure> {
    let mut folder = tree.canonicalize()?;
    for part in below {
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let below = below.display();
                return Err(Failure::usage(format!(
                    "cannot work in `{below}`: it is not a directory in the last commit"
                ))
                .hint("commit the directory first, or run the job in another one"));
            }
            Err(_) => std::fs::create_dir(&folder)?,
        }
    }
    Ok(folder)
}

/// Removes everything that was made for a job, with its branch. Older versions used `git worktree`.
fn discard(origin: &Path, tree: &Path, branch: &str) {
    match clone::is_one(tree) {
        true => clone::discard(tree),
        false => {
            quietly(origin, &["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), tree.as_ref()])
        }
    }
    delete_branch(origin, branch);
}

fn delete_branch(origin: &Path, branch: &str) {
    quietly(origin, &["branch".as_ref(), "--quiet".as_ref(), "-D".as_ref(), branch.as_ref()]);
}

fn quietly(origin: &Path, words: &[&OsStr]) {
    let _was_never_made = git(origin).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// The error for a folder outside of a repository: a job would change its files in place, not in a work tree.
fn no_repository(origin: &Path) -> Failure {
    let place = origin.display();
    if git(origin).arg("--version").output().is_err() {
        return Failure::usage(format!(
            "cannot create a work tree of `{place}`: there is no `git` on the PATH"
        ))
        .hint("install git: a job works on a branch of its own");
    }
    let why = "it is not in a readable Git repository";
    Failure::usage(format!("cannot create a work tree of `{place}`: {why}"))
        .hint("a job works on a branch of its own: `git init && git add --all && git commit -m Begin`")
}

fn no_commit(origin: &Path) -> Failure {
    let place = origin.display();
    Failure::usage(format!("cannot create a work tree of `{place}`: the repository has no commits"))
        .hint("a job works on a branch of its own: `git add --all && git commit -m Begin`")
}

/// Refuses a repository in which one of Git's files is a pipe or a device: Git would wait for the pipe forever, or read
/// the device.
fn refuse_odd_files(origin: &Path) -> Result<(), Failure> {
    let Some(root) = origin.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()) else {
        return Ok(());
    };
    let own = std::fs::read_dir(root.join(".git")).into_iter().flatten().flatten().map(|entry| entry.path());
    let rules = [".git", ".gitattributes", ".gitignore", ".gitmodules"].map(|name| root.join(name));
    let is_odd = |path: &PathBuf| path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    match own.chain(rules).find(is_odd) {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "cannot create a work tree safely: `{}` is not a regular file",
            path.display()
        ))),
    }
}

/// Refuses filters in the repository's configuration: they run a program for each file that is checked out. The user's
/// own filters are allowed.
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
            "cannot create a work tree safely: the repository's configuration would run a program (`{key}`)"
        ))
        .hint("if it is yours, move it to your own configuration: `git config --global`")),
    }
}

/// A name that sorts by time; names of the same second differ.
fn name() -> String {
    let now = jiff::Timestamp::now();
    format!("{}-{:04x}", now.strftime("%Y%m%d-%H%M%S"), now.subsec_nanosecond() / 16 % 0x1_0000)
}

//! [`TaskFolder`]: the files of a task for one run, in a repository of its own.
use super::tasks::{Beginning, files_in};
use crate::{
    Failure,
    git::{git, local, said},
    replay::copy::{copy_one, restore},
};
use haft_engine::Home;
use haft_process::own_folder;
use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};

/// The name of the check's file while it runs.
const CHECK: &str = ".haft-check";

/// The time of the commit with the files of a task. It is fixed, so that the commit is the same each time.
const COMMITTED_AT: &str = "2026-01-01T00:00:00Z";

/// The folder of a task, removed when this is dropped.
pub(super) struct TaskFolder {
    place: PathBuf,
    /// The folder to work in.
    pub(super) work: PathBuf,
}

impl TaskFolder {
    /// Makes the folder `place` with the files that a task begins with. The repository that a commit is taken from
    /// stays unchanged.
    pub(super) fn make(home: &Home, place: &Path, begins: &Beginning) -> Result<Self, Failure> {
        let top = place.join("work");
        own_folder(&top)?;
        let mut folder = Self { place: place.to_owned(), work: top.clone() };
        tried(git(&top).args(["init", "--quiet", "--template=", "--initial-branch=main"]))?;
        match begins {
            Beginning::Empty => {}
            Beginning::Files(files) => {
                copy_all(files, &top)?;
                commit(&top)?;
            }
            Beginning::Commit { folder: from, commit, session } => {
                check_out(from, commit, &top)?;
                folder.work = top.join(said(from, ["rev-parse", "--show-prefix"]).unwrap_or_default());
                fs::create_dir_all(&folder.work)?;
                if let Some(session) = session {
                    restore(&folder.work, &home.peek(&session.0)?, &home.contents(session))?;
                }
            }
        }
        folder.work = folder.work.canonicalize()?;
        Ok(folder)
    }

    /// Copies the program `script` into the folder, replacing anything of its name, and returns the command that runs
    /// it.
    pub(super) fn with_check(&self, script: &Path) -> io::Result<String> {
        let place = self.work.join(CHECK);
        match place.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&place)?,
            Ok(_) => fs::remove_file(&place)?,
            Err(_) => {}
        }
        // A link that was put in its place meanwhile is not followed.
        let mut file = File::options().write(true).create_new(true).mode(0o755).open(&place)?;
        file.write_all(&fs::read(script)?)?;
        Ok(format!("./{CHECK}"))
    }
}

impl Drop for TaskFolder {
    fn drop(&mut self) {
        remove(&self.place);
    }
}

/// Removes the folder of a run, even if its process was killed. A tool may have left write-protected folders.
pub(super) fn remove(place: &Path) {
    if fs::remove_dir_all(place).is_err() {
        for path in files_in(place).unwrap_or_default().iter().filter(|path| is_folder(path)) {
            let _it_is_not_ours = fs::set_permissions(path, PermissionsExt::from_mode(0o700));
        }
        let _it_stays = fs::remove_dir_all(place);
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Checks out `commit` with its history only: later commits may contain the solution.
fn check_out(folder: &Path, commit: &str, to: &Path) -> Result<(), Failure> {
    let top = said(folder, ["rev-parse", "--show-toplevel"])
        .ok_or_else(|| Failure::failed(format!("`{}` is in no Git repository", folder.display())))?;
    let words = ["fetch", "--quiet", "--no-tags", "--update-shallow", "--no-recurse-submodules", "--"];
    tried(local(to).args(words).args([&top, commit]))?;
    tried(git(to).args(["reset", "--quiet", "--hard", commit, "--"]))
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    for path in files_in(from)? {
        copy_one(&path, &to.join(path.strip_prefix(from).unwrap_or(&path)))?;
    }
    Ok(())
}

fn commit(folder: &Path) -> Result<(), Failure> {
    tried(git(folder).args(["add", "--all", "--force", "."]))?;
    let person = ["-c", "user.name=haft", "-c", "user.email=haft@localhost", "-c", "commit.gpgSign=false"];
    let mut commit = git(folder);
    commit.args(person).args(["commit", "--quiet", "--allow-empty", "--message=The task"]);
    tried(commit.envs([("GIT_AUTHOR_DATE", COMMITTED_AT), ("GIT_COMMITTER_DATE", COMMITTED_AT)]))
}

fn tried(command: &mut Command) -> Result<(), Failure> {
    let failed = |why: &str| Failure::failed(format!("cannot make the folder of a task: {why}"));
    let ended = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed("there is no `git` on the PATH").hint("install git"),
        _ => failed(&error.to_string()),
    })?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&ended.stderr).trim())),
    }
}

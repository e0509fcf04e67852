//! [`copy`]: copies a workspace as it was when a session began, as far as the journal shows: the current files, with
//! the session's own changes taken back.
use crate::{
    Failure,
    git::{git, local, said},
};
use haft_core::{Change, Entry, Fact, FileKind, FileState, Stage, active_path, changed};
use haft_stage::LocalStage;
use ignore::{DirEntry, WalkBuilder};
use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    os::unix::fs::symlink,
    path::{Component, Path, PathBuf},
    process::Command,
    sync::Arc,
};

/// Maximum number of files in a workspace that is copied.
const MAX_FILES: usize = 100_000;
const MAX_BYTES: u64 = 2 << 30;

/// Copies `workspace` to `to` and takes back the changes in the entries. `contents`: the folder of the session's
/// contents. Of the files that Git ignores, only those in `reads` are copied.
pub(super) fn copy(
    workspace: &Path,
    to: &Path,
    reads: &[PathBuf],
    entries: &[Arc<Entry>],
    contents: &Path,
) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::failed(format!("cannot copy `{}` for the replay: {error}", workspace.display()))
    };
    if !copy_files(workspace, to, reads).map_err(failed)? {
        return Err(Failure::failed(format!(
            "cannot copy `{}` for the replay: it has more than {MAX_FILES} files or {} GB",
            workspace.display(),
            MAX_BYTES >> 30
        ))
        .hint("list what is not needed in `.gitignore`: ignored files are not copied"));
    }
    restore(to, entries, contents)
}

/// Whether `folder` is a linked work tree, a submodule, or below the top of its repository. A copy of it is without the
/// data of the repository.
pub(super) fn has_repository_elsewhere(folder: &Path) -> bool {
    let own = folder.join(".git");
    own.is_file() || !own.exists() && is_below_top(folder)
}

/// Whether `folder` is below the top of its repository. Commands in a copy of `folder` do not reach the data of the
/// repository, also if all of the repository is checked out.
pub(super) fn is_below_top(folder: &Path) -> bool {
    said(folder, ["rev-parse", "--show-prefix"]).is_some_and(|below| !below.is_empty())
}

/// Checks `commit` of the repository of `folder` out below `to` and takes back the changes in the entries. Returns the
/// path of `folder` in the copy, and the folder with the objects of the repository.
pub(super) fn check_out(
    folder: &Path,
    commit: &str,
    to: &Path,
    entries: &[Arc<Entry>],
    contents: &Path,
) -> Result<(PathBuf, PathBuf), Failure> {
    let failed = |why: &str| {
        Failure::failed(format!(
            "cannot check out the commit `{commit}` of `{}` for the replay: {why}",
            folder.display()
        ))
    };
    let tried = |command: &mut Command| {
        let ended = command.output().map_err(|error| failed(&error.to_string()))?;
        match ended.status.success() {
            true => Ok(()),
            false => Err(failed(String::from_utf8_lossy(&ended.stderr).trim())),
        }
    };
    let top =
        said(folder, ["rev-parse", "--show-toplevel"]).ok_or_else(|| failed("it is in no repository"))?;
    let below = said(folder, ["rev-parse", "--show-prefix"]).unwrap_or_default();
    // The clone reads the objects where they are, and takes no settings of the repository.
    let words = ["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--"];
    tried(local(folder).args(words).arg(&top).arg(to))?;
    tried(git(to).args(["checkout", "--quiet", "--detach", commit, "--"]))?;
    let work = to.join(below);
    fs::create_dir_all(&work).map_err(|error| failed(&error.to_string()))?;
    restore(&work, entries, contents)?;
    let common = said(folder, ["rev-parse", "--git-common-dir"]).unwrap_or_default();
    let objects = folder.join(common).join("objects").canonicalize();
    Ok((work, objects.map_err(|error| failed(&error.to_string()))?))
}

/// Restores the files that the entries of a session changed to their state before. `contents`: the folder of the
/// session's contents.
pub(crate) fn restore(to: &Path, entries: &[Arc<Entry>], contents: &Path) -> Result<(), Failure> {
    let kept = LocalStage::new(contents.to_owned());
    let beginnings = beginnings(entries);
    let as_before = |(path, before): (&PathBuf, &Option<FileState>)| Change {
        path: path.clone(),
        before: before.clone(),
        after: None,
        new_folders: 0,
    };
    // Files that already have their earlier state need no content; an export has no contents.
    let compared: Vec<Change> = beginnings.iter().map(as_before).collect();
    let restored =
        kept.conflicts(to, &compared).and_then(|differing| put_all_back(&kept, to, &beginnings, &differing));
    restored.map_err(|error| Failure::failed(format!("cannot restore the files of the session: {error}")))
}

/// Copies the files of `workspace` and its own repository, and returns whether that was possible within the limits.
fn copy_files(workspace: &Path, to: &Path, reads: &[PathBuf]) -> io::Result<bool> {
    let own = workspace.join(".git");
    // A file `.git` refers to a repository elsewhere, to which the replay would write. The own repository follows: what
    // Git ignores does not apply to it.
    let has_own = own.clone();
    let is_wanted = move |entry: &DirEntry| {
        entry.path() != has_own && (entry.file_name() != ".git" || entry.path().is_dir())
    };
    let mut copied = CopiedFiles::default();
    copied.add(WalkBuilder::new(workspace).hidden(false).filter_entry(is_wanted), workspace, to)?;
    if own.is_dir() {
        copied.add(WalkBuilder::new(&own).standard_filters(false), &own, &to.join(".git"))?;
    }
    if copied.are_too_many() {
        return Ok(false);
    }
    for name in reads.iter().filter(|path| is_inside(path)) {
        let (from, place) = (workspace.join(name), to.join(name));
        if from.is_file() && !place.exists() {
            place.parent().map_or(Ok(()), fs::create_dir_all)?;
            copy_one(&from, &place)?;
        }
    }
    Ok(true)
}

/// The files that were copied.
#[derive(Default)]
struct CopiedFiles {
    count: usize,
    bytes: u64,
}

impl CopiedFiles {
    /// Copies what `walk` finds in `from`, until there are too many.
    fn add(&mut self, walk: &WalkBuilder, from: &Path, to: &Path) -> io::Result<()> {
        for entry in walk.build().flatten() {
            let Ok(name) = entry.path().strip_prefix(from) else { continue };
            self.bytes += copy_one(entry.path(), &to.join(name))?;
            self.count += 1;
            if self.are_too_many() {
                break;
            }
        }
        Ok(())
    }

    fn are_too_many(&self) -> bool {
        self.count > MAX_FILES || self.bytes > MAX_BYTES
    }
}

/// Copies one file or link, or makes one folder. Returns the size of a file.
pub(crate) fn copy_one(from: &Path, to: &Path) -> io::Result<u64> {
    let kind = fs::symlink_metadata(from)?;
    if kind.is_dir() {
        fs::create_dir_all(to)?;
    } else if kind.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if kind.is_file() {
        return fs::copy(from, to);
    }
    Ok(0)
}

/// The state of each file before the session first changed it.
fn beginnings(entries: &[Arc<Entry>]) -> BTreeMap<PathBuf, Option<FileState>> {
    let mut beginnings = BTreeMap::new();
    for entry in active_path(entries).into_iter().filter(|entry| is_done(&entry.fact)) {
        for change in changed::changes_in(&entry.fact).iter().filter(|change| is_inside(&change.path)) {
            beginnings.entry(change.path.clone()).or_insert_with(|| change.before.clone());
        }
    }
    beginnings
}

fn is_done(fact: &Fact) -> bool {
    matches!(fact, Fact::Staged { .. } | Fact::SubagentChanged { .. })
}

/// Whether a path from a journal stays inside the copy.
pub(super) fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Restores the earlier state at the `differing` paths: first links and files, since other paths may be below them,
/// then folders with everything added to them.
fn put_all_back(
    kept: &LocalStage,
    copy: &Path,
    beginnings: &BTreeMap<PathBuf, Option<FileState>>,
    differing: &[PathBuf],
) -> io::Result<()> {
    let differing: HashSet<&PathBuf> = differing.iter().collect();
    let differing = || beginnings.iter().filter(|(path, _)| differing.contains(path));
    let of = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| io::Error::new(error.kind(), format!("`{path}`: {error}"))
    };
    for (path, _) in differing() {
        clear(copy, path, |kind| !kind.is_dir(), |place| fs::remove_file(place)).map_err(of(path))?;
    }
    for (path, before) in differing() {
        if before.as_ref().is_none_or(|before| before.kind() != FileKind::Folder) {
            clear(copy, path, fs::FileType::is_dir, |place| fs::remove_dir_all(place)).map_err(of(path))?;
        }
    }
    // Removing a file may leave an empty folder.
    for (path, _) in beginnings.iter().rev().filter(|(_, before)| before.is_none()) {
        leave_no_empty_folder(copy, path, beginnings);
    }
    let back = |(path, before): (&PathBuf, &Option<FileState>)| {
        before.is_some().then(|| Change {
            path: path.clone(),
            before: None,
            after: before.clone(),
            new_folders: 0,
        })
    };
    let back: Vec<Change> = differing().filter_map(back).collect();
    match kept.settle(copy, &back)?.first() {
        None => Ok(()),
        Some(path) => Err(of(path)(io::Error::other("another file is in its place"))),
    }
}

/// Removes empty folders above `path`: a folder that was made for a file is not recorded as a change.
fn leave_no_empty_folder(copy: &Path, path: &Path, beginnings: &BTreeMap<PathBuf, Option<FileState>>) {
    let above = path.ancestors().skip(1).take_while(|above| !above.as_os_str().is_empty());
    for folder in above.take_while(|folder| !beginnings.contains_key(*folder)) {
        let place = copy.join(folder);
        if check_inside(copy, &place).is_err() || fs::remove_dir(&place).is_err() {
            break;
        }
    }
}

fn clear(
    copy: &Path,
    path: &Path,
    is_meant: impl Fn(&fs::FileType) -> bool,
    remove: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let place = copy.join(path);
    match fs::symlink_metadata(&place) {
        Ok(found) if is_meant(&found.file_type()) => {
            check_inside(copy, &place)?;
            remove(&place)
        }
        _ => Ok(()),
    }
}

/// Fails if a link leads out of the copy, so that nothing outside of it is written or removed.
fn check_inside(copy: &Path, place: &Path) -> io::Result<()> {
    match place.parent().map(Path::canonicalize).transpose()? {
        Some(folder) if !folder.starts_with(copy) => {
            Err(io::Error::other("a link leads out of the workspace"))
        }
        _ => Ok(()),
    }
}

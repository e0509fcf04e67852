//! [`Commits`]: the commits of a range, each with the sessions that it names and the files that it changes.
use super::{Flaw, Record, record::done};
use crate::{
    Failure,
    git::{git, said},
};
use haft_core::{
    FileKind, FileState, SessionOpened, active_path,
    chain::{ChainValue, ChainedLine},
    changed::changes_in,
};
use sha2::{Digest, Sha256};
use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Stdio,
};

/// The trailer with which a commit message names a session. A line of a Git note that names one begins with it, too.
pub(super) const TRAILER: &str = "Haft-Session";

/// The commits of a range, the oldest first.
pub(super) struct Commits {
    /// The root of the repository.
    root: PathBuf,
    /// Whether its working tree distinguishes executable files (`core.fileMode`).
    has_modes: bool,
    pub(super) all: Vec<Commit>,
}

pub(super) struct Commit {
    hash: String,
    /// The sessions that the commit names.
    pub(super) named: Vec<Named>,
    /// The files that the commit changes, relative to the root; for a merge, those that differ from all its parents.
    files: Vec<PathBuf>,
}

/// The content of a trailer.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) session: String,
    pub(super) head: ChainValue,
}

/// The states that a session gave each file, by the path below the root; `None` for a removal.
pub(super) type FilesLeft = HashMap<PathBuf, HashSet<Option<Blob>>>;

/// The state of a file in a commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Blob {
    /// SHA-256 of its content; for a link, of its target.
    hash: String,
    /// Git's mode of the file: `100644`, `100755` if its owner may execute it, `120000` for a link.
    mode: String,
}

impl Blob {
    fn of(state: &FileState) -> Self {
        let mode = match state.kind() {
            FileKind::Link => "120000",
            FileKind::File if state.permissions() & 0o100 != 0 => "100755",
            FileKind::File => "100644",
            FileKind::Folder => "040000",
        };
        Self { hash: state.hash.0.clone(), mode: mode.to_owned() }
    }

    /// Ignores whether files are executable, as Git does with `core.fileMode = false`.
    fn without_x_bit(self) -> Self {
        let mode = if self.mode == "100755" { "100644".to_owned() } else { self.mode };
        Self { mode, ..self }
    }
}

impl Commits {
    /// Finds the commits that `range` names in the repository around `folder`: `A..B`, or a single commit. Returns
    /// `None` if Git does not know that name.
    pub(super) fn find(folder: &Path, range: &str) -> Option<Self> {
        let root = PathBuf::from(said(folder, ["rev-parse", "--show-toplevel"])?);
        let hashes = match range.contains("..") {
            true => said(&root, ["rev-list", "--reverse", "--topo-order", "--end-of-options", range])?,
            false => {
                let commit = format!("{range}^{{commit}}");
                said(&root, ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?
            }
        };
        let all = hashes.lines().map(|hash| Commit::read(&root, hash)).collect::<Option<_>>()?;
        let has_modes =
            said(&root, ["config", "--type=bool", "core.fileMode"]).is_none_or(|value| value != "false");
        Some(Self { root, has_modes, all })
    }

    /// The states that the session of `record` gave to files, up to the entry with the chain value `head`; `None` if no
    /// entry has that value.
    pub(super) fn left(&self, record: &Record, journal: &[u8], head: ChainValue) -> Option<FilesLeft> {
        let mut lines = journal.split_inclusive(|byte| *byte == b'\n');
        let end = lines.position(|line| ChainedLine::of(line).value == Some(head))? + 1;
        let workspace = SessionOpened::of(&record.entries).map(|opened| opened.workspace.clone());
        let workspace = workspace.unwrap_or_default();
        // The work tree of a job is a repository of its own, with the same paths.
        let prefix = workspace.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let mut left = FilesLeft::new();
        // Changes that were taken back are in no file.
        let path: Vec<_> = active_path(&record.entries[..end]).into_iter().cloned().collect();
        for change in done(&path).flat_map(|entry| changes_in(&entry.fact)) {
            let below = change.path.strip_prefix(&self.root).or(change.path.strip_prefix(&workspace));
            let path = prefix.join(below.unwrap_or(&change.path));
            let blob = change.after.as_ref().map(Blob::of);
            left.entry(path).or_default().insert(blob.map(|blob| self.as_known(blob)));
        }
        Some(left)
    }

    /// The first file of `commit` that none of its sessions left in the committed state.
    pub(super) fn difference(&self, commit: &Commit, left: &[&FilesLeft]) -> Result<Option<Flaw>, Failure> {
        for path in &commit.files {
            let (hash, path_shown) = (commit.hash.clone(), path.display().to_string());
            let known: Vec<_> = left.iter().filter_map(|left| left.get(path)).collect();
            if known.is_empty() {
                return Ok(Some(Flaw::OtherFile { commit: hash, path: path_shown }));
            }
            let blob = self.blob(&commit.hash, path)?;
            if !known.iter().any(|states| states.contains(&blob)) {
                return Ok(Some(Flaw::OtherContent { commit: hash, path: path_shown }));
            }
        }
        Ok(None)
    }

    fn as_known(&self, blob: Blob) -> Blob {
        if self.has_modes { blob } else { blob.without_x_bit() }
    }

    /// A file of a commit; `None` if the commit does not have it.
    fn blob(&self, commit: &str, path: &Path) -> Result<Option<Blob>, Failure> {
        let mut list = git(&self.root);
        list.args(["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"]).arg(path);
        let listed = list.stderr(Stdio::null()).output()?;
        // `MODE TYPE OBJECT TAB NAME NUL`
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut words = listed.split([' ', '\t']);
        let (Some(mode), Some("blob"), Some(object)) = (words.next(), words.next(), words.next()) else {
            return Ok(None);
        };
        let output = git(&self.root).args(["cat-file", "blob", object]).stderr(Stdio::null()).output()?;
        Ok(output.status.success().then(|| {
            let hash = hex::encode(Sha256::digest(&output.stdout));
            self.as_known(Blob { hash, mode: mode.to_owned() })
        }))
    }
}

impl Commit {
    fn read(root: &Path, hash: &str) -> Option<Self> {
        let trailers =
            said(root, ["log", "-1", &format!("--format=%(trailers:key={TRAILER},valueonly)"), hash])?;
        let note = said(root, ["notes", "--ref=haft", "show", hash]).unwrap_or_default();
        let of_note = note.lines().filter_map(|line| line.strip_prefix(TRAILER)?.strip_prefix(':'));
        let named = trailers.lines().chain(of_note).filter_map(Named::read).collect();
        let words =
            ["diff-tree", "-r", "-c", "-z", "--root", "--no-commit-id", "--no-renames", "--name-only", hash];
        let listed = git(root).args(words).stderr(Stdio::null()).output().ok()?;
        let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let files = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
        listed.status.success().then(|| Self { hash: hash.to_owned(), named, files })
    }

    /// The flaw of a commit that changes files but names no session.
    pub(super) fn unnamed(&self) -> Option<Flaw> {
        let is_unnamed = self.named.is_empty() && !self.files.is_empty();
        is_unnamed.then(|| Flaw::NoTrailer(self.hash.clone()))
    }

    /// The flaw of a commit that names a chain value which no entry in the session's journal has.
    pub(super) fn without_head(&self, Named { session, head }: &Named) -> Flaw {
        Flaw::NoHead { commit: self.hash.clone(), session: session.clone(), head: head.to_string() }
    }

    /// The failure for a commit that names a session which is not available.
    pub(super) fn cannot_find(&self, session: &str) -> Failure {
        let hash = &self.hash;
        Failure::usage(format!(
            "cannot verify the commit `{hash}`: its session `{session}` is not on this machine, nor in a bundle that the pull \
             request names"
        ))
        .hint("ask for its bundle: `haft verify FILE` verifies it")
    }
}

impl Named {
    /// Reads `ID sha256:HEAD`.
    fn read(value: &str) -> Option<Self> {
        let (session, head) = value.trim().split_once(" sha256:")?;
        Some(Self { session: session.to_owned(), head: ChainValue::read(head)? })
    }
}

//! [`Change`]: the change of one file by a call. [`View`]: how a call sees files, and how its changes are settled.
use crate::{Confinement, Effect};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// SHA-256 of a file's content, in lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hash(pub String);

impl Hash {
    /// Hashes everything that `content` yields.
    pub fn of(mut content: impl io::Read) -> io::Result<Self> {
        struct Hasher(Sha256);
        impl io::Write for Hasher {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.update(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut hasher = Hasher(Sha256::new());
        io::copy(&mut content, &mut hasher)?;
        Ok(Self(hex::encode(hasher.0.finalize())))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The state of a file, a link or a folder at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Hash of the content, which the session's blobs keep. The content of a link is its target; that of a folder is
    /// empty.
    pub hash: Hash,
    /// Permission bits of a file, e.g. `0o644`; for others the mode of stat(2): `0o120777` for a link, `0o040755` for a
    /// folder.
    pub mode: u32,
    /// `None`: they were not recorded, and settling a change leaves them as they are.
    pub attributes: Option<Attributes>,
}

/// The extended attributes that the owner of a file sets (xattr(7)), by name: `user.…`, and the access lists
/// `system.posix_acl_access` and `system.posix_acl_default`. Values in hexadecimal. Links have none.
pub type Attributes = BTreeMap<String, String>;

/// The kind of a file system entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
}

/// The bits of a mode that encode the file type (stat(2)).
const KIND_BITS: u32 = 0o170_000;
const LINK_BITS: u32 = 0o120_000;
const FOLDER_BITS: u32 = 0o040_000;
/// Setuid and setgid.
const SET_ID_BITS: u32 = 0o6_000;

impl FileState {
    /// A regular file with this content.
    pub fn file(hash: Hash, permissions: u32) -> Self {
        Self { hash, mode: permissions & !KIND_BITS, attributes: None }
    }

    /// A symbolic link; `hash` is the hash of its target. Its permissions have no meaning and are always the same.
    pub fn link(hash: Hash) -> Self {
        Self { hash, mode: LINK_BITS | 0o777, attributes: None }
    }

    /// A folder.
    pub fn folder(permissions: u32) -> Self {
        let hash = Hash::of(io::empty()).expect("nothing can be read");
        Self { hash, mode: FOLDER_BITS | permissions & !KIND_BITS, attributes: None }
    }

    /// Sets these attributes.
    pub fn with_attributes(self, attributes: Option<Attributes>) -> Self {
        Self { attributes, ..self }
    }

    /// Whether `found`, a state with all attributes known, equals this recorded state.
    pub fn matches(&self, found: &Self) -> bool {
        let has_attributes = self.attributes.is_none() || self.attributes == found.attributes;
        has_attributes && (&self.hash, self.mode) == (&found.hash, found.mode)
    }

    /// The kind of the entry.
    pub fn kind(&self) -> FileKind {
        match self.mode & KIND_BITS {
            LINK_BITS => FileKind::Link,
            FOLDER_BITS => FileKind::Folder,
            _ => FileKind::File,
        }
    }

    /// The permission bits.
    pub fn permissions(&self) -> u32 {
        self.mode & !KIND_BITS
    }
}

/// A file that a call read, and its state at that time: `{"path":…,"bytes":…,"hash":…}`, or `stamp` in place of `hash`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRead {
    /// Relative to the workspace; absolute if it lies outside.
    pub path: PathBuf,
    /// Length in bytes.
    pub bytes: u64,
    /// Identifies its content.
    #[serde(flatten)]
    pub print: Fingerprint,
}

/// Identifies the content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fingerprint {
    /// By a hash of the content.
    Hash(Hash),
    /// By the file's inode and times, if the file is too long to be hashed: the inode number, and when the content and
    /// the inode were last changed, in nanoseconds since 1970-01-01 UTC. Programs cannot set the last one.
    Stamp {
        /// Number of the inode.
        inode: u64,
        /// When the content was last changed.
        modified: i64,
        /// When the inode was last changed.
        changed: i64,
    },
}

/// The change of a file, link or folder. A state of `None` means that it does not exist.
///
/// As JSON `{path, kind, before, after}` with the two hashes and, if they are known, `before_mode` and `after_mode`, as
/// [`FileState::mode`] says, `before_attributes` and `after_attributes`, as [`Attributes`] says, and `new_folders` if
/// there are any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ChangeRecord", into = "ChangeRecord")]
pub struct Change {
    /// Relative to the workspace; absolute if it lies outside.
    pub path: PathBuf,
    /// State before the call.
    pub before: Option<FileState>,
    /// State after the call.
    pub after: Option<FileState>,
    /// Number of parent folders that were created for this file, counted from the nearest one, and have no change of
    /// their own. An undo that removes the file also removes those of them that are empty.
    pub new_folders: u32,
}

/// The kind of a change, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file was created.
    Created,
    /// Its content or its mode was changed.
    Modified,
    /// The file was removed.
    Deleted,
}

impl Change {
    /// The change from one known state to another. Attributes are recorded if they differ, and if the file exists on
    /// one side only and has some.
    pub fn between(path: PathBuf, before: Option<FileState>, after: Option<FileState>) -> Self {
        let (mut before, mut after) = (before, after);
        match (&mut before, &mut after) {
            (Some(before), Some(after)) if before.kind() == after.kind() => {
                if before.attributes.is_none()
                    || after.attributes.is_none()
                    || before.attributes == after.attributes
                {
                    (before.attributes, after.attributes) = (None, None);
                }
            }
            (before, after) => {
                for state in [before, after].into_iter().flatten() {
                    state.attributes.take_if(|attributes| attributes.is_empty());
                }
            }
        }
        Self { path, before, after, new_folders: 0 }
    }

    /// Returns the reverse change, which an undo makes.
    pub fn inverse(&self) -> Self {
        Self { before: self.after.clone(), after: self.before.clone(), ..self.clone() }
    }

    /// Returns the folders that [`Change::new_folders`] counts, the innermost one first.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.path.ancestors().skip(1).take(self.new_folders as usize)
    }

    /// Returns whether the file runs with the rights of its owner or group (setuid, setgid) after the change and did
    /// not before.
    pub fn gives_rights(&self) -> bool {
        let bits = |state: &Option<FileState>| match state {
            Some(state) if state.kind() == FileKind::File => state.mode & SET_ID_BITS,
            _ => 0,
        };
        let differs =
            self.before.as_ref().map(|state| &state.hash) != self.after.as_ref().map(|state| &state.hash);
        bits(&self.after) != 0 && (differs || bits(&self.after) != bits(&self.before))
    }

    /// Returns its kind in one word.
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Created,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(_), Some(_)) => ChangeKind::Modified,
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct ChangeRecord {
    path: PathBuf,
    kind: ChangeKind,
    before: Option<Hash>,
    after: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after_mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_attributes: Option<Attributes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after_attributes: Option<Attributes>,
    #[serde(default, skip_serializing_if = "is_zero")]
    new_folders: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The mode of a file for which none was recorded.
const DEFAULT_MODE: u32 = 0o644;

impl From<ChangeRecord> for Change {
    fn from(wire: ChangeRecord) -> Self {
        let state = |hash: Option<Hash>, mode: Option<u32>, attributes| {
            hash.map(|hash| FileState { hash, mode: mode.unwrap_or(DEFAULT_MODE), attributes })
        };
        Self {
            path: wire.path,
            before: state(wire.before, wire.before_mode, wire.before_attributes),
            after: state(wire.after, wire.after_mode, wire.after_attributes),
            new_folders: wire.new_folders,
        }
    }
}

impl From<Change> for ChangeRecord {
    fn from(change: Change) -> Self {
        let (kind, new_folders) = (change.kind(), change.new_folders);
        let parts = |state: Option<FileState>| match state {
            Some(FileState { hash, mode, attributes }) => (Some(hash), Some(mode), attributes),
            None => (None, None, None),
        };
        let (before, before_mode, before_attributes) = parts(change.before);
        let (after, after_mode, after_attributes) = parts(change.after);
        Self {
            path: change.path,
            kind,
            before,
            after,
            before_mode,
            after_mode,
            before_attributes,
            after_attributes,
            new_folders,
        }
    }
}

/// Changes below folders that Git ignores, such as the output of a build or a package manager. There are too many to
/// record each file for an undo.
///
/// Every path is judged like any other change. The user is shown the folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Each file, link and folder that is created, changed or removed, relative to the workspace.
    pub paths: Vec<PathBuf>,
    /// The changes in each ignored folder.
    pub folders: Vec<BulkFolder>,
    /// Whether the call also changed its `/tmp`, which later calls of the session find.
    pub changes_tmp: bool,
}

/// The changes of a call below one folder that Git ignores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkFolder {
    /// The folder, or an ignored file, relative to the workspace.
    pub path: PathBuf,
    /// Number of files and links that are created or changed.
    pub written: u64,
    /// Number of files and links that are removed.
    #[serde(default)]
    pub removed: u64,
    /// Length of the written files, in bytes.
    pub bytes: u64,
}

/// How much of a call's file effects is recorded, and so can be settled once and undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tracking {
    /// All: the call works in a copy-on-write view.
    Staged,
    /// The files that its effects name: the call works on private copies of them.
    Declared,
    /// Nothing: the call works in the real workspace.
    Untracked,
}

impl Tracking {
    pub(super) fn untracked() -> Self {
        Self::Untracked
    }

    pub(super) fn is_untracked(&self) -> bool {
        *self == Self::Untracked
    }
}

impl fmt::Display for Tracking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Staged => "staged",
            Self::Declared => "declared",
            Self::Untracked => "untracked",
        })
    }
}

/// Private views of a workspace. What a call does to files stays in its view until it is settled.
///
/// The tool runner opens a view, runs the call in it, records its changes, settles them and drops the view.
pub trait Stage: Send + Sync {
    /// Returns how much is recorded of a call with these effects: the same as [`View::how`] of the view that is opened
    /// for it. Copies nothing, so that a call can be judged before it has a view.
    fn how(&self, workspace: &Path, effects: &[Effect]) -> Tracking;

    /// Whether a call with these effects could change files outside of its view, so that running it a second time would do
    /// something twice.
    fn writes_elsewhere(&self, _workspace: &Path, _effects: &[Effect]) -> bool {
        false
    }

    /// Why commands are not confined although they should be. `None` if they are confined, or if confinement was not
    /// requested.
    fn unconfined(&self, _workspace: &Path) -> Option<String> {
        None
    }

    /// Opens a view for one call. `workspace` and `effects` must be resolved: no path in them leads through a symbolic
    /// link. A path that leads through a link at the time of the call is refused.
    fn open(&self, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>>;

    /// Like [`Stage::open`], but in the view, the files that `changes` name have the state after the changes.
    /// [`View::changes`] still compares with the workspace.
    ///
    /// # Errors
    /// Fails if the stage has no such views, or one of `changes` cannot be shown in a view.
    fn open_with(
        &self,
        _workspace: &Path,
        _effects: &[Effect],
        _changes: &[Change],
    ) -> io::Result<Box<dyn View>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the state of `path`, relative to the workspace or absolute; links are not followed. Keeps its content as
    /// [`Stage::keep`] does.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is neither a file nor a link nor a folder.
    fn found(&self, _workspace: &Path, _path: &Path) -> io::Result<Option<FileState>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Brings each file from `before` to `after`. Returns the paths of the files that were left unchanged, because
    /// their state was neither `before` nor `after`, or a link is in the way.
    ///
    /// Idempotent: committing, redoing after a crash and undoing are this one operation. New files are written first;
    /// files are removed last, and only if no new file was left out. A file is replaced completely or not at all. After
    /// an error each file is either in its old or in its new state: compare them. [`io::ErrorKind::WouldBlock`] means
    /// that another process settles in this workspace: nothing was done, try again.
    fn settle(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>>;

    /// Like [`Stage::settle`], for changes that are settled for the first time: a file that is already in the state
    /// `after` was written by another process and counts as left unchanged, because an increment would be lost
    /// otherwise.
    ///
    /// # Errors
    /// Fails as [`Stage::settle`] does.
    fn settle_first(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        self.settle(workspace, changes)
    }

    /// Returns the files that differ from their state before `changes`, so that settling would leave them alone.
    /// Changes nothing.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    fn conflicts(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        // Settling a change from `before` to `before` only compares.
        let compared = |change: &Change| Change { after: change.before.clone(), ..change.clone() };
        self.settle(workspace, &changes.iter().map(compared).collect::<Vec<_>>())
    }

    /// The content with this hash, which a change names.
    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>>;

    /// Stores a content on disk, synced, so that a change can name it.
    ///
    /// # Errors
    /// Fails if it cannot be written, or the stage keeps no contents.
    fn keep(&self, _content: &[u8]) -> io::Result<Hash> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Resolves `path` (relative to the workspace, or absolute) to an absolute path: follows links as far as the path
    /// exists, and removes `.` and `..`.
    fn resolve(&self, workspace: &Path, path: &Path) -> PathBuf;
}

/// The view of one call on the workspace. Dropping it discards the changes of the call.
pub trait View: Send + Sync {
    /// The folder in which the call works.
    fn root(&self) -> &Path;

    /// Where the file that the model names `path` (relative or absolute) lies in this view.
    fn locate(&self, path: &Path) -> PathBuf;

    /// Prepares one more file of the workspace for writing, and returns where it lies in this view. Its change is
    /// recorded and judged like that of a file named by the effects of the call. `path` is absolute.
    ///
    /// # Errors
    /// Fails if the call has no copies of files, the file lies outside the workspace, or it cannot be prepared.
    fn add(&self, _path: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The differences from the workspace as it was when the view was opened. Stores the contents on disk, synced.
    fn changes(&self) -> io::Result<Vec<Change>>;

    /// Like [`View::changes`], but without the files that another program changed since the view was opened. These are
    /// the second value, and stay unchanged. [`View::changes`] fails if there are such files.
    fn own_changes(&self) -> io::Result<(Vec<Change>, Vec<PathBuf>)> {
        Ok((self.changes()?, Vec::new()))
    }

    /// Makes [`View::changes`] fail soon, also while it runs: its result is not needed.
    fn stop(&self) {}

    /// Makes [`View::changes`] fail if it runs beyond `deadline`, the end of the call's time. The first one counts.
    fn finish_by(&self, _deadline: Instant) {}

    /// How much of the file effects in this view is recorded.
    fn how(&self) -> Tracking;

    /// The changes in addition to those of [`View::changes`], which cannot be undone. Known once [`View::changes`] has
    /// returned.
    fn bulk(&self) -> Arc<Bulk> {
        Arc::default()
    }

    /// Writes [`View::bulk`] into the workspace. Applying it twice has the effect of applying it once.
    ///
    /// # Errors
    /// Fails if a file was changed by another process since [`View::changes`], which is then left as it is, or if a
    /// link is in the way. Everything else is written.
    fn apply_bulk(&self) -> io::Result<()> {
        Ok(())
    }

    /// Files that this view shows differently from the workspace: the real path of each, and its path for the call,
    /// where nothing exists if the view shows no such file. Only for views in which a search reads the workspace
    /// itself.
    fn shown(&self) -> Vec<(PathBuf, PathBuf)> {
        Vec::new()
    }

    /// The confinement of processes that work in this view. `None`: they see and reach what this process does.
    fn confinement(&self) -> Option<Arc<Confinement>> {
        None
    }
}

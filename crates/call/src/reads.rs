//! [`ReadTracker`]: tracks which content of each file the model has read, so that a call does not overwrite content
//! that the model does not know.
use crate::rules::Unread;
use haft_core::{
    Change, Effect, Entry, Fact, FileRead, Fingerprint, Hash, ToolError, ToolErrorKind, Tracking,
};
use parking_lot::Mutex;
use rustix::fs::OFlags;
use serde_json::Value;
use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Maximum bytes of a file that is hashed. Longer files are identified by their stamp, because hashing would take
/// longer than reading a part.
const MAX_HASHED_BYTES: u64 = 8 << 20;

/// Identifies a state of a file without reading its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    bytes: u64,
    /// When its content was changed, in nanoseconds since 1970-01-01 UTC. Programs can set it.
    modified: i64,
    /// When its inode was changed, in the same unit. No program can set it.
    changed: i64,
}

/// What the model has read of a file.
#[derive(Clone, Debug)]
enum Known {
    /// Fingerprint of the content, and the length, if it was recorded.
    Fingerprint { print: Fingerprint, bytes: Option<u64> },
    /// That it does not exist.
    Missing,
    /// Time of the read, in milliseconds since 1970-01-01 UTC: older journals record nothing else.
    At(u64),
}

impl Known {
    fn of(read: FileRead) -> (PathBuf, Self) {
        (read.path, Self::Fingerprint { print: read.print, bytes: Some(read.bytes) })
    }

    /// Whether the file still has the content that the model has read. May read the whole file.
    fn is(&self, path: &Path, now: Option<Stamp>) -> bool {
        match (self, now) {
            // A missing file cannot be overwritten.
            (_, None) => true,
            (Self::Missing, Some(_)) => false,
            (Self::Fingerprint { bytes: Some(bytes), .. }, Some(now)) if *bytes != now.bytes => false,
            (Self::Fingerprint { print: Fingerprint::Hash(known), .. }, Some(_)) => {
                hash(path).is_ok_and(|hash| hash == *known)
            }
            (Self::Fingerprint { print, .. }, Some(now)) => *print == now.print(),
            // The times in the journal are in whole milliseconds.
            (Self::At(time), Some(now)) => {
                i128::from(now.modified.max(now.changed)) < (i128::from(*time) + 1) * 1_000_000
            }
        }
    }
}

/// What the model has read of files, by real path. Clones share the same state.
#[derive(Clone, Default)]
pub struct ReadTracker(Arc<Mutex<HashMap<PathBuf, Known>>>);

/// The files that a call reads, as they are before it runs.
pub(crate) struct ReadSnapshot {
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    reads: Vec<FileRead>,
}

impl ReadSnapshot {
    /// Takes a snapshot of the files. Call it before the tool runs, and [`ReadTracker::keep`] once the tool has
    /// succeeded.
    pub(crate) fn of(effects: &[Effect]) -> Self {
        let read = effects.iter().filter_map(|effect| match effect {
            Effect::Read(path) => Some((path.clone(), stamp(path))),
            Effect::Write(_) | Effect::Execute(_) | Effect::Network(_) => None,
        });
        Self { stamps: read.collect(), reads: Vec::new() }
    }

    /// The reads of regular files.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Stamp)> {
        self.stamps.iter().filter_map(|(path, stamp)| Some((path.clone(), (*stamp)?))).collect()
    }

    /// Hashes the files. Must run before the call: changes during the call are unknown to the model.
    pub(crate) async fn hashed(mut self) -> Self {
        let files = self.files();
        if !files.is_empty() {
            let hashed = || files.into_iter().filter_map(|(path, stamp)| read(path, stamp)).collect();
            self.reads = tokio::task::spawn_blocking(hashed).await.unwrap_or_default();
        }
        self
    }

    /// The reads as facts for the journal of a session in `workspace`.
    pub(crate) fn recorded(&self, workspace: &Path) -> Vec<FileRead> {
        let recorded = self.reads.iter().cloned().map(|read| {
            let path = read.path.strip_prefix(workspace).map_or(read.path.clone(), Path::to_owned);
            FileRead { path, ..read }
        });
        recorded.collect()
    }
}

fn read(path: PathBuf, stamp: Stamp) -> Option<FileRead> {
    let print = match stamp.bytes {
        ..=MAX_HASHED_BYTES => Fingerprint::Hash(hash(&path).ok()?),
        _ => stamp.print(),
    };
    Some(FileRead { path, bytes: stamp.bytes, print })
}

impl ReadTracker {
    /// Restores from a journal of `workspace` what its calls have read and written. `effects` returns the effects of a
    /// call in an older journal.
    pub fn replay<'a>(
        entries: impl IntoIterator<Item = &'a Entry>,
        workspace: &Path,
        mut effects: impl FnMut(&str, &Value) -> Vec<Effect>,
    ) -> Self {
        let (seen, mut begun) = (Self::default(), HashMap::<&str, Begun<'a>>::new());
        for entry in entries {
            match &entry.fact {
                Fact::ToolStarted { call, name, arguments, reads, .. } => {
                    begun.insert(&call.0, Begun { name, arguments, reads, written: Vec::new() });
                }
                // Files that a command wrote do not count as read by the model.
                Fact::Staged { call, changes, how: Tracking::Declared, .. } => {
                    if let Some(begun) = begun.get_mut(call.0.as_str()) {
                        begun.written.extend(changes);
                    }
                }
                Fact::Unsettled { call, paths } => {
                    if let Some(begun) = begun.get_mut(call.0.as_str()) {
                        begun.written.retain(|change| !paths.contains(&change.path));
                    }
                }
                Fact::ToolEnded { call, result, .. } => {
                    let Some(begun) = begun.remove(call.0.as_str()) else { continue };
                    if result.is_ok() {
                        let touched = effects(begun.name, begun.arguments).into_iter().filter_map(path_of);
                        seen.0.lock().extend(touched.map(|path| (path, Known::At(entry.at))));
                        let reads = begun.reads.iter().cloned().map(Known::of);
                        seen.0.lock().extend(reads.map(|(path, known)| (workspace.join(path), known)));
                    }
                    seen.wrote(workspace, begun.written);
                }
                _ => {}
            }
        }
        seen
    }

    /// Remembers that the model has read these files.
    pub(crate) fn keep(&self, looked: ReadSnapshot) {
        let nothing = looked.stamps.into_iter().filter(|(_, stamp)| stamp.is_none());
        let nothing = nothing.map(|(path, _)| (path, Known::Missing));
        self.0.lock().extend(nothing.chain(looked.reads.into_iter().map(Known::of)));
    }

    /// Forgets all files.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// Remembers what the session itself wrote.
    pub(crate) fn wrote<'a>(&self, workspace: &Path, changes: impl IntoIterator<Item = &'a Change>) {
        let known = changes.into_iter().map(|change| {
            let known = match &change.after {
                Some(state) => {
                    Known::Fingerprint { print: Fingerprint::Hash(state.hash.clone()), bytes: None }
                }
                None => Known::Missing,
            };
            (workspace.join(&change.path), known)
        });
        self.0.lock().extend(known);
    }

    /// Refuses to write a file that the model has not read, or that has changed since. `quotes`: see
    /// [`haft_core::Tool::QUOTES_FILES`].
    pub(crate) async fn check(
        &self,
        effects: &[Effect],
        unread: Unread,
        quotes: bool,
    ) -> Result<(), ToolError> {
        let mut known = Vec::new();
        for effect in effects {
            let Effect::Write(path) = effect else { continue };
            match self.0.lock().get(path).cloned() {
                // The call itself reads what it writes.
                Some(_) if !quotes && unread != Unread::Refuse && is_read(effects, path) => {}
                Some(state) => known.push((path.clone(), state)),
                None if stamp(path).is_none() || may_change(unread, effects, path) => {}
                None => return Err(refused(path, "it has content that was not read yet")),
            }
        }
        if known.is_empty() {
            // Returns without waiting, so that calls that only read reach the next step in their order.
            return Ok(());
        }
        let changed = move || known.into_iter().find(|(path, known)| !known.is(path, stamp(path)));
        let changed = tokio::task::spawn_blocking(changed).await.ok().flatten();
        changed.map_or(Ok(()), |(path, _)| Err(refused(&path, "it was changed since it was last read")))
    }
}

/// A call of a journal that has not ended yet.
struct Begun<'a> {
    name: &'a str,
    arguments: &'a Value,
    reads: &'a [FileRead],
    written: Vec<&'a Change>,
}

fn may_change(unread: Unread, effects: &[Effect], path: &Path) -> bool {
    match unread {
        Unread::Allow => true,
        Unread::Edit => is_read(effects, path),
        Unread::Refuse => false,
    }
}

fn is_read(effects: &[Effect], path: &Path) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Read(read) if read == path))
}

fn refused(path: &Path, why: &str) -> ToolError {
    let message = format!("cannot write `{}`: {why}", path.display());
    ToolError::new(ToolErrorKind::User, message).hint("read it, then decide anew")
}

fn path_of(effect: Effect) -> Option<PathBuf> {
    match effect {
        Effect::Read(path) | Effect::Write(path) => Some(path),
        Effect::Execute(_) | Effect::Network(_) => None,
    }
}

/// `None` if there is no regular file.
fn stamp(path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let at =
        |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    let (modified, changed) = (at(data.mtime(), data.mtime_nsec()), at(data.ctime(), data.ctime_nsec()));
    Some(Stamp { inode: data.ino(), bytes: data.len(), modified, changed })
}

impl Stamp {
    fn print(self) -> Fingerprint {
        let Self { inode, modified, changed, bytes: _ } = self;
        Fingerprint::Stamp { inode, modified, changed }
    }
}

/// Opens without blocking: a pipe in place of the file would block.
fn hash(path: &Path) -> io::Result<Hash> {
    let file =
        fs::File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Hash::of(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

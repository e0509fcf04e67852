//! Which state of which file the model has seen, so that nothing is overwritten that it does not know (C-17).
use crate::call::Ready;
use haft_core::{Effect, ToolError, ToolErrorKind};
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

/// Tells two states of a file apart without reading it: inode, size, nanoseconds of its last change.
type Stamp = (u64, u64, i64, i64);

/// What a session has seen, by real path. Lives as long as the session is open.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<HashMap<PathBuf, Option<Stamp>>>>);

/// The stamps of the files that a call reads, taken before it reads them.
pub(crate) struct Looked(Vec<(PathBuf, Option<Stamp>)>);

impl Seen {
    /// Call before the tool runs, and [`Seen::keep`] when it has succeeded.
    pub(crate) fn look(&self, ready: &Ready) -> Looked {
        let read = ready.effects.iter().filter_map(|effect| match effect {
            Effect::Read(path) => Some((path.clone(), stamp(path))),
            Effect::Write(_) | Effect::Execute(_) | Effect::Network(_) => None,
        });
        Looked(read.collect())
    }

    /// From now on the model knows these files as they were.
    pub(crate) fn keep(&self, looked: Looked) {
        self.lock().extend(looked.0);
    }

    /// What the session itself wrote is known.
    pub(crate) fn wrote(&self, paths: impl Iterator<Item = PathBuf>) {
        let stamped = paths.map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        });
        self.lock().extend(stamped);
    }

    /// Refuses to write a file that somebody changed since the model saw it.
    pub(crate) fn check(&self, ready: &Ready) -> Result<(), ToolError> {
        let seen = self.lock();
        for effect in &ready.effects {
            let Effect::Write(path) = effect else { continue };
            if seen.get(path).is_some_and(|known| *known != stamp(path)) {
                let message =
                    format!("cannot write `{}`: it was changed since it was last read", path.display());
                return Err(
                    ToolError::new(ToolErrorKind::User, message).hint("read it again, then decide anew")
                );
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Option<Stamp>>> {
        self.0.lock().expect("no code panics while it holds what was seen")
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok()?;
    Some((data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
}

//! Which state of which file the model has seen, so that nothing is overwritten that it does not know (C-17).
use crate::call::Ready;
use haft_core::{Effect, Entry, Fact, ToolError, ToolErrorKind};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

/// Which files may be changed that the model has not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// All.
    Allow,
    /// Those that the call itself reads: an edit names the text that it replaces.
    #[default]
    Edit,
    /// None.
    Refuse,
}

/// Tells two states of a file apart without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    bytes: u64,
    /// Nanoseconds since 1970-01-01 UTC.
    changed: i128,
}

/// What the model knows of a file.
#[derive(Clone, Copy)]
enum Known {
    /// This state; `None`: that there is no such file.
    State(Option<Stamp>),
    /// Its state at this time, in milliseconds since 1970-01-01 UTC; told by the journal of an earlier process.
    At(u64),
}

impl Known {
    fn is(self, now: Option<Stamp>) -> bool {
        match self {
            Self::State(known) => known == now,
            // The journal's clock has no parts of a millisecond.
            Self::At(time) => now.is_some_and(|now| now.changed < (i128::from(time) + 1) * 1_000_000),
        }
    }
}

/// What a session has seen, by real path.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<HashMap<PathBuf, Known>>>);

/// The stamps of the files that a call reads, taken before it reads them.
pub(crate) struct Looked(Vec<(PathBuf, Option<Stamp>)>);

impl Looked {
    /// Those that are regular files.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Stamp)> {
        self.0.iter().filter_map(|(path, stamp)| Some((path.clone(), (*stamp)?))).collect()
    }
}

impl Seen {
    /// What the calls of a journal have read and written. `effects` tells what a call touches.
    pub(crate) fn replay<'a>(
        entries: impl IntoIterator<Item = &'a Entry>,
        effects: impl Fn(&str, &Value) -> Vec<Effect>,
    ) -> Self {
        let seen = Self::default();
        let mut started: HashMap<&str, (&str, &Value)> = HashMap::new();
        for entry in entries {
            match &entry.fact {
                Fact::ToolStarted { call, name, arguments, .. } => {
                    started.insert(&call.0, (name, arguments));
                }
                Fact::ToolEnded { call, result, .. } if result.is_ok() => {
                    let Some((name, arguments)) = started.get(call.0.as_str()) else { continue };
                    let known = effects(name, arguments).into_iter().filter_map(path_of);
                    seen.lock().extend(known.map(|path| (path, Known::At(entry.at))));
                }
                _ => {}
            }
        }
        seen
    }

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
        self.lock().extend(looked.0.into_iter().map(|(path, stamp)| (path, Known::State(stamp))));
    }

    /// What the session itself wrote is known.
    pub(crate) fn wrote(&self, paths: impl Iterator<Item = PathBuf>) {
        let stamped = paths.map(|path| {
            let stamp = stamp(&path);
            (path, Known::State(stamp))
        });
        self.lock().extend(stamped);
    }

    /// Refuses to write a file that the model has not seen, or that somebody changed since it did.
    pub(crate) fn check(&self, ready: &Ready, unread: Unread) -> Result<(), ToolError> {
        let seen = self.lock();
        for effect in &ready.effects {
            let Effect::Write(path) = effect else { continue };
            let now = stamp(path);
            match seen.get(path) {
                Some(known) if known.is(now) => {}
                Some(_) => return Err(refused(path, "it was changed since it was last read")),
                None if now.is_none() || may_change(unread, ready, path) => {}
                None => return Err(refused(path, "it has content that was not read yet")),
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.0.lock().expect("no code panics while it holds what was seen")
    }
}

fn may_change(unread: Unread, ready: &Ready, path: &Path) -> bool {
    match unread {
        Unread::Allow => true,
        Unread::Edit => {
            ready.effects.iter().any(|effect| matches!(effect, Effect::Read(read) if read == path))
        }
        Unread::Refuse => false,
    }
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

/// `None` where there is no regular file.
fn stamp(path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let changed = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
    Some(Stamp { inode: data.ino(), bytes: data.len(), changed })
}

//! [`Garbage`]: stored contents that no session names. They are left by calls that were denied or interrupted.
use super::{contents::read, sessions::is_content};
use crate::setup::Home;
use haft_core::{Entry, SessionId, changed};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The unnamed contents of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Unnamed {
    /// The session with the folder.
    pub session: SessionId,
    /// Number of contents.
    pub contents: usize,
    /// Their size in bytes.
    pub bytes: u64,
    files: Vec<PathBuf>,
}

/// The unnamed contents of all sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Garbage {
    /// Sessions with unnamed contents, in the order of their creation.
    pub unnamed: Vec<Unnamed>,
    /// Sessions that were skipped, and why.
    pub left: Vec<(SessionId, String)>,
}

impl Home {
    /// Finds contents that no entry of any session names, and removes them if `remove` is set. Skips sessions that are
    /// open, or whose journal cannot be read to its end.
    ///
    /// Fails if a content cannot be removed.
    pub fn collect(&self, remove: bool) -> io::Result<Garbage> {
        let mut trees: BTreeMap<PathBuf, Vec<SessionId>> = BTreeMap::new();
        for id in self.names().into_iter().map(SessionId) {
            trees.entry(self.contents(&id)).or_default().push(id);
        }
        let mut garbage = Garbage::default();
        for (folder, sessions) in trees {
            let top = top_of(&folder, &sessions);
            // Locked until the contents are removed; opening one of these sessions waits until then.
            let held = self.hold(&sessions);
            match held.and_then(|held| unnamed(&folder, top.clone(), &held)) {
                Err(why) => garbage.left.push((top, why)),
                Ok(unnamed) if unnamed.files.is_empty() => {}
                Ok(unnamed) => {
                    if remove {
                        unnamed.files.iter().try_for_each(fs::remove_file)?;
                    }
                    garbage.unnamed.push(unnamed);
                }
            }
        }
        Ok(garbage)
    }

    /// The journals of these sessions, locked so that no other process opens them meanwhile.
    fn hold(&self, sessions: &[SessionId]) -> Result<Vec<(PathBuf, File)>, String> {
        let hold = |id: &SessionId| {
            let path = self.journal(id);
            let file = File::open(&path).map_err(|error| format!("cannot open its journal: {error}"))?;
            file.try_lock().map_err(|_| "it is open in another process".to_owned())?;
            Ok((path, file))
        };
        sessions.iter().map(hold).collect()
    }
}

/// The session whose folder holds the contents.
fn top_of(folder: &Path, sessions: &[SessionId]) -> SessionId {
    let name = folder.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.map(SessionId).or_else(|| sessions.first().cloned()).unwrap_or(SessionId(String::new()))
}

fn unnamed(folder: &Path, session: SessionId, held: &[(PathBuf, File)]) -> Result<Unnamed, String> {
    let mut none = Unnamed { session, contents: 0, bytes: 0, files: Vec::new() };
    let Ok(files) = fs::read_dir(folder) else { return Ok(none) };
    let mut named = BTreeSet::new();
    for (path, file) in held {
        let mut file = file.try_clone().map_err(|error| error.to_string())?;
        let contents = read(&mut file, path).map_err(|error| error.to_string())?;
        if let Some(damage) = contents.damage.first() {
            return Err(format!("its journal is damaged: {damage}"));
        }
        if contents.entries.is_empty() {
            return Err("its journal is empty".to_owned());
        }
        named.extend(contents.entries.iter().flat_map(hashes));
    }
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let is_left_over = name.starts_with(UNFINISHED_PREFIX) || is_content(&name) && !named.contains(&name);
        let known = file.metadata().ok().filter(|known| known.is_file() && is_left_over);
        if let Some(known) = known {
            none.files.push(file.path());
            (none.contents, none.bytes) = (none.contents + 1, none.bytes + known.len());
        }
    }
    Ok(none)
}

/// A content that was being written when its process died.
const UNFINISHED_PREFIX: &str = ".blob-";

fn hashes(entry: &Arc<Entry>) -> Vec<String> {
    let states = changed::changes_in(&entry.fact).iter().flat_map(|change| [&change.before, &change.after]);
    states.flatten().map(|state| state.hash.0.clone()).collect()
}

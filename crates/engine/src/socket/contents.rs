//! [`SentContents`]: the contents of a session on another machine, as that machine has sent them.
use haft_core::{Change, Effect, Hash, Stage, Tracking, View};
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Mutex,
};

/// Texts of files by their hashes, in memory. No file of this machine is read or changed.
#[derive(Debug, Default)]
pub(super) struct SentContents(Mutex<HashMap<Hash, String>>);

impl SentContents {
    pub(super) fn add(&self, hash: Hash, text: String) {
        self.lock().insert(hash, text);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Hash, String>> {
        self.0.lock().expect("no code panics while it holds the contents")
    }
}

impl Stage for SentContents {
    fn how(&self, _: &Path, _: &[Effect]) -> Tracking {
        Tracking::Untracked
    }

    fn open(&self, _: &Path, _: &[Effect]) -> io::Result<Box<dyn View>> {
        Err(elsewhere())
    }

    fn settle(&self, _: &Path, _: &[Change]) -> io::Result<Vec<PathBuf>> {
        Err(elsewhere())
    }

    fn conflicts(&self, _: &Path, _: &[Change]) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        let found = self.lock().get(hash).map(|text| text.clone().into_bytes());
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the other machine has not sent it"))
    }

    fn resolve(&self, workspace: &Path, path: &Path) -> PathBuf {
        workspace.join(path)
    }
}

fn elsewhere() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "the files lie on another machine")
}

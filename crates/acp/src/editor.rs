//! [`stages`]: files as in the editor, including unsaved changes.
//!
//! A *buffer* is the text of a file in the editor. If it differs from the disk, a call that reads or writes the file
//! has the buffer's text in its view. Changes are settled by the editor, so that its buffer and the disk are the same
//! afterwards; if it cannot write a file, the disk is written as without an editor, provided that nothing is lost.
//! Folders are read from the disk, and commands run on the disk.

mod buffers;
mod form;
mod settle;
mod undo_reads;
mod view;

pub(super) use buffers::Buffers;

use haft_core::{Change, Effect, FileState, Hash, Stage, Tracking, View};
use haft_engine::Stages;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

/// Wraps the stages of `inner`, so that the editor's files take precedence.
pub(super) fn stages(inner: Stages, buffers: Buffers) -> Stages {
    Arc::new(move |folder| {
        let (inner, buffers, folder) = (inner(folder), buffers.clone(), folder.to_owned());
        Arc::new(EditorStage { inner, buffers, folder, known: Mutex::default() })
    })
}

/// A stage that wraps another one.
struct EditorStage {
    inner: Arc<dyn Stage>,
    buffers: Buffers,
    /// The folder for private copies.
    folder: PathBuf,
    /// By file, a hash of the unsaved text that the model has read or written.
    known: Mutex<HashMap<PathBuf, u64>>,
}

impl Stage for EditorStage {
    fn how(&self, workspace: &Path, effects: &[Effect]) -> Tracking {
        self.inner.how(workspace, effects)
    }

    fn unconfined(&self, workspace: &Path) -> Option<String> {
        self.inner.unconfined(workspace)
    }

    fn writes_elsewhere(&self, workspace: &Path, effects: &[Effect]) -> bool {
        self.inner.writes_elsewhere(workspace, effects)
    }

    fn open(&self, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
        view::open(self, workspace, effects)
    }

    fn open_with(
        &self,
        workspace: &Path,
        effects: &[Effect],
        changes: &[Change],
    ) -> io::Result<Box<dyn View>> {
        self.inner.open_with(workspace, effects, changes)
    }

    fn found(&self, workspace: &Path, path: &Path) -> io::Result<Option<FileState>> {
        self.inner.found(workspace, path)
    }

    fn settle(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        settle::settle(self, workspace, changes)
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.inner.content(hash)
    }

    fn keep(&self, content: &[u8]) -> io::Result<Hash> {
        self.inner.keep(content)
    }

    fn resolve(&self, workspace: &Path, path: &Path) -> PathBuf {
        self.inner.resolve(workspace, path)
    }
}

impl EditorStage {
    /// Notes that the model knows this text of `file`.
    fn learn(&self, file: &Path, text: &str) {
        self.lock().insert(file.to_owned(), print(text));
    }

    fn knows(&self, file: &Path, text: &str) -> bool {
        self.lock().get(file) == Some(&print(text))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.known.lock().expect("no code panics while it holds what is known")
    }
}

/// A hash that distinguishes texts within this process.
fn print(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

//! The way from blocking code to the editor's files.
use super::form::{is_alike, with_form_of};
use crate::acp::{Note, client::Editor, folder::Folder};
use haft_core::SessionId;
use std::{
    fs, io,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::runtime::Handle;

/// How long the editor may take for one file. It may ask its person first.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longer files, in bytes, are none that somebody edits by hand.
const LARGEST: u64 = 4 << 20;

/// The editor's files. Cheap to clone. Its methods block: they are for threads that may wait.
#[derive(Clone)]
pub(in crate::acp) struct Buffers {
    editor: Editor,
    /// As the editor knows it; set before the first call.
    session: Arc<OnceLock<SessionId>>,
    note: Note,
    folder: Folder,
}

impl Buffers {
    pub(in crate::acp) fn new(
        editor: Editor,
        session: Arc<OnceLock<SessionId>>,
        note: Note,
        folder: Folder,
    ) -> Self {
        Self { editor, session, note, folder }
    }

    /// The text of `file` in the editor, in the form of the one on disk, if it differs from that. None where something else
    /// than a text lies there, or the editor does not say. A file that is not there yet may be in the editor.
    pub(super) fn unsaved(&self, file: &Path) -> Option<String> {
        if !self.editor.files.read_text_file {
            return None;
        }
        let disk = text(file)?;
        let shown = self.wait(self.editor.read(self.name()?, &self.folder.told(file)));
        let shown = shown.ok().filter(|shown| !is_alike(shown, &disk))?;
        Some(with_form_of(&disk, &shown))
    }

    pub(super) fn can_write(&self) -> bool {
        self.editor.files.write_text_file && self.name().is_some()
    }

    /// Has the editor write and save this text.
    pub(super) fn write(&self, file: &Path, text: &str) -> Result<(), String> {
        let session = self.name().ok_or("the session has no name yet")?;
        self.wait(self.editor.write(session, &self.folder.told(file), text))
    }

    /// Tells a person.
    pub(super) fn note(&self, text: String) {
        (self.note)(text);
    }

    fn name(&self) -> Option<&str> {
        self.session.get().map(|id| id.0.as_str())
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let waited = Handle::current().block_on(async { tokio::time::timeout(PATIENCE, answer).await });
        waited.unwrap_or_else(|_| Err(format!("the editor did not answer within {} s", PATIENCE.as_secs())))
    }
}

/// The text of a regular file of a reasonable size; that of one which is not there is empty.
fn text(file: &Path) -> Option<String> {
    match fs::symlink_metadata(file) {
        Ok(found) if !found.is_file() || found.len() > LARGEST => None,
        Ok(_) => fs::read(file).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)).ok(),
        Err(error) => (error.kind() == io::ErrorKind::NotFound).then(String::new),
    }
}

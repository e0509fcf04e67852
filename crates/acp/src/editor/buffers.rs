//! [`Buffers`]: reads and writes the editor's files from blocking code.
use super::{
    form::{is_alike, with_form_of},
    undo_reads::UndoReads,
};
use crate::{
    client::{Editor, Unread},
    folder::Folder,
};
use haft_core::SessionId;
use haft_present::host::Host;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::runtime::Handle;

/// Timeout of the editor for one file, since it may ask the user first.
const EDITOR_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum bytes of a file that is read through the editor; longer files are not edited by hand.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The state of a file in the editor.
pub(super) enum Buffer {
    /// The editor's text is the same as on disk.
    Saved,
    /// The editor's text differs from the disk; this text, with the disk's line ends and byte order mark.
    Unsaved(String),
    /// Unknown: the file is not text, or the editor does not provide it. The editor must not write it.
    Unknown,
}

/// The editor's files. Cheap to clone. Methods that are not `async` block: call them only on threads that may block.
#[derive(Clone)]
pub(crate) struct Buffers {
    editor: Editor,
    /// The ID of the session for the editor; set before the first call.
    session: Arc<OnceLock<SessionId>>,
    host: Arc<dyn Host>,
    folder: Folder,
    undo: UndoReads,
}

impl Buffers {
    pub(crate) fn new(
        editor: Editor,
        session: Arc<OnceLock<SessionId>>,
        host: Arc<dyn Host>,
        folder: Folder,
    ) -> Self {
        Self { editor, session, host, folder, undo: UndoReads::default() }
    }

    /// The state of `file` in the editor. Fails if the editor does not provide a text that it may have. A file that
    /// does not exist on disk may exist in the editor.
    pub(super) fn look(&self, file: &Path) -> io::Result<Buffer> {
        let (true, Some(disk), Some(session)) = (self.editor.files.read_text_file, text(file), self.name())
        else {
            return Ok(Buffer::Unknown);
        };
        let is_there = fs::symlink_metadata(file).is_ok();
        match self.shown(session, file) {
            Ok(shown) if is_alike(&shown, &disk) => Ok(Buffer::Saved),
            Ok(shown) => Ok(Buffer::Unsaved(with_form_of(&disk, &shown))),
            Err(Unread::NotFound) if !is_there => Ok(Buffer::Saved),
            // Some editors provide only open files, some report an error for missing files. In both cases, nothing is
            // lost if only the disk is written.
            Err(Unread::NotFound) => Ok(Buffer::Unknown),
            Err(Unread::Failed(_)) if !is_there => Ok(Buffer::Unknown),
            Err(Unread::Failed(why)) => Err(io::Error::other(format!(
                "the editor did not show what it has of `{}`, which may not be saved: {why}; \
                 save or close it there, then try again",
                file.display()
            ))),
        }
    }

    /// Remembers the editor's answers about files until [`Buffers::end_undo`].
    pub(crate) fn begin_undo(&self) {
        self.undo.begin();
    }

    /// Requests `files` of the workspace from the editor before an undo changes them.
    pub(crate) async fn ask_before_undo(&self, files: Vec<PathBuf>) {
        let (true, Some(session)) = (self.editor.files.read_text_file, self.name()) else { return };
        let files = files.into_iter().map(|file| self.folder.real.join(file));
        let files = files.filter(|file| file.starts_with(&self.folder.real) && text(file).is_some());
        let asked = files.map(async |file| {
            let answer = self.ask(session, &file).await;
            self.undo.keep(&file, answer);
        });
        futures::future::join_all(asked).await;
    }

    /// Stops waiting for the editor's answers.
    pub(crate) fn cancel_undo(&self) {
        self.undo.cancel().cancel();
    }

    pub(crate) fn end_undo(&self) {
        self.undo.end();
    }

    /// The text of `file` in the editor; during an undo, from the answers before it if possible.
    fn shown(&self, session: &str, file: &Path) -> Result<String, Unread> {
        if let Some(answer) = self.undo.take(file) {
            return answer;
        }
        let answer = Handle::current().block_on(self.ask(session, file));
        if answer.is_err() {
            self.undo.keep(file, answer.clone());
        }
        answer
    }

    async fn ask(&self, session: &str, file: &Path) -> Result<String, Unread> {
        let (cancel, file) = (self.undo.cancel(), self.folder.told(file));
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err("the undo was canceled".to_owned().into()),
            answer = in_time(self.editor.read(session, &file)) => answer,
        }
    }

    pub(super) fn can_write(&self) -> bool {
        self.editor.files.write_text_file && self.name().is_some()
    }

    /// Lets the editor write and save this text.
    pub(super) fn write(&self, file: &Path, text: &str) -> Result<(), String> {
        let session = self.name().ok_or("the session has no name yet")?;
        Handle::current().block_on(in_time(self.editor.write(session, &self.folder.told(file), text)))
    }

    /// Shows a note to the user.
    pub(super) fn note(&self, text: String) {
        self.host.note(text);
    }

    fn name(&self) -> Option<&str> {
        self.session.get().map(|id| id.0.as_str())
    }
}

async fn in_time<T, E: From<String>>(answer: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let late = |_| Err(format!("it did not answer within {} s", EDITOR_TIMEOUT.as_secs()).into());
    tokio::time::timeout(EDITOR_TIMEOUT, answer).await.unwrap_or_else(late)
}

/// The text of a regular file that is not too large; empty for a missing file.
fn text(file: &Path) -> Option<String> {
    match fs::symlink_metadata(file) {
        Ok(found) if !found.is_file() || found.len() > MAX_FILE_BYTES => None,
        Ok(_) => fs::read(file).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)).ok(),
        Err(error) => (error.kind() == io::ErrorKind::NotFound).then(String::new),
    }
}

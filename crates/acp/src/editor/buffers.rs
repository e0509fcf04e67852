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

/// How long the editor may take for one file. It may ask its person first.
const EDITOR_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum bytes of a file that is read through the editor; longer ones are not edited by hand.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// What an editor has of a file.
pub(super) enum Buffer {
    /// The editor's text is that on disk.
    Saved,
    /// This text, in the form of the one on disk, which differs.
    Unsaved(String),
    /// Unknown: it is not a text, or the editor does not show such files. The editor must not write it.
    Unknown,
}

/// The editor's files. Cheap to clone. Its methods that are not `async` block: they are for threads that may wait.
#[derive(Clone)]
pub(crate) struct Buffers {
    editor: Editor,
    /// The session's ID in the editor; set before the first call.
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

    /// What the editor has of `file`; an error where it does not say what may be in it. A file that is not there yet may
    /// be in the editor.
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
            // Some editors show nothing but what is open, some find no words for what is not there. Neither loses
            // anything where the disk alone is written.
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

    /// Asks the editor for `files` of the workspace, which an undo is about to move.
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

    /// Ends waiting for what the editor has of files.
    pub(crate) fn cancel_undo(&self) {
        self.undo.cancel().cancel();
    }

    pub(crate) fn end_undo(&self) {
        self.undo.end();
    }

    /// The text of `file` in the editor, by what it said before an undo if there is one.
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

    /// Has the editor write and save this text.
    pub(super) fn write(&self, file: &Path, text: &str) -> Result<(), String> {
        let session = self.name().ok_or("the session has no name yet")?;
        Handle::current().block_on(in_time(self.editor.write(session, &self.folder.told(file), text)))
    }

    /// Tells a person.
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

/// The text of a regular file of a reasonable size; that of one which is not there is empty.
fn text(file: &Path) -> Option<String> {
    match fs::symlink_metadata(file) {
        Ok(found) if !found.is_file() || found.len() > MAX_FILE_BYTES => None,
        Ok(_) => fs::read(file).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)).ok(),
        Err(error) => (error.kind() == io::ErrorKind::NotFound).then(String::new),
    }
}

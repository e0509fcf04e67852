//! [`UndoReads`]: the editor's answers about the files that an undo or a redo changes.
//!
//! All of them are requested together before any is changed, so that a cancel leaves everything as it was. A file that
//! the editor did not provide is not requested again.
use crate::client::Unread;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Maximum age of an answer; an older text is requested again, since the user may have typed meanwhile.
const FRESH_FOR: Duration = Duration::from_secs(1);

type Answer = Result<String, Unread>;

/// The answers for one undo at a time. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct UndoReads(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// `None` while no undo runs.
    answers: Option<HashMap<PathBuf, (Instant, Answer)>>,
    cancel: CancellationToken,
}

impl UndoReads {
    pub(super) fn begin(&self) {
        *self.lock() = State { answers: Some(HashMap::new()), ..State::default() };
    }

    pub(super) fn end(&self) {
        *self.lock() = State::default();
    }

    /// Cancelled with the undo: answers are not waited for.
    pub(super) fn cancel(&self) -> CancellationToken {
        self.lock().cancel.clone()
    }

    pub(super) fn keep(&self, file: &Path, answer: Answer) {
        if let Some(answers) = &mut self.lock().answers {
            answers.insert(file.to_owned(), (Instant::now(), answer));
        }
    }

    /// Takes the editor's answer about `file`: its text, or why it was not provided.
    pub(super) fn take(&self, file: &Path) -> Option<Answer> {
        let mut state = self.lock();
        let answers = state.answers.as_mut()?;
        if let (_, Err(unread)) = answers.get(file)? {
            return Some(Err(unread.clone()));
        }
        let (at, answer) = answers.remove(file)?;
        (at.elapsed() < FRESH_FOR).then_some(answer)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no code panics while it holds what the editor answered")
    }
}

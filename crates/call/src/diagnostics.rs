//! [`compare`] and [`ReplyChanges`]: the errors and warnings that the changes of a call, or of a whole reply, add and remove.
//!
//! A person sees them in the question about one call. The model reads them once, behind the last result of its reply: a
//! refactoring in several calls is broken in between, and that is no news.
use crate::scope::CallScope;
use haft_core::{
    Change, DiagnosticsChange, FileEdit, FileKind, FileState, Stage, changed::squash, edit_notes,
};
use parking_lot::Mutex;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Changes of more files are not compared: a command made them, and a question has no room for what each of them breaks.
const MAX_FILES: usize = 50;

/// A longer file was written by a program, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Lines of a difference that the model reads.
const MAX_LINES: usize = 20;

/// What `changes` add to and remove from the diagnostics of the workspace; `None` if unknown.
pub(crate) async fn compare(scope: &CallScope, changes: &[Change]) -> Option<DiagnosticsChange> {
    let diagnostics = scope.diagnostics.as_ref()?;
    if changes.is_empty() || changes.len() > MAX_FILES {
        return None;
    }
    let (stage, workspace, changes) = (scope.stage.clone(), scope.workspace.clone(), changes.to_vec());
    let edits = tokio::task::spawn_blocking(move || {
        changes.iter().filter_map(|change| edit(&*stage, &workspace, change)).collect::<Vec<_>>()
    });
    let edits = edits.await.ok().filter(|edits| !edits.is_empty())?;
    diagnostics.compare(&edits).await
}

/// `None` if it is not about the text of a file.
fn edit(stage: &dyn Stage, workspace: &Path, change: &Change) -> Option<FileEdit> {
    let text = |state: &Option<FileState>| match state {
        None => Some(None),
        Some(state) if state.kind() == FileKind::File => {
            let content = stage.content(&state.hash).ok().filter(|content| content.len() <= MAX_BYTES)?;
            String::from_utf8(content).ok().map(Some)
        }
        Some(_) => None,
    };
    let (before, after) = (text(&change.before)?, text(&change.after)?);
    (before != after).then(|| FileEdit { path: workspace.join(&change.path), before, after })
}

/// What the calls of one reply have changed so far.
#[derive(Default)]
pub(crate) struct ReplyChanges(Mutex<Vec<Change>>);

impl ReplyChanges {
    /// Adds what one call has changed.
    pub(crate) fn add(&self, changes: &[Change]) {
        self.0.lock().extend_from_slice(changes);
    }

    /// What the model reads at the end of the reply. Empty if nothing is added or removed, or the turn is interrupted meanwhile.
    pub(crate) async fn note(&self, scope: &CallScope, cancel: &CancellationToken) -> String {
        let changes = squash(self.0.lock().iter());
        let compared = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            compared = compare(scope, &changes) => compared,
        };
        compared.filter(|change| !change.is_empty()).map(|change| told(&change)).unwrap_or_default()
    }
}

fn told(change: &DiagnosticsChange) -> String {
    let lines = change.lines(MAX_LINES).join("\n");
    format!("{NOTE}{}: this reply {}:\n{lines}]", change.by.join(", "), change.summary())
}

/// How [`ReplyChanges::note`] begins.
const NOTE: &str = "\n[diagnostics by ";

/// Returns `content` of a result without what was added at the end of its reply: another run has another server, or none.
pub fn without_diagnostics(content: &str) -> String {
    edit_notes(content, |text| text.rfind(NOTE).map_or(text, |at| &text[..at]).to_owned())
}

//! Editing in the user's editor: the prompt, the text of a question, or the text that a call would write.
use super::app::{App, Editing, Request};
use crate::{
    editor::{EDITED_FILE, Editor, NO_EDITOR},
    offers::Proposed,
    question::DRAFT,
};
use haft_core::{CallId, Command};
use haft_present::timeline::Asked;
use std::path::Path;

impl App {
    /// Opens the typed text in the editor, after this key press is handled.
    pub(super) fn edit_prompt(&mut self) {
        self.begin_editing(Editing::Prompt(self.input.whole()));
    }

    /// Opens the text that the call would write in the editor.
    pub(super) fn edit_proposal(&mut self) {
        let (Some(Asked::Approval { call, fact }), Some(session)) =
            (self.view.asked.front().cloned(), self.session.clone())
        else {
            return;
        };
        match Proposed::of(&session, &fact) {
            Some(_) if !self.may_allow() => {}
            Some(proposed) => self.begin_editing(Editing::Proposal(call, proposed)),
            None => self.hint = Some("only a change of a single text file can be edited: y, a or n".into()),
        }
    }

    /// Opens the text that the question is about in the editor.
    pub(super) fn edit_draft(&mut self) {
        let Some(Asked::Question { call, question }) = self.view.asked.front().cloned() else { return };
        let edited = self.edited_draft.clone().filter(|(edited, _)| *edited == call);
        if let Some(draft) = edited.map(|(_, text)| text).or(question.draft) {
            self.begin_editing(Editing::Draft(call, draft));
        }
    }

    fn begin_editing(&mut self, editing: Editing) {
        match self.around.editor {
            Some(_) => (self.editing, self.request) = (Some(editing), Some(Request::Edit)),
            None => self.hint = Some(NO_EDITOR.into()),
        }
    }

    /// Applies the text from the editor.
    pub(super) fn edited(&mut self, edited: Result<String, String>) {
        match (self.editing.take(), edited) {
            (Some(Editing::Prompt(_)), Ok(text)) => self.input.rewrite(text.trim_end_matches('\n')),
            (Some(Editing::Proposal(call, proposed)), Ok(text)) => self.accept_edited(call, proposed, text),
            (Some(Editing::Draft(..)), Ok(text)) if text.trim().is_empty() => {
                self.edited_draft = None;
                self.hint = Some("nothing is left, so it stays as it was".into());
            }
            (Some(Editing::Draft(call, _)), Ok(text)) => {
                self.edited_draft = Some((call, text));
                self.hint = Some("edited; choose how it goes on".into());
            }
            (Some(Editing::Prompt(_)), Err(why)) => self.fail(why, Some("the prompt is unchanged".into())),
            (_, Err(why)) => self.fail(why, Some("the question is still open".into())),
            (None, Ok(_)) => {}
        }
    }

    fn accept_edited(&mut self, call: CallId, proposed: Proposed, text: String) {
        if self.asked() != Some(call.clone()) {
            return self.note("the question was answered while you edited; your text is not used");
        }
        match proposed.accept(text) {
            None => self.hint = Some("the text is unchanged; y accepts it as it is".into()),
            Some(accepted) => {
                self.view.asked.pop_front();
                self.send(Command::accept(call, accepted));
                self.follow_asked();
            }
        }
    }
}

/// Opens the text in the editor, and returns the result. The error says why that failed.
pub(super) async fn edit(editor: Option<Editor>, editing: Option<&Editing>) -> Result<String, String> {
    let (Some(editor), Some(editing)) = (editor, editing) else { return Err(NO_EDITOR.into()) };
    let (what, text, like) = match editing {
        Editing::Prompt(text) => ("the prompt", text.clone(), Path::new("prompt.md").to_owned()),
        Editing::Draft(_, text) => (DRAFT, text.clone(), Path::new("draft.md").to_owned()),
        Editing::Proposal(_, proposed) => (EDITED_FILE, proposed.text.clone(), proposed.path.clone()),
    };
    let edited = tokio::task::spawn_blocking(move || editor.edit(what, &text, &like)).await;
    edited.unwrap_or_else(|error| Err(error.to_string()))
}

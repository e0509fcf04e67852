//! [`Round`] and [`CallRun`]: the calls of one reply, and one of them.
use crate::{
    diagnostics::ReplyChanges,
    order::Turn,
    recorder::{Recorder, Unrecorded},
    scope::CallScope,
};
use haft_core::{
    Change, Channel, Registry, TaskOutput, ToolCall, ToolError, ToolOutput, ToolResult, Tracking, View,
    Wording,
};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// What the calls of one reply share.
pub struct Round<'a> {
    /// What the calls of the session share.
    pub scope: &'a CallScope,
    /// What can be called.
    pub tools: &'a Registry,
    /// How often the same calls were made in a row.
    pub repeats: usize,
    /// Where the conversation takes place.
    pub channel: Option<Channel>,
    /// The place of the reply in the journal.
    pub message: String,
    /// Whether calls that only read may run side by side.
    pub parallel: bool,
    /// Takes facts and updates to the journal.
    pub recorder: Recorder,
    /// Interrupts the calls.
    pub cancel: &'a CancellationToken,
}

/// A call of a round.
pub struct CallRun<'a> {
    pub(crate) round: &'a Round<'a>,
    pub(crate) call: ToolCall,
    /// The place of the call among those that run side by side; `None` if it runs alone.
    pub(crate) turn: Option<Turn>,
    /// What the call has printed so far.
    pub(crate) output: TaskOutput,
    /// What the calls of its reply have changed.
    pub(crate) reply: Arc<ReplyChanges>,
    /// Whether it is the last call of its reply.
    pub(crate) is_last: bool,
    /// Why a hook asks for an approval, where a person is asked about the changes.
    pub(crate) asked_by_hook: OnceLock<String>,
}

/// What a call did in its view, before any of it is real.
pub(crate) struct Done {
    pub(crate) result: ToolResult,
    pub(crate) changes: Vec<Change>,
    pub(crate) how: Tracking,
    /// The view. It also owns changes that are applied and not recorded.
    pub(crate) view: Option<Arc<dyn View>>,
    /// A diff of what a person edited in the proposal; empty for nothing.
    pub(crate) edits: String,
}

impl Done {
    pub(crate) fn without_changes(result: ToolResult) -> Self {
        Self { result, changes: Vec::new(), how: Tracking::Declared, view: None, edits: String::new() }
    }
}

/// Why a call has no result of its own.
pub(crate) enum Stopped {
    Error(ToolError),
    Unrecorded,
}

impl From<ToolError> for Stopped {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

impl From<Unrecorded> for Stopped {
    fn from(_: Unrecorded) -> Self {
        Self::Unrecorded
    }
}

impl<'a> CallRun<'a> {
    /// A call that runs alone.
    pub fn new(round: &'a Round<'a>, call: ToolCall) -> Self {
        let (output, reply, asked_by_hook) = Default::default();
        Self { round, call, turn: None, output, reply, is_last: true, asked_by_hook }
    }

    /// Words a result as the profile says, and no longer than it allows.
    pub(crate) fn render_result(&self, result: Result<ToolOutput, ToolError>) -> ToolResult {
        let rules = &self.round.scope.rules;
        let result = result.map_err(|error| self.round.tools.in_shown_names(&self.call.name, error));
        let cut = |text: &str| match &rules.clip {
            Some(clip) => clip.apply(text, "ask for a part of it"),
            None => text.to_owned(),
        };
        // A text with a title is cut before, so that the limit is that of the text.
        let result = match rules.render.result {
            Wording::Text | Wording::Fields | Wording::Success => result,
            Wording::Titled => result
                .map(|output| ToolOutput { for_model: cut(&output.for_model), ..output })
                .map_err(|error| ToolError { message: cut(&error.message), ..error }),
        };
        let mut result = rules.render.result(&self.call, result);
        if let Some(clip) = rules.clip.as_ref().filter(|_| rules.render.result != Wording::Titled) {
            result.content = rules.render.clipped(&result, clip);
        }
        if let Some(error) = &mut result.error {
            error.message = cut(&error.message);
        }
        result
    }

    /// Adds a note for the model, which may be empty.
    pub(crate) fn add_note(&self, result: &mut ToolResult, note: &str) {
        self.round.scope.rules.render.add_note(result, note);
    }
}

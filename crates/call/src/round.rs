//! [`Round`] and [`CallRun`]: the calls of one reply, and a single call of it.
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

/// The parts that the calls of one reply share.
pub struct Round<'a> {
    /// What the calls of the session share.
    pub scope: &'a CallScope,
    /// The tools that can be called.
    pub tools: &'a Registry,
    /// How often the same calls were made consecutively.
    pub repeats: usize,
    /// The channel of the conversation.
    pub channel: Option<Channel>,
    /// The place of the reply in the journal.
    pub message: String,
    /// Whether calls that only read may run concurrently.
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
    /// The position of the call among the concurrent calls; `None` if it runs alone.
    pub(crate) turn: Option<Turn>,
    /// What the call has printed so far.
    pub(crate) output: TaskOutput,
    /// The changes of all calls of its reply.
    pub(crate) reply: Arc<ReplyChanges>,
    /// Whether it is the last call of its reply.
    pub(crate) is_last: bool,
    /// Why a hook asks for an approval, if the user is asked about the changes.
    pub(crate) asked_by_hook: OnceLock<String>,
}

/// The result and the changes of a call in its view, before they are settled.
pub(crate) struct Done {
    pub(crate) result: ToolResult,
    pub(crate) changes: Vec<Change>,
    pub(crate) how: Tracking,
    /// The view. It also owns changes that are applied and not recorded.
    pub(crate) view: Option<Arc<dyn View>>,
    /// A diff of the user's edits of the proposal; empty if there are none.
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

    /// Formats a result as the profile specifies, and cuts it to the profile's limit.
    pub(crate) fn render_result(&self, result: Result<ToolOutput, ToolError>) -> ToolResult {
        let rules = &self.round.scope.rules;
        let result = result.map_err(|error| self.round.tools.in_shown_names(&self.call.name, error));
        let cut = |text: &str| match &rules.clip {
            Some(clip) => clip.apply(text, "ask for a part of it"),
            None => text.to_owned(),
        };
        // A text with a title is cut before formatting, so that the limit applies to the text.
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

//! [`Update`]: what is shown live and never recorded.
use crate::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Seen while it happens, gone afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are named by their types")]
pub enum Update {
    /// More of the reply.
    Text { text: String },
    /// More of what the model thinks.
    Thinking { text: String },
    /// A call of the reply begins.
    ToolCall { call: CallId, name: String },
    /// More of its arguments: JSON text.
    ToolArguments { call: CallId, delta: String },
    /// It is written to its end. `arguments` are as they will be recorded: a text where they cannot be read.
    ToolCallEnd { call: CallId, arguments: Value },
    /// A running call says something.
    ToolOutput { call: CallId, chunk: String },
    /// The beginning of the conversation is being summarized.
    Summarizing,
    /// An undo of single calls makes later calls again, to see which depend on them. An interrupt leaves all as it was.
    Undoing,
    /// Calls are not taken back. `why` is a sentence, `depends` are the numbers of the later calls that depend on them, and
    /// `can_merge` says whether an undo that merges texts would take them back.
    UndoRefused {
        why: String,
        #[serde(default)]
        depends: Vec<usize>,
        #[serde(default)]
        can_merge: bool,
    },
    /// The model is asked again: what was seen of this reply is void.
    Retrying { reason: String, after_ms: u64 },
    /// A command that was given here is not carried out where the session is open: why, as a sentence for people.
    Refused { why: String },
    /// The connection to the machine that has the session open is lost, and is made again by itself: why.
    Disconnected { why: String },
    /// That connection is there again, and nothing recorded was missed. `is_at_rest`: no turn runs there.
    Connected { is_at_rest: bool },
}

//! [`Update`]: a live update, which is shown and never recorded.
use crate::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A live update for front-ends. It is never recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are named by their types")]
pub enum Update {
    /// More of the reply.
    Text { text: String },
    /// More of the model's thinking.
    Thinking { text: String },
    /// A call of the reply begins.
    ToolCall { call: CallId, name: String },
    /// More of its arguments: JSON text.
    ToolArguments { call: CallId, delta: String },
    /// A call of the reply is complete. `arguments` are as they will be recorded: a text if they are invalid.
    ToolCallEnd { call: CallId, arguments: Value },
    /// A running call printed output.
    ToolOutput { call: CallId, chunk: String },
    /// The beginning of the conversation is being summarized.
    Summarizing,
    /// An undo of single calls repeats later calls to find out which depend on them. An interrupt leaves everything
    /// unchanged.
    Undoing,
    /// An undo of single calls was refused. `why` is a sentence, `depends` are the numbers of the later calls that
    /// depend on them, and `can_merge` says whether an undo that merges texts would succeed.
    UndoRefused {
        why: String,
        #[serde(default)]
        depends: Vec<usize>,
        #[serde(default)]
        can_merge: bool,
    },
    /// The model is asked again: the earlier updates of this reply are void.
    Retrying { reason: String, after_ms: u64 },
    /// The process that has the session open refused a command of this front-end. `why` is a sentence for the user.
    Refused { why: String },
    /// The connection to the machine that has the session open was lost, for the reason `why`. It is restored
    /// automatically.
    Disconnected { why: String },
    /// The connection was restored, and no recorded event was lost. `is_at_rest`: no turn runs.
    Connected { is_at_rest: bool },
}

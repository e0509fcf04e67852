//! [`Command`]: a command that a front-end sends to a session.
use crate::{Accepted, Answer, CallId, Channel, Conclusion, Goal, Mode, Part, Seq};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Which calls to undo, and how to handle conflicts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoCalls {
    /// Their numbers, see [`crate::past_calls::PastCall::number`]. If empty, the files that the last undo left
    /// unchanged are undone.
    pub calls: Vec<usize>,
    /// Also undo the later calls that depend on them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_dependents: bool,
    /// Merge the undo with the current text of each file. If both changed the same lines, the file gets both versions
    /// between conflict markers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merge: bool,
}

/// A command of a front-end to a session. As JSON: `{"type":"prompt","parts":[…]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Send a prompt. During a turn it steers the turn, otherwise it opens one.
    Prompt {
        /// Text and images.
        parts: Vec<Part>,
        /// The channel of the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
    },
    /// Send a prompt that opens a turn of its own, whose last reply must match `schema`. During a turn the prompt waits
    /// for the end.
    PromptWithSchema {
        /// Text and images.
        parts: Vec<Part>,
        /// JSON Schema of the last reply.
        schema: Value,
    },
    /// Answer a call that asks for approval.
    Answer {
        /// The call.
        call: CallId,
        /// The answer.
        answer: Answer,
        /// The user who gives it, where the front-end knows users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// What the model should do instead: a prompt that joins the turn, unless another answer came first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// Answer a call that asks about its changes: accept these parts and reject the rest.
    AnswerInPart {
        /// The call.
        call: CallId,
        /// The parts.
        accepted: Accepted,
        /// The user who gives the answer, where the front-end knows users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Answer the question of a call.
    Reply {
        /// The call.
        call: CallId,
        /// The user's answer; `None` if no user can be asked.
        answer: Option<String>,
        /// The user who gives the answer, where the front-end knows users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Make this call in place of the model, as a turn with this single round.
    Call {
        /// The tool.
        name: String,
        /// JSON of an object.
        arguments: Value,
    },
    /// Make this call, which the user has typed. It runs without approval and is never queued.
    TypedCall {
        /// The tool.
        name: String,
        /// JSON of an object.
        arguments: Value,
    },
    /// Make this call, which Haft proposes: the user is asked about its changes, whatever the rules and the mode allow.
    ProposedCall {
        /// The tool.
        name: String,
        /// JSON of an object.
        arguments: Value,
    },
    /// Record the conclusion of the job of this session.
    Conclude(Conclusion),
    /// Judge effects that no rule matches by this mode from here on, as far as the engine and the agent allow it.
    SetMode {
        /// The mode.
        mode: Mode,
    },
    /// Record the agent and the model that the session was opened with, if its journal names others, so that the
    /// session is opened with them again. The first prompt does the same.
    KeepSetup,
    /// Judge files below this folder like those of the workspace from here on. During a turn the command waits for the
    /// end.
    AddRoot {
        /// Absolute, or relative to the workspace.
        root: PathBuf,
    },
    /// Set the goal of the session from here on; `None` removes it. During a turn the command waits for the end.
    SetGoal {
        /// The goal.
        goal: Option<Goal>,
    },
    /// Do not ask the user from here on, and queue calls whose effects cannot be undone.
    OpenOutbox,
    /// Make the call of this outbox item. Refused if the item was sent, or, without `again`, if the effect of an
    /// earlier attempt is unknown. During a turn the command waits for the end.
    SendItem {
        /// The ID of the item.
        item: String,
        /// Make the call even if the effect of an earlier attempt is unknown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
        /// The user of a server who asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Drop this outbox item: its call is never made. Refused if the item was sent. During a turn the command waits for
    /// the end.
    DropItem {
        /// The ID of the item.
        item: String,
        /// The user of a server who asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Stop the turn. Open calls are ended.
    Interrupt,
    /// Withdraw the last of the prompts that wait for the next round. Refused if none waits.
    WithdrawPrompt,
    /// Resume an unfinished turn: after a crash, or after the model failed.
    Continue,
    /// Go back to the entry `to`, and undo the file changes since.
    Rewind {
        /// The last entry to keep.
        to: Seq,
    },
    /// Undo single calls at any place, and keep the calls after them. Refused if later calls depend on them, or if the
    /// user's own changes conflict. The conversation stays unchanged.
    UndoCalls(UndoCalls),
    /// Redo: undo the last rewind.
    Redo,
    /// Replace the beginning of the conversation by a summary. Ends a turn, also if there is nothing to summarize.
    Compact,
}

impl Command {
    /// Returns the answer to a call that asks for approval, without a user.
    pub fn answer(call: CallId, answer: Answer) -> Self {
        Self::Answer { call, answer, by: None, because: None }
    }

    /// Returns a denial of a call that asks for approval, with the instruction for the model, without a user.
    pub fn refuse(call: CallId, because: Option<String>) -> Self {
        Self::Answer { call, answer: Answer::No, by: None, because }
    }

    /// Returns the acceptance of parts of what a call would do, without a user.
    pub fn accept(call: CallId, accepted: Accepted) -> Self {
        Self::AnswerInPart { call, accepted, by: None }
    }

    /// Returns the answer to the question of a call, without a user.
    pub fn reply(call: CallId, answer: Option<String>) -> Self {
        Self::Reply { call, answer, by: None }
    }

    /// Sets the user of the command, or removes it, whatever the command itself says.
    #[must_use]
    pub fn signed(mut self, user: Option<&str>) -> Self {
        match &mut self {
            Self::Answer { by, .. }
            | Self::AnswerInPart { by, .. }
            | Self::Reply { by, .. }
            | Self::SendItem { by, .. }
            | Self::DropItem { by, .. } => {
                *by = user.map(str::to_owned);
            }
            Self::Prompt { channel, .. } => *channel = user.map(|user| Channel::new("http", user)),
            _ => {}
        }
        self
    }
}

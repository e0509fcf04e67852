//! [`Command`]: what people may ask of a session.
use crate::{Accepted, Answer, CallId, Channel, Conclusion, Goal, Mode, Part, Seq};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Which calls to take back, and what to do about what is in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoCalls {
    /// Their numbers, see [`crate::past_calls::PastCall::number`]. Without any, the files that the last undo left alone are
    /// meant.
    pub calls: Vec<usize>,
    /// Take back the later calls that depend on them as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_dependents: bool,
    /// Merge the text of each file with what it holds now. If both changed the same lines, both are there between
    /// conflict markers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merge: bool,
}

/// A command of a front-end to a session. As JSON: `{"type":"prompt","parts":[…]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Say something. During a turn it steers, otherwise it opens one.
    Prompt {
        /// Text and images.
        parts: Vec<Part>,
        /// The channel that it came through.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
    },
    /// Say something in a turn of its own, whose last reply must match `schema`. During a turn it waits for the end.
    PromptWithSchema {
        /// Text and images.
        parts: Vec<Part>,
        /// JSON Schema of the last reply.
        schema: Value,
    },
    /// Answer a call that asks.
    Answer {
        /// The call.
        call: CallId,
        /// The answer.
        answer: Answer,
        /// The user who gives it, where the front-end knows users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// What the model is to do instead: a prompt that joins the turn, unless another answer came first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// Answer a call that asks about its changes: yes to these parts of them, and no to the rest.
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
        /// What the person said; `None` if there is no person.
        answer: Option<String>,
        /// The user who gives the answer, where the front-end knows users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Make this call in place of the model; the turn has this one round.
    Call {
        /// The tool.
        name: String,
        /// JSON of an object.
        arguments: Value,
    },
    /// Make this call, which the person has typed: they are not asked about it, and nothing holds it back.
    TypedCall {
        /// The tool.
        name: String,
        /// JSON of an object.
        arguments: Value,
    },
    /// Make this call, which Haft proposes: the person is asked about its changes, whatever the rules and the mode allow.
    ProposedCall {
        /// The tool.
        name: String,
        /// JSON of an object.
        arguments: Value,
    },
    /// The job that this session is has come to its end.
    Conclude(Conclusion),
    /// Judge effects that no rule settles by this mode from here on, as far as the engine and the agent allow it.
    SetMode {
        /// The mode.
        mode: Mode,
    },
    /// Record the agent and the model that the session was opened with, where its journal names others: it is opened
    /// with them again. The first prompt does the same.
    KeepSetup,
    /// Judge files below this folder as those of the workspace from here on. During a turn it waits for the end.
    AddRoot {
        /// Absolute, or relative to the workspace.
        root: PathBuf,
    },
    /// Work towards this goal from here on; `None` for no goal any more. During a turn it waits for the end.
    SetGoal {
        /// The goal.
        goal: Option<Goal>,
    },
    /// Ask no person from here on, and queue calls whose effects cannot be taken back.
    OpenOutbox,
    /// Make the call of this item of the outbox. Refused where it was sent, and where what an earlier attempt did is unknown,
    /// unless `again`. During a turn it waits for the end.
    SendItem {
        /// The ID of the item.
        item: String,
        /// Make it all the same where what an earlier attempt did is unknown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
        /// The user of a server who asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Never make the call of this item of the outbox. Refused where it was sent. During a turn it waits for the end.
    DropItem {
        /// The ID of the item.
        item: String,
        /// The user of a server who asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Stop the turn. Open calls are ended.
    Interrupt,
    /// Take back the prompt that came last of those that wait for the next round. Refused if none waits.
    WithdrawPrompt,
    /// Take up an unfinished turn: after a crash, or after the model failed.
    Continue,
    /// Go back to the entry `to`, and put changed files back too.
    Rewind {
        /// The last entry that stays.
        to: Seq,
    },
    /// Take back single calls, wherever they stand, and keep what came after them. Refused where later calls depend on
    /// them, or a person's own changes are in the way. The conversation stays as it is.
    UndoCalls(UndoCalls),
    /// Take back the last rewind.
    Redo,
    /// Put a summary in place of the beginning of the conversation. A turn ends with it, also where there is nothing
    /// to summarize.
    Compact,
}

impl Command {
    /// Returns the answer to a call that asks, where the front-end knows no users.
    pub fn answer(call: CallId, answer: Answer) -> Self {
        Self::Answer { call, answer, by: None, because: None }
    }

    /// Returns a no to a call that asks, with what the model is told in its place, where the front-end knows no users.
    pub fn refuse(call: CallId, because: Option<String>) -> Self {
        Self::Answer { call, answer: Answer::No, by: None, because }
    }

    /// Returns a yes to parts of what a call would do, where the front-end knows no users.
    pub fn accept(call: CallId, accepted: Accepted) -> Self {
        Self::AnswerInPart { call, accepted, by: None }
    }

    /// Returns the answer to the question of a call, where the front-end knows no users.
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

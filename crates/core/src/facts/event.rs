//! [`Event`] and [`Fact`]: what happens in a session.
use crate::{
    Accepted, AttemptEnd, BulkFolder, CallId, Change, Conclusion, DiagnosticsChange, Direction, Effect,
    FileRead, Goal, Mode, ModelFault, Part, Price, Question, QueuedCall, Reached, Resource, Rewind, Seq,
    SessionId, SessionOpened, SessionSetup, StopReason, TaskId, ToolCall, ToolResult, Tracking, Update,
    Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Version of the journal's format, in its first entry. Journals of a newer version are refused.
pub const JOURNAL_VERSION: u32 = 2;

/// A chat of a front-end, e.g. `telegram` / `4711`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// The front-end.
    pub kind: String,
    /// ID of the chat, as the front-end names it.
    pub chat: String,
    /// IDs of the messages, as the front-end names them: a front-end that finds them in a journal does not send them
    /// again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

impl Channel {
    /// Returns the channel of prompts that Haft itself adds to a turn, such as what is missing in a job.
    pub fn reminder() -> Self {
        Self { kind: "haft".into(), chat: "reminder".into(), messages: Vec::new() }
    }

    /// Returns whether Haft itself wrote the prompt: it belongs to the turn before it.
    pub fn is_reminder(&self) -> bool {
        self.kind == "haft" && self.chat == "reminder"
    }

    /// Returns a chat without messages.
    pub fn new(kind: impl Into<String>, chat: impl Into<String>) -> Self {
        Self { kind: kind.into(), chat: chat.into(), messages: Vec::new() }
    }
}

/// An entry of a journal, one line of its file: `{"seq":N,"at":MS,"type":TYPE,…,"chain":VALUE}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Position in the journal.
    pub seq: Seq,
    /// The entry before this one in the conversation, if it is not the line before (after an undo).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// Milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
    /// Value of the hash chain, see [`crate::chain`], in hexadecimal; always the last field of the line. Older journals
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
}

/// Something that happened in a session. Facts are never changed or removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are named by their types")]
pub enum Fact {
    /// The first entry of each journal.
    SessionOpened(SessionOpened),
    /// The session continues with another agent, model or effort, also after it is opened again.
    SetupChanged {
        #[serde(flatten)]
        setup: SessionSetup,
        /// What the model costs; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
    },
    /// The user sent a prompt. Opens a turn, or steers the turn that runs.
    Prompted {
        parts: Vec<Part>,
        #[serde(default)]
        channel: Option<Channel>,
    },
    /// The user sent a prompt in the middle of a turn. The prompt waits for the next round. A `prompted` or
    /// `prompt_denied` entry follows, at the latest when the session is opened again.
    PromptQueued {
        parts: Vec<Part>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
    },
    /// The user withdrew the last of the prompts that waited.
    PromptWithdrawn,
    /// A prompt was rejected, by a hook or because it names something that is not available. The model never reads it.
    /// If the prompt would have opened a turn, the turn ends at once.
    PromptDenied {
        parts: Vec<Part>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
        reason: String,
    },
    /// A complete reply of the model.
    Replied { parts: Vec<Part>, usage: Usage, stop: StopReason },
    /// A request was given up and sent again, or failed. `usage`: what it cost nevertheless, by the server's count or
    /// by estimate.
    Retried { reason: String, usage: Usage },
    /// A model could not answer, and another one is asked in its place until the turn ends. Models are written as
    /// `PROVIDER/MODEL`.
    #[serde(rename = "model_changed", alias = "model_switched")]
    ModelSwitched {
        from: String,
        to: String,
        reason: ModelFault,
        /// The vendor's error message.
        message: String,
        /// When `from` can answer again, in milliseconds since 1970-01-01 UTC, if the vendor named a time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// What `to` costs; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
    },
    /// No model could answer. The turn sleeps until `model` can answer again, and then asks it.
    #[serde(rename = "waiting", alias = "model_awaited")]
    ModelAwaited {
        model: String,
        reason: ModelFault,
        /// The time that the vendor named, in milliseconds since 1970-01-01 UTC.
        until: u64,
        /// Seconds from the time of recording to `until`.
        seconds: u64,
        /// What `model` costs; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
    },
    /// A call that a user or a program made in place of the model. Opens a turn without any other round.
    Called {
        #[serde(flatten)]
        made: ToolCall,
    },
    /// The model could not be asked; the turn ends.
    ModelFailed {
        message: String,
        hint: Option<String>,
        /// The cause, if another model could have answered; `None` if the request itself is at fault.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ModelFault>,
    },
    /// A call waits for an approval. `changes`: what it would do to files, if it already ran in a view.
    ApprovalAsked {
        call: CallId,
        reason: String,
        /// The effects that the answer applies to.
        effects: Vec<Effect>,
        changes: Vec<Change>,
        /// Additional changes below folders that Git ignores, which are not recorded for an undo.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bulk: Vec<BulkFolder>,
        /// The call that would run, if the recorded call does not show it: its arguments were interpreted differently,
        /// or the call belongs to a child session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runs: Option<Box<ToolCall>>,
        /// Errors and warnings of the workspace that `changes` would add and remove; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diagnostics: Option<Box<DiagnosticsChange>>,
    },
    /// The user accepts only these parts of what the call would do. The answer follows.
    AcceptedPart { call: CallId, accepted: Accepted },
    /// The user, or the front-end in place of the user, has answered.
    ApprovalAnswered {
        call: CallId,
        answer: Answer,
        /// The user of a server who answered; `None` if the front-end knows no users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call asks the user a question.
    QuestionAsked {
        call: CallId,
        #[serde(flatten)]
        question: Question,
    },
    /// The user's answer; `None` if no user could be asked.
    QuestionAnswered {
        call: CallId,
        answer: Option<String>,
        /// The user of a server who answered; `None` if the front-end knows no users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The model's answer to a request that a call made outside of the conversation, on behalf of an MCP server. The
    /// user read the prompt in the question before it.
    Sampled { call: CallId, server: String, model: String, text: String, usage: Usage, stop: StopReason },
    /// A tool starts. Synced to disk before it begins.
    ToolStarted {
        call: CallId,
        name: String,
        arguments: Value,
        how: Tracking,
        /// Whether the call may have effects beyond the recorded file changes, because it had access to a network.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outside: bool,
        /// The files that its effects name for reading, as they are at the start of the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<FileRead>,
    },
    /// Commands that were to be confined are not, since the system does not support it. Recorded once each time a
    /// session is opened.
    Unconfined { reason: String },
    /// The changes of a call, synced to disk before the files are touched: after a crash they are settled again.
    /// `result` is the call's result once they are settled. `unrecorded`: folders that Git ignores in which a command
    /// changed more than is recorded; no undo takes that back.
    Staged {
        call: CallId,
        changes: Vec<Change>,
        how: Tracking,
        result: ToolResult,
        #[serde(rename = "unkept", default, skip_serializing_if = "Vec::is_empty")]
        unrecorded: Vec<PathBuf>,
    },
    /// A child session changes files for `call`. Like the child's own journal, this journal has the fact on disk before
    /// the files are changed. `untracked`: a command begins whose changes are not recorded. `unrecorded`: see
    /// [`Fact::Staged`].
    #[serde(rename = "changed_below")]
    SubagentChanged {
        call: CallId,
        session: SessionId,
        changes: Vec<Change>,
        how: Tracking,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unrecorded: Vec<PathBuf>,
    },
    /// Files that a call had staged and that were left unchanged, because they had been changed by another program
    /// meanwhile or cannot be written.
    Unsettled { call: CallId, paths: Vec<PathBuf> },
    /// A call ended. Each call of a reply has exactly one of these facts, also a call that never started.
    ToolEnded {
        call: CallId,
        name: String,
        #[serde(flatten)]
        result: ToolResult,
        /// Time since the call's start, without the time that it waited for the user, in milliseconds.
        duration_ms: u64,
    },
    /// A background task began, which outlives its call. If it works in a view, its changes are staged under
    /// [`TaskId::call`].
    #[serde(rename = "job_started")]
    TaskStarted {
        #[serde(rename = "job")]
        task: TaskId,
        title: String,
        #[serde(default = "Tracking::untracked", skip_serializing_if = "Tracking::is_untracked")]
        how: Tracking,
    },
    /// A background task ended. Opens a turn.
    #[serde(rename = "job_ended")]
    TaskEnded {
        #[serde(rename = "job")]
        task: TaskId,
        result: ToolResult,
    },
    /// The user chose what happens with effects that no rule decides on. Applies from here on, also after the session
    /// is opened again.
    ModeSet { mode: Mode },
    /// The user added a folder to the workspace: its files are judged like those of the workspace from here on, also
    /// after the session is opened again. `root` is absolute, without links.
    RootAdded { root: PathBuf },
    /// From this entry on, also after the session is opened again, the user is not asked: calls whose effects cannot be
    /// undone are queued.
    OutboxOpened,
    /// A call was queued in the outbox, and the model was told so. Synced to disk before the call ends.
    Queued(Box<QueuedCall>),
    /// The user sends this item. Its call follows as a `called` entry, which is synced to disk before the call begins.
    ItemSending {
        item: String,
        call: CallId,
        /// The user of a server who sends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The user dropped this item.
    ItemDropped {
        item: String,
        /// The user of a server who dropped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Results were evicted to make room in the window: the model reads these texts in their place. The complete
    /// results are in their `tool_ended` facts.
    Evicted { results: Vec<Evicted> },
    /// A summary replaced the beginning of the conversation: the model reads the first and the last prompt, the
    /// summary, and the last `kept` messages.
    Compacted {
        summary: String,
        kept: usize,
        /// Maximum bytes of a prompt that is kept word for word.
        pinned_bytes: usize,
        by: Summarizer,
        /// Estimated tokens of a request before and after the compaction.
        before: u64,
        after: u64,
        /// Tokens of the request for the summary.
        #[serde(default)]
        usage: Usage,
    },
    /// The last reply claims something that the journal does not show; the model reads `text`. At most once per turn.
    Reminded { claims: Vec<String>, text: String },
    /// JSON Schema that the last reply of the turn must match from here on; `None` for any reply. Applies to this turn
    /// only: a later turn records its own.
    AnswerSchema { schema: Option<Value> },
    /// The last reply does not match the schema. The model reads `text` and is asked again; `None` once the maximum
    /// number of attempts is reached.
    AnswerRejected { problems: Vec<String>, text: Option<String> },
    /// The last reply matches the schema; `answer` is its value.
    Answered { answer: Value },
    /// The prompt before this entry was sent in plan mode, or is the first one after plan mode: the model reads `text`
    /// with the prompt.
    Planning { is_on: bool, text: String },
    /// The user answered the plan in the last reply. The model reads `text` and continues, with the work if the plan
    /// was accepted. A `mode_set` before this fact sets the mode of the work.
    PlanAnswered { is_accepted: bool, text: String },
    /// The goal of the session from here on; `None` removes it.
    GoalSet { goal: Option<Goal> },
    /// Haft runs the check of the goal. No reply of the model makes this call; the text that follows tells its result.
    GoalChecked {
        #[serde(flatten)]
        made: ToolCall,
    },
    /// The check that has just ended does not show that the goal is reached. The model reads `text` and continues;
    /// `None` if the model is stuck.
    GoalMissed {
        /// A sentence without its full stop.
        why: String,
        /// Number of consecutive checks that failed like the check before, with nothing changed in between.
        #[serde(default)]
        unchanged: u32,
        text: Option<String>,
    },
    /// The goal is reached: the check failed at the entry `red`, and succeeded at the entry `green`, after the last change.
    GoalReached { check: String, red: Seq, green: Seq },
    /// The turn did not reach the goal, and other attempts begin, from the files as they were before the turn, each in views
    /// that no other session sees. No reply of the model makes this call; its changes are those of the attempt that won.
    AttemptsBegun {
        #[serde(flatten)]
        made: ToolCall,
    },
    /// An attempt ended.
    AttemptEnded(AttemptEnd),
    /// The last reply made no call and did not say that the work is done. The model reads `text` and continues.
    Nudged { text: String },
    /// The next request, or the next second, would pass a limit; the turn ends.
    BudgetReached { what: Resource, spent: f64, limit: f64 },
    /// The turn reached the maximum number of model calls and ends.
    RoundsReached {
        limit: u32,
        #[serde(flatten)]
        left: RemainingWork,
        /// The profile's text for this, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The user stopped the turn.
    Interrupted,
    /// An unfinished turn was resumed.
    Continued,
    /// The turn ended: nothing happens until the next prompt. `usage` and `cost_usd` are those of the turn and of the
    /// agents that it delegated to; no cost if a price is unknown.
    TurnEnded { outcome: Outcome, rounds: u32, usage: Usage, cost_usd: Option<f64> },
    /// The job of this session ended.
    #[serde(rename = "concluded")]
    JobFinished(Conclusion),
    /// An undo or a redo of files begins. This fact is on disk before the first file is touched.
    Rewinding(Rewind),
    /// An undo or a redo of files ended. The conversation continues at the entry's `parent`.
    Rewound {
        way: Direction,
        changes: Vec<Change>,
        /// Files that were left unchanged, because they had been changed by another program meanwhile or for the reason
        /// in `failed`.
        conflicts: Vec<PathBuf>,
        /// Files in `conflicts` that could not be written or read, and why.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        failed: BTreeMap<PathBuf, String>,
        /// Calls in the undone range whose changes were not recorded.
        untracked: Vec<CallId>,
        /// Numbers of the calls that were undone one by one, in ascending order, with the conversation unchanged. Empty
        /// if the conversation went back as well.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<usize>,
        /// Files that had been changed by another program meanwhile, into which both changes were merged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        merged: Vec<PathBuf>,
        /// Files in `merged` that have conflict markers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        marked: Vec<PathBuf>,
    },
}

impl Fact {
    /// Returns the limit that ended the turn, as a sentence for the user without its full stop. `None` for other facts.
    pub fn limit_reached(&self) -> Option<String> {
        match self {
            Self::BudgetReached { what, spent, limit } => {
                Some(Reached { what: *what, spent: *spent, limit: *limit }.to_string())
            }
            Self::RoundsReached { reason: Some(reason), .. } => Some(reason.clone()),
            Self::RoundsReached { limit, left, reason: None } => {
                let left = left.sentence().map(|left| format!("; {left}")).unwrap_or_default();
                let rounds = if *limit == 1 { "round is" } else { "rounds are" };
                Some(format!("{limit} {rounds} used up{left}"))
            }
            _ => None,
        }
    }

    /// Returns whether this fact records that background task `job` began: its `task_started`, or the end of its call,
    /// which may come long before.
    pub fn begins(&self, job: &TaskId) -> bool {
        match self {
            Self::TaskStarted { task: begun, .. } => begun == job,
            Self::ToolEnded { result, .. } => result.job.as_ref() == Some(job),
            _ => false,
        }
    }
}

/// A tool result whose text was evicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evicted {
    /// Index in [`crate::Transcript::messages`].
    pub message: usize,
    /// The text that the model reads instead.
    pub text: String,
}

/// The author of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summarizer {
    /// The model of the conversation.
    Model,
    /// No model could be asked: a digest of prompts, changed files and the last results, built by rules.
    Digest,
}

/// The answer to a call that asks for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Allows the call this time.
    Once,
    /// Allows the call, and every later request for the same effects in this session.
    Always,
    /// Denies the call.
    No,
    /// No user can be asked.
    #[serde(rename = "nobody")]
    Unanswered,
    /// The front-end gave an answer that was not among the choices. It allows nothing.
    NotUnderstood,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model finished.
    Finished,
    /// The user stopped it.
    Interrupted,
    /// The model could not be asked.
    Failed,
    /// The limit on model calls was reached.
    RoundLimit,
    /// The limit on tokens, cost or time was reached.
    Budget,
    /// The model repeated the same calls, or a reply that did not end was cut off.
    Repeating,
    /// The model finished, but an effect needed an approval that no user could give; or a hook denied the prompt.
    Refused,
    /// The reply claims what the journal does not show.
    Unproven,
    /// The last reply does not match the schema that was asked for.
    InvalidAnswer,
    /// The goal is not reached, and the model makes no progress.
    Stuck,
}

impl Outcome {
    /// Returns why the turn did not succeed, as a sentence for the user without its full stop. `None` if it did.
    pub fn reason(self) -> Option<&'static str> {
        Some(match self {
            Self::Finished => return None,
            Self::Interrupted => "interrupted",
            Self::Failed => "the model could not be asked",
            Self::RoundLimit => "too many rounds without an end",
            Self::Budget => "the budget is used up",
            Self::Repeating => {
                "the model repeats itself: it made the same calls again and again, or its reply did not end"
            }
            Self::Refused => "an effect needed an approval, and no person could give it",
            Self::Unproven => "the reply claims what the journal does not show",
            Self::InvalidAnswer => "the answer does not match the schema",
            Self::Stuck => "the goal is not reached, and the model gets no further",
        })
    }

    /// Returns whether Haft ended the turn: at a limit, or because the model repeated itself.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::RoundLimit | Self::Budget | Self::Repeating)
    }
}

/// The remaining work of a turn that ended early.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemainingWork {
    /// Steps of the last list that are not done, in its order.
    pub steps: Vec<String>,
    /// The last text of the model, or its last calls; empty if there is neither.
    pub last: String,
}

impl RemainingWork {
    /// Returns a sentence for the user, without its full stop; `None` if there is nothing to say.
    pub fn sentence(&self) -> Option<String> {
        match (self.steps.is_empty(), self.last.is_empty()) {
            (false, _) => Some(format!("left to do: {}", self.steps.join("; "))),
            (true, false) => Some(format!("last of all: {}", self.last)),
            (true, true) => None,
        }
    }
}

impl SessionSetup {
    /// Returns the setup that was chosen last, even if that choice was undone since, or the setup that the session
    /// began with. `None` if the first entry is missing.
    pub fn of(entries: &[Arc<Entry>]) -> Option<Self> {
        let chosen = entries.iter().rev().find_map(|entry| match &entry.fact {
            Fact::SetupChanged { setup, .. } => Some(setup.clone()),
            _ => None,
        });
        chosen.or_else(|| SessionOpened::of(entries).map(SessionOpened::setup))
    }
}

impl SessionOpened {
    /// Returns the `session_opened` of these entries; `None` if they do not begin with it.
    pub fn of(entries: &[Arc<Entry>]) -> Option<&Self> {
        entries.first()?.opened()
    }
}

impl Entry {
    /// Returns the `session_opened`; `None` for other facts.
    pub fn opened(&self) -> Option<&SessionOpened> {
        match &self.fact {
            Fact::SessionOpened(opened) => Some(opened),
            _ => None,
        }
    }
}

/// What front-ends receive from a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A line of the journal.
    Recorded(Arc<Entry>),
    /// A live update, which is not recorded.
    Live(Update),
}

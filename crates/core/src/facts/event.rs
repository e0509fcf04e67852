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

/// Version of the journal's format, in its first entry. A newer one is refused.
pub const JOURNAL_VERSION: u32 = 2;

/// A place where people talk, e.g. `telegram` / `4711`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// The front-end.
    pub kind: String,
    /// The conversation, by that front-end's own name for it.
    pub chat: String,
    /// IDs of the messages, as the front-end names them: a front-end that finds them in a journal does not send them
    /// again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

impl Channel {
    /// Returns a conversation in which nothing has been said.
    pub fn new(kind: impl Into<String>, chat: impl Into<String>) -> Self {
        Self { kind: kind.into(), chat: chat.into(), messages: Vec::new() }
    }
}

/// An entry of a journal, one line of its file: `{"seq":N,"at":MS,"type":TYPE,…,"chain":VALUE}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Position in the journal.
    pub seq: Seq,
    /// The entry this one follows, if that is not the line before (after an undo).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// Milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
    /// Value of the hash chain, see [`crate::chain`], in hexadecimal; always the last field of the line. Older journals
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
}

/// Something that happened. Facts are never changed or removed.
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
    /// A person spoke. Opens a turn, or steers the one that runs.
    Prompted {
        parts: Vec<Part>,
        #[serde(default)]
        channel: Option<Channel>,
    },
    /// A person spoke in the middle of a turn. It waits for the next round. A `prompted` or `prompt_denied` entry
    /// follows, at the latest when the session is opened again.
    PromptQueued {
        parts: Vec<Part>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
    },
    /// A person took back the prompt that came last of those that waited.
    PromptWithdrawn,
    /// A hook did not let a prompt through, or it names something that cannot be had: the model never reads it. A turn that
    /// it would have opened ends at once.
    PromptDenied {
        parts: Vec<Part>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
        reason: String,
    },
    /// The model spoke, all of it.
    Replied { parts: Vec<Part>, usage: Usage, stop: StopReason },
    /// A request was given up and sent again, or came to nothing: what it cost all the same, by the server's count or by
    /// estimate.
    Retried { reason: String, usage: Usage },
    /// A model could not answer, and another one is asked in its place until the turn ends. Models are written as
    /// `PROVIDER/MODEL`.
    #[serde(rename = "model_changed", alias = "model_switched")]
    ModelSwitched {
        from: String,
        to: String,
        reason: ModelFault,
        /// In the words of the vendor.
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
        /// In milliseconds since 1970-01-01 UTC, as the vendor named it.
        until: u64,
        /// How long that was when it was recorded.
        seconds: u64,
        /// What `model` costs; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
    },
    /// A call that a person or a program made in place of the model. Opens a turn that has no other round.
    Called {
        #[serde(flatten)]
        made: ToolCall,
    },
    /// The model could not be asked; the turn ends.
    ModelFailed {
        message: String,
        hint: Option<String>,
        /// Why, where another model could have answered; `None` if the request itself is at fault.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ModelFault>,
    },
    /// A call waits for a person. `changes` are what it would do to files, where it already ran in a view.
    ApprovalAsked {
        call: CallId,
        reason: String,
        /// What an answer holds for.
        effects: Vec<Effect>,
        changes: Vec<Change>,
        /// What it would also change below folders that Git ignores, without a record for an undo.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bulk: Vec<BulkFolder>,
        /// What would run, where the call itself does not say so: it is read otherwise, or one of a session below.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runs: Option<Box<ToolCall>>,
        /// What `changes` would add to and remove from the errors and warnings of the workspace; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diagnostics: Option<Box<DiagnosticsChange>>,
    },
    /// The person accepts only these parts of what the call would do; the answer follows.
    AcceptedPart { call: CallId, accepted: Accepted },
    /// The person, or the front-end in place of one, has answered.
    ApprovalAnswered {
        call: CallId,
        answer: Answer,
        /// The user of a server who answered; `None` if the front-end knows no users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call wants to know something from a person.
    QuestionAsked {
        call: CallId,
        #[serde(flatten)]
        question: Question,
    },
    /// What the person said; `None` if no person could be asked.
    QuestionAnswered {
        call: CallId,
        answer: Option<String>,
        /// The user of a server who answered; `None` if the front-end knows no users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call asked the model something beside the conversation, in the name of an MCP server: what the model answered. The
    /// person read the prompt in the question before it.
    Sampled { call: CallId, server: String, model: String, text: String, usage: Usage, stop: StopReason },
    /// A tool starts. Synced to disk before it begins.
    ToolStarted {
        call: CallId,
        name: String,
        arguments: Value,
        how: Tracking,
        /// Whether more can have happened than is recorded of files: it had access to a network.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outside: bool,
        /// The files that its effects name for reading, as it is about to find them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<FileRead>,
    },
    /// A command that was to be confined is not, since the system does not let it. Recorded once each time a session is
    /// opened.
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
    /// A session below does something to files for `call`: on disk here, too, before it is real. `untracked` stands for
    /// a command that begins and whose changes are not recorded; `unrecorded` is that of [`Fact::Staged`].
    #[serde(rename = "changed_below")]
    SubagentChanged {
        call: CallId,
        session: SessionId,
        changes: Vec<Change>,
        how: Tracking,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unrecorded: Vec<PathBuf>,
    },
    /// Files that a call had staged and that were left as they were: they had been changed elsewhere meanwhile, or
    /// cannot be written.
    Unsettled { call: CallId, paths: Vec<PathBuf> },
    /// Each call of a reply has exactly one of these, also one that never started.
    ToolEnded {
        call: CallId,
        name: String,
        #[serde(flatten)]
        result: ToolResult,
        /// Time since the call's start, including the wait for an approval, in milliseconds.
        duration_ms: u64,
    },
    /// Work began that outlives its call. If it works in a view, what it changes is staged under [`TaskId::call`].
    #[serde(rename = "job_started")]
    TaskStarted {
        #[serde(rename = "job")]
        task: TaskId,
        title: String,
        #[serde(default = "Tracking::untracked", skip_serializing_if = "Tracking::is_untracked")]
        how: Tracking,
    },
    /// That work is over. Opens a turn.
    #[serde(rename = "job_ended")]
    TaskEnded {
        #[serde(rename = "job")]
        task: TaskId,
        result: ToolResult,
    },
    /// A person chose what happens with effects that no rule settles: from here on, and when the session is opened
    /// again.
    ModeSet { mode: Mode },
    /// A person added a folder to the workspace: its files are judged as those of the workspace are, from here on, and when
    /// the session is opened again. Absolute, without links.
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
        /// The user of a server who lets it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A person does not want this item.
    ItemDropped {
        item: String,
        /// The user of a server who does not want it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Results gave way for want of room: the model reads these texts in their place. The whole ones are in their
    /// `tool_ended`.
    Evicted { results: Vec<Evicted> },
    /// The beginning of the conversation gave way to a summary: what the model reads are the first and the last
    /// prompt, the summary, and the last `kept` messages.
    Compacted {
        summary: String,
        kept: usize,
        /// Maximum bytes of a prompt that is kept word for word.
        pinned_bytes: usize,
        by: Summarizer,
        /// About how many tokens a request took, and takes now.
        before: u64,
        after: u64,
        /// What the summary cost.
        #[serde(default)]
        usage: Usage,
    },
    /// The last reply claims something that the journal does not show; the model reads `text`. At most once per turn.
    Reminded { claims: Vec<String>, text: String },
    /// What the last reply of the turn must be, from here on: JSON Schema; `None` if anything. A turn that a prompt opens
    /// afterwards says it anew.
    AnswerSchema { schema: Option<Value> },
    /// The last reply does not match the schema. The model reads `text` and is asked again; `None` if it was asked often
    /// enough.
    AnswerRejected { problems: Vec<String>, text: Option<String> },
    /// The last reply matches the schema; `answer` is what it says.
    Answered { answer: Value },
    /// The prompt before this entry was sent in plan mode, or is the first one after plan mode: the model reads `text`
    /// with the prompt.
    Planning { is_on: bool, text: String },
    /// A person answered the plan that the last reply is: the model reads `text` and continues, with the work if the
    /// plan was accepted. The mode of the work is a `mode_set` before it.
    PlanAnswered { is_accepted: bool, text: String },
    /// What the session works towards from here on; `None` for nothing any more.
    GoalSet { goal: Option<Goal> },
    /// Haft runs the check of the goal. No reply of the model makes this call; the text that follows tells its result.
    GoalChecked {
        #[serde(flatten)]
        made: ToolCall,
    },
    /// The check that has just ended does not show that the goal is reached. The model reads `text` and continues;
    /// `None` if that is of no use.
    GoalMissed {
        /// A sentence without its dot.
        why: String,
        /// How many checks in a row failed as the one before, with nothing changed in between.
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
    /// The last reply made no call and did not say that all is done; the model reads `text` and continues.
    Nudged { text: String },
    /// The next request, or the next second, would pass a limit; the turn ends.
    BudgetReached { what: Resource, spent: f64, limit: f64 },
    /// The turn has had all the model calls that it may have; it ends.
    RoundsReached {
        limit: u32,
        #[serde(flatten)]
        left: RemainingWork,
        /// In the words of the profile, where it has some.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person stopped the turn.
    Interrupted,
    /// An unfinished turn was taken up again.
    Continued,
    /// The turn ended: nothing happens until the next prompt. `usage` and `cost_usd` are those of the turn and of the
    /// agents that it delegated to; no cost if a price is unknown.
    TurnEnded { outcome: Outcome, rounds: u32, usage: Usage, cost_usd: Option<f64> },
    /// The job that this session is has come to its end.
    #[serde(rename = "concluded")]
    JobFinished(Conclusion),
    /// Files are about to be put back, or forward again. It is on disk before the first of them is touched.
    Rewinding(Rewind),
    /// Files were put back, or forward again. The entry's `parent` is where the conversation continues.
    Rewound {
        way: Direction,
        changes: Vec<Change>,
        /// Left alone: they were changed elsewhere meanwhile, or for the reason in `failed`.
        conflicts: Vec<PathBuf>,
        /// Files in `conflicts` that could not be written or read, and why.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        failed: BTreeMap<PathBuf, String>,
        /// Calls on the way whose changes were not recorded.
        untracked: Vec<CallId>,
        /// The calls that were taken back by their numbers, in ascending order: the conversation stays as it is. Empty
        /// where the conversation went back as well.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<usize>,
        /// Files that were changed elsewhere meanwhile, and hold both now.
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
                Some(format!("{limit} rounds are used up{left}"))
            }
            _ => None,
        }
    }

    /// Returns whether it tells that this work began: its start, or the end of its call, which may stand long before it.
    pub fn begins(&self, job: &TaskId) -> bool {
        match self {
            Self::TaskStarted { task: begun, .. } => begun == job,
            Self::ToolEnded { result, .. } => result.job.as_ref() == Some(job),
            _ => false,
        }
    }
}

/// A tool result whose text gave way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evicted {
    /// Index in [`crate::Transcript::messages`].
    pub message: usize,
    /// What the model reads in its place.
    pub text: String,
}

/// The author of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summarizer {
    /// The model that the conversation is with.
    Model,
    /// No model could be asked: prompts, changed files and the last results, by rule.
    Digest,
}

/// What a person answers to a call that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This time.
    Once,
    /// This time, and whenever the same effect is asked for in this session.
    Always,
    /// No.
    No,
    /// No person can be asked.
    #[serde(rename = "nobody")]
    Unanswered,
    /// The front-end gave an answer that it was not offered. It allows nothing.
    NotUnderstood,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model finished.
    Finished,
    /// A person stopped it.
    Interrupted,
    /// The model could not be asked.
    Failed,
    /// Too many model calls.
    RoundLimit,
    /// Too many tokens or too much money.
    Budget,
    /// The model repeated the same calls, or a reply that did not end was cut off.
    Repeating,
    /// The model finished, but an effect needed an approval that no user could give; or a hook denied the prompt.
    Refused,
    /// The reply claims what the journal does not show.
    Unproven,
    /// The last reply does not match the schema that was asked for.
    InvalidAnswer,
    /// The goal is not reached, and the model gets no further.
    Stuck,
}

impl Outcome {
    /// Returns why the turn did not come to a good end, as people read it: a sentence without its dot. `None` if it did.
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

    /// Returns whether a limit ended the turn.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::RoundLimit | Self::Budget | Self::Repeating)
    }
}

/// What is left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemainingWork {
    /// Steps of the last list that are not done, in its order.
    pub steps: Vec<String>,
    /// What the model said last, or the calls that it made last; empty where there is neither.
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
    /// Returns what was chosen last, also if that was undone since, or what the session began with. `None` if the first entry
    /// is missing.
    pub fn of(entries: &[Arc<Entry>]) -> Option<Self> {
        let chosen = entries.iter().rev().find_map(|entry| match &entry.fact {
            Fact::SetupChanged { setup, .. } => Some(setup.clone()),
            _ => None,
        });
        chosen.or_else(|| SessionOpened::of(entries).map(SessionOpened::setup))
    }
}

impl SessionOpened {
    /// Returns the first fact of these entries; `None` if they do not begin with it.
    pub fn of(entries: &[Arc<Entry>]) -> Option<&Self> {
        entries.first()?.opened()
    }
}

impl Entry {
    /// Returns the fact if it is the one that begins a session.
    pub fn opened(&self) -> Option<&SessionOpened> {
        match &self.fact {
            Fact::SessionOpened(opened) => Some(opened),
            _ => None,
        }
    }
}

/// What a front-end sees of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A line of the journal.
    Recorded(Arc<Entry>),
    /// Something that is in no journal.
    Live(Update),
}

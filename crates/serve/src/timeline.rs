//! [`TimelineUpdate`]: what an event of a session adds to its timeline, as JSON. The page draws these items and never
//! reads the journal itself.
use crate::{
    api::{
        closed_sets::TurnOutcome,
        report::{FileChange, Tokens},
    },
    hub::SessionState,
};
use haft_core::{Answer, CallId, Change, Direction, Entry, Event, Fact, Image, Part, Update, text_of};
use haft_present::{
    safe,
    timeline::{Aside, Call, CallState, Item, Replies, Timeline, rounded_usd},
};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What one event adds to a timeline.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TimelineUpdate {
    /// Recorded entry that the items come from; `null` for live items, which are never sent again
    pub(crate) seq: Option<u64>,
    /// Session state after this event, as far as its journal tells
    state: SessionState,
    /// Tokens of the reply that this entry records
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
    /// All undone entries, as ranges from the first to the last; sent when an undo or a redo changes them
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<Vec<EntryRange>>,
    /// New items, and changes of earlier ones
    items: Vec<TimelineItem>,
}

/// Entries that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct EntryRange {
    first: u64,
    last: u64,
}

/// The user of a server whose word it is.
fn by(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Prompted { channel: Some(channel), .. } => {
            Some(channel.chat.clone()).filter(|chat| channel.kind == "http" && !chat.is_empty())
        }
        Fact::ApprovalAnswered { by, .. } | Fact::QuestionAnswered { by, .. } => by.clone(),
        _ => None,
    }
}

/// An item of what a user sees of a session, or a change of an earlier one.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TimelineItem {
    /// A prompt. It takes the place of the first queued one, if there is any
    Prompt {
        text: String,
        images: Vec<TimelineImage>,
        /// User who sent it, of a server with users
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A prompt that the model reads with its next request
    QueuedPrompt { text: String },
    /// The last queued prompt was taken back
    PromptWithdrawn,
    /// A hook denied the prompt, which takes the place of the first queued one, if there is any
    Denied { reason: String },
    /// A reply begins to be recorded: live text and thoughts before it are void
    Replied,
    /// Text of a reply
    Reply { text: String },
    /// What the model thought
    Thinking { text: String },
    /// A tool call that waits to run
    Call { call: String, name: String, summary: String, arguments: serde_json::Value },
    /// A call runs
    CallStarted { call: String },
    /// A call changed files; `GET /v1/sessions/{id}/diff` has the lines of the entry
    CallChanged { call: String, changes: Vec<FileChange> },
    /// A call is over
    CallEnded {
        call: String,
        name: String,
        summary: String,
        ok: bool,
        output: String,
        images: Vec<TimelineImage>,
        took_ms: u64,
    },
    /// A call asks a person; `GET /v1/sessions/{id}/asked` shows what it would do
    Asked { call: String, text: String },
    /// A person approved or refused a call
    Approval {
        call: String,
        answer: ApprovalOutcome,
        /// User who answered, of a server with users
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A line beside the conversation
    Note { about: NoteKind, text: String },
    /// The model could not be asked
    Failure { message: String, hint: Option<String> },
    /// Files were put back or forward
    Rewound { way: RewindDirection, paths: Vec<String>, conflicts: Vec<String> },
    /// A turn is over
    Ended { outcome: TurnOutcome, rounds: u32, usage: Tokens, cost_usd: Option<f64> },
    /// Live: more of the reply
    Text { text: String },
    /// Live: more of what the model thinks
    Thought { text: String },
    /// Live: more output of a running call
    Output { call: String, text: String },
    /// Live: the model is asked again, and the reply begins anew
    Retrying { reason: String },
}

/// A picture.
#[derive(Debug, Serialize, ToSchema)]
struct TimelineImage {
    /// MIME type
    mime: String,
    /// Base64
    data: String,
}

/// How a call that needed an approval was answered.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ApprovalOutcome {
    /// Allowed this time
    Once,
    /// Allowed for the rest of the session
    Always,
    /// Refused
    No,
    /// No person could be asked
    Unanswered,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum NoteKind {
    /// Any other event of the session
    General,
    /// Commands run unconfined
    Unconfined,
    /// The session was a job, which is over
    Concluded,
}

/// Which way files were moved.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RewindDirection {
    /// Back to what they were
    Undo,
    /// Forward to what an undo took back
    Redo,
}

impl TimelineUpdate {
    /// The event as JSON on one line.
    pub(crate) fn line(&self) -> String {
        let line = serde_json::to_string(self).unwrap_or_default();
        safe::json(&line).into_owned()
    }
}

/// All updates of these entries, which are all of a session.
pub(crate) fn updates(entries: &[Arc<Entry>]) -> impl Iterator<Item = TimelineUpdate> {
    let mut fold = TimelineFold::default();
    entries.iter().filter_map(move |entry| fold.apply(&Event::Recorded(entry.clone())))
}

/// Folds the events of one session, from its first entry on, into updates.
pub(crate) struct TimelineFold {
    timeline: Timeline,
    /// Entries that do not follow the one before them, each with the one that it follows.
    jumps: Vec<(u64, u64)>,
}

impl Default for TimelineFold {
    fn default() -> Self {
        Self { timeline: Timeline::with(Replies::Anew), jumps: Vec::new() }
    }
}

impl TimelineFold {
    /// The update of an event, if people see anything of it.
    pub(crate) fn apply(&mut self, event: &Event) -> Option<TimelineUpdate> {
        // The request that asked for the undo is answered with that.
        if matches!(event, Event::Live(Update::UndoRefused { .. })) {
            return None;
        }
        let before = self.state();
        let items = self.timeline.apply(event);
        let (seq, fact) = match event {
            Event::Live(_) => (None, None),
            Event::Recorded(entry) => (Some(entry.seq.0), Some(&entry.fact)),
        };
        let undone = match event {
            Event::Recorded(entry) => self.undone(entry),
            Event::Live(_) => None,
        };
        let drawn = items.into_iter().flat_map(|item| self.drawn(item, fact));
        let items: Vec<_> = drawn.chain(fact.and_then(|fact| self.own(fact))).collect();
        let usage = match fact {
            Some(Fact::Replied { usage, .. }) => Some(Tokens::from(*usage)),
            _ => None,
        };
        let state = self.state();
        let is_seen = !items.is_empty() || undone.is_some() || state != before;
        is_seen.then_some(TimelineUpdate { seq, state, usage, undone, items })
    }

    fn state(&self) -> SessionState {
        match (self.timeline.asked.is_empty(), self.timeline.working) {
            (false, _) => SessionState::Asking,
            (true, true) => SessionState::Working,
            (true, false) => SessionState::Idle,
        }
    }

    /// All undone entries, where `entry` changes which ones are.
    fn undone(&mut self, entry: &Entry) -> Option<Vec<EntryRange>> {
        self.jumps.push((entry.seq.0, entry.parent?.0));
        let mut at = entry.seq.0;
        let mut undone = Vec::new();
        for &(from, to) in self.jumps.iter().rev() {
            if from <= at {
                undone.extend((to + 1 < from).then(|| EntryRange { first: to + 1, last: from - 1 }));
                at = to;
            }
        }
        Some(undone)
    }

    /// An item as the page draws it. Text of a recorded reply comes with its [`Item::Replied`].
    fn drawn(&self, item: Item, fact: Option<&Fact>) -> Vec<TimelineItem> {
        vec![match item {
            Item::Prompt { text, images, .. } => {
                let images = images.into_iter().map(TimelineImage::from).collect();
                TimelineItem::Prompt { text, images, by: fact.and_then(by) }
            }
            Item::Call(call) => TimelineItem::ended(*call),
            // The page has its own words for these.
            Item::Note(_) if fact.is_some_and(has_own_words) => return Vec::new(),
            Item::Note(text) => TimelineItem::Note { about: NoteKind::of(fact), text },
            Item::Aside { about: Aside::Mode(_) | Aside::Task | Aside::Unsettled(_), text } => {
                TimelineItem::Note { about: NoteKind::General, text }
            }
            Item::Denied { reason } => TimelineItem::Denied { reason },
            Item::Failure { message, hint } => TimelineItem::Failure { message, hint },
            Item::Rewound { .. } => return TimelineItem::rewound(fact).into_iter().collect(),
            Item::Ended { outcome, rounds, usage, cost_usd, .. } => TimelineItem::Ended {
                outcome: outcome.into(),
                rounds,
                usage: usage.into(),
                cost_usd: cost_usd.map(rounded_usd),
            },
            Item::Replied { parts } => return self.replied(parts),
            Item::Started { call, .. } => TimelineItem::CallStarted { call: call.0 },
            Item::Changed { call, changes, .. } => TimelineItem::changed(call, &changes),
            Item::Asked { call, .. } => TimelineItem::Asked { call: call.0, text: question(fact) },
            Item::Text { text, .. } if fact.is_none() => TimelineItem::Text { text },
            Item::Thought { text, .. } if fact.is_none() => TimelineItem::Thought { text },
            Item::Output { call, chunk } => TimelineItem::Output { call: call.0, text: chunk },
            Item::Retrying { reason, .. } => TimelineItem::Retrying { reason },
            Item::Text { .. }
            | Item::Thought { .. }
            | Item::Announced { .. }
            | Item::Aside { about: Aside::Room, .. }
            | Item::Thinking(_)
            | Item::Reply(_) => return Vec::new(),
        }]
    }

    fn replied(&self, parts: Vec<Part>) -> Vec<TimelineItem> {
        let parts = parts.into_iter().filter_map(|part| match part {
            Part::Text { text } => Some(TimelineItem::Reply { text }),
            Part::Thinking { text, .. } if !text.is_empty() => Some(TimelineItem::Thinking { text }),
            Part::ToolCall(made) => self.timeline.call(&made.id).map(TimelineItem::waiting),
            Part::Thinking { .. } | Part::Image(_) | Part::Document(_) => None,
        });
        std::iter::once(TimelineItem::Replied).chain(parts).collect()
    }

    /// What the page shows of facts that are no items of a timeline.
    fn own(&self, fact: &Fact) -> Option<TimelineItem> {
        let note = |text: &str| {
            let text = safe::text(text).into_owned();
            Some(TimelineItem::Note { about: NoteKind::of(Some(fact)), text })
        };
        match fact {
            Fact::PromptQueued { parts, .. } => {
                Some(TimelineItem::QueuedPrompt { text: safe::text(&text_of(parts)).into_owned() })
            }
            Fact::PromptWithdrawn => Some(TimelineItem::PromptWithdrawn),
            Fact::Called { .. } | Fact::GoalChecked { .. } | Fact::AttemptsBegun { .. } => {
                self.timeline.calls.first().map(TimelineItem::waiting)
            }
            Fact::ApprovalAnswered { call, answer, .. } => {
                let (call, answer) = (call.0.clone(), (*answer).into());
                Some(TimelineItem::Approval { call, answer, by: by(fact) })
            }
            Fact::QuestionAnswered { answer: Some(answer), .. } => {
                note(&format!("{} answered: {answer}", by(fact).as_deref().unwrap_or("You")))
            }
            Fact::QuestionAnswered { answer: None, .. } => note("No answer."),
            Fact::Unconfined { reason } => {
                note(&format!("Commands run unconfined, and an undo cannot take back what they do: {reason}"))
            }
            Fact::Interrupted => note("Stopped."),
            Fact::Continued => note("Continued."),
            Fact::Retried { reason, .. } => note(&format!("The model was asked again: {reason}")),
            Fact::JobFinished(end) => note(&format!("The job is {}: {}", end.status, end.reason)),
            _ => None,
        }
    }
}

impl TimelineItem {
    fn waiting(call: &Call) -> Self {
        Self::Call {
            call: call.id.0.clone(),
            name: call.name.clone(),
            summary: call.summary.clone(),
            arguments: call.made.arguments.clone(),
        }
    }

    fn ended(call: Call) -> Self {
        Self::CallEnded {
            call: call.id.0,
            name: call.name,
            summary: call.summary,
            ok: call.state == CallState::Done,
            output: call.result.content,
            images: call.result.images.into_iter().map(TimelineImage::from).collect(),
            took_ms: u64::try_from(call.took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn changed(call: CallId, changes: &[Change]) -> Self {
        Self::CallChanged { call: call.0, changes: changes.iter().map(FileChange::from).collect() }
    }

    fn rewound(fact: Option<&Fact>) -> Option<Self> {
        let Some(Fact::Rewound { way, changes, conflicts, .. }) = fact else { return None };
        let way = match way {
            Direction::Undo => RewindDirection::Undo,
            Direction::Redo => RewindDirection::Redo,
        };
        let paths = changes.iter().map(|change| change.path.display().to_string()).collect();
        let conflicts = conflicts.iter().map(|path| path.display().to_string()).collect();
        Some(Self::Rewound { way, paths, conflicts })
    }
}

impl NoteKind {
    fn of(fact: Option<&Fact>) -> Self {
        match fact {
            Some(Fact::Unconfined { .. }) => Self::Unconfined,
            Some(Fact::JobFinished(_)) => Self::Concluded,
            _ => Self::General,
        }
    }
}

impl From<Image> for TimelineImage {
    fn from(Image { mime, data }: Image) -> Self {
        Self { mime, data }
    }
}

impl From<Answer> for ApprovalOutcome {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Once => Self::Once,
            Answer::Always => Self::Always,
            Answer::No => Self::No,
            Answer::Unanswered | Answer::NotUnderstood => Self::Unanswered,
        }
    }
}

/// Whether the page tells the fact in words of its own, with the user whose answer it is.
fn has_own_words(fact: &Fact) -> bool {
    matches!(fact, Fact::ApprovalAnswered { .. } | Fact::QuestionAnswered { .. } | Fact::Unconfined { .. })
}

/// What a person is asked, in words.
fn question(fact: Option<&Fact>) -> String {
    let text = match fact {
        Some(Fact::ApprovalAsked { reason, .. }) => reason,
        Some(Fact::QuestionAsked { question, .. }) => &question.text,
        _ => "",
    };
    safe::text(text).into_owned()
}

//! [`Item`]: one element of the presentation of a session.
use crate::{notes, pieces::Piece, preview, safe};
use haft_core::{
    CallId, Change, Direction, Fact, Image, Mode, Outcome, Part, Plan, Question, ToolCall, ToolResult, Usage,
};
use serde_json::Value;
use std::{collections::VecDeque, path::PathBuf, time::Duration};

/// Finished items never change: prompts, thoughts, parts of replies, calls with their outcomes, notes, failures,
/// changed files and ends of turns. Live items, while something is running, follow.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A prompt of the user.
    Prompt {
        /// The text.
        text: String,
        /// Attached pictures.
        images: Vec<Image>,
        /// The front-end of the prompt, if it is another one.
        from: Option<String>,
    },
    /// A thought of the model, with [`Replies::InParts`](super::Replies::InParts).
    Thinking(String),
    /// A part of a reply, with [`Replies::InParts`](super::Replies::InParts).
    Reply(Piece),
    /// A call and its outcome.
    Call(Box<Call>),
    /// A line beside the conversation.
    Note(String),
    /// A line that some front-ends show in another way.
    Aside {
        /// The subject of the line.
        about: Aside,
        /// Text of the line.
        text: String,
    },
    /// A hook denied the prompt.
    Denied {
        /// Why.
        reason: String,
    },
    /// The model could not be reached.
    Failure {
        /// What went wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// An undo or redo changed files.
    Rewound {
        /// Undo or redo.
        way: Direction,
        /// The first prompt that was taken back or brought back, on one line; `None` for a single call.
        prompt: Option<String>,
        /// A line for each file.
        files: Vec<String>,
    },
    /// A turn has ended.
    Ended {
        /// How it ended.
        outcome: Outcome,
        /// Number of model calls.
        rounds: u32,
        /// Tokens of the turn.
        usage: Usage,
        /// Cost in US dollars; `None` if the price is unknown.
        cost_usd: Option<f64>,
        /// Time since the prompt, without the time in which the user was asked.
        took: Duration,
    },
    /// More text of the reply, with the other variants of [`Replies`](super::Replies).
    Text {
        /// Text of the model.
        text: String,
        /// Whether it replaces the parts of the reply that were passed on.
        is_anew: bool,
    },
    /// More of the model's thoughts.
    Thought {
        /// Text of the model.
        text: String,
        /// Whether it replaces the parts that were passed on.
        is_anew: bool,
        /// Whether the model is thinking it at the moment; otherwise live updates were missed, and it is taken from the
        /// record.
        is_live: bool,
    },
    /// The model is asked again.
    Retrying {
        /// Why.
        reason: String,
        /// Delay until then, in milliseconds.
        after_ms: u64,
        /// Whether a part of the reply had arrived.
        was_begun: bool,
    },
    /// A reply is complete; its text was passed on before.
    Replied {
        /// The whole reply.
        parts: Vec<Part>,
    },
    /// The model is writing a call.
    Announced {
        /// The call.
        call: CallId,
        /// The tool, as the model calls it.
        name: String,
    },
    /// A call starts to run.
    Started {
        /// The call.
        call: CallId,
        /// The tool, as the model calls it.
        name: String,
        /// The arguments with which it runs, which may have been corrected.
        arguments: Value,
    },
    /// Output of a running call.
    Output {
        /// The call.
        call: CallId,
        /// Text of the output; it may end in the middle of a line.
        chunk: String,
    },
    /// A call changed files.
    Changed {
        /// The call.
        call: CallId,
        /// The changes.
        changes: Vec<Change>,
        /// Whether the call belongs to this round.
        is_known: bool,
    },
    /// A call asks the user.
    Asked {
        /// The call.
        call: CallId,
        /// Whether the question shows changes.
        has_changes: bool,
    },
}

/// The subject of a line that some front-ends show in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// The permission mode.
    Mode(Mode),
    /// A background task began.
    Task,
    /// Files that a call left unchanged, since they could not be settled.
    Unsettled(Vec<PathBuf>),
    /// Results were removed from the context window.
    Room,
}

impl Item {
    pub(super) fn failure(message: &str, hint: Option<&str>) -> Self {
        Self::Failure {
            message: safe::text(message).into_owned(),
            hint: hint.map(|hint| safe::text(hint).into_owned()),
        }
    }
}

/// A call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The call as the model made it.
    pub made: ToolCall,
    /// ID of the call in its session.
    pub id: CallId,
    /// Name of the tool.
    pub name: String,
    /// The arguments in a few words.
    pub summary: String,
    /// Progress of the call.
    pub state: CallState,
    /// Whether the call ran; otherwise it was refused, or its arguments were wrong.
    pub has_started: bool,
    /// The last lines of its output.
    pub output: VecDeque<String>,
    /// Its changes to files.
    pub changes: Vec<Change>,
    /// The changes for which it asked.
    pub(super) proposed: Vec<Change>,
    /// Changes that were not allowed.
    pub refused: Vec<Change>,
    /// Whether child sessions made the changes.
    pub is_delegated: bool,
    /// The part of its result that is shown.
    pub preview: Vec<String>,
    /// Its failure in a few words.
    pub verdict: Option<String>,
    /// The user's answer to its last question.
    pub answer: Option<String>,
    /// The steps in its result.
    pub plan: Option<Plan>,
    /// The result that the model reads, once the call has ended.
    pub result: ToolResult,
    /// Whether the call ran a command.
    pub is_command: bool,
    /// Whether the call was made without the model, e.g., typed by the user.
    pub is_own: bool,
    /// Duration of the call.
    pub took: Duration,
}

/// Progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// The call has not started.
    Waiting,
    /// The call is running.
    Running,
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
}

/// A question to the user.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A call asks for approval.
    Approval {
        /// The call.
        call: CallId,
        /// The fact in the journal that has the proposal.
        fact: Box<Fact>,
    },
    /// A question of a tool.
    Question {
        /// The call.
        call: CallId,
        /// The question.
        question: Question,
    },
}

impl Asked {
    /// The call that asks.
    pub fn call(&self) -> &CallId {
        match self {
            Self::Approval { call, .. } | Self::Question { call, .. } => call,
        }
    }
}

/// Maximum lines of output that are kept of a running call.
const LIVE_LINES: usize = 5;

impl Call {
    pub(super) fn waiting(made: &ToolCall) -> Self {
        Self {
            made: made.clone(),
            id: made.id.clone(),
            name: safe::text(&made.name).into_owned(),
            summary: preview::summary(&made.arguments),
            state: CallState::Waiting,
            has_started: false,
            output: VecDeque::new(),
            changes: Vec::new(),
            proposed: Vec::new(),
            refused: Vec::new(),
            is_delegated: false,
            preview: Vec::new(),
            verdict: None,
            answer: None,
            plan: None,
            result: ToolResult::default(),
            is_command: false,
            is_own: false,
            took: Duration::ZERO,
        }
    }

    /// Removes the last change of each of these files, since it was not settled.
    pub(super) fn left_alone(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let place = self.changes.iter().rposition(|change| change.path == *path);
            place.map(|place| self.changes.remove(place));
        }
    }

    /// Adds a chunk of output, which may end in the middle of a line.
    pub(super) fn hear(&mut self, chunk: &str) {
        let mut open = self.output.pop_back().unwrap_or_default();
        // Text after a carriage return overwrites the line.
        let chunk = chunk.replace("\r\n", "\n");
        let lines = chunk.split('\n').map(|line| match line.rsplit_once('\r') {
            Some((_, anew)) => (true, safe::text(anew).into_owned()),
            None => (false, safe::text(line).into_owned()),
        });
        for (place, (is_anew, line)) in lines.enumerate() {
            if place > 0 {
                self.output.push_back(std::mem::take(&mut open));
            }
            if is_anew {
                open.clear();
            }
            open += &line;
        }
        self.output.push_back(open);
        let spare = self.output.len().saturating_sub(LIVE_LINES + 1);
        self.output.drain(..spare);
    }

    /// The last complete lines of its output.
    pub fn tail(&self) -> impl Iterator<Item = &str> {
        let lines = self.output.iter().filter(|line| !line.is_empty()).map(String::as_str);
        lines.collect::<Vec<_>>().into_iter().rev().take(LIVE_LINES).rev()
    }
}

impl Item {
    /// The pictures in the item.
    pub fn images(&self) -> &[Image] {
        match self {
            Self::Prompt { images, .. } => images,
            Self::Call(call) => &call.result.images,
            _ => &[],
        }
    }
}

/// The note of a fact, if it is shown as one.
pub(super) fn note(fact: &Fact) -> Vec<Item> {
    line(fact).map(Item::Note).into_iter().collect()
}

/// The item for a fact that some front-ends show in another way.
pub(super) fn aside(about: Aside, fact: &Fact) -> Vec<Item> {
    vec![Item::Aside { about, text: line(fact).unwrap_or_default() }]
}

fn line(fact: &Fact) -> Option<String> {
    notes::of(fact).map(|text| safe::text(&text).into_owned())
}

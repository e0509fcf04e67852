//! [`Item`]: one piece of what a person sees of a session.
use crate::{notes, pieces::Piece, preview, safe};
use haft_core::{
    CallId, Change, Direction, Fact, Image, Mode, Outcome, Part, Plan, Question, ToolCall, ToolResult, Usage,
};
use serde_json::Value;
use std::{collections::VecDeque, path::PathBuf, time::Duration};

/// What is finished never looks different later: prompts, thoughts, parts of replies, calls with what came of them,
/// notes, failures, moved files and ends of turns. What happens while something continues follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A person spoke.
    Prompt {
        /// The text.
        text: String,
        /// Pictures beside it.
        images: Vec<Image>,
        /// The front-end it came from, where that is another one.
        from: Option<String>,
    },
    /// What the model thought, with [`Replies::InParts`](super::Replies::InParts).
    Thinking(String),
    /// A part of a reply, with [`Replies::InParts`](super::Replies::InParts).
    Reply(Piece),
    /// A call and what came of it.
    Call(Box<Call>),
    /// A line beside the conversation.
    Note(String),
    /// A line that not every front-end shows, since some show it in another way.
    Aside {
        /// What it is about.
        about: Aside,
        /// The line.
        text: String,
    },
    /// A hook denied the prompt.
    Denied {
        /// Why.
        reason: String,
    },
    /// The model could not be asked, and what to do.
    Failure {
        /// What went wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Files were put back or forward.
    Rewound {
        /// Which way.
        way: Direction,
        /// A line for each file.
        files: Vec<String>,
    },
    /// A turn is over.
    Ended {
        /// How it ended.
        outcome: Outcome,
        /// Model calls.
        rounds: u32,
        /// Tokens of the turn.
        usage: Usage,
        /// In US dollars; `None` if the price is unknown.
        cost_usd: Option<f64>,
        /// Time since the prompt, without the time in which the user was asked.
        took: Duration,
    },
    /// More of the reply, with the other ways in which replies are given.
    Text {
        /// Text of the model.
        text: String,
        /// Whether it replaces the parts of the reply that were passed on.
        is_anew: bool,
    },
    /// More of what the model thinks.
    Thought {
        /// Text of the model.
        text: String,
        /// Whether it replaces the parts that were passed on.
        is_anew: bool,
        /// The model thinks it now; otherwise it was missed, and is known from the record.
        is_live: bool,
    },
    /// The model is asked again.
    Retrying {
        /// Why.
        reason: String,
        /// In how many milliseconds.
        after_ms: u64,
        /// Some of the reply had been heard.
        was_begun: bool,
    },
    /// A reply is whole; its text was given before.
    Replied {
        /// All of it.
        parts: Vec<Part>,
    },
    /// The model is writing a call.
    Announced {
        /// The call.
        call: CallId,
        /// The tool, as the model calls it.
        name: String,
    },
    /// A call begins to run.
    Started {
        /// The call.
        call: CallId,
        /// The tool, as the model calls it.
        name: String,
        /// The arguments that it ran with, which may have been corrected.
        arguments: Value,
    },
    /// A call says something while it runs.
    Output {
        /// The call.
        call: CallId,
        /// May end in the middle of a line.
        chunk: String,
    },
    /// A call did something to files.
    Changed {
        /// The call.
        call: CallId,
        /// What it did.
        changes: Vec<Change>,
        /// The call is one of this round.
        is_known: bool,
    },
    /// A call asks a person.
    Asked {
        /// The call.
        call: CallId,
        /// Whether the question shows changes.
        has_changes: bool,
    },
}

/// What a line is about that not every front-end shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// What runs unasked.
    Mode(Mode),
    /// A background task began.
    Task,
    /// Files that a call left as they were.
    Unsettled(Vec<PathBuf>),
    /// Results were put aside.
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
    /// Names it in its session.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// The arguments in a few words.
    pub summary: String,
    /// How far it is.
    pub state: CallState,
    /// It ran; otherwise it was refused, or its arguments were wrong.
    pub has_started: bool,
    /// The last lines that it said while it ran.
    pub output: VecDeque<String>,
    /// What it did to files.
    pub changes: Vec<Change>,
    /// What it asked to do to files.
    pub(super) proposed: Vec<Change>,
    /// Changes that were not allowed.
    pub refused: Vec<Change>,
    /// Whether sessions below did that.
    pub is_delegated: bool,
    /// What people see of its result.
    pub preview: Vec<String>,
    /// What went wrong in it, in numbers.
    pub verdict: Option<String>,
    /// What a person answered to its last question.
    pub answer: Option<String>,
    /// The steps that its result is.
    pub plan: Option<Plan>,
    /// What the model reads of it, once it is over.
    pub result: ToolResult,
    /// It ran a command.
    pub is_command: bool,
    /// No model made it.
    pub is_own: bool,
    /// How long it took.
    pub took: Duration,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Not begun.
    Waiting,
    /// Running.
    Running,
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
}

/// A question to the person.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// May this call do what it wants?
    Approval {
        /// The call.
        call: CallId,
        /// What it would do, as the journal has it.
        fact: Box<Fact>,
    },
    /// A question of a tool.
    Question {
        /// The call.
        call: CallId,
        /// What is asked.
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

/// Lines of output that are kept of a running call.
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

    /// Removes the last change of each of these files: it was not settled.
    pub(super) fn left_alone(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let place = self.changes.iter().rposition(|change| change.path == *path);
            place.map(|place| self.changes.remove(place));
        }
    }

    /// Chunks may end in the middle of a line.
    pub(super) fn hear(&mut self, chunk: &str) {
        let mut open = self.output.pop_back().unwrap_or_default();
        // A carriage return writes the line anew.
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

    /// The last whole lines that it said.
    pub fn tail(&self) -> impl Iterator<Item = &str> {
        let lines = self.output.iter().filter(|line| !line.is_empty()).map(String::as_str);
        lines.collect::<Vec<_>>().into_iter().rev().take(LIVE_LINES).rev()
    }
}

impl Item {
    /// The pictures in it.
    pub fn images(&self) -> &[Image] {
        match self {
            Self::Prompt { images, .. } => images,
            Self::Call(call) => &call.result.images,
            _ => &[],
        }
    }
}

/// A line beside the conversation, where a fact is shown as one.
pub(super) fn note(fact: &Fact) -> Vec<Item> {
    line(fact).map(Item::Note).into_iter().collect()
}

/// Items for a fact that not every front-end shows.
pub(super) fn aside(about: Aside, fact: &Fact) -> Vec<Item> {
    vec![Item::Aside { about, text: line(fact).unwrap_or_default() }]
}

fn line(fact: &Fact) -> Option<String> {
    notes::of(fact).map(|text| safe::text(&text).into_owned())
}

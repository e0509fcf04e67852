//! [`Item`]: one piece of what a person sees of a session.
use crate::{pieces::Piece, safe, words};
use haft_core::{CallId, Change, Direction, Fact, Image, Outcome, Plan, Question, ToolCall, Usage};
use std::{collections::VecDeque, path::PathBuf, time::Duration};

/// Something that is finished and never looks different later.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A person spoke.
    Prompt {
        /// What was said.
        text: String,
        /// Pictures beside it.
        images: Vec<Image>,
        /// The front-end it came from, where that is another one.
        from: Option<String>,
    },
    /// What the model thought.
    Thinking(String),
    /// A part of a reply.
    Reply(Piece),
    /// A call and what came of it.
    Call(Call),
    /// A line beside the conversation.
    Note(String),
    /// What went wrong, and what to do.
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
        /// One line for each file.
        files: Vec<String>,
    },
    /// A turn is over.
    Ended {
        /// How it ended.
        outcome: Outcome,
        /// Model calls.
        rounds: u32,
        /// Of the turn.
        usage: Usage,
        /// In US dollars; `None` if the price is unknown.
        cost_usd: Option<f64>,
        /// From the prompt on, without the time in which a person was asked.
        took: Duration,
    },
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
    /// Names it in its session.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// Its arguments in a few words.
    pub summary: String,
    /// How far it is.
    pub state: CallState,
    /// The last lines that it said while it ran.
    pub output: VecDeque<String>,
    /// What it did to files.
    pub changes: Vec<Change>,
    /// What it asked to do to files.
    pub(super) proposed: Vec<Change>,
    /// Those of them that were not allowed.
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
    /// Pictures in its result.
    pub images: Vec<Image>,
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
    /// At work.
    Running,
    /// It worked.
    Done,
    /// It did not.
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
            id: made.id.clone(),
            name: safe::text(&made.name).into_owned(),
            summary: words::summary(&made.arguments),
            state: CallState::Waiting,
            output: VecDeque::new(),
            changes: Vec::new(),
            proposed: Vec::new(),
            refused: Vec::new(),
            is_delegated: false,
            preview: Vec::new(),
            verdict: None,
            answer: None,
            plan: None,
            images: Vec::new(),
            is_command: false,
            is_own: false,
            took: Duration::ZERO,
        }
    }

    /// Of each of these files the last change did not come about.
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
            Self::Prompt { images, .. } | Self::Call(Call { images, .. }) => images,
            _ => &[],
        }
    }
}

//! [`AttemptEnd`]: the end of an attempt to reach a goal, made after a turn that did not reach it.
use crate::{CallId, Change, ChangeKind, SessionId, Usage};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The end of one attempt to reach a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// The call that began the attempts.
    pub call: CallId,
    /// Number of the attempt, counted from 1. The turn itself is number 1.
    pub number: u32,
    /// The session in which it was made.
    pub session: SessionId,
    /// How it ended.
    pub result: AttemptResult,
    /// Why it did not win: a sentence without its full stop; `None` if it won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Tokens that it took.
    pub usage: Usage,
    /// US dollars that it cost; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// The files that it changed, compared with their state before the turn.
    pub files: Vec<AttemptedFile>,
    /// Changes from the workspace at the start of the attempts to the files of this attempt. Empty in older journals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// It was the first one to reach the goal.
    Won,
    /// It reached the goal, and the user chooses among all attempts that do.
    Passed,
    /// It did not reach the goal.
    Missed,
    /// It was stopped, since another attempt had won or the turn was interrupted.
    Stopped,
}

impl AttemptResult {
    /// Whether it reached the goal.
    pub fn is_reached(self) -> bool {
        matches!(self, Self::Won | Self::Passed)
    }
}

/// A file that an attempt changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptedFile {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// The kind of its change.
    pub kind: ChangeKind,
    /// Number of lines that were added; 0 if it is not text.
    pub added: usize,
    /// Number of lines that were removed; 0 if it is not text.
    pub removed: usize,
}

/// Maximum number of attempts at a goal, the first one included.
pub const MAX_ATTEMPTS: u8 = 16;

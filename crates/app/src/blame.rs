//! [`App::blame`]: which call of which session wrote each line of a file.
//!
//! `history.rs` reads the changes of files from the journals, in order; `trace.rs` traces the lines of a file back
//! through them. Nothing is stored besides the journals, and no commit is needed.
mod history;
mod trace;

use crate::{App, Failure, untrusted_file};
use haft_core::SessionId;
use history::History;
use serde::Serialize;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};
use trace::Line;

/// The lines of a file, and the calls that wrote them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blame {
    /// The file, as an absolute path.
    pub file: PathBuf,
    /// Its lines, in order.
    pub lines: Vec<BlamedLine>,
    /// The calls that wrote lines of the file.
    pub calls: Vec<BlamedCall>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct BlamedLine {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its text, without the line break.
    pub text: String,
    /// Its origin.
    pub origin: Origin,
}

/// The origin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A call, by its index in [`Blame::calls`].
    Call(usize),
    /// An undo or a redo merged the line from changes of several calls.
    Undo,
    /// The line was changed between recorded calls: by the user, or by a program that Haft did not watch.
    Outside,
    /// The line was there before the first recorded change of the file.
    Before,
}

/// A call, and why it was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlamedCall {
    /// The session.
    pub session: SessionId,
    /// The name of the session, or the beginning of its first prompt.
    #[serde(rename = "session_title")]
    pub title: String,
    /// The number of the call in its session, as `haft undo --list` shows it; `None` if the conversation went back to a
    /// point before it, or if it stands for [`Self::attempt`].
    pub call: Option<usize>,
    /// The entry of the journal that recorded the change.
    pub entry: u64,
    /// The time of that entry, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The tool and its arguments in brief: `edit src/a.rs`.
    pub tool: String,
    /// The model that made the call, as `PROVIDER/MODEL`.
    pub model: String,
    /// The prompt of its turn.
    pub prompt: String,
    /// The attempt at a goal that was taken, and whose changes these are; `None` for calls of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<BlamedAttempt>,
    /// The user's approval.
    pub approval: Approval,
    /// The test runs that followed it in its session.
    pub tests: Vec<TestsAfter>,
}

/// An attempt at a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlamedAttempt {
    /// Number of the attempt, counted from 1.
    pub number: u32,
    /// The session in which it was made, with its calls.
    pub session: SessionId,
}

/// The user's answer when an approval was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// No approval was needed: a rule, the mode or an earlier answer allowed the call.
    #[default]
    NotAsked,
    /// Approved.
    Once,
    /// Approved, with all similar calls in the session.
    Always,
    /// Approved in part.
    Part,
    /// Approved after the user edited the changes.
    Edited,
}

/// A test run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestsAfter {
    /// The command line, or the tool.
    pub command: String,
    /// Whether it succeeded.
    pub ok: bool,
    /// The entry of the journal in which it ended.
    pub entry: u64,
}

impl App {
    /// Determines for each line of `file` which call wrote it, from the journals of all sessions that changed the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not text.
    pub fn blame(&self, file: &Path) -> Result<Blame, Failure> {
        let cannot = |why: String| Failure::usage(format!("cannot blame `{}`: {why}", file.display()));
        let real = file.canonicalize().map_err(|error| cannot(error.to_string()))?;
        let bytes = untrusted_file::bytes(&real).map_err(|error| cannot(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8 text".to_owned()))?;
        let history = History::of(&self.home(), &real);
        let origins = trace::trace(&history, &real, &text)
            .map_err(|error| cannot(format!("a recorded version: {error}")))?;
        let mut blame = Blame { file: real, ..Blame::default() };
        // The calls by the step in which they wrote.
        let mut known = HashMap::new();
        for (place, (text, origin)) in text.lines().zip(origins).enumerate() {
            let origin = match origin {
                Line::Step(step) => *known.entry(step).or_insert_with(|| match history.call_of(step) {
                    Some(call) => {
                        blame.calls.push(call);
                        Origin::Call(blame.calls.len() - 1)
                    }
                    None => Origin::Undo,
                }),
                Line::Outside => Origin::Outside,
                Line::Before => Origin::Before,
            };
            blame.lines.push(BlamedLine { number: place + 1, text: text.to_owned(), origin });
        }
        Ok(blame)
    }
}

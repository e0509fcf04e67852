//! [`App::blame`]: which call of which session wrote each line of a file.
//!
//! `history.rs` reads from the journals what happened to files, in order; `trace.rs` follows the lines of a file back
//! through it. Nothing is kept beside the journals, and no commit is needed.
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
    /// The calls that wrote some of them.
    pub calls: Vec<BlamedCall>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct BlamedLine {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its text, without the line break.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A call, by its place in [`Blame::calls`].
    Call(usize),
    /// An undo or a redo merged it from what several wrote.
    Undo,
    /// It was changed between recorded calls: by a person, or by a program that Haft did not watch.
    Outside,
    /// It was there before the first recorded change of the file.
    Before,
}

/// A call, with all that is known of why it was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlamedCall {
    /// The session.
    pub session: SessionId,
    /// The name of the session, or the beginning of its first prompt.
    #[serde(rename = "session_title")]
    pub title: String,
    /// The number of the call in its session, as `haft undo --list` shows it; `None` if the conversation went back before it,
    /// or if it stands for [`Self::attempt`].
    pub call: Option<usize>,
    /// The entry of the journal that recorded the change.
    pub entry: u64,
    /// When that was, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The tool and its arguments in brief: `edit src/a.rs`.
    pub tool: String,
    /// The model that made it, as `PROVIDER/MODEL`.
    pub model: String,
    /// The prompt that it worked for.
    pub prompt: String,
    /// The attempt at a goal that won, and whose changes these are; `None` for calls of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<BlamedAttempt>,
    /// What a person answered when asked about it.
    pub approval: Approval,
    /// The runs of tests that followed it in its session.
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

/// What a person answered when a call was asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Nothing was asked: a rule, the mode or an earlier answer allowed it.
    #[default]
    NotAsked,
    /// Yes.
    Once,
    /// Yes, and to all that is alike in the session.
    Always,
    /// Yes, to a part of it.
    Part,
    /// Yes, to what the person had made of it in an editor.
    Edited,
}

/// A run of tests.
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
    /// Finds out for each line of `file` which call wrote it, from the journals of all sessions that changed it.
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

//! Answers cases of other products' test suites with the parts of this one.
//!
//! A *case* is a JSON object with an `id`; a *suite* says what its fields mean. For each case there is one *answer*, a
//! line `{"id", "result"}`, `{"id", "error": {"code", "message"}}` or `{"id", "skip": "why"}`. This crate does not
//! grade answers: the owner of the cases does.

mod answer;
mod arguments;
mod cases;
mod chunks;
mod dialects;
mod edits;
mod streams;
mod workshop;

pub use answer::Answer;
pub use cases::{Case, read_cases};
pub use chunks::Chunks;

use clap::ValueEnum;

/// What the cases are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// Changes of files: replaced texts and patches.
    Edits,
    /// Arguments held against the schema of a tool; calls written as text.
    Arguments,
    /// Replies as servers send them.
    Streams,
    /// Calls and thoughts in the text of models.
    Dialects,
}

impl Suite {
    /// What the product says to one case. `chunks`: how what streams is cut.
    pub fn answer(self, case: &Case, chunks: Chunks) -> Answer {
        match self {
            Self::Edits => edits::answer(case),
            Self::Arguments => arguments::answer(case),
            Self::Streams => streams::answer(case, chunks),
            Self::Dialects => dialects::answer(case, chunks),
        }
    }
}

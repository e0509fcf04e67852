//! [`Listen`]: parses the text of a reply while it is written. Finds the calls in it, and determines when the grammar
//! applies.
use haft_core::{Delta, StopReason};

/// Converts the text of one reply to deltas.
pub(crate) trait Listen {
    /// Adds text, which consists of complete characters.
    fn hear(&mut self, text: &str) -> Parsed;
    /// Tells that the grammar is complete: what follows is prose again.
    fn freed(&mut self) {}
    /// Ends the text. `is_whole`: whether the model ended it by itself.
    fn end(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason);
}

/// The result of a piece of text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) deltas: Vec<Delta>,
    pub(crate) bond: Bond,
    /// Whether the reply is complete, whatever the model would write next.
    pub(crate) is_over: bool,
}

/// Whether a grammar applies from here on.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Bond {
    /// As before.
    #[default]
    Unchanged,
    /// A call has begun; holds the part of it that was written.
    Call(String),
    /// The call is over.
    Free,
}

impl Parsed {
    /// A result with only deltas.
    pub(crate) fn said(deltas: Vec<Delta>) -> Self {
        Self { deltas, ..Self::default() }
    }
}

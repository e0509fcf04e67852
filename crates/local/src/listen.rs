//! What follows the text of a reply while it is written: finds the calls in it and says when the grammar begins.
use haft_core::{Delta, StopReason};

/// Turns the text of one reply into deltas.
pub(crate) trait Listen {
    /// More of the text, whole characters only.
    fn hear(&mut self, text: &str) -> Parsed;
    /// The grammar has come to its end: what follows is prose again.
    fn freed(&mut self) {}
    /// No more text comes. `is_whole`: the model ended by itself, it was not cut off.
    fn end(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason);
}

/// What came of a piece of text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) deltas: Vec<Delta>,
    pub(crate) bond: Bond,
    /// The reply is complete, whatever the model would say next.
    pub(crate) is_over: bool,
}

/// Whether a grammar holds from here on.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Bond {
    /// The grammar holds or not, as before.
    #[default]
    Unchanged,
    /// A call has begun, and this much of it has been written.
    Call(String),
    /// The call is over.
    Free,
}

impl Parsed {
    /// Deltas and nothing else.
    pub(crate) fn said(deltas: Vec<Delta>) -> Self {
        Self { deltas, ..Self::default() }
    }
}

//! What is offered to choose from: a list that takes the keyboard, or one above the word that is being typed.
use super::list::List;

/// A list that takes the keyboard.
pub(super) struct Pick {
    pub(super) title: &'static str,
    /// Lines above the list.
    pub(super) head: Vec<String>,
    pub(super) list: List,
    pub(super) typed: String,
    pub(super) what: What,
}

/// What is chosen from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Session,
    Model,
    Agent,
    Mode,
    Theme,
    Prompt,
    Job,
    Typed,
    GoOn,
}

/// What could be meant by the word that is being typed.
pub(super) struct Popup {
    pub(super) list: List,
    pub(super) is_file: bool,
}

/// How far the answer to a call that asks has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answering {
    /// The answer that Enter gives, from 0.
    pub(super) chosen: usize,
    /// The person says what to do instead.
    pub(super) is_refusing: bool,
}

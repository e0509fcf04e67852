//! [`Popup`] and [`Pick`]: lists to choose from: one that takes the keyboard, or one above the word that is being
//! typed.
use super::list::List;

/// A list that takes the keyboard.
pub(super) struct Pick {
    pub(super) title: &'static str,
    /// Lines above the list.
    pub(super) head: Vec<String>,
    pub(super) list: List,
    pub(super) typed: String,
    pub(super) what: What,
    /// Of the model that is chosen; nothing stands for its own.
    pub(super) effort: Option<String>,
}

impl Pick {
    /// The level before or behind the one that is chosen, of `levels`; in front of the first stands the model's own.
    pub(super) fn step_effort(&mut self, levels: &[&str], is_up: bool) {
        let at = self.effort.as_ref().and_then(|effort| levels.iter().position(|level| level == effort));
        let place = at.map_or(0, |place| place + 1);
        let next = if is_up { (place + 1).min(levels.len()) } else { place.saturating_sub(1) };
        self.effort = next.checked_sub(1).map(|place| levels[place].to_owned());
    }
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

impl What {
    /// The text if the list is empty.
    pub(super) fn nothing(self) -> &'static str {
        match self {
            Self::Session => "there is no other session in this directory",
            Self::Model => "no model is known; `/model VENDOR/MODEL` names one",
            Self::Agent => "there is no agent",
            Self::Mode => "there is no other mode",
            Self::Theme => "there is no theme",
            Self::Prompt => "there is no earlier prompt to go back to",
            Self::Job => "no background command and no subagent is running",
            Self::Typed => "no prompt was typed before",
            Self::GoOn => "there is nothing to continue",
        }
    }
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

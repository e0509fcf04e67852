//! [`Mode`]: what the keys go to: the prompt, an answer, a list or a page.
use super::{
    input::Draft,
    list::{Item, List},
    page::Page,
    parts::Parts,
};

/// What the keys act on. A list or a page holds the mode that it covers, so that closing it leads back.
pub(super) enum Mode {
    /// A prompt is typed; a list may show what the word at the cursor can become.
    Compose(Option<Completion>),
    /// The answer to a question of a tool is typed, or one of its choices is marked.
    Answer(Option<Completion>, Marked),
    /// A call asks for approval; Enter gives the answer at this place, from 0.
    Approve(usize),
    /// What to do instead of the refused call is typed. The draft that was there comes back.
    Refuse(Draft),
    /// The person ticks the parts of the change that are accepted.
    Parts(Parts),
    /// The person chooses from a list.
    Pick(Pick, Box<Mode>),
    /// The person reads a page that fills the screen.
    Read(Page, Box<Mode>),
}

/// The choice that Enter gives while nothing is typed, from 0. Nothing is marked where the person was typing when the
/// question came: the next key may belong to that.
pub(super) type Marked = Option<usize>;

impl Default for Mode {
    fn default() -> Self {
        Self::Compose(None)
    }
}

impl Mode {
    /// The mode below all lists and pages.
    pub(super) fn lowest(&mut self) -> &mut Self {
        match self {
            Self::Pick(_, below) | Self::Read(_, below) => below.lowest(),
            lowest => lowest,
        }
    }

    /// Shows `page`, in place of one that is shown.
    pub(super) fn read(&mut self, page: Page) {
        let below = match std::mem::take(self) {
            Self::Read(_, below) => below,
            below => Box::new(below),
        };
        *self = Self::Read(page, below);
    }

    pub(super) fn offer(&mut self, pick: Pick) {
        *self = Self::Pick(pick, Box::new(std::mem::take(self)));
    }

    /// Closes what is on top; gives the list that it was.
    pub(super) fn close(&mut self) -> Option<Pick> {
        let (pick, below) = match std::mem::take(self) {
            Self::Pick(pick, below) => (Some(pick), *below),
            Self::Read(_, below) => (None, *below),
            lowest => (None, lowest),
        };
        *self = below;
        pick
    }

    /// The list on top.
    pub(super) fn pick(&mut self) -> Option<&mut Pick> {
        match self {
            Self::Pick(pick, _) => Some(pick),
            _ => None,
        }
    }

    /// The page on top.
    pub(super) fn page(&self) -> Option<&Page> {
        match self {
            Self::Read(page, _) => Some(page),
            _ => None,
        }
    }

    /// The place for a list of completions, where a prompt or an answer is typed.
    pub(super) fn completion(&mut self) -> Option<&mut Option<Completion>> {
        match self.lowest() {
            Self::Compose(completion) | Self::Answer(completion, _) => Some(completion),
            _ => None,
        }
    }
}

/// A list that takes the keyboard.
pub(super) struct Pick {
    pub(super) title: &'static str,
    /// Lines above the list.
    pub(super) head: Vec<String>,
    pub(super) list: List,
    pub(super) typed: String,
    pub(super) what: What,
    /// The effort for the chosen model; `None` for its default.
    pub(super) effort: Option<String>,
    /// What to do with the session at the cursor, while the person is asked.
    pub(super) change: Option<Change>,
}

/// What Enter does to the session or the background work at the cursor of a list.
pub(super) enum Change {
    /// Gives it the name that is typed; an empty one takes its name away.
    Name(String),
    Delete,
    /// Ends the background work of this item.
    Stop(String),
}

impl Pick {
    /// Chooses the next or the previous of `levels`; before the first one is the model's default.
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
    Call,
    Job,
    Typed,
    GoOn,
}

impl What {
    /// The text if the list is empty.
    pub(super) fn nothing(self) -> &'static str {
        match self {
            Self::Call => "no call changed files",
            Self::Session => "no other session in this directory",
            Self::Model => "no models found; use `/model PROVIDER/MODEL`",
            Self::Agent => "no agents found",
            Self::Mode => "no other mode is allowed",
            Self::Theme => "no themes found",
            Self::Prompt => "no earlier prompt to go back to",
            Self::Job => "no background command or subagent is running",
            Self::Typed => "no earlier prompts",
            Self::GoOn => "nothing to continue",
        }
    }
}

/// What the word that is being typed can become.
pub(super) struct Completion {
    pub(super) list: List,
    pub(super) of: Completed,
}

/// Values that an MCP server offers, and the text that they continue.
pub(super) struct Offered {
    pub(super) before: String,
    pub(super) values: Vec<Item>,
}

/// What is completed, and so what a value takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completed {
    /// The name of a command: all that was typed.
    Command,
    /// The name of a file: the word at the cursor.
    File,
    /// Something that an MCP server offers: the text from this byte to the cursor.
    Offer(usize),
}

//! [`Mode`]: the target of the keys: the prompt, an answer, a list or a page.
use super::{
    input::Draft,
    list::{Item, List},
    page::Page,
    parts::Parts,
};

/// The target of the keys. A list or a page holds the mode that it covers, to which closing it returns.
pub(super) enum Mode {
    /// A prompt is typed; a list may show completions of the word at the cursor.
    Compose(Option<Completion>),
    /// The answer to a question of a tool is typed, or one of its choices is selected.
    Answer(Option<Completion>, Marked),
    /// A call asks for approval; Enter gives the answer with this index, from 0.
    Approve(usize),
    /// The user types what to do instead of the refused call. The draft is restored afterwards.
    Refuse(Draft),
    /// The user ticks the parts of the change to accept.
    Parts(Parts),
    /// The user chooses from a list.
    Pick(Pick, Box<Mode>),
    /// The user reads a page that fills the screen.
    Read(Page, Box<Mode>),
}

/// The index of the choice that Enter sends while nothing is typed. `None` if the user was typing when the question
/// appeared: the next key may belong to that text.
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

    /// Shows `page`; replaces a page that is open.
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

    /// Closes the topmost list or page, and returns the list.
    pub(super) fn close(&mut self) -> Option<Pick> {
        let (pick, below) = match std::mem::take(self) {
            Self::Pick(pick, below) => (Some(pick), *below),
            Self::Read(_, below) => (None, *below),
            lowest => (None, lowest),
        };
        *self = below;
        pick
    }

    /// The topmost list.
    pub(super) fn pick(&mut self) -> Option<&mut Pick> {
        match self {
            Self::Pick(pick, _) => Some(pick),
            _ => None,
        }
    }

    /// The topmost page.
    pub(super) fn page(&self) -> Option<&Page> {
        match self {
            Self::Read(page, _) => Some(page),
            _ => None,
        }
    }

    /// The place for a list of completions, if a prompt or an answer is typed.
    pub(super) fn completion(&mut self) -> Option<&mut Option<Completion>> {
        match self.lowest() {
            Self::Compose(completion) | Self::Answer(completion, _) => Some(completion),
            _ => None,
        }
    }
}

/// A list that has the focus.
pub(super) struct Pick {
    pub(super) title: &'static str,
    /// Lines above the list.
    pub(super) head: Vec<String>,
    pub(super) list: List,
    pub(super) typed: String,
    pub(super) what: What,
    /// The effort for the selected model; `None` for its default.
    pub(super) effort: Option<String>,
    /// The change to the item at the cursor that the user is asked about.
    pub(super) change: Option<Change>,
}

/// What Enter does to the session or the background work at the cursor of a list.
pub(super) enum Change {
    /// Renames the session; an empty name removes its name.
    Name(String),
    Delete,
    /// Ends the background work of this item.
    Stop(String),
}

impl Pick {
    /// Selects the next or the previous of `levels`; the model's default comes before the first one.
    pub(super) fn step_effort(&mut self, levels: &[&str], is_up: bool) {
        let at = self.effort.as_ref().and_then(|effort| levels.iter().position(|level| level == effort));
        let place = at.map_or(0, |place| place + 1);
        let next = if is_up { (place + 1).min(levels.len()) } else { place.saturating_sub(1) };
        self.effort = next.checked_sub(1).map(|place| levels[place].to_owned());
    }
}

/// What a list is about.
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
    Ending,
}

impl What {
    /// The text of an empty list.
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
            Self::Ending => "nothing is running in the background",
        }
    }
}

/// The completions of the typed word.
pub(super) struct Completion {
    pub(super) list: List,
    pub(super) of: Completed,
}

/// Values that an MCP server offers, and the text that they complete.
pub(super) struct Offered {
    pub(super) before: String,
    pub(super) values: Vec<Item>,
}

/// The kind of text that is completed, which decides what a value replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completed {
    /// The name of a command: replaces the whole text.
    Command,
    /// The name of a file: replaces the word at the cursor.
    File,
    /// A value of an MCP server: replaces the text from this byte to the cursor.
    Offer(usize),
}

//! [`Now`]: the state of a session, folded from its journal.
use haft_core::{Asking, Entry, Fact};
use serde::Serialize;
use std::fmt;
use utoipa::ToSchema;

/// State of a session
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionState {
    /// A turn runs
    Working,
    /// A call waits for a person
    Asking,
    /// No turn runs
    Idle,
    /// Another process has the session open
    Elsewhere,
}

impl SessionState {
    /// All there are.
    pub(crate) const ALL: [Self; 4] = [Self::Working, Self::Asking, Self::Idle, Self::Elsewhere];
}

impl fmt::Display for SessionState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Working => "working",
            Self::Asking => "asking",
            Self::Idle => "idle",
            Self::Elsewhere => "elsewhere",
        })
    }
}

/// What a session does at the moment.
#[derive(Debug, Default)]
pub(super) struct Now {
    is_working: bool,
    asking: Asking,
    background: usize,
}

impl Now {
    /// Takes in what was recorded.
    pub(super) fn apply(&mut self, entry: &Entry) {
        self.asking.apply(&entry.fact);
        match &entry.fact {
            Fact::Prompted { .. }
            | Fact::Continued
            | Fact::Called { .. }
            | Fact::Replied { .. }
            | Fact::ToolStarted { .. } => self.is_working = true,
            Fact::TaskStarted { .. } => self.background += 1,
            Fact::TaskEnded { .. } => self.background = self.background.saturating_sub(1),
            Fact::TurnEnded { .. } | Fact::Rewound { .. } => self.is_working = false,
            _ => {}
        }
    }

    pub(super) fn state(&self) -> SessionState {
        match (self.asking.is_empty(), self.is_working) {
            (false, _) => SessionState::Asking,
            (true, true) => SessionState::Working,
            (true, false) => SessionState::Idle,
        }
    }

    /// Whether the session could close without a loss.
    pub(super) fn is_idle(&self) -> bool {
        self.state() == SessionState::Idle && self.background == 0
    }
}

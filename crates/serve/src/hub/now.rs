//! [`Now`]: the state of a session, folded from its journal.
use haft_core::{Entry, Fact};
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

/// What goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    is_working: bool,
    asked: usize,
    background: usize,
}

impl Now {
    /// Takes in what was recorded.
    pub(super) fn apply(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::Prompted { .. }
            | Fact::Continued
            | Fact::Called { .. }
            | Fact::Replied { .. }
            | Fact::ToolStarted { .. } => self.is_working = true,
            Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } => self.asked += 1,
            Fact::ApprovalAnswered { .. } | Fact::QuestionAnswered { .. } => {
                self.asked = self.asked.saturating_sub(1);
            }
            Fact::TaskStarted { .. } => self.background += 1,
            Fact::TaskEnded { .. } => self.background = self.background.saturating_sub(1),
            Fact::TurnEnded { .. } | Fact::Rewound { .. } => (self.is_working, self.asked) = (false, 0),
            _ => {}
        }
    }

    pub(super) fn state(self) -> SessionState {
        match (self.asked, self.is_working) {
            (1.., _) => SessionState::Asking,
            (0, true) => SessionState::Working,
            (0, false) => SessionState::Idle,
        }
    }

    /// Nothing would be lost if it closed.
    pub(super) fn is_idle(self) -> bool {
        self.state() == SessionState::Idle && self.background == 0
    }
}

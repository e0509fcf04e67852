//! [`LastTurn`]: how the last turn of a session ended, and whether the session can continue with it.
use crate::{Command, Entry, Fact, Outcome, Part, StopReason, active_path, answer::wanted_schema};
use std::sync::Arc;

/// The state of the last turn of a session that no process has open. Summaries, mode changes and queued items are not
/// part of a turn and do not affect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastTurn {
    /// No turn can continue: there is none, it was undone, or the session is a job that has ended.
    None,
    /// The process ended in the middle of the turn.
    CutOff,
    /// The turn used this maximum number of model calls.
    OutOfRounds(u32),
    /// It ended with this outcome.
    Ended(Outcome),
}

impl LastTurn {
    /// Folds the entries of a session; those that were undone do not count.
    pub fn of(entries: &[Arc<Entry>]) -> Self {
        let mut fold = Fold { last: Self::None, is_open: false, rounds: None };
        active_path(entries).into_iter().for_each(|entry| fold.apply(&entry.fact));
        fold.last
    }

    /// Returns whether [`crate::Command::Continue`] has something to continue with.
    pub fn can_go_on(self) -> bool {
        match self {
            Self::CutOff | Self::OutOfRounds(_) => true,
            Self::Ended(outcome) => match outcome {
                Outcome::Failed | Outcome::Interrupted | Outcome::RoundLimit => true,
                Outcome::Finished
                | Outcome::Budget
                | Outcome::Repeating
                | Outcome::Refused
                | Outcome::Unproven
                | Outcome::InvalidAnswer
                | Outcome::Stuck => false,
            },
            Self::None => false,
        }
    }

    /// Returns whether the turn continues as soon as the user resumes the session: it was cut off, ran out of rounds,
    /// or failed.
    pub fn goes_on_when_resumed(self) -> bool {
        match self {
            Self::CutOff | Self::OutOfRounds(_) | Self::Ended(Outcome::Failed) => true,
            Self::None | Self::Ended(_) => false,
        }
    }
}

/// The prompt for a model whose reply was cut off.
const CONTINUE_PROMPT: &str = "Your reply was cut off. Go on where it stopped.";

/// Returns the command that continues the last turn of a session with these entries. If an incomplete reply was
/// recorded, it is a prompt that asks the model to continue that reply.
pub fn go_on(entries: &[Arc<Entry>]) -> Command {
    let path = active_path(entries);
    let last = path.iter().rev().map(|entry| &entry.fact).find(|fact| {
        matches!(
            fact,
            Fact::Prompted { .. } | Fact::Continued | Fact::Replied { .. } | Fact::ToolEnded { .. }
        )
    });
    match last {
        Some(Fact::Replied { stop: StopReason::Interrupted, .. }) => {
            let parts = vec![Part::text(CONTINUE_PROMPT)];
            match wanted_schema(entries) {
                Some(schema) => Command::PromptWithSchema { parts, schema },
                None => Command::Prompt { parts, channel: None },
            }
        }
        _ => Command::Continue,
    }
}

struct Fold {
    last: LastTurn,
    is_open: bool,
    /// The maximum number of rounds, if the turn reached it.
    rounds: Option<u32>,
}

impl Fold {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Prompted { .. } | Fact::Called { .. } | Fact::Continued | Fact::TaskEnded { .. } => {
                (self.last, self.is_open, self.rounds) = (LastTurn::CutOff, true, None);
            }
            // The entry that opened the turn may be missing.
            Fact::Replied { .. } | Fact::ToolStarted { .. } if !self.is_open => {
                (self.last, self.is_open, self.rounds) = (LastTurn::CutOff, true, None);
            }
            Fact::Interrupted if self.is_open => self.last = LastTurn::Ended(Outcome::Interrupted),
            Fact::RoundsReached { limit, .. } => self.rounds = Some(*limit),
            Fact::TurnEnded { outcome, .. } if self.is_open => {
                self.is_open = false;
                self.last = match (outcome, self.rounds) {
                    (Outcome::RoundLimit, Some(rounds)) => LastTurn::OutOfRounds(rounds),
                    (outcome, _) => LastTurn::Ended(*outcome),
                };
            }
            Fact::Rewound { .. } | Fact::JobFinished(_) | Fact::SessionOpened(_) => {
                (self.last, self.is_open) = (LastTurn::None, false);
            }
            // A summary between two turns ends like a turn.
            _ => {}
        }
    }
}

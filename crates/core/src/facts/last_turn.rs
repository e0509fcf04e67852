//! [`LastTurn`]: how the last turn of a session ended, and whether the session can go on with it.
use crate::{Command, Entry, Fact, Outcome, Part, StopReason, active_path};
use std::sync::Arc;

/// How the last turn of a session stands, where no process is at it. A summary, a mode and what is queued are no part of a
/// turn, and change nothing about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastTurn {
    /// No turn can go on: no turn was begun, it was taken back, or the session is a job that has been concluded.
    None,
    /// Its process ended in the middle of it.
    CutOff,
    /// The turn used all model calls that it may make; how many these are.
    OutOfRounds(u32),
    /// It ended otherwise.
    Ended(Outcome),
}

impl LastTurn {
    /// Folds the entries of a session; those that were undone do not count.
    pub fn of(entries: &[Arc<Entry>]) -> Self {
        let mut fold = Fold { last: Self::None, is_open: false, rounds: None };
        active_path(entries).into_iter().for_each(|entry| fold.apply(&entry.fact));
        fold.last
    }

    /// Returns whether [`crate::Command::Continue`] has something to go on with.
    pub fn can_go_on(self) -> bool {
        match self {
            Self::CutOff | Self::OutOfRounds(_) => true,
            Self::Ended(outcome) => match outcome {
                Outcome::Failed | Outcome::Interrupted | Outcome::RoundLimit => true,
                Outcome::Finished
                | Outcome::Budget
                | Outcome::Repeating
                | Outcome::Refused
                | Outcome::Unproven => false,
            },
            Self::None => false,
        }
    }

    /// Returns whether it goes on as soon as a person resumes the session: it did not end because a person stopped it.
    pub fn goes_on_when_resumed(self) -> bool {
        match self {
            Self::CutOff | Self::OutOfRounds(_) | Self::Ended(Outcome::Failed) => true,
            Self::None | Self::Ended(_) => false,
        }
    }
}

/// What a model reads whose reply was cut off.
const CONTINUE_PROMPT: &str = "Your reply was cut off. Go on where it stopped.";

/// Returns what takes up the last turn of a session with these entries. Where half a reply was recorded, it stands, and
/// asking for the same again would give nothing new: the prompt asks the model to continue.
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
            Command::Prompt { parts: vec![Part::text(CONTINUE_PROMPT)], channel: None }
        }
        _ => Command::Continue,
    }
}

struct Fold {
    last: LastTurn,
    is_open: bool,
    /// How many rounds it may have, where these are used up.
    rounds: Option<u32>,
}

impl Fold {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Prompted { .. } | Fact::Called { .. } | Fact::Continued | Fact::JobEnded { .. } => {
                (self.last, self.is_open, self.rounds) = (LastTurn::CutOff, true, None);
            }
            // The entry that opened it may be lost.
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
            Fact::Rewound { .. } | Fact::Concluded(_) | Fact::SessionOpened(_) => {
                (self.last, self.is_open) = (LastTurn::None, false);
            }
            // A summary between two turns ends like a turn does.
            Fact::TurnEnded { .. } | Fact::Interrupted => {}
            Fact::PromptQueued { .. }
            | Fact::PromptDenied { .. }
            | Fact::Replied { .. }
            | Fact::Retried { .. }
            | Fact::ModelFailed { .. }
            | Fact::ApprovalAsked { .. }
            | Fact::ApprovalAnswered { .. }
            | Fact::QuestionAsked { .. }
            | Fact::QuestionAnswered { .. }
            | Fact::ToolStarted { .. }
            | Fact::Unconfined { .. }
            | Fact::Staged { .. }
            | Fact::ChangedBelow { .. }
            | Fact::Unsettled { .. }
            | Fact::ToolEnded { .. }
            | Fact::JobStarted { .. }
            | Fact::ModeSet { .. }
            | Fact::Evicted { .. }
            | Fact::Compacted { .. }
            | Fact::Reminded { .. }
            | Fact::Nudged { .. }
            | Fact::BudgetReached { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, RemainingWork, Seq, Summarizer, Usage};

    fn prompted() -> Fact {
        Fact::Prompted { parts: vec![Part::text("go")], channel: None }
    }

    fn ended(outcome: Outcome) -> Fact {
        Fact::TurnEnded { outcome, rounds: 1, usage: Usage::default(), cost_usd: None }
    }

    fn compacted() -> Fact {
        let (summary, by, usage) = (String::new(), Summarizer::Digest, Usage::default());
        Fact::Compacted { summary, kept: 0, pinned_bytes: 0, by, before: 0, after: 0, usage }
    }

    fn last(facts: Vec<Fact>) -> LastTurn {
        let entry = |(seq, fact)| Arc::new(Entry { seq: Seq(seq as u64), parent: None, at: 0, fact });
        LastTurn::of(&facts.into_iter().enumerate().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn a_session_goes_on_with_what_its_last_turn_left() {
        let mode = || Fact::ModeSet { mode: Mode::Ask };
        let reached = || Fact::RoundsReached { limit: 7, left: RemainingWork::default(), reason: None };
        let interrupted = || vec![prompted(), Fact::Interrupted, ended(Outcome::Interrupted)];
        let finished = || vec![prompted(), ended(Outcome::Finished)];
        let with = |mut facts: Vec<Fact>, more: Vec<Fact>| {
            facts.extend(more);
            facts
        };
        let (stopped, done) = (LastTurn::Ended(Outcome::Interrupted), LastTurn::Ended(Outcome::Finished));
        let failed = LastTurn::Ended(Outcome::Failed);
        // What happened, how the turn stands, whether it can go on, and whether it does when the session is resumed.
        let table = [
            ("nothing was said", vec![], LastTurn::None, false, false),
            ("a mode alone", vec![mode()], LastTurn::None, false, false),
            ("killed at once", vec![prompted()], LastTurn::CutOff, true, true),
            ("killed, after a mode", vec![prompted(), mode()], LastTurn::CutOff, true, true),
            ("killed in a summary of its own", vec![prompted(), compacted()], LastTurn::CutOff, true, true),
            ("finished", finished(), done, false, false),
            ("finished, then a mode", with(finished(), vec![mode()]), done, false, false),
            ("finished, killed in a summary", with(finished(), vec![compacted()]), done, false, false),
            (
                "finished, then a summary",
                with(finished(), vec![compacted(), ended(Outcome::Finished)]),
                done,
                false,
                false,
            ),
            ("a summary of nothing", vec![ended(Outcome::Finished)], LastTurn::None, false, false),
            ("interrupted", interrupted(), stopped, true, false),
            ("interrupted, then a mode", with(interrupted(), vec![mode()]), stopped, true, false),
            (
                "interrupted, then a summary",
                with(interrupted(), vec![compacted(), ended(Outcome::Finished)]),
                stopped,
                true,
                false,
            ),
            ("interrupted, killed before its end", vec![prompted(), Fact::Interrupted], stopped, true, false),
            ("failed, then a mode", vec![prompted(), ended(Outcome::Failed), mode()], failed, true, true),
            (
                "out of rounds",
                vec![prompted(), reached(), ended(Outcome::RoundLimit)],
                LastTurn::OutOfRounds(7),
                true,
                true,
            ),
            (
                "out of rounds without a question",
                vec![prompted(), ended(Outcome::RoundLimit)],
                LastTurn::Ended(Outcome::RoundLimit),
                true,
                false,
            ),
            ("gone on with", with(interrupted(), vec![Fact::Continued]), LastTurn::CutOff, true, true),
            ("finished at last", with(interrupted(), finished()), done, false, false),
        ];
        for (what, facts, expected, can_go_on, goes_on) in table {
            let last = last(facts);
            assert_eq!(
                (last, last.can_go_on(), last.goes_on_when_resumed()),
                (expected, can_go_on, goes_on),
                "{what}"
            );
        }
    }
}

//! [`Policy::judge_with_outbox`]: judges calls of a session with an outbox. Such a session does not ask the user, and
//! queues calls whose effects cannot be undone.
use super::{IsRepository, Mode, Policy, Verdict};
use crate::{Effect, Execution, queued};
use std::path::Path;

/// Appended to the reason for a call that is denied because it would need a question.
const NO_QUESTION: &str = "this session asks no person";

impl Policy {
    /// Judges a call of a session with an outbox, before it runs. Allows calls that only touch the workspace, and calls
    /// that a rule allows; denies calls that would be asked about for another reason. `Ask` means that the call is
    /// queued. `effects` must be resolved.
    pub fn judge_with_outbox(
        &self,
        effects: &[Effect],
        workspace: &Path,
        is_repository: IsRepository<'_>,
    ) -> Verdict {
        let is_reading = self.mode == Mode::Full && only_reads(effects);
        let (outside, inside): (Vec<Effect>, Vec<Effect>) = effects.iter().cloned().partition(is_outside);
        if is_reading {
            let inside = self.judge_inside(&inside, workspace, is_repository);
            return inside.and(self.judge(&outside, workspace, is_repository).without_question());
        }
        let reversible = Self { mode: with_edits(self.mode), ..self.clone() };
        let inside = self.judge_inside(&inside, workspace, is_repository);
        if outside.is_empty() {
            return inside;
        }
        // The mode `Full` allows everything; only a rule allows a specific effect.
        let ruled = Self { mode: reversible.mode, ..self.clone() };
        let outside: Vec<Effect> = outside.into_iter().map(unconfined).collect();
        let outside = match ruled.judge(&outside, workspace, is_repository) {
            Verdict::Ask { reason } => {
                Verdict::Ask { reason: format!("{reason}, and it cannot be taken back") }
            }
            verdict => verdict,
        };
        inside.and(outside)
    }

    /// Judges effects that can be undone.
    fn judge_inside(&self, effects: &[Effect], workspace: &Path, is_repository: IsRepository<'_>) -> Verdict {
        let reversible = Self { mode: with_edits(self.mode), ..self.clone() };
        reversible.judge(effects, workspace, is_repository).without_question()
    }
}

impl Verdict {
    /// Returns the verdict, with `Deny` instead of `Ask`.
    pub fn without_question(self) -> Self {
        match self {
            Self::Ask { reason } => Self::Deny { reason: format!("{reason}, and {NO_QUESTION}") },
            verdict => verdict,
        }
    }
}

/// The mode of a session with an outbox: changes of the workspace can be undone and need no question.
fn with_edits(mode: Mode) -> Mode {
    match mode {
        Mode::Ask | Mode::Full => Mode::AcceptEdits,
        mode @ (Mode::ReadOnly | Mode::Plan | Mode::AcceptEdits) => mode,
    }
}

/// Whether the effect can go beyond changes of a view.
fn is_outside(effect: &Effect) -> bool {
    match effect {
        Effect::Network(_) => true,
        Effect::Execute(execution) => !execution.stays_inside() || queued::reaches_out(&execution.command),
        Effect::Read(_) | Effect::Write(_) => false,
    }
}

/// Whether the only effect of the call is to read web addresses, as with `fetch`.
fn only_reads(effects: &[Effect]) -> bool {
    let is_address = |target: &str| target.starts_with("https://") || target.starts_with("http://");
    effects.iter().all(|effect| match effect {
        Effect::Network(target) => is_address(target),
        Effect::Read(_) => true,
        Effect::Write(_) | Effect::Execute(_) => false,
    })
}

/// The effect of the command if it ran outside of a view.
fn unconfined(effect: Effect) -> Effect {
    match effect {
        Effect::Execute(execution) => Effect::Execute(Execution { confined: false, ..execution }),
        other => other,
    }
}

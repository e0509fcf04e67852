//! [`check`]: lets a turn continue until the check of the goal shows that it is reached.
use super::attempts;
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
};
use haft_core::{
    Fact, Outcome, ToolCall, active_path,
    progress::{Progress, progress},
};

/// Records the first run of the check, if a goal was set since the last request to the model. Returns whether it did.
pub(super) fn check_first(log: &mut Log) -> Result<bool, JournalError> {
    let is_due = log.transcript.goal().is_some_and(|open| open.checks == 0) && !log.transcript.is_planning();
    if is_due {
        record_check(log)?;
    }
    Ok(is_due)
}

/// Records a run of the check, if the turn would end and the goal is not reached. Returns how the turn ends; `None` if
/// the check runs first.
pub(super) fn check(log: &mut Log, outcome: Outcome) -> Result<Option<Outcome>, JournalError> {
    let is_wanted =
        log.transcript.goal().is_some() && !log.transcript.is_call() && !log.transcript.is_planning();
    match outcome {
        Outcome::Finished | Outcome::Refused if is_wanted => {
            record_check(log)?;
            Ok(None)
        }
        outcome => Ok(Some(outcome)),
    }
}

/// Records what the check that has ended shows. Returns how the turn, which would otherwise end with `outcome`, ends;
/// `None` if the model continues.
pub(super) fn judge(log: &mut Log, outcome: Outcome) -> Result<Option<Outcome>, JournalError> {
    let Some(goal) = log.transcript.goal().map(|open| open.goal.clone()) else { return Ok(Some(outcome)) };
    match progress(&active_path(&log.journal.entries())) {
        None => Ok(Some(outcome)),
        Some(Progress::Reached { red, green }) => {
            log.record(Fact::GoalReached { check: goal.check.clone(), red, green })?;
            Ok(Some(outcome))
        }
        Some(Progress::Missed(missed)) => {
            let is_stuck = missed.is_stuck() || log.transcript.has_attempted();
            let text = (!is_stuck).then(|| missed.text(&goal));
            log.record(Fact::GoalMissed { why: missed.why, unchanged: missed.unchanged, text })?;
            Ok(is_stuck.then_some(Outcome::Stuck))
        }
    }
}

/// Records a run of the check in the workspace if an attempt has won. Otherwise returns how the turn ends.
pub(super) fn judge_attempts(log: &mut Log) -> Result<Option<Outcome>, JournalError> {
    if !attempts::have_won(log) {
        return Ok(Some(Outcome::Stuck));
    }
    record_check(log)?;
    Ok(None)
}

/// Lets the check run without approval, if the user wrote it.
pub(super) fn allow(log: &Log, session: &SessionContext, calls: &[ToolCall]) {
    if let (true, Some(open), [check]) = (log.transcript.is_checking(), log.transcript.goal(), calls) {
        session.calls.interactions.set_typed(open.goal.is_typed.then(|| check.id.clone()));
    }
}

fn record_check(log: &mut Log) -> Result<(), JournalError> {
    let place = log.journal.entries().len();
    match log.transcript.goal().map(|open| open.check(place)) {
        Some(made) => log.record(Fact::GoalChecked { made }),
        None => Ok(()),
    }
}

//! [`settled`]: settles the changes of a background task, while no call of the session runs.
use super::calls::attended;
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
};
use haft_call::{CallRun, Round, nothing_kept, with_note};
use haft_core::{Entry, Fact, Outcome, TaskId, ToolCall, Usage, undo};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Prepares `fact` for the journal. If it is the end of a task that worked in a view, the task's changes are settled on
/// return, and the result says so.
pub(super) async fn settled(
    log: &mut Log,
    session: &SessionContext,
    fact: Fact,
    cancel: &CancellationToken,
) -> Result<Fact, JournalError> {
    let Fact::TaskEnded { task: job, result } = fact else { return Ok(fact) };
    let Some(view) = session.calls.background.take_view(&job) else {
        return Ok(Fact::TaskEnded { task: job, result });
    };
    let entries = log.journal.entries();
    if !result.is_ok() {
        return Ok(Fact::TaskEnded { task: job, result: nothing_kept(result) });
    }
    if undo::is_taken_back(&entries, &job) {
        let why = "[the call that began it was taken back; nothing that it changed was kept]";
        return Ok(Fact::TaskEnded { task: job, result: with_note(result, why) });
    }
    let call = ToolCall { id: job.call(), ..call_of(&entries, &job) };
    let kit = session.toolbox.kit();
    let settled = attended(log, async |recorder| {
        let (scope, tools) = (&session.calls, &kit.tools);
        let (repeats, channel, message) = (0, None, String::new());
        let round = Round { scope, tools, repeats, channel, message, parallel: false, recorder, cancel };
        CallRun::new(&round, call).settle_task(result, view).await
    });
    let result = settled.await?;
    Ok(Fact::TaskEnded { task: job, result })
}

/// Records the end of a task whose start was undone. Its changes are dropped, and the model is not asked, because the
/// conversation does not contain the task.
pub(crate) async fn drop_task(
    log: &mut Log,
    session: &SessionContext,
    ended: Fact,
) -> Result<(), JournalError> {
    let ended = settled(log, session, ended, &session.shared.stop).await?;
    log.record(ended)?;
    let (outcome, usage) = (Outcome::Finished, Usage::default());
    log.record(Fact::TurnEnded { outcome, rounds: 0, usage, cost_usd: None })
}

/// The call that started the task, as it ran.
fn call_of(entries: &[Arc<Entry>], job: &TaskId) -> ToolCall {
    let mut before = entries.iter().rev();
    let ended = before.find_map(|entry| match &entry.fact {
        Fact::ToolEnded { call, result, .. } if result.job.as_ref() == Some(job) => Some(call),
        _ => None,
    });
    let begun = before.find_map(|entry| match &entry.fact {
        Fact::ToolStarted { call, name, arguments, .. } if Some(call) == ended => {
            Some(ToolCall::new(call.0.clone(), name.clone(), arguments.clone()))
        }
        _ => None,
    });
    begun.unwrap_or_else(|| ToolCall::new(job.call().0, "job", json!({"id": job})))
}

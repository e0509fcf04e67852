//! What a crash left half-done, put in order.
use crate::{JournalError, session::Log, settling::Settled, turn::Means};
use haft_core::{
    Change, Entry, Fact, How, JobId, Outcome, ToolCall, ToolError, ToolErrorKind, ToolResult, Usage,
    transcript::active_path,
};
use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
};

/// What the journal knows of an open call.
#[derive(Default)]
struct Trace {
    started: Option<How>,
    staged: Option<(Vec<Change>, ToolResult)>,
    /// What sessions below did for it.
    below: Option<Vec<Change>>,
}

/// Settles what was staged, and answers what may have had effects that nobody recorded.
///
/// A call that had only started in a private view did nothing real: it stays open and runs again when the turn is
/// continued.
pub(crate) async fn put_in_order(log: &mut Log, means: &Means) -> Result<(), JournalError> {
    let entries = log.journal.entries();
    let traces = traces(&entries);
    for call in log.transcript.unanswered() {
        let result = match traces.get(call.id.0.as_str()) {
            Some(Trace { staged: Some((changes, result)), .. }) => {
                settle_again(log, means, &call, changes.clone(), result.clone()).await?
            }
            Some(Trace { below: Some(changes), .. }) => {
                worded(means, &call, settle_below(means, changes.clone()).await)
            }
            Some(Trace { started: Some(How::Untracked), .. }) => worded(means, &call, unknown()),
            _ => continue,
        };
        log.record(Fact::ToolEnded { call: call.id, name: call.name, result, duration_ms: 0 })?;
    }
    let (lost, was_idle) = (lost_jobs(&entries), log.transcript.is_idle());
    let opens_a_turn = was_idle && !lost.is_empty();
    for job in lost {
        let call = ToolCall::new(job.0.clone(), "job", serde_json::Value::Null);
        let error = ToolError::new(ToolErrorKind::System, "the job ended with the process that ran it");
        log.record(Fact::JobEnded { job, result: worded(means, &call, error) })?;
    }
    if opens_a_turn {
        // Nobody has asked for it: the model hears of it with what is said next.
        let (outcome, usage) = (Outcome::Interrupted, Usage::default());
        log.record(Fact::TurnEnded { outcome, rounds: 0, usage, cost_usd: None })?;
    }
    Ok(())
}

/// Answers each open call with why it does not run.
pub(crate) fn end_open_calls(log: &mut Log, means: &Means, why: &str) -> Result<(), JournalError> {
    for call in log.transcript.unanswered() {
        let result = worded(means, &call, ToolError::new(ToolErrorKind::System, why));
        log.record(Fact::ToolEnded { call: call.id, name: call.name, result, duration_ms: 0 })?;
    }
    Ok(())
}

fn worded(means: &Means, call: &ToolCall, error: ToolError) -> ToolResult {
    means.shared.setup.profile.render.result(call, Err(error))
}

fn unknown() -> ToolError {
    ToolError::new(ToolErrorKind::System, "interrupted while it ran; what it did is unknown")
        .hint("look at what is there before you call it again")
}

/// Doing it twice is doing it once.
async fn settle_again(
    log: &mut Log,
    means: &Means,
    call: &ToolCall,
    changes: Vec<Change>,
    result: ToolResult,
) -> Result<ToolResult, JournalError> {
    let Settled { unsettled, error } = means.make_real(changes).await;
    let Some(error) = error else { return Ok(result) };
    log.record(Fact::Unsettled { call: call.id.clone(), paths: unsettled })?;
    Ok(worded(means, call, error))
}

/// Of what sessions below did, the last change of a file may not be real yet.
async fn settle_below(means: &Means, changes: Vec<Change>) -> ToolError {
    let last: BTreeMap<PathBuf, Change> =
        changes.into_iter().map(|change| (change.path.clone(), change)).collect();
    let files: Vec<String> = last.keys().map(|path| format!("`{}`", path.display())).collect();
    let error = match means.settle(last.into_values().collect()).await {
        // Where somebody else was quicker, that was told below.
        Ok(_conflicts) => {
            ToolError::new(ToolErrorKind::System, "interrupted while a subagent worked; what it did stands")
        }
        Err(error) => crate::call_errors::not_settled(error, true),
    };
    let told = if files.is_empty() { "what is there".to_owned() } else { files.join(", ") };
    error.hint(format!("look at {told} before you give the task again"))
}

/// Of the calls since the last reply; ids may come again in a later one.
fn traces(entries: &[Arc<Entry>]) -> HashMap<&str, Trace> {
    let path = active_path(entries);
    let reply = path.iter().rposition(|entry| matches!(entry.fact, Fact::Replied { .. })).unwrap_or_default();
    let mut traces: HashMap<&str, Trace> = HashMap::new();
    for entry in &path[reply.min(path.len())..] {
        match &entry.fact {
            Fact::ToolStarted { call, how, .. } => traces.entry(&call.0).or_default().started = Some(*how),
            Fact::Staged { call, changes, result, .. } => {
                traces.entry(&call.0).or_default().staged = Some((changes.clone(), result.clone()));
            }
            Fact::ChangedBelow { call, changes, .. } => {
                let below = traces.entry(&call.0).or_default().below.get_or_insert_default();
                below.extend(changes.iter().cloned());
            }
            _ => {}
        }
    }
    traces
}

fn lost_jobs(entries: &[Arc<Entry>]) -> Vec<JobId> {
    let mut running: Vec<&JobId> = Vec::new();
    for entry in entries {
        match &entry.fact {
            Fact::JobStarted { job, .. } => running.push(job),
            Fact::JobEnded { job, .. } => running.retain(|other| *other != job),
            _ => {}
        }
    }
    running.into_iter().cloned().collect()
}

//! [`put_in_order`]: completes what a crash left unfinished.
use super::rewind;
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
};
use haft_call::{Pass, Settled, conflict};
use haft_core::{
    Change, Changed, Direction, Entry, Fact, Outcome, Running, SessionOpened, ToolCall, ToolError,
    ToolErrorKind, ToolResult, Tracking, Usage, active_path,
};
use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

/// The facts in the journal about an open call.
#[derive(Default)]
struct Trace {
    started: Option<Tracking>,
    /// Whether the call could have effects that are not recorded.
    outside: bool,
    staged: Option<(Vec<Change>, ToolResult)>,
    /// The changes of child sessions for the call.
    below: Option<Vec<Change>>,
    /// The last of these changes. It may not be settled; all earlier ones are.
    last_below: Vec<Change>,
    /// Paths that were left unchanged and are not tried again.
    unsettled: Vec<PathBuf>,
    /// The result of a call that was queued.
    queued: Option<ToolResult>,
    /// Whether the call sends an outbox item.
    is_sent: bool,
}

/// Finishes an interrupted undo, settles staged changes, and ends calls that may have had unrecorded effects. `left`:
/// the number of processes of an earlier session process that could not be ended.
///
/// A call that had only started in a private view changed nothing outside: it stays open and runs again when the turn
/// continues.
pub(crate) async fn put_in_order(
    log: &mut Log,
    session: &SessionContext,
    left: usize,
) -> Result<(), JournalError> {
    rewind::finish(log, session).await?;
    let entries = log.journal.entries();
    let traces = traces(&entries);
    for call in log.transcript.unanswered() {
        let result = match traces.get(call.id.0.as_str()) {
            Some(Trace { staged: Some(_), unsettled, .. }) if !unsettled.is_empty() => {
                worded(session, &call, conflict(unsettled))
            }
            Some(Trace { staged: Some((changes, result)), started, .. }) => {
                let how = started.unwrap_or(Tracking::Declared);
                settle_again(log, session, &call, (changes.clone(), how), result.clone()).await?
            }
            Some(trace @ Trace { below: Some(_), .. }) => {
                let error = end_below(log, session, &call, trace).await?;
                worded(session, &call, error)
            }
            Some(Trace { queued: Some(result), .. }) => result.clone(),
            // Haft never sends an item again automatically, even if its call did not begin: the user must check first.
            Some(
                Trace { started: Some(Tracking::Untracked), .. }
                | Trace { outside: true, .. }
                | Trace { is_sent: true, .. },
            ) => worded(session, &call, unknown(left)),
            _ => continue,
        };
        log.record(Fact::ToolEnded { call: call.id, name: call.name, result, duration_ms: 0 })?;
    }
    let (lost, was_idle) = (Running::of(&entries), log.transcript.is_idle());
    let opens_a_turn = was_idle && !lost.is_empty();
    for running in lost {
        let result = end_lost(log, session, &running, traces.get(running.job.call().0.as_str())).await?;
        log.record(Fact::TaskEnded { task: running.job, result })?;
    }
    if opens_a_turn {
        // No prompt started this turn, so the model reads the result with the next prompt.
        let (outcome, usage) = (Outcome::Interrupted, Usage::default());
        log.record(Fact::TurnEnded { outcome, rounds: 0, usage, cost_usd: None })?;
    }
    Ok(())
}

/// Ends background tasks that were running at the crash, and settles their staged changes.
async fn end_lost(
    log: &mut Log,
    session: &SessionContext,
    Running { job, how, .. }: &Running,
    trace: Option<&Trace>,
) -> Result<ToolResult, JournalError> {
    let call = ToolCall::new(job.call().0, "job", serde_json::Value::Null);
    match trace {
        Some(Trace { staged: Some(_), unsettled, .. }) if !unsettled.is_empty() => {
            Ok(worded(session, &call, conflict(unsettled)))
        }
        Some(Trace { staged: Some((changes, result)), .. }) => {
            settle_again(log, session, &call, (changes.clone(), *how), result.clone()).await
        }
        _ => {
            let why = "the job ended with the process that ran it";
            let kept = if *how == Tracking::Staged { "; nothing that it changed was kept" } else { "" };
            Ok(worded(session, &call, ToolError::new(ToolErrorKind::System, format!("{why}{kept}"))))
        }
    }
}

/// Ends each open call with the reason `why` it does not run, or, if it had begun in a view, with the fact that its
/// changes were dropped.
pub(crate) fn end_open_calls(log: &mut Log, session: &SessionContext, why: &str) -> Result<(), JournalError> {
    let entries = log.journal.entries();
    let traces = traces(&entries);
    let is_taken_back = is_taken_back(&entries);
    for call in log.transcript.unanswered() {
        let has_begun = traces.get(call.id.0.as_str()).is_some_and(|trace| trace.started.is_some());
        let error = match (is_taken_back, has_begun) {
            (true, true) => ToolError::new(ToolErrorKind::System, TAKEN_BACK),
            (true, false) => ToolError::not_run("the user took back the calls before it"),
            (false, true) => ToolError::left_in_view(),
            (false, false) => ToolError::not_run(why),
        };
        let result = worded(session, &call, error);
        log.record(Fact::ToolEnded { call: call.id, name: call.name, result, duration_ms: 0 })?;
    }
    Ok(())
}

/// The message of a call that was undone and whose reply stays in the conversation.
const TAKEN_BACK: &str = "interrupted: the user took the call back, and what it changed with it";

/// Whether the conversation went back to an entry after its last reply, so that calls of that reply have no results.
fn is_taken_back(entries: &[Arc<Entry>]) -> bool {
    let path = active_path(entries);
    let mut since = path.iter().rev().take_while(|entry| !matches!(entry.fact, Fact::Replied { .. }));
    let is_undo =
        |fact: &Fact| matches!(fact, Fact::Rewound { way: Direction::Undo, calls, .. } if calls.is_empty());
    since.any(|entry| is_undo(&entry.fact))
}

fn worded(session: &SessionContext, call: &ToolCall, error: ToolError) -> ToolResult {
    session.calls.rules.render.result(call, Err(error))
}

fn unknown(left: usize) -> ToolError {
    let mut why = "interrupted while it ran; what it did is unknown".to_owned();
    if left > 0 {
        why += &format!(", and {left} of its processes cannot be ended");
    }
    ToolError::new(ToolErrorKind::System, why).hint("look at what is there before you call it again")
}

/// Settles the staged changes of a call again. Idempotent. A subagent's session that is opened on its own settles
/// nothing: its parent sessions have continued without it.
async fn settle_again(
    log: &mut Log,
    session: &SessionContext,
    call: &ToolCall,
    (changes, how): (Vec<Change>, Tracking),
    result: ToolResult,
) -> Result<ToolResult, JournalError> {
    log.journal.sync().await?;
    let Settled { unsettled, error } = match is_below(log) {
        false => session.calls.make_real(changes, how, Pass::Again, &session.shared.stop).await,
        true => {
            let unsettled = session.calls.not_real(&changes).await;
            let error = (!unsettled.is_empty()).then(|| conflict(&unsettled));
            Settled { unsettled, error }
        }
    };
    let Some(error) = error else { return Ok(result) };
    log.record(Fact::Unsettled { call: call.id.clone(), paths: unsettled })?;
    Ok(worded(session, call, error))
}

fn is_below(log: &Log) -> bool {
    SessionOpened::of(&log.journal.entries()).is_some_and(SessionOpened::is_subagent)
}

/// Ends a call whose child sessions have begun to change files: it is not repeated. Their changes stay; the last one
/// may still have to be settled.
async fn end_below(
    log: &mut Log,
    session: &SessionContext,
    call: &ToolCall,
    trace: &Trace,
) -> Result<ToolError, JournalError> {
    if !trace.last_below.is_empty() {
        log.journal.sync().await?;
        let Settled { unsettled, .. } = session
            .calls
            .make_real(trace.last_below.clone(), Tracking::Declared, Pass::Again, &session.shared.stop)
            .await;
        if !unsettled.is_empty() {
            log.record(Fact::Unsettled { call: call.id.clone(), paths: unsettled })?;
        }
    }
    let done = Changed::of(log.journal.entries().iter().map(|entry| &entry.fact));
    let below = trace.below.iter().flatten().map(|change| &change.path);
    let stands = |path: &&PathBuf| done.steps().any(|step| step.path == **path);
    let files: BTreeSet<String> = below.filter(stands).map(|path| format!("`{}`", path.display())).collect();
    let files = files.into_iter().collect::<Vec<_>>().join(", ");
    let told = if files.is_empty() { "what is there" } else { &files };
    let why = "interrupted while a subagent worked; what it did stands";
    Ok(ToolError::new(ToolErrorKind::System, why)
        .hint(format!("look at {told} before you give the task again")))
}

/// The traces of calls since the last reply; later replies may use the same IDs.
fn traces(entries: &[Arc<Entry>]) -> HashMap<&str, Trace> {
    let path = active_path(entries);
    let reply = path.iter().rposition(|entry| matches!(entry.fact, Fact::Replied { .. })).unwrap_or_default();
    let mut traces: HashMap<&str, Trace> = HashMap::new();
    let mut last_below: Option<(&str, &[Change])> = None;
    for entry in &path[reply.min(path.len())..] {
        match &entry.fact {
            Fact::Queued(queued) => {
                traces.entry(&queued.call.0).or_default().queued = Some(queued.result.clone());
            }
            Fact::ItemSending { call, .. } => traces.entry(&call.0).or_default().is_sent = true,
            Fact::ToolStarted { call, how, outside, .. } => {
                let trace = traces.entry(&call.0).or_default();
                (trace.started, trace.outside) = (Some(*how), *outside);
            }
            Fact::Staged { call, changes, result, .. } => {
                traces.entry(&call.0).or_default().staged = Some((changes.clone(), result.clone()));
            }
            Fact::SubagentChanged { call, changes, .. } => {
                let below = traces.entry(&call.0).or_default().below.get_or_insert_default();
                below.extend(changes.iter().cloned());
                // A later command may have changed the same files again.
                last_below = (!changes.is_empty()).then_some((&call.0, changes));
            }
            Fact::Unsettled { call, paths } => {
                traces.entry(&call.0).or_default().unsettled.extend(paths.iter().cloned());
                last_below = None;
            }
            _ => {}
        }
    }
    if let Some((call, changes)) = last_below {
        traces.entry(call).or_default().last_below = changes.to_vec();
    }
    traces
}

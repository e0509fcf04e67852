//! [`run_calls`]: runs the calls of a reply. Adjacent calls that only read run concurrently, all others one after the
//! other.
use crate::{
    checked::PreparedCall,
    diagnostics::ReplyChanges,
    judgment::Judgment,
    order::Order,
    round::{CallRun, Round},
};
use futures::{StreamExt, stream};
use haft_core::{Effect, Message, ToolCall, ToolError, ToolErrorKind, ToolResult, Tracking, Verdict};
use std::{iter::Peekable, sync::Arc};

/// Maximum calls of one reply that run; further calls get an error as their result.
const MAX_CALLS: usize = 256;
/// Maximum calls that run at the same time.
const MAX_PARALLEL_CALLS: usize = 16;

/// A call and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// The call.
    pub call: ToolCall,
    /// Result of the call, also if it could not run.
    pub result: ToolResult,
}

/// The message that answers the call.
impl From<Executed> for Message {
    fn from(Executed { call, result }: Executed) -> Self {
        Self::Tool { call: call.id, name: call.name, result }
    }
}

/// Runs the calls of a reply and records each end, also if the round is interrupted. Returns the results in the order of
/// `calls`; without those whose end could not be recorded.
pub async fn run_calls(round: &Round<'_>, calls: Vec<ToolCall>) -> Vec<Executed> {
    let mut results = Vec::new();
    let (reply, mut left) = (Arc::new(ReplyChanges::default()), calls.len());
    let mut calls = calls.into_iter().enumerate().peekable();
    while let Some(batch) = next_batch(round, &mut calls) {
        // Calls that only read need no order among themselves.
        let is_ordered = batch.len() > 1 && !batch.iter().all(|call| is_reader(round, call));
        let turns = Order::turns(batch.len()).map(|turn| is_ordered.then_some(turn));
        let last = left - 1;
        left -= batch.len();
        let reply = &reply;
        let runs = batch.into_iter().zip(turns).enumerate().map(async |(place, (prepared, turn))| {
            let PreparedCall { call, checked } = prepared;
            let (reply, is_last) = (reply.clone(), place == last);
            let run = CallRun { turn, reply, is_last, ..CallRun::new(round, call.clone()) };
            let result = run.run(checked).await?;
            Some((place, Executed { call, result }))
        });
        let ran = stream::iter(runs).buffer_unordered(MAX_PARALLEL_CALLS).collect::<Vec<_>>().await;
        let mut ran: Vec<_> = ran.into_iter().flatten().collect();
        ran.sort_by_key(|(place, _)| *place);
        results.extend(ran.into_iter().map(|(_, executed)| executed));
    }
    results
}

fn too_many(call: ToolCall) -> PreparedCall {
    let error = ToolError::new(
        ToolErrorKind::Validation,
        format!("not run: more than {MAX_CALLS} calls in one reply"),
    );
    PreparedCall { call, checked: Err(error.hint("make fewer calls at a time")) }
}

/// Returns the next calls that run concurrently, in the model's order. Adjacent calls that only read share a batch. A
/// command that works in a view and may change something there may be the last call of the batch: it does not begin
/// before calls that may change what it reads, since it would have to be repeated. Any other call has a batch of its
/// own. So has the second of two equal calls, because it may be answered with the result of the first.
fn next_batch(
    round: &Round<'_>,
    calls: &mut Peekable<impl Iterator<Item = (usize, ToolCall)>>,
) -> Option<Vec<PreparedCall>> {
    // Prepared as late as possible: file changes of one call may change where the paths of the next call lead.
    let prepare = |place, call| {
        if place < MAX_CALLS { PreparedCall::new(round.scope, round.tools, call) } else { too_many(call) }
    };
    let (place, call) = calls.next()?;
    let mut batch = vec![prepare(place, call)];
    // A call outside of a view is never repeated, while a call in a view may be.
    let fits = |batch: &[PreparedCall]| {
        batch.iter().all(|call| is_reader(round, call))
            || batch.iter().all(|call| only_reads(call) || runs_in_view(round, call))
    };
    // Most calls are alone in their batch and are not judged here.
    while round.parallel
        && let Some((place, call)) = calls.peek().cloned()
        && batch.last().is_some_and(|call| changes_nothing(round, call))
        && fits(&batch)
    {
        let next = prepare(place, call);
        let is_new = is_new(&next, &batch);
        batch.push(next);
        if !is_new || !fits(&batch) {
            batch.pop();
            break;
        }
        calls.next();
    }
    Some(batch)
}

fn is_new(call: &PreparedCall, batch: &[PreparedCall]) -> bool {
    !batch
        .iter()
        .any(|other| other.call.name == call.call.name && other.call.arguments == call.call.arguments)
}

/// Whether the call works only in its view, starts nothing that continues after its end, and begins without a question
/// to the user.
fn runs_in_view(round: &Round<'_>, call: &PreparedCall) -> bool {
    let lasts = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.lasting);
    call.checked.as_ref().is_ok_and(|checked| {
        let judgment = Judgment::of(round.scope, &call.call.id, checked);
        judgment.how == Tracking::Staged
            && !checked.effects.iter().any(lasts)
            && !judgment.reaches_out()
            && judgment.verdict(round.scope, &call.call) == Verdict::Allow
    })
}

/// Whether the call is expected to change nothing, as far as is known before it runs.
fn changes_nothing(round: &Round<'_>, call: &PreparedCall) -> bool {
    let reads = |effect: &Effect| match effect {
        Effect::Read(_) => true,
        Effect::Execute(execution) => execution.only_reads(),
        Effect::Write(_) | Effect::Network(_) => false,
    };
    let only_reads = |effects: &[Effect]| !effects.is_empty() && effects.iter().all(reads);
    is_reader(round, call) || call.checked.as_ref().is_ok_and(|checked| only_reads(&checked.effects))
}

/// Whether the call cannot affect the others: it only reads files, or is of a read-only tool that runs without a
/// question.
fn is_reader(round: &Round<'_>, call: &PreparedCall) -> bool {
    only_reads(call)
        || call.checked.as_ref().is_ok_and(|checked| {
            checked.tool.is_read_only()
                && Judgment::of(round.scope, &call.call.id, checked).verdict(round.scope, &call.call)
                    == Verdict::Allow
        })
}

fn only_reads(call: &PreparedCall) -> bool {
    call.checked.as_ref().is_ok_and(|checked| checked.only_reads())
}

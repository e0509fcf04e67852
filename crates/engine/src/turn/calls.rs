//! Runs the calls of a reply: neighbors that only read side by side, all others one by one.
use crate::{
    call::{judge::judge, order::Order, prepare, run_call, tool_context::Round},
    journal::JournalError,
    session::{
        context::{Log, SessionContext},
        notes::{Note, Notes},
        ready::{Prepared, Ready},
    },
};
use futures::{StreamExt, stream};
use haft_core::{Effect, Fact, How, ToolCall, ToolError, ToolErrorKind, Verdict};
use std::iter::Peekable;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// More calls than this in one reply are answered, not run.
const MAX_CALLS: usize = 256;
/// Readers that run at the same time.
const MAX_PARALLEL: usize = 16;

/// Ends with a result for each call, also when cancelled.
pub(crate) async fn run_tools(
    log: &mut Log,
    session: &SessionContext,
    calls: Vec<ToolCall>,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let (repeats, channel) = (log.transcript.repeats(), log.transcript.channel().cloned());
    let round = &Round { repeats, channel, message: place_of_reply(log) };
    let mut calls = calls.into_iter().enumerate().peekable();
    let parallel = session.shared.setup.profile.parallel;
    while let Some(batch) = next_batch(session, &mut calls, parallel) {
        attended(log, async |notes| {
            // A call that only reads changes nothing for the others.
            let is_ordered = batch.len() > 1 && !batch.iter().all(|call| is_reader(session, call));
            let turns = Order::turns(batch.len()).map(|turn| is_ordered.then_some(turn));
            let runs = batch.into_iter().zip(turns);
            let runs = runs.map(|(call, turn)| run_call(session, call, round, cancel, notes.clone(), turn));
            stream::iter(runs).buffer_unordered(MAX_PARALLEL).collect::<()>().await;
        })
        .await?;
    }
    Ok(())
}

/// Does `work`, and records what it notes. When the journal fails, it is dropped where it stands: nothing goes on
/// unrecorded.
pub(super) async fn attended<T>(
    log: &mut Log,
    work: impl AsyncFnOnce(Notes) -> T,
) -> Result<T, JournalError> {
    let (notes, noted) = Notes::channel();
    let (working, listening) = (work(notes), listen(log, noted));
    tokio::pin!(working);
    tokio::pin!(listening);
    tokio::select! {
        biased;
        listened = &mut listening => {
            listened?;
            Ok(working.await)
        }
        done = &mut working => {
            listening.await?;
            Ok(done)
        }
    }
}

fn place_of_reply(log: &Log) -> String {
    let made = log.journal.last(|fact| matches!(fact, Fact::Replied { .. } | Fact::Called { .. }));
    made.map(|seq| seq.to_string()).unwrap_or_default()
}

async fn listen(log: &mut Log, mut noted: mpsc::Receiver<Note>) -> Result<(), JournalError> {
    while let Some(note) = noted.recv().await {
        match note {
            Note::Live(update) => log.journal.live(update),
            Note::Fact { fact, durable, recorded } => {
                log.record(*fact)?;
                if durable {
                    log.journal.sync().await?;
                }
                let _call_is_gone = recorded.send(());
            }
        }
    }
    Ok(())
}

fn too_many(call: ToolCall) -> Prepared {
    let error = ToolError::new(
        ToolErrorKind::Validation,
        format!("not run: more than {MAX_CALLS} calls in one reply"),
    );
    Prepared { call, ready: Err(error.hint("make fewer calls at a time")) }
}

/// In the model's order. Neighboring calls that only read share a batch, and run at once; a command that works in a view and
/// may change something there may be the last of them. It does not begin before those that may change what it reads, since
/// it would have to be made again. Any other call has a batch of its own. So has one that is made twice: the second may be
/// answered with the first.
fn next_batch(
    session: &SessionContext,
    calls: &mut Peekable<impl Iterator<Item = (usize, ToolCall)>>,
    parallel: bool,
) -> Option<Vec<Prepared>> {
    // Looked at as late as can be: what one call does to files may change where the next one leads.
    let looked_at = |place, call| if place < MAX_CALLS { prepare(session, call) } else { too_many(call) };
    let (place, call) = calls.next()?;
    let mut batch = vec![looked_at(place, call)];
    // What works elsewhere is never made again, as a call in a view may be.
    let fits = |batch: &[Prepared]| {
        batch.iter().all(|call| is_reader(session, call))
            || batch.iter().all(|call| only_reads(call) || runs_in_view(session, call))
    };
    // A call that is alone, as most are, is not looked at here.
    while parallel
        && let Some((place, call)) = calls.peek().cloned()
        && batch.last().is_some_and(|call| changes_nothing(session, call))
        && fits(&batch)
    {
        let next = looked_at(place, call);
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

fn is_new(call: &Prepared, batch: &[Prepared]) -> bool {
    !batch
        .iter()
        .any(|other| other.call.name == call.call.name && other.call.arguments == call.call.arguments)
}

/// Whether nothing that it does is real or goes on when it has ended, and nobody is asked before it begins.
fn runs_in_view(session: &SessionContext, call: &Prepared) -> bool {
    let lasts = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.lasting);
    call.ready.as_ref().is_ok_and(|ready| {
        let judged = judge(session, &ready.effects);
        judged.how == How::Staged
            && !ready.effects.iter().any(lasts)
            && !judged.reaches_out()
            && judged.now(session, &call.call) == Verdict::Allow
    })
}

/// As far as can be told before it runs.
fn changes_nothing(session: &SessionContext, call: &Prepared) -> bool {
    let reads = |effect: &Effect| match effect {
        Effect::Read(_) => true,
        Effect::Execute(execution) => execution.only_reads(),
        Effect::Write(_) | Effect::Network(_) => false,
    };
    let only_reads = |effects: &[Effect]| !effects.is_empty() && effects.iter().all(reads);
    is_reader(session, call) || call.ready.as_ref().is_ok_and(|ready| only_reads(&ready.effects))
}

/// Whether it changes nothing for the others: a call that reads files, or one of a tool that is said to read only and that
/// runs without a question.
fn is_reader(session: &SessionContext, call: &Prepared) -> bool {
    let is_read_only = |ready: &Ready| {
        ready.tool.is_read_only() && judge(session, &ready.effects).now(session, &call.call) == Verdict::Allow
    };
    only_reads(call) || call.ready.as_ref().is_ok_and(is_read_only)
}

fn only_reads(call: &Prepared) -> bool {
    let reads = |effects: &[Effect]| {
        !effects.is_empty() && effects.iter().all(|effect| matches!(effect, Effect::Read(_)))
    };
    call.ready.as_ref().is_ok_and(|ready| reads(&ready.effects))
}

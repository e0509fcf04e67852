//! [`run`]: further attempts at the goal that a turn did not reach, side by side, of which the first that reaches it is settled.
use super::{calls::attended, recover};
use crate::{
    journal::JournalError,
    session::{
        attempts_refused,
        context::{Log, SessionContext},
    },
};
use futures::{StreamExt, stream};
use haft_call::{
    Attempt, Attempted, CallRun, Recorder, Round, StackedStage, Unrecorded, conflict, merge_left,
};
use haft_core::{
    AttemptEnd, AttemptResult, Budget, Change, Entry, Fact, Goal, MAX_ATTEMPTS, Outcome, Part, Seq, ToolCall,
    ToolError, ToolErrorKind, ToolOutput, ToolResult, Tracking, active_path, changed,
    progress::{Progress, progress},
    undo,
};
use serde_json::json;
use std::{num::NonZero, sync::Arc, thread, time::Instant};
use tokio_util::sync::CancellationToken;

/// The call that stands for all attempts. It is no tool.
const CALL_NAME: &str = "attempts";

/// What each attempt is told, so that they differ where a model takes no sampling settings. From the second attempt on.
const ADVICE: [&str; 5] = [
    "Begin by reading what the check runs, and find out why it fails before you change anything.",
    "Look for the smallest change that can reach the goal.",
    "Do not take the way of the first attempt: look for the cause in another place.",
    "Think of two ways to reach the goal, and take the one that is not the obvious one.",
    "Go through the goal word by word, and look for what the first attempt left out.",
];

/// Records that other attempts begin, if the goal asks for some and a turn that would end with `outcome` did not reach it.
pub(super) fn begin(log: &mut Log, session: &SessionContext, outcome: Outcome) -> Result<bool, JournalError> {
    let is_missed = matches!(outcome, Outcome::Stuck | Outcome::RoundLimit | Outcome::Repeating);
    let attempts = log.transcript.goal().and_then(|open| open.goal.attempts).unwrap_or_default();
    if !is_missed || attempts < 2 || log.transcript.has_attempted() || log.transcript.is_planning() {
        return Ok(false);
    }
    if let Some(why) = attempts_refused(&*session.calls.stage, &session.calls.workspace) {
        tracing::warn!(why, "no further attempts are made");
        return Ok(false);
    }
    let id = format!("{CALL_NAME}_{}", log.journal.entries().len());
    let made = ToolCall::new(id, CALL_NAME, json!({"count": attempts.min(MAX_ATTEMPTS) - 1}));
    log.record(Fact::AttemptsBegun { made })?;
    Ok(true)
}

/// Whether the attempts that have ended left a winner, whose files are real.
pub(super) fn have_won(log: &Log) -> bool {
    let entries = log.journal.entries();
    let mut ended = entries.iter().rev().filter_map(|entry| match &entry.fact {
        Fact::ToolEnded { name, result, .. } if name == CALL_NAME => Some(result.is_ok()),
        _ => None,
    });
    ended.next().unwrap_or_default()
}

/// Makes the attempts of `call`, settles what the first one changed that reaches the goal, and records the end of the call.
pub(super) async fn run(
    log: &mut Log,
    session: &SessionContext,
    call: ToolCall,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let Some(goal) = log.transcript.goal().map(|open| Goal { attempts: None, ..(*open.goal).clone() }) else {
        return recover::end_open_calls(log, session, "not run: the goal was given up");
    };
    let entries = log.journal.entries();
    let kit = session.toolbox.kit();
    attended(log, async |recorder| {
        let (scope, tools, began) = (&session.calls, &kit.tools, Instant::now());
        let (channel, message) = (None, String::new());
        let recording = recorder.clone();
        let round = Round { scope, tools, repeats: 0, channel, message, parallel: false, recorder, cancel };
        let budget = session.limits.budget.share(&session.budget.spent(), u64::from(last_of(&call)) - 1);
        let start = Start { base: base(session, &entries).await, goal, told: told(&entries), budget };
        let race = Race { session, run: CallRun::new(&round, call.clone()), recorder: recording, cancel };
        let Ok(result) = race.result(&call, &start).await else { return };
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let ended = Fact::ToolEnded { call: call.id, name: call.name, result, duration_ms };
        let _journal_failed = round.recorder.record(ended).await;
    })
    .await
}

/// What all attempts begin with.
struct Start {
    /// From the workspace as it is to the files as they were before the turn.
    base: Vec<Change>,
    goal: Goal,
    /// The prompt of the turn, and what the first attempt came to.
    told: Vec<Part>,
    /// What each may spend.
    budget: Budget,
}

/// Attempts of one call, side by side.
struct Race<'a> {
    session: &'a SessionContext,
    run: CallRun<'a>,
    recorder: Recorder,
    cancel: &'a CancellationToken,
}

/// An attempt that reached the goal first.
struct Winner {
    number: u32,
    stage: Arc<StackedStage>,
}

impl Race<'_> {
    async fn result(&self, call: &ToolCall, start: &Start) -> Result<ToolResult, Unrecorded> {
        let last = last_of(call);
        let (name, how) = (call.name.clone(), Tracking::Staged);
        let (id, arguments, reads) = (call.id.clone(), call.arguments.clone(), Vec::new());
        let started = Fact::ToolStarted { call: id, name, arguments, how, outside: false, reads };
        self.recorder.record(started).await?;
        let worded = |result| self.session.calls.rules.render.result(call, result);
        Ok(match self.winner(call, start, last).await? {
            Some(winner) => self.settle(winner, last, worded).await,
            None if self.cancel.is_cancelled() => worded(Err(failed("the attempts were interrupted"))),
            None => worded(Err(failed(format!("none of the attempts 2 to {last} reached the goal")))),
        })
    }

    /// Makes the attempts up to the number `last`, until one of them reaches the goal.
    async fn winner(&self, call: &ToolCall, start: &Start, last: u32) -> Result<Option<Winner>, Unrecorded> {
        let stop = self.cancel.child_token();
        let attempts = (2..=last).map(|number| self.attempt(start, number, last, &stop));
        let mut attempts = stream::iter(attempts).buffer_unordered(at_once(self.session));
        let mut winner = None;
        while let Some(ended) = attempts.next().await {
            let Some((number, stage, attempted)) = ended else { continue };
            let wins = winner.is_none() && !self.cancel.is_cancelled() && attempted.is_reached;
            let is_stopped = stop.is_cancelled();
            if wins {
                stop.cancel();
                winner = Some(Winner { number, stage: stage.clone() });
            }
            let (result, why) = match (wins, is_stopped) {
                (true, _) => (AttemptResult::Won, None),
                (false, true) => {
                    (AttemptResult::Stopped, Some("it was ended before it came to an end".to_owned()))
                }
                (false, false) => (AttemptResult::Missed, Some(attempted.why)),
            };
            let Attempted { session, usage, cost_usd, .. } = attempted;
            let files = tokio::task::spawn_blocking(move || stage.files()).await.unwrap_or_default();
            let call = call.id.clone();
            let end = AttemptEnd { call, number, session, result, why, usage, cost_usd, files };
            self.recorder.record(Fact::AttemptEnded(end)).await?;
        }
        Ok(winner)
    }

    /// `None` if it was not begun.
    async fn attempt(
        &self,
        start: &Start,
        number: u32,
        last: u32,
        stop: &CancellationToken,
    ) -> Option<(u32, Arc<StackedStage>, Attempted)> {
        if stop.is_cancelled() {
            return None;
        }
        let stage = Arc::new(StackedStage::new(self.session.calls.stage.clone(), start.base.clone()));
        let advice = ADVICE[(number as usize - 2) % ADVICE.len()];
        let text = format!("\n\n[Attempt {number} of {last}] {advice}");
        let prompt = start.told.iter().cloned().chain([Part::text(text)]).collect();
        let (goal, stop) = (start.goal.clone(), stop.clone());
        let attempt = Attempt { number, goal, prompt, stage: stage.clone(), budget: start.budget, stop };
        match self.run.attempt(attempt).await {
            Ok(attempted) => Some((number, stage, attempted)),
            Err(error) => {
                tracing::warn!(number, ?error, "an attempt could not begin");
                None
            }
        }
    }

    /// Makes what the winner changed real, as the changes of one call; nothing of it, if a file was changed meanwhile.
    async fn settle(
        &self,
        Winner { number, stage }: Winner,
        last: u32,
        worded: impl Fn(Result<ToolOutput, ToolError>) -> ToolResult,
    ) -> ToolResult {
        let scope = &self.session.calls;
        match scope.conflicts(&stage.changes()).await {
            Ok(conflicts) if conflicts.is_empty() => {}
            Ok(conflicts) => return worded(Err(conflict(&conflicts))),
            Err(error) => return worded(Err(failed(format!("the files cannot be compared: {error}")))),
        }
        let text = format!(
            "[Attempt {number} of {last} reached the goal] It began from the files as they were before your work, and its \
             files are now in the place of yours. Read files again before you rely on them."
        );
        let won = worded(Ok(ToolOutput::text(text).details(json!({"attempt": number}))));
        self.run.settle_task(won, stage.as_view(&scope.workspace)).await
    }
}

/// The number of the last attempt.
fn last_of(call: &ToolCall) -> u32 {
    let count = call.arguments["count"].as_u64().and_then(|count| u32::try_from(count).ok());
    count.unwrap_or_default().clamp(1, u32::from(MAX_ATTEMPTS) - 1) + 1
}

fn failed(why: impl Into<String>) -> ToolError {
    ToolError::new(ToolErrorKind::User, why.into())
}

/// As many as there are cores, but two at least: attempts mostly wait for their models. No more than subagents would.
fn at_once(session: &SessionContext) -> usize {
    let cores = thread::available_parallelism().map_or(2, NonZero::get).max(2);
    cores.min(session.shared.setup.profile.delegation.at_once.max(1))
}

/// The changes that lead from the workspace as it is to the files as they were before the turn. What a person changed since
/// stays.
async fn base(session: &SessionContext, entries: &[Arc<Entry>]) -> Vec<Change> {
    let steps = undo::back_to(entries, before_turn(entries)).changes;
    let whole: Vec<Change> =
        changed::squash(&steps).into_iter().filter(|step| step.path.is_relative()).collect();
    let left = session.calls.conflicts(&whole).await.unwrap_or_else(|_| changed::paths(&whole));
    let (stage, workspace) = (session.calls.stage.clone(), session.calls.workspace.clone());
    let merging = move || {
        let merged = merge_left(&*stage, &workspace, &whole, &left);
        let others = whole.into_iter().filter(|step| !left.contains(&step.path));
        others.chain(merged).collect()
    };
    tokio::task::spawn_blocking(merging).await.unwrap_or_default()
}

/// The last entry before the turn that is open.
fn before_turn(entries: &[Arc<Entry>]) -> Seq {
    let path = active_path(entries);
    let ends = |entry: &&Arc<Entry>| matches!(entry.fact, Fact::TurnEnded { .. } | Fact::Rewound { .. });
    path.iter().rev().find(|entry| ends(entry)).or(path.first()).map_or(Seq(0), |entry| entry.seq)
}

/// The prompt of the turn, and what its own attempt came to.
fn told(entries: &[Arc<Entry>]) -> Vec<Part> {
    let path = active_path(entries);
    let before = before_turn(entries);
    let mut said = path.iter().filter(|entry| entry.seq > before).filter_map(|entry| match &entry.fact {
        Fact::Prompted { parts, .. } => Some(parts),
        _ => None,
    });
    let prompt = said.next().cloned().unwrap_or_default();
    let (why, printed) = match progress(&path) {
        Some(Progress::Missed(missed)) => (missed.why, missed.printed),
        Some(Progress::Reached { .. }) | None => (last_missed(&path), String::new()),
    };
    let printed = if printed.is_empty() { String::new() } else { format!("\n\n{printed}") };
    let text = format!(
        "\n\n[An earlier attempt did not reach the goal] {why}. What it changed is not here: the files are as they were before it. \
         Between two of your calls, what is written to `/tmp`, and what a build leaves in ignored folders, is dropped.{printed}"
    );
    prompt.into_iter().chain([Part::text(text)]).collect()
}

fn last_missed(path: &[&Arc<Entry>]) -> String {
    let missed = path.iter().rev().find_map(|entry| match &entry.fact {
        Fact::GoalMissed { why, .. } => Some(why.clone()),
        _ => None,
    });
    missed.unwrap_or_else(|| "It ended before the check of the goal ran again".to_owned())
}

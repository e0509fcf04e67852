//! [`run`]: runs further attempts at the goal that a turn did not reach, concurrently. Settles the first attempt that
//! reaches it, or the one that the user chooses.
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
    Asker, Attempt, Attempted, CallRun, Recorder, Round, StackedStage, Unrecorded, conflict, merge_left,
};
use haft_core::{
    AttemptEnd, AttemptResult, AttemptedFile, Budget, CallId, Change, Entry, Fact, Goal, MAX_ATTEMPTS,
    Outcome, Part, Question, Seq, SessionId, ToolCall, ToolError, ToolErrorKind, ToolOutput, ToolResult,
    Tracking, active_path, changed,
    progress::{Progress, progress},
    undo,
};
use serde_json::json;
use std::{num::NonZero, sync::Arc, thread, time::Instant};
use tokio_util::sync::CancellationToken;

/// The name of the call that represents all attempts. It is not a tool.
const CALL_NAME: &str = "attempts";

/// The beginning of the last paragraph of an attempt's prompt.
pub const ATTEMPT_MARK: &str = "[Attempt ";

/// Advice for each attempt from the second one on, so that attempts differ even if the model takes no sampling
/// settings.
const ADVICE: [&str; 5] = [
    "Begin by reading what the check runs, and find out why it fails before you change anything.",
    "Look for the smallest change that can reach the goal.",
    "Do not take the way of the first attempt: look for the cause in another place.",
    "Think of two ways to reach the goal, and take the one that is not the obvious one.",
    "Go through the goal word by word, and look for what the first attempt left out.",
];

/// Records that other attempts begin, if the goal has further attempts and the turn, which would end with `outcome`,
/// did not reach it.
pub(super) fn begin(log: &mut Log, session: &SessionContext, outcome: Outcome) -> Result<bool, JournalError> {
    let Some(goal) = log.transcript.goal().map(|open| &open.goal) else { return Ok(false) };
    // In a replay, a turn that ended at a limit fails, because no further reply was recorded.
    let is_over = goal.only.is_some() && outcome == Outcome::Failed;
    let is_missed = is_over || matches!(outcome, Outcome::Stuck | Outcome::RoundLimit | Outcome::Repeating);
    let attempts = goal.attempts.unwrap_or_default();
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

/// Whether one of the ended attempts won, so that its files are settled.
pub(super) fn have_won(log: &Log) -> bool {
    let entries = log.journal.entries();
    let mut ended = entries.iter().rev().filter_map(|entry| match &entry.fact {
        Fact::ToolEnded { name, result, .. } if name == CALL_NAME => Some(result.is_ok()),
        _ => None,
    });
    ended.next().unwrap_or_default()
}

/// Runs the attempts of `call`, settles the changes of the winner, and records the end of the call.
pub(super) async fn run(
    log: &mut Log,
    session: &SessionContext,
    call: ToolCall,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let Some(goal) = log.transcript.goal().map(|open| Goal { attempts: None, ..(*open.goal).clone() }) else {
        return recover::end_open_calls(log, session, "the goal was given up");
    };
    let entries = log.journal.entries();
    let kit = session.toolbox.kit();
    attended(log, async |recorder| {
        let (scope, tools, began) = (&session.calls, &kit.tools, Instant::now());
        let (channel, message) = (None, String::new());
        let recording = recorder.clone();
        let round = Round { scope, tools, repeats: 0, channel, message, parallel: false, recorder, cancel };
        let budget = session.limits.budget.share(&session.budget.spent(), u64::from(last_of(&call)) - 1);
        let (base, told) = (base(session, &entries).await, told(&entries));
        let start = Start { base, goal, told, budget, known: known(&entries, &call.id) };
        let race = Race { session, run: CallRun::new(&round, call.clone()), recorder: recording, cancel };
        let Ok(result) = race.result(&call, &start).await else { return };
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let ended = Fact::ToolEnded { call: call.id, name: call.name, result, duration_ms };
        let _journal_failed = round.recorder.record(ended).await;
    })
    .await
}

/// The common start of all attempts.
struct Start {
    /// Changes from the current workspace to the files before the turn.
    base: Vec<Change>,
    goal: Goal,
    /// The prompt of the turn, and the result of the first attempt.
    told: Vec<Part>,
    /// The budget of each attempt.
    budget: Budget,
    /// The attempts of this call that had ended before a crash.
    known: Vec<AttemptEnd>,
}

/// The concurrent attempts of one call.
struct Race<'a> {
    session: &'a SessionContext,
    run: CallRun<'a>,
    recorder: Recorder,
    cancel: &'a CancellationToken,
}

/// An attempt that reached the goal.
struct Winner {
    number: u32,
    session: SessionId,
    stage: Arc<StackedStage>,
    files: Vec<AttemptedFile>,
}

/// The first choice in the question which attempt to take: the files of the first attempt stay in the workspace.
const NONE: &str = "none of them: the files stay as they are";

impl Winner {
    /// The choice as the user sees it.
    fn choice(&self) -> String {
        let (added, removed) = self
            .files
            .iter()
            .fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
        let plural = if self.files.len() == 1 { "" } else { "s" };
        format!("attempt {} ({} file{plural}, +{added} -{removed})", self.number, self.files.len())
    }
}

/// The result of choosing an attempt.
enum Taken {
    Attempt(Winner),
    /// No attempt reached the goal.
    Missed,
    /// The user rejected all attempts that reached the goal.
    Refused,
}

impl Race<'_> {
    async fn result(&self, call: &ToolCall, start: &Start) -> Result<ToolResult, Unrecorded> {
        let last = last_of(call);
        let (name, how) = (call.name.clone(), Tracking::Staged);
        let (id, arguments, reads) = (call.id.clone(), call.arguments.clone(), Vec::new());
        let started = Fact::ToolStarted { call: id, name, arguments, how, outside: false, reads };
        self.recorder.record(started).await?;
        let worded = |result| self.session.calls.rules.render.result(call, result);
        let passed = self.passed(call, start, last).await?;
        Ok(match self.taken(call, passed, last).await {
            Taken::Attempt(winner) => self.settle(winner, last, worded).await,
            _ if self.cancel.is_cancelled() => worded(Err(failed("the attempts were interrupted"))),
            Taken::Refused => {
                worded(Err(failed("the user chose none of the attempts that reached the goal")))
            }
            Taken::Missed => {
                worded(Err(failed(format!("none of the attempts 2 to {last} reached the goal"))))
            }
        })
    }

    /// Returns the only attempt that reached the goal, or the one that the user chooses; without an answer, the one
    /// with the lowest number.
    async fn taken(&self, call: &ToolCall, mut passed: Vec<Winner>, last: u32) -> Taken {
        if passed.len() < 2 {
            return passed.pop().map_or(Taken::Missed, Taken::Attempt);
        }
        passed.sort_by_key(|winner| winner.number);
        // The position of an attempt in the list is its number.
        let others = (2..=last).map(|number| {
            let winner = passed.iter().find(|winner| winner.number == number);
            winner.map_or_else(|| format!("attempt {number}, which did not reach the goal"), Winner::choice)
        });
        let choices = [NONE.to_owned()].into_iter().chain(others).collect();
        let numbers: Vec<String> = passed.iter().map(|winner| winner.number.to_string()).collect();
        let question = Question {
            text: format!(
                "{} attempts reached the goal. Which one is taken? `haft attempts diff {}` shows how they differ.",
                passed.len(),
                numbers[..2].join(" "),
            ),
            choices,
            draft: None,
        };
        let interactions = self.session.calls.interactions.clone();
        let asker = Asker::new(call.id.clone(), interactions, self.recorder.downgrade());
        let answer = asker.ask_unless(question, self.cancel.cancelled()).await.answer;
        if self.cancel.is_cancelled() {
            return Taken::Refused;
        }
        let chosen = match answer.as_deref().map(str::trim) {
            None => Some(0),
            Some(answer) => {
                let number = answer.trim_start_matches("attempt ");
                passed
                    .iter()
                    .position(|winner| winner.choice() == answer || winner.number.to_string() == number)
            }
        };
        chosen.map_or(Taken::Refused, |place| Taken::Attempt(passed.swap_remove(place)))
    }

    /// Runs the attempts up to the number `last` that have not ended yet, until one of them reaches the goal, or all of
    /// them if the user chooses. Returns those that reach the goal, in the order of their ends.
    async fn passed(&self, call: &ToolCall, start: &Start, last: u32) -> Result<Vec<Winner>, Unrecorded> {
        let stop = self.cancel.child_token();
        let choose = start.goal.choose;
        // Older journals do not contain the files of an attempt.
        let is_kept = |end: &&AttemptEnd| end.result.is_reached() && !end.changes.is_empty();
        let mut passed: Vec<Winner> = start.known.iter().filter(is_kept).map(|end| self.known(end)).collect();
        if !choose && !passed.is_empty() {
            passed.truncate(1);
            return Ok(passed);
        }
        let is_due = |number: &u32| {
            let mut ended = start.known.iter().filter(|end| end.number == *number);
            let is_over = ended.any(|end| end.result == AttemptResult::Missed || is_kept(&end));
            !is_over && start.goal.only.is_none_or(|only| u32::from(only) == *number)
        };
        let attempts = (2..=last).filter(is_due).map(|number| self.attempt(start, number, last, &stop));
        let mut attempts = stream::iter(attempts).buffer_unordered(at_once(self.session));
        while let Some(ended) = attempts.next().await {
            let Some((number, stage, attempted)) = ended else { continue };
            let wins = attempted.is_reached && !self.cancel.is_cancelled() && (choose || passed.is_empty());
            let is_stopped = stop.is_cancelled();
            if wins && !choose {
                stop.cancel();
            }
            let (result, why) = match (wins, is_stopped) {
                (true, _) if choose => (AttemptResult::Passed, None),
                (true, _) => (AttemptResult::Won, None),
                (false, true) => {
                    (AttemptResult::Stopped, Some("it was ended before it came to an end".to_owned()))
                }
                (false, false) => (AttemptResult::Missed, Some(attempted.why)),
            };
            let Attempted { session, usage, cost_usd, .. } = attempted;
            let (of, changes) = (stage.clone(), stage.changes());
            let files = tokio::task::spawn_blocking(move || of.files()).await.unwrap_or_default();
            if wins {
                passed.push(Winner { number, session: session.clone(), stage, files: files.clone() });
            }
            let call = call.id.clone();
            let end = AttemptEnd { call, number, session, result, why, usage, cost_usd, files, changes };
            self.recorder.record(Fact::AttemptEnded(end)).await?;
        }
        Ok(passed)
    }

    fn known(&self, end: &AttemptEnd) -> Winner {
        let stage = StackedStage::new(self.session.calls.stage.clone(), end.changes.clone());
        Winner {
            number: end.number,
            session: end.session.clone(),
            stage: Arc::new(stage),
            files: end.files.clone(),
        }
    }

    /// Runs one attempt; `None` if it was not begun.
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
        let text = format!("\n\n{ATTEMPT_MARK}{number} of {last}] {advice}");
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

    /// Settles the changes of the winner as the changes of one call; none of them if a file was changed meanwhile.
    async fn settle(
        &self,
        Winner { number, session, stage, files: _ }: Winner,
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
        let won = worded(Ok(ToolOutput::text(text).details(json!({"attempt": number, "session": session}))));
        self.run.settle_task(won, stage.as_view(&scope.workspace)).await
    }
}

/// The number of the last attempt.
fn last_of(call: &ToolCall) -> u32 {
    let count = call.arguments["count"].as_u64().and_then(|count| u32::try_from(count).ok());
    count.unwrap_or_default().clamp(1, u32::from(MAX_ATTEMPTS) - 1) + 1
}

/// The ends of attempts of `call` that are already recorded.
fn known(entries: &[Arc<Entry>], call: &CallId) -> Vec<AttemptEnd> {
    let ended = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::AttemptEnded(end) if end.call == *call => Some(end.clone()),
        _ => None,
    });
    ended.collect()
}

fn failed(why: impl Into<String>) -> ToolError {
    ToolError::new(ToolErrorKind::User, why.into())
}

/// The number of attempts that run at once: one per core, at least two, since attempts mostly wait for their models,
/// and at most as many as subagents.
fn at_once(session: &SessionContext) -> usize {
    let cores = thread::available_parallelism().map_or(2, NonZero::get).max(2);
    cores.min(session.shared.setup.profile.delegation.at_once.max(1))
}

/// The changes from the current workspace to the files before the turn. Changes by the user since then stay.
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

/// The last entry before the open turn.
fn before_turn(entries: &[Arc<Entry>]) -> Seq {
    let path = active_path(entries);
    let ends = |entry: &&Arc<Entry>| matches!(entry.fact, Fact::TurnEnded { .. } | Fact::Rewound { .. });
    path.iter().rev().find(|entry| ends(entry)).or(path.first()).map_or(Seq(0), |entry| entry.seq)
}

/// The prompt of the turn, and the result of the turn's own attempt.
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

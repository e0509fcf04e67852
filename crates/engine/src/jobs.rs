//! [`run_job`]: runs a job from its first prompt to its conclusion.
//!
//! The caller decides how a turn is shown; this module decides when a job is done. A job succeeds if its agent's last
//! turn ended by itself *and* the journal contains the call that the agent must make.
use crate::{
    session::Session,
    setup::{Agent, Setup},
};
use haft_core::{
    Changed, Channel, Command, Conclusion, Entry, Fact, JobSpec, JobStatus, Outcome, Part, RemainingWork,
    Report, ToolResult, Tracking, active_path, text_of,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs the turns of a job and shows them.
pub trait Turns {
    /// The error if a turn cannot be run at all.
    type Error;
    /// Carries out a command and returns the outcome of the turn that it opens.
    fn turn(&mut self, command: Command) -> impl Future<Output = Result<Outcome, Self::Error>> + Send;
}

/// Works on the job of `session` until it ends, and records its conclusion. An unfinished job continues where it
/// stopped. The tools of `setup` resolve the tool names that a model wrote.
pub async fn run_job<T: Turns>(
    setup: &Setup,
    session: &Session,
    agent: &Agent,
    order: &JobSpec,
    turns: &mut T,
) -> Result<Conclusion, T::Error> {
    let check = Check { agent, setup };
    let mut outcome = match ended_before(&session.entries()) {
        Some(outcome) => outcome,
        None => turns.turn(opening(&session.entries(), agent, order)).await?,
    };
    let mut is_reminded = false;
    while outcome == Outcome::Finished {
        let Some(lack) = check.lack(&session.entries()) else { break };
        let finishing = finishing(agent, order).filter(|_| lack.can_be_finished);
        let command = match finishing {
            Some(call) => call,
            None if !std::mem::replace(&mut is_reminded, true) => reminder(&lack.why),
            None => break,
        };
        outcome = turns.turn(command).await?;
    }
    let mut conclusion = check.conclude(&session.entries(), outcome);
    // A failed journal records nothing more, but the failure can still be returned.
    if let Some(failure) = session.journal().failure().filter(|_| outcome == Outcome::Failed) {
        conclusion.reason = failure.to_owned();
    }
    record(session, conclusion.clone()).await;
    Ok(conclusion)
}

/// Records the conclusion. Returns when it is in the journal, or the journal is closed.
pub async fn record(session: &Session, conclusion: Conclusion) {
    session.start(Command::Conclude(conclusion)).report().await;
}

/// The outcome of the last turn, if the process ended before it recorded the job's conclusion.
fn ended_before(entries: &[Arc<Entry>]) -> Option<Outcome> {
    match active_path(entries).last().map(|entry| &entry.fact) {
        Some(Fact::TurnEnded { outcome: Outcome::Failed | Outcome::Interrupted, .. }) => None,
        Some(Fact::TurnEnded { outcome, .. }) => Some(*outcome),
        _ => None,
    }
}

/// The first prompt of the job, or the command that continues it.
fn opening(entries: &[Arc<Entry>], agent: &Agent, order: &JobSpec) -> Command {
    let path = active_path(entries);
    let has_begun = path.iter().any(|entry| matches!(entry.fact, Fact::Prompted { .. }));
    let last = path.iter().rev().map(|entry| &entry.fact).find(|fact| !matches!(fact, Fact::JobFinished(_)));
    match (has_begun, last) {
        (false, _) => Command::Prompt { parts: agent.opening(order), channel: None },
        (true, Some(Fact::TurnEnded { outcome, .. })) if *outcome != Outcome::Failed => prompt(
            "Try again: the job is not done. Look at what is there first, then do what is missing.".into(),
        ),
        (true, _) => Command::Continue,
    }
}

/// The call that ends a job, made in place of the model.
fn finishing(agent: &Agent, order: &JobSpec) -> Option<Command> {
    let name = agent.done.clone().filter(|_| agent.finish)?;
    let title = order.description.lines().next().unwrap_or_default();
    Some(Command::Call { name, arguments: json!({"title": title}) })
}

fn reminder(why: &str) -> Command {
    let text = format!("The job is not done: {why}. Do what is missing, or say why it cannot be done.");
    Command::Prompt { parts: vec![Part::text(text)], channel: Some(Channel::reminder()) }
}

fn prompt(text: String) -> Command {
    Command::Prompt { parts: vec![Part::text(text)], channel: None }
}

fn why(entries: &[Arc<Entry>], outcome: Outcome) -> String {
    let failure = last_turn(entries).iter().rev().find_map(|entry| match &entry.fact {
        Fact::ModelFailed { message, .. } => Some(message.clone()),
        Fact::PromptDenied { reason, .. } => Some(format!("the prompt was refused: {reason}")),
        _ => None,
    });
    let told = match outcome {
        Outcome::Failed | Outcome::Refused => failure,
        Outcome::RoundLimit => {
            let worded = last_turn(entries).iter().rev().find_map(|entry| match &entry.fact {
                Fact::RoundsReached { reason, .. } => reason.clone(),
                _ => None,
            });
            let left = || RemainingWork::of(&active_path(entries)).sentence();
            worded.or_else(|| Some(format!("{}; {}", outcome.reason()?, left()?)))
        }
        _ => None,
    };
    told.or(outcome.reason().map(str::to_owned)).unwrap_or_default()
}

/// The entries of the last turn: reasons for a failure in earlier turns do not count.
fn last_turn(entries: &[Arc<Entry>]) -> &[Arc<Entry>] {
    let is_end = |entry: &&Arc<Entry>| matches!(entry.fact, Fact::TurnEnded { .. });
    let ends: Vec<usize> =
        entries.iter().enumerate().filter(|(_, entry)| is_end(entry)).map(|(place, _)| place).collect();
    let before = ends.len().checked_sub(2).map_or(0, |before| ends[before] + 1);
    &entries[before..]
}

/// Checks whether a job is done, by its agent and the engine's setup.
struct Check<'a> {
    agent: &'a Agent,
    setup: &'a Setup,
}

impl Check<'_> {
    fn conclude(&self, entries: &[Arc<Entry>], outcome: Outcome) -> Conclusion {
        let (status, reason) = match (outcome, self.lack(entries)) {
            (Outcome::Finished, None) => (JobStatus::Completed, last_words(entries) + &self.missing(entries)),
            (Outcome::Finished, Some(lack)) => (JobStatus::Failed, lack.why),
            (Outcome::Interrupted, _) => (JobStatus::Cancelled, "stopped by a person".to_owned()),
            (outcome, _) => (JobStatus::Failed, why(entries, outcome)),
        };
        Conclusion { status, reason, evidence: self.evidence(entries) }
    }

    /// What the call that ended the job could not do, as a sentence.
    fn missing(&self, entries: &[Arc<Entry>]) -> String {
        let path = active_path(entries);
        let last = self.finished(&path).last().and_then(ToolResult::report);
        let missing = match last {
            Some(Report::Delivery(delivery)) => delivery.missing,
            _ => None,
        };
        missing.map(|missing| format!(" {missing}")).unwrap_or_default()
    }

    fn lack(&self, entries: &[Arc<Entry>]) -> Option<Lack> {
        let path = active_path(entries);
        if let Some(why) = self.agent.proof.as_deref().and_then(|proof| unproven(&path, &self.named(proof))) {
            return Some(Lack { why, can_be_finished: false });
        }
        // A job that works on a branch delivers code, so failing tests count.
        if let Some(why) = self.agent.work_tree.then(|| self.failing_tests(&path)).flatten() {
            return Some(Lack { why, can_be_finished: false });
        }
        let done = self.agent.done.as_deref()?;
        let is_done = self.named(done);
        // Only calls after the last change count.
        let since = last_change(&path).map_or(0, |last| last + 1);
        let calls = || path[since..].iter().filter_map(|entry| ended(&entry.fact, &is_done));
        if calls().any(ToolResult::is_ok) {
            return None;
        }
        // After a retry, the call is made again: the obstacle may be gone.
        let retried = path.iter().rposition(|entry| matches!(entry.fact, Fact::JobFinished(_)));
        let tried = &path[since.max(retried.unwrap_or_default())..];
        let refusal = tried.iter().filter_map(|entry| ended(&entry.fact, &is_done)).next_back();
        let message = refusal.and_then(|result| result.error.as_ref()).map(|error| error.message.as_str());
        let why =
            format!("there is no `{done}` that succeeded: {}", message.unwrap_or("it was never called"));
        Some(Lack { why, can_be_finished: refusal.is_none() })
    }

    fn failing_tests(&self, path: &[&Arc<Entry>]) -> Option<String> {
        let failing = self.setup.evidence.failing_tests(path);
        let names = failing.iter().take(MAX_NAMED_TESTS).cloned().collect::<Vec<_>>().join(", ");
        let more = failing.len().saturating_sub(MAX_NAMED_TESTS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!failing.is_empty()).then(|| format!("the last run of the tests failed: {names}{more}"))
    }

    fn evidence(&self, entries: &[Arc<Entry>]) -> Vec<Value> {
        let path = active_path(entries);
        self.finished(&path).into_iter().map(|result| result.details).collect()
    }

    /// The results of the successful calls that ended the job.
    fn finished(&self, path: &[&Arc<Entry>]) -> Vec<ToolResult> {
        let Some(done) = self.agent.done.as_deref() else { return Vec::new() };
        let is_done = self.named(done);
        let results = path.iter().filter_map(|entry| ended(&entry.fact, &is_done));
        results.filter(|result| result.is_ok()).cloned().collect()
    }

    /// Returns whether a name that a model wrote means this tool: models use other cases and the names of other
    /// products.
    fn named(&self, tool: &str) -> impl Fn(&str) -> bool {
        move |name| {
            name == tool || self.setup.tools.get(name).is_some_and(|found| found.tool.spec().name == tool)
        }
    }
}

/// What is missing in the journal for the job to be done.
struct Lack {
    why: String,
    /// Whether only the call that ends the job is missing, and was not made in place of the model yet.
    can_be_finished: bool,
}

/// Maximum failing tests that are named; the rest are counted.
const MAX_NAMED_TESTS: usize = 3;

/// Says why the proof is missing. A run must have shown the fault, and a run after the last change must show that it is
/// fixed.
fn unproven(path: &[&Arc<Entry>], is_proof: &dyn Fn(&str) -> bool) -> Option<String> {
    let run = |entry: &&Arc<Entry>| ended(&entry.fact, is_proof).and_then(verdict);
    let Some(failing) = path.iter().position(|entry| run(entry) == Some(false)) else {
        return Some("no run of the tests ever showed the fault".into());
    };
    let gone = || Some("no run of the tests after the last change shows that the fault is gone".to_owned());
    let Some(passing) = path.iter().rposition(|entry| run(entry) == Some(true)).filter(|at| *at > failing)
    else {
        return gone();
    };
    if last_change(path).is_some_and(|last| last > passing) {
        return gone();
    }
    // A command may have changed files, too.
    let ran = |entry: &&Arc<Entry>| matches!(&entry.fact, Fact::ToolStarted { name, how: Tracking::Untracked, .. } if !is_proof(name));
    let between = &path[failing..passing];
    let is_changed = !Changed::of(between.iter().map(|entry| &entry.fact)).is_empty();
    (!is_changed && !between.iter().any(ran))
        .then(|| "nothing was changed between the run that failed and the one that did not".into())
}

/// The position of the last effective change.
fn last_change(path: &[&Arc<Entry>]) -> Option<usize> {
    (0..path.len()).rev().find(|place| is_change(&path[*place..]))
}

/// Whether `path` begins with a change that was settled for at least one file.
fn is_change(path: &[&Arc<Entry>]) -> bool {
    let Some(Fact::Staged { call, changes, .. } | Fact::SubagentChanged { call, changes, .. }) =
        path.first().map(|entry| &entry.fact)
    else {
        return false;
    };
    let round = path.iter().map(|entry| &entry.fact).take_while(|fact| !matches!(fact, Fact::Replied { .. }));
    let left = round.filter_map(|fact| match fact {
        Fact::Unsettled { call: other, paths } if other == call => Some(paths),
        _ => None,
    });
    let left: Vec<_> = left.flatten().collect();
    changes.iter().any(|change| !left.contains(&&change.path))
}

/// Whether the tests that a call ran passed; `None` if the call failed. A test run with failing tests is a successful
/// call.
fn verdict(result: &ToolResult) -> Option<bool> {
    match result.report() {
        Some(Report::Tests(run)) if result.is_ok() => Some(run.ok),
        _ => None,
    }
}

fn ended<'a>(fact: &'a Fact, is_it: &dyn Fn(&str) -> bool) -> Option<&'a ToolResult> {
    match fact {
        Fact::ToolEnded { name, result, .. } if is_it(name) => Some(result),
        _ => None,
    }
}

/// The first paragraph of the model's last text.
fn last_words(entries: &[Arc<Entry>]) -> String {
    let said = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::Replied { parts, .. } => Some(text_of(parts)).filter(|text| !text.trim().is_empty()),
        _ => None,
    });
    said.unwrap_or_default().trim().split("\n\n").next().unwrap_or_default().to_owned()
}

//! [`progress`]: computes from the journal how far a session is on the way to its goal. [`OpenGoal`]: the goal of a
//! session.
use super::goal::Goal;
use crate::{CallId, Changed, Entry, Fact, Report, Seq, ToolCall, ToolResult, Tracking, active_path};
use std::{collections::HashMap, sync::Arc};

/// The model is stuck after this many consecutive checks that fail like the check before, with no change and no prompt
/// in between.
const MAX_UNCHANGED_CHECKS: u32 = 3;
/// The model is stuck after this many consecutive checks that could not be run.
const MAX_CHECKS_NOT_RUN: u32 = 2;

/// How far a session is on the way to its goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The check failed, files were changed, and the check succeeds.
    Reached {
        /// The end of the run that failed.
        red: Seq,
        /// The end of the run that succeeded, after the last change.
        green: Seq,
    },
    /// Something is missing.
    Missed(Missed),
}

/// What is missing, after a run of the check by Haft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// A sentence without its full stop.
    pub why: String,
    /// What the check printed.
    pub printed: String,
    /// Whether the check ran for the first time since the goal was set.
    pub is_first: bool,
    /// Number of consecutive checks that could not be run.
    pub not_run: u32,
    /// Number of consecutive checks that failed like the check before, with no change and no prompt in between.
    pub unchanged: u32,
}

impl Missed {
    /// Whether continuing is useless: the check cannot be run, or the model makes no more changes.
    pub fn is_stuck(&self) -> bool {
        self.unchanged >= MAX_UNCHANGED_CHECKS || self.not_run >= MAX_CHECKS_NOT_RUN
    }

    /// Returns the text for the model, followed by the output of the check.
    pub fn text(&self, goal: &Goal) -> String {
        let Self { why, printed, .. } = self;
        let printed = if printed.is_empty() { String::new() } else { format!("\n\n{printed}") };
        match self.is_first {
            true => format!(
                "[Goal] {}\nThe goal is reached when `{check}` has failed, files were changed, and `{check}` succeeds after the \
                 last change. Haft runs it each time you have no more to do. Before your work, {why}.{printed}",
                goal.text,
                check = goal.check
            ),
            false => format!("[Goal] Not reached: {why}. Do what is missing.{printed}"),
        }
    }
}

/// A run of the check, by the model or by Haft.
struct Run<'a> {
    started: usize,
    ended: usize,
    call: &'a CallId,
    seq: Seq,
    is_own: bool,
    result: &'a ToolResult,
}

/// Returns how far the session is on the way to the goal that was set last in `path`, judged by the last run of its
/// check, if Haft made that run; `None` if there is no goal or no such run.
pub fn progress(path: &[&Arc<Entry>]) -> Option<Progress> {
    let (set, goal) = path.iter().enumerate().rev().find_map(|(place, entry)| match &entry.fact {
        Fact::GoalSet { goal } => Some((place, goal.as_ref())),
        _ => None,
    })?;
    let (goal, path) = (goal?, &path[set..]);
    let runs = runs(path, goal);
    let last = runs.last().filter(|run| run.is_own)?;
    let check = &goal.check;
    let red = runs.iter().find(|run| passed(run.result) == Some(false));
    let why = match (passed(last.result), red) {
        (None, _) => format!("`{check}` could not be run: {}", failure(last.result)),
        (Some(false), _) => format!("`{check}` fails ({})", failure(last.result)),
        (Some(true), None) => format!(
            "`{check}` succeeds, and it has not failed since the goal was set, so that it shows nothing; first let it \
             fail for the right reason, e.g., with a test of what is missing, and run it"
        ),
        (Some(true), Some(_)) if is_changed_by_others(path, last) => {
            format!("files were changed while `{check}` ran")
        }
        (Some(true), Some(red)) if !is_changed(&path[red.ended..last.started], &runs, goal) => {
            format!("`{check}` failed and succeeds although nothing was changed in between")
        }
        (Some(true), Some(red)) => return Some(Progress::Reached { red: red.seq, green: last.seq }),
    };
    let own = || runs.iter().filter(|run| run.is_own);
    let not_run = own().rev().take_while(|run| passed(run.result).is_none()).count() as u32;
    let (is_first, unchanged) = (own().count() == 1, unchanged(path, &runs, goal));
    let printed = last.result.content.trim().to_owned();
    Some(Progress::Missed(Missed { why, printed, is_first, not_run, unchanged }))
}

fn runs<'a>(path: &[&'a Arc<Entry>], goal: &Goal) -> Vec<Run<'a>> {
    let (mut open, mut runs) = (HashMap::new(), Vec::new());
    for (place, entry) in path.iter().enumerate() {
        match &entry.fact {
            Fact::GoalChecked { made } => {
                open.insert(&made.id, (place, true));
            }
            Fact::ToolStarted { call, name, arguments, .. } if goal.is_checked_by(name, arguments) => {
                let (started, _) = open.entry(call).or_insert((place, false));
                *started = place;
            }
            Fact::ToolEnded { call, result, .. } => {
                if let Some((started, is_own)) = open.remove(call) {
                    runs.push(Run { started, ended: place, call, seq: entry.seq, is_own, result });
                }
            }
            _ => {}
        }
    }
    runs
}

/// Number of runs by Haft at the end of `runs` that failed like the run before, with nothing changed in between.
fn unchanged(path: &[&Arc<Entry>], runs: &[Run<'_>], goal: &Goal) -> u32 {
    let own: Vec<&Run<'_>> = runs.iter().filter(|run| run.is_own).collect();
    let is_same = |pair: &&[&Run<'_>]| {
        let (before, after) = (pair[0], pair[1]);
        passed(before.result) == passed(after.result)
            && without_numbers(&before.result.content) == without_numbers(&after.result.content)
            && !is_changed(&path[before.ended..after.started], runs, goal)
            && !is_prompted(&path[before.ended..after.started])
    };
    own.windows(2).rev().take_while(is_same).count() as u32
}

/// Whether files were changed, or a command may have changed some. Files that the `runs` of the check wrote, such as
/// reports, do not count.
fn is_changed(path: &[&Arc<Entry>], runs: &[Run<'_>], goal: &Goal) -> bool {
    let is_own = |fact: &&Fact| match fact {
        Fact::Staged { call, .. } => runs.iter().any(|run| run.call == call),
        _ => false,
    };
    let may_have = |entry: &&Arc<Entry>| {
        matches!(&entry.fact, Fact::ToolStarted { name, arguments, how: Tracking::Untracked, .. }
            if !goal.is_checked_by(name, arguments))
    };
    let facts = path.iter().map(|entry| &entry.fact).filter(|fact| !is_own(fact));
    !Changed::of(facts).is_empty() || path.iter().any(may_have)
}

/// Whether the user sent a prompt.
fn is_prompted(path: &[&Arc<Entry>]) -> bool {
    path.iter().any(|entry| matches!(entry.fact, Fact::Prompted { .. }))
}

/// Whether anything other than the check changed files while it ran.
fn is_changed_by_others(path: &[&Arc<Entry>], run: &Run<'_>) -> bool {
    let during = path[run.started..run.ended].iter().map(|entry| &entry.fact);
    let others = during.filter(|fact| match fact {
        Fact::Staged { call, .. } | Fact::SubagentChanged { call, .. } => call != run.call,
        _ => false,
    });
    !Changed::of(others).is_empty()
}

/// Whether the check succeeded; `None` if it did not run to its end.
fn passed(result: &ToolResult) -> Option<bool> {
    match result.report().filter(|_| result.is_ok())? {
        Report::Tests(run) => Some(run.ok),
        Report::Command(run) => run.exit_code.filter(|_| !run.is_stopped()).map(|code| code == 0),
        Report::Plan(_) | Report::Subagent(_) | Report::Delivery(_) | Report::Queued(_) => None,
    }
}

/// Says why a run did not succeed.
fn failure(result: &ToolResult) -> String {
    if let Some(error) = &result.error {
        return error.message.clone();
    }
    match result.report() {
        Some(Report::Tests(run)) => match (run.failed, run.passed) {
            (Some(failed), passed) => format!("{failed} failed, {} passed", passed.unwrap_or_default()),
            (None, _) => "the tests failed".to_owned(),
        },
        Some(Report::Command(run)) => match run.exit_code {
            Some(code) => format!("exit code {code}"),
            None => run.error.unwrap_or_else(|| "it was stopped".to_owned()),
        },
        Some(Report::Plan(_) | Report::Subagent(_) | Report::Delivery(_) | Report::Queued(_)) | None => {
            "it says nothing of success".to_owned()
        }
    }
}

/// Removes numbers, because times and memory addresses differ from run to run.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|character| !character.is_ascii_digit()).collect()
}

/// The goal of a session with these entries, and how often Haft has checked it; `None` without a goal, or once
/// it was reached or given up.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenGoal {
    /// The goal.
    pub goal: Arc<Goal>,
    /// How often Haft ran its check.
    pub checks: u32,
}

impl OpenGoal {
    /// Reads the progress from the entries of a session, without those that were undone.
    pub fn of(entries: &[Arc<Entry>]) -> Option<Self> {
        let mut open = None;
        active_path(entries).into_iter().for_each(|entry| Self::apply(&mut open, &entry.fact));
        open
    }

    /// Folds one more fact into `open`.
    pub fn apply(open: &mut Option<Self>, fact: &Fact) {
        match fact {
            Fact::GoalSet { goal } => {
                *open = goal.clone().map(|goal| Self { goal: goal.into(), checks: 0 });
            }
            Fact::GoalChecked { .. } => {
                if let Some(open) = open {
                    open.checks += 1;
                }
            }
            Fact::GoalReached { .. } => *open = None,
            _ => {}
        }
    }

    /// The call that checks the goal once more.
    pub fn check(&self, place: usize) -> ToolCall {
        ToolCall::new(format!("check_{place}"), self.goal.tool.clone(), self.goal.arguments.clone())
    }
}

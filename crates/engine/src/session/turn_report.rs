//! [`TurnReport`]: the result of a command, folded from the events that it caused.
use haft_core::{
    CallId, Change, Changed, Entry, Fact, ModelFault, Outcome, StopReason, ToolResult, Tracking, Usage,
    text_of,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// The result of a command.
#[derive(Clone, Debug, Default)]
pub struct TurnReport {
    /// How the turn ended. `None` if the command opened no turn, or the session closed before the end.
    pub outcome: Option<Outcome>,
    /// The text of the last reply; empty without a reply.
    pub text: String,
    /// Replies of the model in the turn.
    pub rounds: u32,
    /// The calls that ended, in the order of their ends.
    pub calls: Vec<CallReport>,
    /// Changes of the turn, one for each file, without files that ended as they began. For an undo or a redo, the
    /// changes that it made.
    pub changes: Vec<Change>,
    /// Files that an undo or a redo left unchanged, because another program changed them meanwhile, or for the reason
    /// in `failed`.
    pub conflicts: Vec<PathBuf>,
    /// Files in `conflicts` that an undo or a redo could not write or read, and why.
    pub failed: BTreeMap<PathBuf, String>,
    /// Files that another program changed, and into which an undo or a redo merged its changes.
    pub merged: Vec<PathBuf>,
    /// Files in `merged` that have conflict markers.
    pub marked: Vec<PathBuf>,
    /// Calls in the undone range whose changes were not recorded, such as commands without a view: their changes
    /// remain.
    pub untracked: Vec<CallId>,
    /// Tokens that the turn took, with those of agents that it delegated to.
    pub usage: Usage,
    /// US dollars that the turn cost; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Claims of the last reply that the journal does not show, if the outcome is [`Outcome::Unproven`].
    pub unproven: Vec<String>,
    /// The value of the last reply, if it had to match a schema and does.
    pub answer: Option<Value>,
    /// Whether the last reply was cut off at the model's limit.
    pub is_cut_off: bool,
    /// Why the turn did not end by itself, or the command was not carried out. `None` on success.
    pub error: Option<String>,
    /// What the user can do about the error, if known.
    pub hint: Option<String>,
    /// Why the model could not be asked, if another model could have answered: a limit, a rejected key, a fault of the
    /// vendor. `None` if the request itself is at fault, or the model answered.
    pub fault: Option<ModelFault>,
}

/// A call of a turn that has ended.
#[derive(Clone, Debug)]
pub struct CallReport {
    started: Option<Arc<Entry>>,
    ended: Arc<Entry>,
}

impl CallReport {
    /// The call's ID.
    pub fn id(&self) -> &CallId {
        self.end().0
    }

    /// The name of the tool, as the model wrote it.
    pub fn tool(&self) -> &str {
        self.end().1
    }

    /// The arguments that the tool ran with, a JSON object; null if it did not run.
    pub fn arguments(&self) -> &Value {
        match self.started.as_ref().map(|entry| &entry.fact) {
            Some(Fact::ToolStarted { arguments, .. }) => arguments,
            _ => &Value::Null,
        }
    }

    /// Whether it began; `false` if its arguments were refused or a rule forbids it. A call that needs an approval may
    /// have run in a private view before; if it was denied, its changes were dropped.
    pub fn has_started(&self) -> bool {
        self.started.is_some()
    }

    /// How its changes were recorded; `None` if it did not run.
    pub fn how(&self) -> Option<Tracking> {
        match self.started.as_ref().map(|entry| &entry.fact) {
            Some(Fact::ToolStarted { how, .. }) => Some(*how),
            _ => None,
        }
    }

    /// The result that the model read.
    pub fn result(&self) -> &ToolResult {
        self.end().2
    }

    fn end(&self) -> (&CallId, &str, &ToolResult) {
        match &self.ended.fact {
            Fact::ToolEnded { call, name, result, .. } => (call, name, result),
            _ => unreachable!("a report is made of the end of a call"),
        }
    }
}

/// Why a turn has no valid report.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The command was not completed: the session closed or failed, or refused it.
    #[error("the session did not finish the command: {why}")]
    Ended {
        /// Why, as a sentence for the user.
        why: String,
        /// The report up to that point.
        report: Box<TurnReport>,
    },
    /// The model could not be asked; [`TurnReport::fault`] says whether a retry may succeed.
    #[error("the model could not be asked: {why}")]
    Failed {
        /// The provider's message.
        why: String,
        /// The report up to that point. [`haft_core::Command::Continue`] resumes the turn.
        report: Box<TurnReport>,
    },
    /// The turn ended without the answer that was asked for.
    #[error("there is no answer that matches: {why}")]
    NoAnswer {
        /// What is wrong with the last reply, or why the turn ended before it.
        why: String,
        /// The report of the turn.
        report: Box<TurnReport>,
    },
}

impl TurnError {
    /// The report in spite of the error.
    pub fn report(&self) -> &TurnReport {
        match self {
            Self::Ended { report, .. } | Self::Failed { report, .. } | Self::NoAnswer { report, .. } => {
                report
            }
        }
    }

    /// What the user can do about it, if known.
    pub fn hint(&self) -> Option<&str> {
        self.report().hint.as_deref()
    }
}

impl TurnReport {
    /// Returns the report of the recorded entries of one or more turns, for example turns that another process started:
    /// their total usage, and the outcome of the last one.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Arc<Entry>>) -> Self {
        let mut account = ReportBuilder::default();
        entries.into_iter().for_each(|entry| account.apply(entry));
        account.report(None)
    }

    /// Whether the turn ended by itself, or a command without a turn was carried out.
    pub fn is_finished(&self) -> bool {
        self.error.is_none()
    }

    /// The answer as a `T`.
    pub(crate) fn into_answer<T: DeserializeOwned>(mut self) -> Result<T, TurnError> {
        let why = match self.answer.take().map(serde_json::from_value) {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(error)) => error.to_string(),
            None => self.error.clone().unwrap_or_else(|| "the turn ended without one".into()),
        };
        Err(TurnError::NoAnswer { why, report: self.into() })
    }

    /// A turn whose model could not be asked is an error.
    pub(crate) fn checked(self) -> Result<Self, TurnError> {
        match self.outcome {
            Some(Outcome::Failed) => {
                let why = self.error.clone().unwrap_or_default();
                Err(TurnError::Failed { why, report: Box::new(self) })
            }
            _ => Ok(self),
        }
    }
}

/// Builds a report from events.
#[derive(Debug, Default)]
pub(crate) struct ReportBuilder {
    report: TurnReport,
    changed: Changed,
    /// Starts of calls that have not ended.
    started: Vec<Arc<Entry>>,
    /// What is wrong with the last reply.
    claims: Vec<String>,
    /// Whether a fact was recorded that opens or joins a turn.
    is_open: bool,
    /// Whether a turn has ended.
    has_ended: bool,
}

impl ReportBuilder {
    pub(crate) fn apply(&mut self, entry: &Arc<Entry>) {
        self.changed.apply(&entry.fact);
        let report = &mut self.report;
        match &entry.fact {
            Fact::PromptDenied { reason, .. } if !self.is_open => {
                report.outcome = Some(Outcome::Refused);
                report.error = Some(format!("the prompt was refused: {reason}"));
            }
            Fact::Replied { parts, stop, .. } => {
                report.text = text_of(parts);
                report.is_cut_off = *stop == StopReason::Length;
                report.hint = match stop {
                    StopReason::Length => Some("the last reply was cut off at the model's limit".into()),
                    StopReason::Refusal => Some("the vendor's content policy ended the last reply".into()),
                    _ => report.hint.take(),
                };
            }
            Fact::ModelFailed { message, hint, reason } => {
                (report.error, report.hint, report.fault) = (Some(message.clone()), hint.clone(), *reason);
            }
            Fact::AnswerRejected { problems, .. } => self.claims.clone_from(problems),
            Fact::Answered { answer } => report.answer = Some(answer.clone()),
            Fact::GoalMissed { why, .. } => self.claims = vec![why.clone()],
            Fact::Reminded { claims, .. } => self.claims.clone_from(claims),
            fact @ (Fact::BudgetReached { .. } | Fact::RoundsReached { .. }) => {
                report.error = fact.limit_reached();
            }
            Fact::Rewound { changes, conflicts, failed, untracked, calls, merged, marked, way: _ } => {
                report.conflicts.clone_from(conflicts);
                report.failed.clone_from(failed);
                report.merged.clone_from(merged);
                report.marked.clone_from(marked);
                report.untracked.clone_from(untracked);
                // An undo of single calls records its changes as steps of its own.
                let is_moved = |change: &&Change| calls.is_empty() && !conflicts.contains(&change.path);
                report.changes.extend(changes.iter().filter(is_moved).cloned());
            }
            Fact::ToolStarted { .. } => self.started.push(entry.clone()),
            Fact::ToolEnded { call, .. } => self.call_ended(call, entry),
            Fact::TurnEnded { outcome, rounds, usage, cost_usd } => {
                let before = if self.has_ended { report.cost_usd } else { Some(0.0) };
                report.cost_usd = before.zip(*cost_usd).map(|(before, cost)| before + cost);
                self.has_ended = true;
                report.rounds += rounds;
                report.usage += *usage;
                report.outcome = Some(*outcome);
                self.turn_ended(*outcome);
            }
            _ => {}
        }
        self.is_open |= !matches!(entry.fact, Fact::ToolEnded { .. } | Fact::PromptDenied { .. });
    }

    fn call_ended(&mut self, call: &CallId, entry: &Arc<Entry>) {
        let is_its = |started: &Arc<Entry>| matches!(&started.fact, Fact::ToolStarted { call: other, .. } if other == call);
        let place = self.started.iter().position(is_its);
        let started = place.map(|place| self.started.remove(place));
        self.report.calls.push(CallReport { started, ended: entry.clone() });
    }

    fn turn_ended(&mut self, outcome: Outcome) {
        let report = &mut self.report;
        let why = match outcome {
            Outcome::Unproven => {
                report.unproven.clone_from(&self.claims);
                Some(format!("nothing shows what the reply claims: {}", self.claims.join("; ")))
            }
            Outcome::InvalidAnswer => {
                Some(format!("the answer does not match the schema: {}", self.claims.join("; ")))
            }
            Outcome::Stuck => Some(format!("the goal is not reached: {}", self.claims.join("; "))),
            _ => outcome.reason().map(str::to_owned),
        };
        report.error = why.map(|why| report.error.take().unwrap_or(why));
    }

    /// `why`: the command was not done.
    pub(crate) fn report(self, why: Option<&str>) -> TurnReport {
        let Self { mut report, changed, .. } = self;
        let error = why.map(str::to_owned).or(report.error);
        report.changes.extend(changed.whole());
        TurnReport { error, ..report }
    }
}

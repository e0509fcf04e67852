//! [`TurnReport`]: the result of a command, folded from the events that it caused.
use haft_core::{
    CallId, Change, Changed, Entry, Fact, ModelFault, Outcome, StopReason, ToolResult, Tracking, Usage,
    text_of,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// What a command came to.
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
    /// Files that an undo or a redo left alone, since they were changed elsewhere meanwhile, or for the reason in `failed`.
    pub conflicts: Vec<PathBuf>,
    /// Files in `conflicts` that an undo or a redo could not write or read, and why.
    pub failed: BTreeMap<PathBuf, String>,
    /// Files that were changed elsewhere, and that hold both after an undo or a redo.
    pub merged: Vec<PathBuf>,
    /// Files in `merged` that have conflict markers.
    pub marked: Vec<PathBuf>,
    /// Calls that an undo went past and whose changes were not recorded, such as commands without a view: what they did
    /// is still there.
    pub untracked: Vec<CallId>,
    /// Tokens that the turn took, with those of agents that it delegated to.
    pub usage: Usage,
    /// US dollars that the turn cost; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Claims of the last reply that the journal does not show, where the outcome is [`Outcome::Unproven`].
    pub unproven: Vec<String>,
    /// What the last reply says where it had to match a schema, and does.
    pub answer: Option<Value>,
    /// Whether the last reply was cut off at the model's limit.
    pub is_cut_off: bool,
    /// Why the turn did not end by itself, or the command was not carried out. `None` if all went well.
    pub error: Option<String>,
    /// What a person can do about the error, if known.
    pub hint: Option<String>,
    /// Why the model could not be asked, where another one could have answered: a limit, a refused key, a fault of the
    /// vendor. `None` if the request itself is at fault, and where the model could be asked.
    pub fault: Option<ModelFault>,
}

/// A call of a turn that has ended.
#[derive(Clone, Debug)]
pub struct CallReport {
    started: Option<Arc<Entry>>,
    ended: Arc<Entry>,
}

impl CallReport {
    /// The call's own name.
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

    /// Whether it began; `false` if its arguments were refused or a rule forbids it. A call that is asked about may have run
    /// in a view of its own before, and where it was refused nothing of that was kept.
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

    /// What the model was given.
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

/// Why a turn gives no report that counts.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The command was not carried out to its end: the session closed or failed, or refused it.
    #[error("the session did not finish the command: {why}")]
    Ended {
        /// Why, as a sentence for people.
        why: String,
        /// What was seen until then.
        report: Box<TurnReport>,
    },
    /// The model could not be asked; [`TurnReport::fault`] says whether it is worth to try again.
    #[error("the model could not be asked: {why}")]
    Failed {
        /// In the words of the provider.
        why: String,
        /// What came before. [`haft_core::Command::Continue`] takes the turn up again.
        report: Box<TurnReport>,
    },
    /// The turn ended without the answer that was asked for.
    #[error("there is no answer that matches: {why}")]
    NoAnswer {
        /// What is wrong with the last reply, or why the turn ended before it.
        why: String,
        /// What came of the turn.
        report: Box<TurnReport>,
    },
}

impl TurnError {
    /// What came of the command all the same.
    pub fn report(&self) -> &TurnReport {
        match self {
            Self::Ended { report, .. } | Self::Failed { report, .. } | Self::NoAnswer { report, .. } => {
                report
            }
        }
    }

    /// What a person can do about it, if known.
    pub fn hint(&self) -> Option<&str> {
        self.report().hint.as_deref()
    }
}

impl TurnReport {
    /// What was recorded of one or more turns, such as those that this process did not ask for: what they used
    /// together, and how the last one ended.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Arc<Entry>>) -> Self {
        let mut account = ReportBuilder::default();
        entries.into_iter().for_each(|entry| account.apply(entry));
        account.report(None)
    }

    /// Whether the turn ended by itself, or what needs no turn was done.
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

/// A report in the making.
#[derive(Debug, Default)]
pub(crate) struct ReportBuilder {
    report: TurnReport,
    changed: Changed,
    /// Starts of calls that have not ended.
    started: Vec<Arc<Entry>>,
    /// What is wrong with the last reply.
    claims: Vec<String>,
    /// Whether something was recorded that opens or joins a turn.
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

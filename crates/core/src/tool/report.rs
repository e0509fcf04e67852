//! [`Report`]: the information that Haft itself needs from a result, apart from the text for the model.
//!
//! A tool writes the fields of a report into [`ToolOutput::details`](crate::ToolOutput::details), where users, scripts
//! and profiles find them as well. Within Haft, only this file reads these fields: the engine, evidence, jobs and
//! front-ends use a [`Report`].
use crate::{SessionId, TaskId, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Field of [`CommandRun`] that models do not see.
pub(super) const TOTAL_LINES: &str = "total_lines";

/// The outcome of a call, by kind. [`ToolResult::report`] reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// A command ended or was stopped.
    Command(CommandRun),
    /// Tests ran.
    Tests(TestRun),
    /// The model updated its list of steps.
    Plan(Plan),
    /// A subagent did the work.
    Subagent(SubagentRun),
    /// The work was committed and delivered.
    Delivery(Delivery),
    /// The call was queued and has not run.
    Queued(QueuedRun),
}

/// How a command ended. Recognized by the field `exit_code`, which may be `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// Exit code, as a shell reports it: 128 plus the signal that killed the command. `None` if it was stopped.
    pub exit_code: Option<i64>,
    /// The file with all that the command printed, if the result holds less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_file: Option<PathBuf>,
    /// How many lines the command printed, if the result holds fewer. Models do not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// Whether it reached its timeout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether the user stopped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The reason as a text, if it was stopped and the reason is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The outcome of a test run. Recognized by the field `ok`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    /// The command line that ran the tests.
    #[serde(default)]
    pub command: String,
    /// Whether the output of the runner could be read.
    #[serde(default)]
    pub parsed: bool,
    /// Whether all tests passed, and there were some.
    pub ok: bool,
    /// Number of tests that passed, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u64>,
    /// Number of tests that failed, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// Tests that failed, and files that could not be built or loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<TestFailure>,
}

/// A test that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFailure {
    /// The name of the test, as its runner prints it.
    pub name: String,
    /// The file that it is in, if known.
    #[serde(default)]
    pub file: Option<String>,
    /// The line of that file, counted from 1.
    #[serde(default)]
    pub line: Option<u64>,
    /// What the runner printed about it.
    #[serde(default)]
    pub message: String,
}

/// The model's list of steps for a task. Recognized by the field `items`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps, in the order of the work.
    pub items: Vec<PlanStep>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The text of the step.
    pub text: String,
    /// The status of the step.
    pub status: StepStatus,
}

/// The status of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Done,
}

/// The session of a subagent. Recognized by the field `session`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentRun {
    /// The session of the other agent.
    pub session: SessionId,
}

/// The outcome of delivered work. Recognized by the field `commit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The commit with the work.
    pub commit: String,
    /// What could not be done, as a sentence; `None` if everything was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The outbox item of a queued call. Recognized by the field `outbox_item`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedRun {
    /// The ID of the item.
    pub outbox_item: String,
}

/// The state of a background task when a call looked at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLook {
    /// The task.
    pub job: TaskId,
    /// Whether it still ran at the end of the look.
    pub running: bool,
    /// Whether the look waited for it.
    #[serde(default)]
    pub waited: bool,
    /// What it printed since the previous look.
    pub output: String,
}

impl Report {
    pub(super) fn of(details: &Value) -> Option<Self> {
        let fields = details.as_object()?;
        if fields.contains_key("outbox_item") {
            return QueuedRun::deserialize(details).ok().map(Self::Queued);
        }
        if fields.get("ok").is_some_and(Value::is_boolean) {
            return TestRun::deserialize(details).ok().map(Self::Tests);
        }
        if fields.contains_key("exit_code") {
            return CommandRun::deserialize(details).ok().map(Self::Command);
        }
        if fields.contains_key("items") {
            return Plan::deserialize(details).ok().map(Self::Plan);
        }
        if fields.contains_key("commit") {
            return Delivery::deserialize(details).ok().map(Self::Delivery);
        }
        SubagentRun::deserialize(details).ok().map(Self::Subagent)
    }

    /// Returns whether the report is of a success: a command with exit code 0 or none, tests that all passed, a plan, a
    /// subagent or a delivery.
    pub fn is_success(&self) -> bool {
        match self {
            Self::Command(run) => run.exit_code.is_none_or(|code| code == 0),
            Self::Tests(run) => run.ok,
            Self::Plan(_) | Self::Subagent(_) | Self::Delivery(_) => true,
            Self::Queued(_) => false,
        }
    }
}

impl CommandRun {
    /// Returns whether the command was stopped before it ended.
    pub fn is_stopped(&self) -> bool {
        self.timed_out || self.interrupted
    }
}

impl TestFailure {
    /// Sets the file and line of the failure from `place`, written as `FILE:LINE` or `FILE:LINE:COLUMN`.
    pub fn at(mut self, place: &str) -> Self {
        let mut parts = place.split(':');
        self.file = parts.next().filter(|file| !file.is_empty()).map(str::to_owned);
        self.line = parts.next().and_then(|line| line.parse().ok());
        self
    }
}

impl Plan {
    /// `1 of 3 done`.
    pub fn progress(&self) -> String {
        let done = self.items.iter().filter(|step| step.status == StepStatus::Done).count();
        format!("{done} of {} done", self.items.len())
    }

    /// Returns the current step, otherwise the next one; `None` if all are done.
    pub fn current(&self) -> Option<&PlanStep> {
        let with = |status| self.items.iter().find(|step| step.status == status);
        with(StepStatus::InProgress).or_else(|| with(StepStatus::Pending))
    }
}

impl ToolResult {
    /// Returns the report of the result; `None` if its fields are not those of a report.
    pub fn report(&self) -> Option<Report> {
        Report::of(&self.details)
    }

    /// Returns whether the call has waited for a background task that still runs.
    pub fn has_waited_for_task(&self) -> bool {
        TaskLook::deserialize(&self.details).is_ok_and(|look| look.running && look.waited)
    }

    /// Returns how the command of this result ended, if it is the result of one.
    pub fn command(&self) -> Option<CommandRun> {
        match self.report() {
            Some(Report::Command(run)) => Some(run),
            _ => None,
        }
    }

    /// Returns the steps that a successful call recorded.
    pub fn plan(&self) -> Option<Plan> {
        match self.report() {
            Some(Report::Plan(plan)) if self.is_ok() => Some(plan),
            _ => None,
        }
    }

    /// Returns whether the call succeeded and is not a test run that failed.
    pub fn is_green(&self) -> bool {
        self.is_ok() && !matches!(self.report(), Some(Report::Tests(run)) if !run.ok)
    }

    /// Like [`Self::is_green`], but a command must also have the exit code 0, and the call must not be queued.
    pub fn went_well(&self) -> bool {
        self.is_ok() && self.report().is_none_or(|report| report.is_success())
    }
}

//! [`ToolOutput`] and [`ToolResult`]: what a tool returns, and the record of it.
use crate::{Image, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The output of a call that succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub for_model: String,
    /// Pictures for a model that can see.
    pub images: Vec<Image>,
    /// What people see.
    pub shown: Shown,
    /// The result or a part of it as JSON fields, for front-ends and for profiles that answer in JSON. `Null` for none.
    pub details: Value,
    /// Whether `details` contain all information of `for_model`. Profiles that answer in JSON leave the text out then.
    pub is_in_details: bool,
    /// Still running under this id.
    pub job: Option<TaskId>,
}

/// How a result is shown to the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// A few lines of what the model reads.
    #[default]
    Preview,
    /// This text instead.
    Text(String),
    /// No error.
    Nothing,
    /// This text, complete and in every display mode: it was written for the user.
    Message(String),
}

impl ToolOutput {
    /// Returns a result for the model, of which the user sees a preview.
    pub fn text(for_model: impl Into<String>) -> Self {
        Self { for_model: for_model.into(), ..Self::default() }
    }

    /// Returns a value as JSON, indented by two.
    pub fn json(value: &Value) -> Self {
        Self::text(format!("{value:#}")).fields(value.clone())
    }

    /// Shows this text to the user.
    pub fn show(self, text: impl Into<String>) -> Self {
        Self { shown: Shown::Text(text.into()), ..self }
    }

    /// Returns a text for both the model and the user.
    pub fn for_both(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: Shown::Text(text.clone()), ..Self::text(text) }
    }

    /// Shows nothing to the user.
    pub fn silent(self) -> Self {
        Self { shown: Shown::Nothing, ..self }
    }

    /// Adds named fields beside the text.
    pub fn details(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// Sets the fields, and marks them as containing all information of the text.
    pub fn fields(self, fields: Value) -> Self {
        Self { details: fields, is_in_details: true, ..self }
    }

    /// Returns a result that says that the work continues under this id.
    pub fn running(job: TaskId) -> Self {
        Self::text(format!("Started as job {job}. Its end will be reported.")).going_on(job)
    }

    /// Marks the work as continuing under this ID, with a text of the tool: `ToolOutput::text("Task started, will
    /// report back").going_on(job)`.
    pub fn going_on(self, job: TaskId) -> Self {
        Self { job: Some(job), ..self }
    }
}

/// Field in the details of an error: the name of the tool that does not exist.
const UNKNOWN_TOOL: &str = "unknown_tool";
/// The beginning of the message of each call that was interrupted, by the user or by the end of its process.
const INTERRUPTED_PREFIX: &str = "interrupted";
/// The message of a background task that the user or the model stopped.
const STOPPED: &str = "stopped on request";
/// The message of a call that the user interrupted.
const INTERRUPTED: &str = "interrupted by the user";
/// The message of a call whose process ended while the call worked in a view.
const LEFT_IN_VIEW: &str = "interrupted: its process ended before it did; nothing that it changed was kept";
/// The beginning of the message of a call that was not run.
const NOT_RUN_PREFIX: &str = "not run: ";

/// The error of a call that failed. The model reads `message` and `hint`.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// Who can fix the cause.
    pub kind: ToolErrorKind,
    /// What was tried, on what, and why it failed. Lower case, no full stop.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// A correct call: the tool's name and its arguments. It follows the hint.
    pub example: Option<Box<(String, Value)>>,
    /// The error, or further information about it, as JSON fields. `Null` for none.
    pub details: Value,
    /// Whether `details` contain all information of the message. Profiles that answer in JSON leave the text out then.
    pub is_in_details: bool,
    /// For the log only.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an error, which determines who can fix its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolErrorKind {
    /// The call itself is wrong: unknown tool, wrong or missing parameters.
    #[serde(rename = "validation_error")]
    Validation,
    /// The workspace is not as the call assumes: no such file, text not found.
    #[serde(rename = "user_error")]
    User,
    /// Something broke or ran out: time, disk, a process, the tool itself.
    #[serde(rename = "system_error")]
    System,
    /// The policy or the user denied the call, or the system denies access.
    #[serde(rename = "permission_error")]
    Permission,
    /// The call would access something outside of its limits.
    #[serde(rename = "security_error")]
    Security,
}

impl fmt::Display for ToolErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Validation => "validation_error",
            Self::User => "user_error",
            Self::System => "system_error",
            Self::Permission => "permission_error",
            Self::Security => "security_error",
        })
    }
}

impl ToolError {
    /// Returns an error without a hint.
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        let (hint, example, details, is_in_details, source) = Default::default();
        Self { kind, message: message.into(), hint, example, details, is_in_details, source }
    }

    /// Adds what to do next.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds a correct call as an example.
    pub fn example(self, name: impl Into<String>, arguments: Value) -> Self {
        Self { example: Some(Box::new((name.into(), arguments))), ..self }
    }

    /// Adds named fields beside the message.
    pub fn details(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// Returns the error of a call that the user interrupted.
    pub fn interrupted() -> Self {
        Self::new(ToolErrorKind::System, INTERRUPTED)
    }

    /// Returns the error of a background task that was ended by [`BackgroundTasks::stop`](crate::BackgroundTasks::stop).
    pub fn stopped() -> Self {
        Self::new(ToolErrorKind::System, STOPPED)
    }

    /// Returns the error of a call whose process ended while it worked in a view.
    pub fn left_in_view() -> Self {
        Self::new(ToolErrorKind::System, LEFT_IN_VIEW)
    }

    /// Returns the error of a call that was not run, and why.
    pub fn not_run(why: &str) -> Self {
        Self::new(ToolErrorKind::System, format!("{NOT_RUN_PREFIX}{why}"))
    }

    /// Returns the error of a call of a tool that does not exist.
    pub(crate) fn unknown_tool(name: &str, hint: String) -> Self {
        Self::new(ToolErrorKind::Validation, format!("there is no tool `{}`", name.escape_debug()))
            .hint(hint)
            .details(serde_json::json!({UNKNOWN_TOOL: name}))
    }

    /// Returns whether the call was one of a tool that does not exist.
    pub(crate) fn is_of_unknown_tool(&self) -> bool {
        self.details.get(UNKNOWN_TOOL).is_some()
    }

    /// Sets the fields, and marks them as containing all information of the message.
    pub fn fields(self, fields: Value) -> Self {
        Self { details: fields, is_in_details: true, ..self }
    }

    /// Keeps the cause for the log.
    pub fn caused_by(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

/// The result of a call, as recorded and as the model reads it.
///
/// As JSON `{ok, content, error: {type, message, suggestion} | null}`, and `images`, `shown`, `details`, `job`
/// where there are any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "ResultRecord", into = "ResultRecord")]
pub struct ToolResult {
    /// What the model reads.
    pub content: String,
    /// Why the call failed; `None` if it succeeded.
    pub error: Option<Failure>,
    /// Pictures for a model that can see.
    pub images: Vec<Image>,
    /// What people see.
    pub shown: Shown,
    /// Details, as named fields.
    pub details: Value,
    /// Still running under this id.
    pub job: Option<TaskId>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Who can fix the cause.
    #[serde(rename = "type")]
    pub kind: ToolErrorKind,
    /// What was tried, on what, and why it failed.
    pub message: String,
    /// What to do next.
    pub suggestion: Option<String>,
}

impl Failure {
    /// Returns whether the call was interrupted, whatever it had printed by then, or not run at all.
    pub fn is_interruption(&self) -> bool {
        let begins = [INTERRUPTED_PREFIX, NOT_RUN_PREFIX];
        self.kind == ToolErrorKind::System && begins.iter().any(|begins| self.message.starts_with(begins))
    }
}

impl ToolResult {
    /// Returns whether it is the result of a background task that was stopped on request.
    pub fn is_stopped(&self) -> bool {
        self.error
            .as_ref()
            .is_some_and(|error| error.kind == ToolErrorKind::System && error.message == STOPPED)
    }

    /// The result of a call that was not run, because its turn ended first.
    pub(crate) fn not_run() -> Self {
        let message = format!("{NOT_RUN_PREFIX}the turn ended first");
        let error = Failure { kind: ToolErrorKind::System, message: message.clone(), suggestion: None };
        Self { content: format!("error: {message}"), error: Some(error), ..Self::default() }
    }

    /// Returns whether the call succeeded.
    pub fn is_ok(&self) -> bool {
        self.error.is_none()
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct ResultRecord {
    ok: bool,
    content: String,
    error: Option<Failure>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<Image>,
    #[serde(default, skip_serializing_if = "is_default")]
    shown: Shown,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    details: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<TaskId>,
}

fn is_default(shown: &Shown) -> bool {
    *shown == Shown::default()
}

impl From<ResultRecord> for ToolResult {
    fn from(wire: ResultRecord) -> Self {
        let ResultRecord { ok: _, content, error, images, shown, details, job } = wire;
        Self { content, error, images, shown, details, job }
    }
}

impl From<ToolResult> for ResultRecord {
    fn from(result: ToolResult) -> Self {
        let ok = result.is_ok();
        let ToolResult { content, error, images, shown, details, job } = result;
        Self { ok, content, error, images, shown, details, job }
    }
}

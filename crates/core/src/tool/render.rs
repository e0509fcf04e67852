//! [`Render`]: how a profile words results for the model.
use super::report::{CommandRun, Report, TOTAL_LINES};
use crate::{Failure, Shown, ToolCall, ToolError, ToolOutput, ToolResult};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The wording of results in a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Render {
    /// Wording of results.
    pub result: Wording,
    /// Wording of errors.
    pub error: ErrorWording,
    /// Renames fields of results; an empty name leaves the field out.
    pub fields: IndexMap<String, String>,
    /// Titles of results, by tool. For other tools, the title is the text shown to the user, or the tool's name.
    pub titles: IndexMap<String, String>,
    /// The result object for a program that makes a call itself (`haft tools call`).
    pub object: ResultObject,
}

/// A result as an object for a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultObject {
    /// `{"ok":…,"content":…,"error":…,"changes":…,"how":…,"details":…}`.
    #[default]
    Plain,
    /// `{"for_llm":…,"for_user":…,"silent":…,"is_error":…,"async":…}`: [`crate::SplitResult`].
    Split,
}

/// The format of a result for the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wording {
    /// The tool's own text.
    #[default]
    Text,
    /// The named fields as JSON, indented by two, if they hold the whole result; otherwise the tool's own text.
    Fields,
    /// `{"success":true,"error":"",…}` with the result's fields, and `content` if the fields do not contain everything;
    /// an error as `{"success":false,"error":…,"error_type":…,"suggestion":…}`.
    Success,
    /// `{"title":…,"output":…}`.
    Titled,
}

/// The format of an error for the model. `hint: HINT` is on a line of its own if the result has no field for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorWording {
    /// `error: MESSAGE`.
    #[default]
    Plain,
    /// `Error: MESSAGE`, `Tool 'NAME' not found` for an unknown one.
    Prefixed,
    /// `my_tool(param1="value"): MESSAGE`, with names without backticks: `param1 is required`.
    Call,
    /// `MESSAGE` alone, and `hint: HINT` on a line of its own.
    Bare,
}

impl Render {
    /// Returns the result of a call, as recorded and as the model reads it.
    pub fn result(&self, call: &ToolCall, result: Result<ToolOutput, ToolError>) -> ToolResult {
        match result {
            Ok(output) => self.success(call, output),
            Err(error) => self.failure(call, error),
        }
    }

    fn success(&self, call: &ToolCall, output: ToolOutput) -> ToolResult {
        let ToolOutput { for_model, images, mut shown, details, is_in_details, job } = output;
        // People see the tool's own text, not how a profile words it.
        let own = (self.result != Wording::Text && shown == Shown::Preview).then(|| for_model.clone());
        let content = match self.result {
            Wording::Text => for_model,
            Wording::Fields => self.as_json(&details).filter(|_| is_in_details).unwrap_or(for_model),
            Wording::Success => {
                let outcome = success(&details, &for_model);
                let text = (!is_in_details).then_some(for_model);
                flat(outcome, &self.named(&details), text)
            }
            Wording::Titled => json!({"title": self.title(call, &shown), "output": for_model}).to_string(),
        };
        if let Some(own) = own.filter(|own| *own != content) {
            shown = Shown::Text(own);
        }
        ToolResult { content, error: None, images, shown, details, job }
    }

    fn failure(&self, call: &ToolCall, error: ToolError) -> ToolResult {
        let (hint, unknown) = (self.hint(&error), error.is_of_unknown_tool());
        let ToolError { kind, mut message, details, is_in_details, .. } = error;
        if self.error == ErrorWording::Call {
            message = without_backticks(&message);
        }
        let text = match self.error {
            ErrorWording::Plain => format!("error: {message}"),
            ErrorWording::Bare => message.clone(),
            ErrorWording::Prefixed if unknown => format!("Error: Tool '{}' not found", call.name),
            ErrorWording::Prefixed => format!("Error: {message}"),
            ErrorWording::Call => {
                format!("{}: {message}", written(&call.name, &call.arguments, MAX_SHOWN_VALUE))
            }
        };
        let text = match (&hint, self.result) {
            (None, _) | (_, Wording::Success) => text,
            (Some(hint), _) => format!("{text}\nhint: {hint}"),
        };
        let content = match self.result {
            Wording::Text => text,
            Wording::Fields => self.as_json(&details).filter(|_| is_in_details).unwrap_or(text),
            Wording::Success => {
                let mut outcome = json!({"success": false, "error": text, "error_type": kind});
                if let Some(hint) = &hint {
                    outcome["suggestion"] = json!(hint);
                }
                flat(outcome, &self.named(&details), None)
            }
            Wording::Titled => json!({"title": call.name, "output": text}).to_string(),
        };
        let error = Failure { kind, message, suggestion: hint };
        ToolResult { content, error: Some(error), details, ..ToolResult::default() }
    }

    /// Returns the hint of an error with its example call, written as a call if the profile's errors begin with calls.
    fn hint(&self, error: &ToolError) -> Option<String> {
        let example = error.example.as_deref().map(|(name, arguments)| match self.error {
            ErrorWording::Plain | ErrorWording::Bare | ErrorWording::Prefixed => {
                format!("for example: {name} {arguments}")
            }
            ErrorWording::Call => format!("Example: {}", written(name, arguments, usize::MAX)),
        });
        let said = [error.hint.clone(), example].into_iter().flatten().collect::<Vec<_>>();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn as_json(&self, details: &Value) -> Option<String> {
        details.is_object().then(|| format!("{:#}", self.named(details)))
    }

    /// The fields under the profile's names.
    pub(super) fn named(&self, details: &Value) -> Value {
        let Value::Object(fields) = details else { return details.clone() };
        let name = |own: &String| self.fields.get(own).unwrap_or(own).clone();
        let told = fields.iter().filter(|(own, _)| *own != TOTAL_LINES);
        let named = told.map(|(own, value)| (name(own), value.clone()));
        Value::Object(named.filter(|(name, _)| !name.is_empty()).collect())
    }

    /// The text shown to the user, in one line; otherwise the tool's name.
    fn title(&self, call: &ToolCall, shown: &Shown) -> String {
        match (self.titles.get(&call.name), shown) {
            (Some(title), _) => title.clone(),
            (None, Shown::Text(text)) => text.lines().next().unwrap_or_default().to_owned(),
            (None, Shown::Preview | Shown::Nothing | Shown::Message(_)) => call.name.clone(),
        }
    }
}

/// Whether a command or a run of tests succeeded, and otherwise its error: the exit code, or the first line of the
/// text.
fn success(details: &Value, text: &str) -> Value {
    match Report::of(details) {
        Some(Report::Tests(run)) if !run.ok => json!({"success": false, "error": text.lines().next()}),
        Some(Report::Command(CommandRun { exit_code: Some(code), .. })) if code != 0 => {
            json!({"success": false, "error": format!("exit code {code}")})
        }
        _ => json!({"success": true, "error": ""}),
    }
}

/// Adds the text and the result's fields to `outcome`. A field may contain the error of a result.
fn flat(mut outcome: Value, details: &Value, text: Option<String>) -> String {
    if let Some(text) = text {
        outcome["content"] = json!(text);
    }
    let says_error =
        outcome.get("error_type").is_none() && details.get("error").is_some_and(|error| *error != "");
    for (name, value) in details.as_object().into_iter().flatten() {
        if outcome.get(name).is_none() || (says_error && name == "error") {
            outcome[name] = value.clone();
        }
    }
    outcome.to_string()
}

/// Maximum bytes of a value in the call that an error begins with.
const MAX_SHOWN_VALUE: usize = 60;

/// `read(path="a.txt", limit=5)`, each value with at most `bytes` bytes.
fn written(name: &str, arguments: &Value, bytes: usize) -> String {
    let arguments = arguments.as_object().into_iter().flatten();
    let shown = arguments.map(|(parameter, value)| {
        let value = value.to_string();
        let short = crate::clip::head(&value, bytes);
        let dots = if short.len() < value.len() { "…" } else { "" };
        format!("{parameter}={short}{dots}")
    });
    format!("{name}({})", shown.collect::<Vec<_>>().join(", "))
}

/// Removes the backticks around names in the first line of `message`: `` `files[0].name` is required `` becomes
/// `files[0].name is required`. The text below that line is output and stays unchanged.
fn without_backticks(message: &str) -> String {
    let end = message.find('\n').unwrap_or(message.len());
    let (mut line, rest) = message.split_at(end);
    let mut bare = String::with_capacity(message.len());
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-./:[]".contains(c));
    while let Some((before, after)) = line.split_once('`') {
        bare += before;
        line = match after.split_once('`') {
            Some((name, after)) if is_name(name) => {
                bare += name;
                after
            }
            _ => {
                bare.push('`');
                after
            }
        };
    }
    bare + line + rest
}

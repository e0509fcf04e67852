//! [`Hidden`]: keeps secrets out of what is recorded and shown.
use haft_core::{Entry, Fact, Secrets, Update};
use serde_json::Value;
use std::sync::OnceLock;

/// The secrets, once they are known, and their form in a line of JSON.
#[derive(Default)]
pub(crate) struct Hidden(OnceLock<(Secrets, Secrets)>);

impl Hidden {
    pub(crate) fn set(&self, secrets: Secrets) {
        let values = secrets.values();
        let written = values.iter().map(|secret| {
            let quoted = Value::from(secret.as_str()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        });
        let _set_before = self.0.set((secrets.clone(), Secrets::new(written, [])));
    }

    /// The secrets; none as long as they are not known.
    pub(crate) fn all(&self) -> Secrets {
        self.0.get().map(|(secrets, _)| secrets.clone()).unwrap_or_default()
    }

    /// `value` without secrets.
    pub(crate) fn hidden(&self, value: Value) -> Value {
        match self.0.get() {
            Some((secrets, _)) => without(secrets, value),
            None => value,
        }
    }

    /// Returns `entry` without secrets, and its line in the journal without line end and chain value. The user's own
    /// texts stay unchanged.
    pub(crate) fn line_of(&self, entry: Entry) -> serde_json::Result<(Entry, String)> {
        let line = serde_json::to_string(&entry)?;
        let is_said = matches!(entry.fact, Fact::Prompted { .. } | Fact::PromptDenied { .. });
        match self.0.get() {
            Some((secrets, written)) if !is_said && may_hold(&line, written) => {
                let entry: Entry = serde_json::from_value(without(secrets, serde_json::to_value(entry)?))?;
                let line = serde_json::to_string(&entry)?;
                Ok((entry, line))
            }
            _ => Ok((entry, line)),
        }
    }

    /// `update` without secrets.
    pub(crate) fn update(&self, update: Update) -> Update {
        let hide = |text: String| match self.0.get() {
            Some((secrets, _)) if secrets.are_in(&text) => secrets.hide(&text).into_owned(),
            _ => text,
        };
        match update {
            Update::Text { text } => Update::Text { text: hide(text) },
            Update::Thinking { text } => Update::Thinking { text: hide(text) },
            Update::ToolCall { call, name } => Update::ToolCall { call, name: hide(name) },
            Update::ToolArguments { call, delta } => {
                let delta =
                    self.0.get().map_or(delta.clone(), |(_, written)| written.hide(&delta).into_owned());
                Update::ToolArguments { call, delta: hide(delta) }
            }
            Update::ToolCallEnd { call, arguments } => {
                Update::ToolCallEnd { call, arguments: self.hidden(arguments) }
            }
            Update::ToolOutput { call, chunk } => Update::ToolOutput { call, chunk: hide(chunk) },
            Update::Summarizing => Update::Summarizing,
            Update::Undoing => Update::Undoing,
            Update::UndoRefused { why, depends, can_merge } => {
                Update::UndoRefused { why: hide(why), depends, can_merge }
            }
            Update::Retrying { reason, after_ms } => Update::Retrying { reason: hide(reason), after_ms },
            Update::Refused { why } => Update::Refused { why: hide(why) },
            Update::Disconnected { why } => Update::Disconnected { why: hide(why) },
            Update::Connected { is_at_rest } => Update::Connected { is_at_rest },
        }
    }
}

/// Whether a line of JSON may contain a secret, including one that is interrupted by control characters.
fn may_hold(line: &str, written: &Secrets) -> bool {
    !written.is_empty() && (written.are_in(line) || line.contains("\\u00"))
}

/// Removes the secrets from all texts in `value`.
fn without(secrets: &Secrets, value: Value) -> Value {
    match value {
        Value::String(text) => secrets.hide(&text).into(),
        Value::Array(values) => values.into_iter().map(|value| without(secrets, value)).collect(),
        Value::Object(fields) => {
            let field =
                |(name, value): (String, Value)| (secrets.hide(&name).into_owned(), without(secrets, value));
            Value::Object(fields.into_iter().map(field).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

//! How a result is worded for the model: one outcome, several accents (X-14, X-15).
use crate::{Failure, Shown, ToolCall, ToolError, ToolOutput, ToolResult};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The accent of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Render {
    /// Of results.
    pub result: Wording,
    /// Of errors.
    pub error: ErrorWording,
    /// Other names of named fields (X-13); an empty one leaves the field out.
    pub fields: IndexMap<String, String>,
    /// Titles of results, by tool; else what people see, or the tool's name.
    pub titles: IndexMap<String, String>,
}

/// What the model reads of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wording {
    /// The tool's own text.
    #[default]
    Text,
    /// The named fields as JSON, indented by two, where the tool gives any (A-48).
    Fields,
    /// `{"success":true,"error":"",…}` with the named fields beside it, or `content` where there are none; an error as
    /// `{"success":false,"error":…,"error_type":…,"suggestion":…}` (C-49, C-54, C-55).
    Success,
    /// `{"title":…,"output":…}` (O-28).
    Titled,
}

/// What the model reads of an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorWording {
    /// `error: MESSAGE`, and `hint: HINT` on a line of its own.
    #[default]
    Plain,
    /// `Error: MESSAGE` (A-32), `Tool 'NAME' not found` for an unknown one (A-46).
    Prefixed,
    /// `my_tool(param1="value"): MESSAGE` (C-56).
    Call,
}

impl Render {
    /// What is recorded of a call, and what the model reads.
    pub fn result(&self, call: &ToolCall, result: Result<ToolOutput, ToolError>) -> ToolResult {
        match result {
            Ok(output) => self.success(call, output),
            Err(error) => self.failure(call, error),
        }
    }

    fn success(&self, call: &ToolCall, output: ToolOutput) -> ToolResult {
        let ToolOutput { for_model, images, shown, details, job } = output;
        let content = match self.result {
            Wording::Text => for_model,
            Wording::Fields => self.as_json(&details).unwrap_or(for_model),
            Wording::Success => {
                flat(json!({"success": true, "error": ""}), &self.named(&details), Some(for_model))
            }
            Wording::Titled => json!({"title": self.title(call, &shown), "output": for_model}).to_string(),
        };
        ToolResult { content, error: None, images, shown, details, job }
    }

    fn failure(&self, call: &ToolCall, error: ToolError) -> ToolResult {
        let ToolError { kind, message, hint, details, source: _ } = error;
        let unknown = details.get("unknown_tool").is_some();
        let text = match self.error {
            ErrorWording::Plain => match &hint {
                Some(hint) => format!("error: {message}\nhint: {hint}"),
                None => format!("error: {message}"),
            },
            ErrorWording::Prefixed if unknown => format!("Error: Tool '{}' not found", call.name),
            ErrorWording::Prefixed => format!("Error: {message}"),
            ErrorWording::Call => format!("{}: {message}", written(call)),
        };
        let content = match self.result {
            Wording::Text => text,
            Wording::Fields => self.as_json(&details).filter(|_| !unknown).unwrap_or(text),
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

    fn as_json(&self, details: &Value) -> Option<String> {
        details.is_object().then(|| format!("{:#}", self.named(details)))
    }

    /// The fields under the profile's names.
    fn named(&self, details: &Value) -> Value {
        let Value::Object(fields) = details else { return details.clone() };
        let name = |own: &String| self.fields.get(own).unwrap_or(own).clone();
        let named = fields.iter().map(|(own, value)| (name(own), value.clone()));
        Value::Object(named.filter(|(name, _)| !name.is_empty()).collect())
    }

    /// What people see of the result, in one line; else the tool's name.
    fn title(&self, call: &ToolCall, shown: &Shown) -> String {
        match (self.titles.get(&call.name), shown) {
            (Some(title), _) => title.clone(),
            (None, Shown::Text(text)) => text.lines().next().unwrap_or_default().to_owned(),
            (None, Shown::Preview | Shown::Nothing | Shown::Message(_)) => call.name.clone(),
        }
    }
}

/// `outcome` with the named fields beside it; where there are none, with the text.
fn flat(mut outcome: Value, details: &Value, text: Option<String>) -> String {
    match (details, text) {
        (Value::Object(fields), _) => {
            for (name, value) in fields {
                if outcome.get(name).is_none() {
                    outcome[name] = value.clone();
                }
            }
        }
        (_, Some(text)) => outcome["content"] = json!(text),
        _ => {}
    }
    outcome.to_string()
}

/// `read(path="a.txt", limit=5)` (C-06, C-56).
fn written(call: &ToolCall) -> String {
    let arguments = call.arguments.as_object().into_iter().flatten();
    let shown = arguments.map(|(name, value)| {
        let value = value.to_string();
        let short = crate::clip::head(&value, 60);
        let dots = if short.len() < value.len() { "…" } else { "" };
        format!("{name}={short}{dots}")
    });
    format!("{}({})", call.name, shown.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolErrorKind;
    use serde_json::json;

    // C-40, X-13, A-32, A-46, A-48, C-05, C-06, C-49, C-54, C-55, C-56, O-28, T-45, X-12, X-14, X-15, X-16
    #[test]
    fn one_outcome_in_several_accents() {
        let call = ToolCall::new("1", "my_tool", json!({"param1": "value"}));
        let good = || Ok(ToolOutput::text("did it").details(json!({"done": 1})));
        let bad = || Err(ToolError::new(ToolErrorKind::User, "File not found").hint("check the path"));
        let fields = || Err(ToolError::new(ToolErrorKind::User, "x").details(json!({"edited": false})));
        let unknown = || crate::Registry::default().find("my_tool").map(|_| ToolOutput::default());
        let plain = &Render::default();
        let alfred = &Render { result: Wording::Fields, error: ErrorWording::Prefixed, ..Render::default() };
        let ally = &Render { result: Wording::Success, error: ErrorWording::Call, ..Render::default() };
        let opencode =
            &Render { result: Wording::Titled, error: ErrorWording::Prefixed, ..Render::default() };
        let titled = Ok(ToolOutput::text("text").show("Read file\nmore"));
        let renamed = Render {
            result: Wording::Success,
            fields: [("stdout", "output"), ("exit_code", "")].map(|(a, b)| (a.into(), b.into())).into(),
            ..Render::default()
        };
        let named =
            Ok(ToolOutput::text("").details(json!({"stdout": "x", "exit_code": 0, "return_code": 0})));
        let with_titles = Render {
            result: Wording::Titled,
            titles: [("my_tool".to_owned(), "My tool".to_owned())].into(),
            ..Render::default()
        };
        let table = [
            (&renamed, named, r#"{"success":true,"error":"","output":"x","return_code":0}"#),
            (&with_titles, good(), r#"{"title":"My tool","output":"did it"}"#),
            (plain, good(), "did it"),
            (plain, bad(), "error: File not found\nhint: check the path"),
            (alfred, good(), "{\n  \"done\": 1\n}"),
            (alfred, Ok(ToolOutput::text("no fields")), "no fields"),
            (alfred, bad(), "Error: File not found"),
            (alfred, fields(), "{\n  \"edited\": false\n}"),
            (alfred, unknown(), "Error: Tool 'my_tool' not found"),
            (ally, good(), r#"{"success":true,"error":"","done":1}"#),
            (ally, Ok(ToolOutput::text("no fields")), r#"{"success":true,"error":"","content":"no fields"}"#),
            (
                ally,
                fields(),
                r#"{"success":false,"error":"my_tool(param1=\"value\"): x","error_type":"user_error","edited":false}"#,
            ),
            (
                ally,
                bad(),
                r#"{"success":false,"error":"my_tool(param1=\"value\"): File not found","error_type":"user_error","suggestion":"check the path"}"#,
            ),
            (opencode, titled, r#"{"title":"Read file","output":"text"}"#),
            (opencode, bad(), r#"{"title":"my_tool","output":"Error: File not found"}"#),
        ];
        for (render, result, expected) in table {
            let failed = result.is_err();
            let recorded = render.result(&call, result);
            assert_eq!((recorded.content.as_str(), recorded.error.is_some()), (expected, failed));
        }
    }

    // C-65, C-57, C-58, C-59, C-60, C-61
    #[test]
    fn an_error_says_who_can_do_something_about_it() {
        use ToolErrorKind::{Permission, Security, System, User, Validation};
        let names = ["validation_error", "user_error", "system_error", "permission_error", "security_error"];
        for (kind, name) in [Validation, User, System, Permission, Security].into_iter().zip(names) {
            assert_eq!((json!(kind), kind.to_string().as_str()), (json!(name), name));
        }
    }

    // A-24, O-09, O-22, T-09, T-13, T-19, C-54, C-55, O-48
    #[test]
    fn a_result_as_json_says_whether_it_is_one() {
        let call = ToolCall::new("1", "t", json!({}));
        let told = |result| serde_json::to_value(Render::default().result(&call, result)).unwrap();
        assert_eq!(told(Ok(ToolOutput::text("x"))), json!({"ok": true, "content": "x", "error": null}));
        assert_eq!(
            told(Err(ToolError::new(ToolErrorKind::Security, "no").hint("h"))),
            json!({"ok": false, "content": "error: no\nhint: h",
                   "error": {"type": "security_error", "message": "no", "suggestion": "h"}})
        );
    }

    // T-12, T-15, T-16, T-17, T-20, T-21
    #[test]
    fn a_result_says_what_people_see_and_keeps_its_cause_for_the_log() {
        let call = ToolCall::new("1", "t", json!({}));
        let told = |result| serde_json::to_value(Render::default().result(&call, result)).unwrap();
        let table = [
            (ToolOutput::text("x"), Value::Null),
            (ToolOutput::text("x").silent(), json!("nothing")),
            (ToolOutput::text("x").show("y"), json!({"text": "y"})),
        ];
        for (output, shown) in table {
            let result = told(Ok(output));
            assert_eq!((&result["content"], &result["shown"]), (&json!("x"), &shown));
        }
        let error = ToolError::new(ToolErrorKind::System, "cannot write").caused_by("the disk is full");
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(cause.as_deref(), Some("the disk is full"));
        assert!(!told(Err(error)).to_string().contains("disk"));
    }
}

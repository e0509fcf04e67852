//! What whoever is asked about a call must know of it.
use crate::Session;
use haft_core::{CallId, Fact, Part, ToolCall, clip};
use serde_json::{Map, Value};

/// Of arguments so many bytes are shown.
const SHOWN: usize = 2_000;

/// What `call` is called with, as a line, where `reason` does not show it; else nothing.
pub fn with(session: &Session, call: &CallId, reason: &str) -> String {
    let entries = session.entries();
    let calls = entries.iter().rev().filter_map(|entry| match &entry.fact {
        Fact::Replied { parts, .. } => parts.iter().filter_map(Part::as_call).find(|made| made.id == *call),
        Fact::Called { made } => Some(made).filter(|made| made.id == *call),
        _ => None,
    });
    calls.take(1).map(|call| line(call, reason)).collect()
}

fn line(call: &ToolCall, reason: &str) -> String {
    let values: Vec<&Value> = call.arguments.as_object().into_iter().flat_map(Map::values).collect();
    let is_shown =
        |value: &&Value| value.as_str().is_some_and(|text| !text.is_empty() && reason.contains(text));
    if values.is_empty() || values.iter().any(is_shown) {
        return String::new();
    }
    let arguments = call.arguments.to_string();
    let head = clip::head(&arguments, SHOWN);
    let more = if head.len() < arguments.len() { "…" } else { "" };
    format!("{} {head}{more}\n", call.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_answers_sees_what_a_call_is_called_with() {
        let call = ToolCall::new("1", "send", json!({"to": "Ada", "text": "hi"}));
        assert_eq!(
            line(&call, "`execute:mcp:mail send` needs approval"),
            "send {\"to\":\"Ada\",\"text\":\"hi\"}\n"
        );
        let command = ToolCall::new("1", "bash", json!({"command": "make"}));
        assert_eq!(line(&command, "`execute:make` needs approval"), "");
    }
}

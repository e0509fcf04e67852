//! Folds the facts of a turn into what it leaves undone.
use crate::{Entry, Fact, Left, Part, ToolResult, clip, text_of};
use std::sync::Arc;

/// Maximum bytes of the last words that are repeated.
const MAX_LAST_WORDS_BYTES: usize = 400;

impl Left {
    /// By the last list of steps that a result holds, and the last reply of the conversation `path`.
    pub fn of(path: &[&Arc<Entry>]) -> Self {
        let facts = || path.iter().rev().map(|entry| &entry.fact);
        let steps = facts().find_map(|fact| match fact {
            Fact::ToolEnded { result, .. } => open_steps(result),
            _ => None,
        });
        let last = facts().find_map(|fact| match fact {
            Fact::Replied { parts, .. } => Some(last_of(parts)).filter(|last| !last.is_empty()),
            _ => None,
        });
        Self { steps: steps.unwrap_or_default(), last: last.unwrap_or_default() }
    }
}

/// The steps that are not done, where a result holds a list of steps: `{"items": [{"text", "status"}]}`.
fn open_steps(result: &ToolResult) -> Option<Vec<String>> {
    let items = result.details["items"].as_array().filter(|items| !items.is_empty())?;
    let steps = items.iter().map(|item| Some((item["text"].as_str()?, item["status"].as_str()?)));
    let steps: Vec<(&str, &str)> = steps.collect::<Option<_>>()?;
    let open = steps.into_iter().filter(|(_, status)| *status != "done");
    Some(open.map(|(text, _)| text.trim().to_owned()).collect())
}

/// What was said, else what was called.
fn last_of(parts: &[Part]) -> String {
    let text = text_of(parts);
    let said = text.trim().rsplit("\n\n").next().unwrap_or_default().trim();
    let calls = parts.iter().filter_map(Part::as_call);
    let calls: Vec<String> = calls.map(|call| format!("`{}` {}", call.name, call.arguments)).collect();
    let last = if said.is_empty() { calls.join(", ") } else { said.to_owned() };
    let head = clip::head(&last, MAX_LAST_WORDS_BYTES);
    if head.len() < last.len() { format!("{head} …") } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallId, Seq, StopReason, ToolCall, Usage};
    use serde_json::{Value, json};

    fn left(facts: Vec<Fact>) -> Option<String> {
        let entry = |(seq, fact)| Arc::new(Entry { seq: Seq(seq), parent: None, at: 0, fact });
        let entries: Vec<Arc<Entry>> = (0u64..).zip(facts).map(entry).collect();
        Left::of(&entries.iter().collect::<Vec<_>>()).sentence()
    }

    fn ended(details: Value) -> Fact {
        let result = ToolResult { details, ..ToolResult::default() };
        Fact::ToolEnded { call: CallId("a".into()), name: "x".into(), result, duration_ms: 0 }
    }

    fn replied(text: &str) -> Fact {
        let call = Part::ToolCall(ToolCall::new("a", "read", json!({"path": "a"})));
        let parts = if text.is_empty() { vec![call] } else { vec![Part::text(text), call] };
        Fact::Replied { parts, usage: Usage::default(), stop: StopReason::ToolUse }
    }

    #[test]
    fn what_is_left_is_told_by_the_list_else_by_the_last_words() {
        let item = |text: &str, status: &str| json!({"text": text, "status": status});
        let list =
            json!({"items": [item("one", "done"), item("two", "in_progress"), item("three", "pending")]});
        let done = json!({"items": [item("one", "done")]});
        let other = json!({"items": [1, 2]});
        let table = [
            (vec![], None),
            (vec![replied("I look."), ended(list.clone())], Some("left to do: two; three")),
            (
                vec![replied("I look."), ended(list.clone()), replied("And on."), ended(other)],
                Some("left to do: two; three"),
            ),
            (
                vec![ended(list), replied("All done.\n\nNow the docs."), ended(done)],
                Some("last of all: Now the docs."),
            ),
            (vec![replied("")], Some("last of all: `read` {\"path\":\"a\"}")),
        ];
        for (facts, expected) in table {
            assert_eq!(left(facts).as_deref(), expected);
        }
    }
}

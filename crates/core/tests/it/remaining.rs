//! Tests of `facts/remaining.rs`, through the public names.
use haft_core::*;
use haft_core::{CallId, Seq, StopReason, ToolCall, ToolResult, Usage};
use haft_core::{Entry, Fact, Part};
use serde_json::{Value, json};
use std::sync::Arc;

fn left(facts: Vec<Fact>) -> Option<String> {
    let entry = |(seq, fact)| Arc::new(Entry { seq: Seq(seq), parent: None, at: 0, fact, chain: None });
    let entries: Vec<Arc<Entry>> = (0u64..).zip(facts).map(entry).collect();
    RemainingWork::of(&entries.iter().collect::<Vec<_>>()).sentence()
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
    let list = json!({"items": [item("one", "done"), item("two", "in_progress"), item("three", "pending")]});
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

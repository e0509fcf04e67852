//! Events as lines of text.
use haft_core::{CallId, Entry, Event, Fact, Part, Seq, StopReason, ToolCall, ToolResult, Update, Usage};
use haft_engine::Chat;
use haft_present::words::{Style, Words};
use serde_json::json;
use std::sync::Arc;

fn recorded(fact: Fact) -> Event {
    Event::Recorded(Arc::new(Entry { seq: Seq(0), parent: None, at: 0, fact, chain: None }))
}
fn live(text: &str) -> Event {
    Event::Live(Update::Text { text: text.into() })
}
fn retrying() -> Event {
    Event::Live(Update::Retrying { reason: "reset".into(), after_ms: 500 })
}
fn replied(text: &str, calls: Vec<ToolCall>) -> Event {
    let parts = std::iter::once(Part::text(text)).chain(calls.into_iter().map(Part::ToolCall)).collect();
    recorded(Fact::Replied { parts, usage: Usage::default(), stop: StopReason::EndTurn })
}
fn told(events: Vec<Event>, chat: Chat) -> (String, String) {
    let (mut reply, mut notes) = (Vec::new(), Vec::new());
    let mut words = Words::new(&mut reply, &mut notes, Style::default(), chat);
    events.iter().for_each(|event| words.event(event).unwrap());
    (String::from_utf8(reply).unwrap(), String::from_utf8(notes).unwrap())
}

// A-35, A23
#[test]
fn a_reply_is_printed_once_as_it_streams() {
    let table = [
        (vec![live("Hel"), live("lo"), replied("Hello", vec![])], "Hello\n"),
        (vec![replied("Hello", vec![])], "Hello\n"),
        (vec![live("Hel"), replied("Hello", vec![])], "Hello\n"),
        (vec![live("Hel"), retrying(), live("Hello"), replied("Hello", vec![])], "Hello\n"),
        (vec![live("Hel"), retrying(), live("H"), live("i!"), replied("Hi!", vec![])], "Hel\nHi!\n"),
        (vec![live("\u{1b}[2Jx"), replied("\u{1b}[2Jx", vec![])], "[2Jx\n"),
    ];
    for (events, expected) in table {
        assert_eq!(told(events.clone(), Chat::default()).0, expected, "{events:?}");
    }
}

//
#[test]
fn a_profile_has_words_of_its_own_for_calls() {
    let alfred = haft_engine::Profile::named("alfred").unwrap().chat;
    let call = |id: &str| ToolCall::new(id, "read", json!({"path": "a"}));
    let ended = |id: &str, error: bool| {
        let failure = haft_core::Failure {
            kind: haft_core::ToolErrorKind::User,
            message: "no".into(),
            suggestion: None,
        };
        let result = ToolResult { error: error.then_some(failure), ..ToolResult::default() };
        recorded(Fact::ToolEnded { call: CallId(id.into()), name: "read".into(), result, duration_ms: 0 })
    };
    let events = vec![
        live("Let me see."),
        replied("Let me see.", vec![call("1"), call("2")]),
        // A reply's order holds, whichever ends first.
        ended("2", true),
        ended("1", false),
    ];
    assert_eq!(told(events, alfred).0, "Let me see.\n[Executing 2 tool(s)...]\n[read] ✓\n[read] ✗\n");
}

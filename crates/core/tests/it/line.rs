//! Tests of `facts/line.rs`, through the public names.
use haft_core::line::*;
use haft_core::{CallId, Command, Fact, Part};
use haft_core::{Entry, Event, Seq, Update};
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn what_is_written_is_read_again() {
    let prompted = Fact::Prompted { parts: vec![Part::text("a\nb")], channel: None };
    let events = [
        Event::Recorded(Arc::new(Entry {
            seq: Seq(3),
            parent: Some(Seq(1)),
            at: 7,
            fact: prompted,
            chain: None,
        })),
        Event::Live(Update::Text { text: "hi".into() }),
        Event::Live(Update::ToolOutput { call: CallId("c".into()), chunk: "1\n2".into() }),
    ];
    for event in events {
        let line = of(&event, 5);
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(read(line.as_bytes()).unwrap(), event);
    }
    // What is read by its type is the same as what any other reader finds.
    let call = || json!({"id": "c", "name": "read", "arguments": {"path": "a \"b\"\n", "n": [1, 2.5, null]}});
    let common = [
        json!({"type": "replied", "parts": [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "é\t"}],
            "usage": {"input": 7, "output": 1}, "stop": "tool_use"}),
        json!({"type": "replied", "parts": [merged(json!({"type": "tool_call"}), call())],
            "usage": {"input": 7, "output": 1}, "stop": "tool_use"}),
        json!({"type": "tool_started", "call": "c", "name": "read", "arguments": call()["arguments"],
            "how": "declared"}),
        json!({"type": "tool_started", "call": "c", "name": "bash", "arguments": [], "how": "staged",
            "outside": true, "reads": []}),
        json!({"type": "tool_ended", "call": "c", "name": "read", "ok": true, "content": "1: type \u{1f600}",
            "error": null, "details": {"type": "x", "ok": false}, "duration_ms": 3}),
        json!({"type": "tool_ended", "call": "c", "name": "read", "ok": false, "content": "no",
            "error": {"type": "user_error", "message": "no", "suggestion": null}, "job": "j", "duration_ms": 3}),
    ];
    for fact in common {
        let line = merged(json!({"seq": 3, "at": 7}), fact).to_string();
        let slowly: Entry = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(entry(line.as_bytes()).unwrap(), slowly, "{line}");
        assert_eq!(entry(of_entry(&slowly).as_bytes()).unwrap(), slowly, "{line}");
    }
    let update = of_update(&Update::Text { text: "hi".into() }, 5);
    assert_eq!(update, r#"{"seq":null,"at":5,"type":"text","text":"hi"}"#);
}

fn merged(mut first: Value, second: Value) -> Value {
    let both = first.as_object_mut().unwrap();
    both.extend(second.as_object().unwrap().clone());
    first
}

#[test]
fn a_line_without_a_place_is_no_event_and_an_unknown_fact_keeps_its_place() {
    let unknown = br#"{"seq":9,"at":1,"type":"dreamt","of":"sheep"}"#;
    assert!(read(unknown).is_err() && read(br#"{"type":"text","text":"hi"}"#).is_err());
    assert_eq!(seq_of(unknown), Some(Seq(9)));
    assert_eq!(seq_of(br#"{"seq":null,"at":1}"#), None);
    assert_eq!(seq_of(b"half a li"), None);
}

#[test]
fn a_command_is_an_object_with_a_type() {
    let table = [
        (r#"{"type":"prompt","parts":[{"type":"text","text":"hi"}]}"#, "Prompt"),
        (r#"{"type":"answer","call":"c","answer":"once"}"#, "Answer"),
        (r#"{"type":"reply","call":"c","answer":null}"#, "Reply"),
        (r#"{"type":"call","name":"read","arguments":{}}"#, "Call"),
        (r#"{"type":"interrupt"}"#, "Interrupt"),
        (r#"{"type":"rewind","to":4}"#, "Rewind"),
        (r#"{"type":"compact"}"#, "Compact"),
    ];
    for (line, name) in table {
        let command: Command = serde_json::from_str(line).unwrap();
        assert!(format!("{command:?}").starts_with(name), "{line}: {command:?}");
        let again = serde_json::to_string(&command).unwrap();
        assert_eq!(serde_json::from_str::<Command>(&again).unwrap(), command);
    }
    assert!(serde_json::from_str::<Command>(r#"{"type":"explode"}"#).is_err());
}

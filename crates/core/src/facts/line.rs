//! An [`Event`] as a line of JSON: `{"seq":N|null,"at":MS,"type":TYPE,…}`. A fact has a place in the journal, a live
//! update has none.
use crate::{Entry, Event, Seq, Update};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// Without a line end. `at` is milliseconds since 1970-01-01 UTC; an entry has its own.
pub fn of(event: &Event, at: u64) -> String {
    match event {
        Event::Recorded(entry) => of_entry(entry),
        Event::Live(update) => of_update(update, at),
    }
}

/// As it stands in the journal.
pub fn of_entry(entry: &Entry) -> String {
    serde_json::to_string(entry).unwrap_or_default()
}

/// `at` is milliseconds since 1970-01-01 UTC.
pub fn of_update(update: &Update, at: u64) -> String {
    let mut line = Map::from_iter([("seq".to_owned(), Value::Null), ("at".to_owned(), json!(at))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(update) {
        line.extend(fields);
    }
    Value::Object(line).to_string()
}

/// The event that a line tells; an error says why it tells none.
pub fn read(line: &[u8]) -> Result<Event, serde_json::Error> {
    let Head { seq } = serde_json::from_slice(line)?;
    match seq {
        Some(_) => entry(line).map(|entry| Event::Recorded(std::sync::Arc::new(entry))),
        None => serde_json::from_slice(line).map(Event::Live),
    }
}

/// An entry of a journal. Place and fact are read one after the other: together, each fact would be copied twice.
pub fn entry(line: &[u8]) -> Result<Entry, serde_json::Error> {
    let Place { seq, parent, at } = serde_json::from_slice(line)?;
    Ok(Entry { seq, parent, at, fact: serde_json::from_slice(line)? })
}

/// The place of an entry, also where nothing else of the line can be read: one that a newer Haft wrote still has its
/// place.
pub fn seq_of(line: &[u8]) -> Option<Seq> {
    serde_json::from_slice::<Head>(line).ok()?.seq
}

/// Of an entry all but the fact.
#[derive(Deserialize)]
struct Place {
    seq: Seq,
    #[serde(default)]
    parent: Option<Seq>,
    at: u64,
}

/// The one field that every event has.
#[derive(Deserialize)]
struct Head {
    #[serde(deserialize_with = "given")]
    seq: Option<Seq>,
}

/// Must be there, even where it is `null`.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Seq>, D::Error> {
    Option::deserialize(deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallId, Command, Fact, Part};
    use std::sync::Arc;

    #[test]
    fn what_is_written_is_read_again() {
        let prompted = Fact::Prompted { parts: vec![Part::text("a\nb")], channel: None };
        let events = [
            Event::Recorded(Arc::new(Entry { seq: Seq(3), parent: Some(Seq(1)), at: 7, fact: prompted })),
            Event::Live(Update::Text { text: "hi".into() }),
            Event::Live(Update::ToolOutput { call: CallId("c".into()), chunk: "1\n2".into() }),
        ];
        for event in events {
            let line = of(&event, 5);
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(read(line.as_bytes()).unwrap(), event);
        }
        // What is read by its type is the same as what any other reader finds.
        let call =
            || json!({"id": "c", "name": "read", "arguments": {"path": "a \"b\"\n", "n": [1, 2.5, null]}});
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
}

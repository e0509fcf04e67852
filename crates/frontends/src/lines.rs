//! Events as lines of JSON: what `--output stream-json` prints, and what a journal holds.
use crate::safe;
use haft_core::{Entry, Event, Update};
use serde_json::{Map, Value, json};
use std::time::SystemTime;

/// `{"seq":N|null,"at":MS,"type":TYPE,…}`, without a line end.
pub fn event(event: &Event) -> String {
    match event {
        Event::Recorded(recorded) => entry(recorded),
        Event::Live(update) => live(update),
    }
}

/// A recorded entry, as it stands in the journal.
pub fn entry(entry: &Entry) -> String {
    safe::json(&serde_json::to_string(entry).unwrap_or_default()).into_owned()
}

fn live(update: &Update) -> String {
    let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
    let mut line = Map::from_iter([("seq".to_owned(), Value::Null), ("at".to_owned(), json!(at))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(update) {
        line.extend(fields);
    }
    safe::json(&Value::Object(line).to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_update_has_no_position() {
        let line = event(&Event::Live(Update::Text { text: "hi".into() }));
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&value["seq"], &value["type"], &value["text"]),
            (&Value::Null, &json!("text"), &json!("hi"))
        );
        assert!(value["at"].as_u64().unwrap() > 0);
    }
}

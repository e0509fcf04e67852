//! Events as lines of JSON.
use haft_core::{Event, Update};
use haft_present::lines::event;

#[test]
fn a_line_of_an_update_tells_the_time_and_moves_no_cursor() {
    let line = event(&Event::Live(Update::Text { text: "\u{9b}2J".into() }));
    assert!(!line.contains('\u{9b}'), "{line}");
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(value["at"].as_u64().unwrap() > 0 && value["text"] == "\u{9b}2J");
}

//! [`of`] and [`read`]: write and parse an [`Event`] as a line of JSON: `{"seq":N|null,"at":MS,"type":TYPE,…}`. `seq`
//! is `null` for a live update.
use crate::{Entry, Event, Seq, Update};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// Returns the line without a line end. `at` is milliseconds since 1970-01-01 UTC, for live updates; an entry has its
/// own time.
pub fn of(event: &Event, at: u64) -> String {
    match event {
        Event::Recorded(entry) => of_entry(entry),
        Event::Live(update) => of_update(update, at),
    }
}

/// Returns the entry's line in the journal.
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

/// Parses the event of a line; an error says why it is invalid.
pub fn read(line: &[u8]) -> Result<Event, serde_json::Error> {
    let Head { seq } = serde_json::from_slice(line)?;
    match seq {
        Some(_) => entry(line).map(|entry| Event::Recorded(std::sync::Arc::new(entry))),
        None => serde_json::from_slice(line).map(Event::Live),
    }
}

/// Parses an entry of a journal. Position and fact are parsed one after the other: parsing them together would copy
/// each fact twice.
pub fn entry(line: &[u8]) -> Result<Entry, serde_json::Error> {
    let Place { seq, parent, at, chain } = serde_json::from_slice(line)?;
    Ok(Entry { seq, parent, at, fact: serde_json::from_slice(line)?, chain })
}

/// The type of an entry is within this many bytes, after three numbers.
const HEAD_BYTES: usize = 128;

/// Returns whether an entry is of one of these types, each written as `"type":"NAME"`. Reads only the first bytes of
/// its line: most lines are of other types, and many are long.
pub fn is_one_of(line: &[u8], types: &[&[u8]]) -> bool {
    let head = &line[..line.len().min(HEAD_BYTES)];
    types.iter().any(|kind| head.windows(kind.len()).any(|part| part == *kind))
}

/// Parses only the position of an entry. This works even if the rest of the line is invalid, for example if a newer
/// Haft wrote it.
pub fn seq_of(line: &[u8]) -> Option<Seq> {
    serde_json::from_slice::<Head>(line).ok()?.seq
}

/// The fields of an entry without its fact.
#[derive(Deserialize)]
struct Place {
    seq: Seq,
    #[serde(default)]
    parent: Option<Seq>,
    at: u64,
    #[serde(default)]
    chain: Option<String>,
}

/// The one field that every event has.
#[derive(Deserialize)]
struct Head {
    #[serde(deserialize_with = "given")]
    seq: Option<Seq>,
}

/// Deserializes a field that must be present, even if it is `null`.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Seq>, D::Error> {
    Option::deserialize(deserializer)
}

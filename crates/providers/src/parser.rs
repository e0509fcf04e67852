//! [`Parser`]: what each parser of replies implements, and functions that they share.
use crate::{fault::Complaint, json, sse::Event};
use haft_core::{Delta, StopReason};
use serde_json::Value;

/// Parses one reply of a wire: call [`Parser::event`] for each event or [`Parser::whole`] once, then
/// [`Parser::finish`]. Unknown content is ignored.
pub(crate) trait Parser: Send {
    /// Parses one event of a streamed reply.
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Fault>;
    /// Reads a reply that was not streamed.
    fn whole(&mut self, body: Value, out: &mut Vec<Delta>) -> Result<(), Fault>;
    /// Whether the server has sent the stop reason; only usage may follow.
    fn is_complete(&self) -> bool;
    /// Whether nothing can follow.
    fn is_over(&self) -> bool;
    /// Whether the server says that the model thinks, without sending its thoughts.
    fn is_at_work(&self) -> bool {
        false
    }
    /// Emits what was held back. Returns the stop reason, or `None` if the reply was cut off.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Option<StopReason>;
    /// The stop reason as the vendor spells it, if it gave one.
    fn stop_word(&self) -> Option<&str>;
    /// The model's refusal, if the wire separates it from the text.
    fn declined(&self) -> &str {
        ""
    }
}

/// The error of an event.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The data is not JSON, or not an object.
    Broken,
    /// The vendor reports an error.
    Complaint(Complaint),
}

/// The type of an event, in its data or in its name; some servers omit one of them.
pub(crate) fn kind(data: &Value, event: &Event) -> String {
    match json::text(&data["type"]) {
        "" => event.name.clone(),
        kind => kind.to_owned(),
    }
}

/// Emits `words`, unless they are empty.
pub(crate) fn say(delta: fn(String) -> Delta, words: String, out: &mut Vec<Delta>) {
    if !words.is_empty() {
        out.push(delta(words));
    }
}

/// The JSON object in `data`, unless it reports an error.
pub(crate) fn object(data: &str) -> Result<Value, Fault> {
    match json::parse(data) {
        Some(value) if value.is_object() => sound(value),
        _ => Err(Fault::Broken),
    }
}

/// `value`, unless it reports an error.
pub(crate) fn sound(value: Value) -> Result<Value, Fault> {
    match Complaint::read(&value) {
        Some(complaint) => Err(Fault::Complaint(complaint)),
        None => Ok(value),
    }
}

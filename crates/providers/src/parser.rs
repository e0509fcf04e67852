//! What every reader of a reply must be able to do, and what all of them share.
use crate::{fault::Complaint, json, sse::Event};
use haft_core::{Delta, StopReason};
use serde_json::Value;

/// Reads one reply off a wire: [`Parser::event`] for each event or [`Parser::whole`] once, then [`Parser::finish`].
/// What it does not know it passes over.
pub(crate) trait Parser: Send {
    /// Reads one event of a streamed reply.
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Fault>;
    /// A reply that came in one piece.
    fn whole(&mut self, body: Value, out: &mut Vec<Delta>) -> Result<(), Fault>;
    /// Whether the server has said why it stopped; only usage may follow.
    fn is_complete(&self) -> bool;
    /// Whether nothing at all will follow.
    fn is_over(&self) -> bool;
    /// Whether the server says that the model thinks, and keeps its thoughts to itself.
    fn is_at_work(&self) -> bool {
        false
    }
    /// Gives out what was held back. The reason why the reply ended, or `None` if it was cut off.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Option<StopReason>;
    /// The reason in the vendor's own word, if it gave one.
    fn stop_word(&self) -> Option<&str>;
    /// The words with which the model declined, where the wire keeps them apart from the text.
    fn declined(&self) -> &str {
        ""
    }
}

/// What may be wrong with an event.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Not JSON, or not an object.
    Broken,
    /// The vendor reports an error.
    Complaint(Complaint),
}

/// What kind of event this is, where kinds have names; some servers leave out the one or the other.
pub(crate) fn kind(data: &Value, event: &Event) -> String {
    match json::text(&data["type"]) {
        "" => event.name.clone(),
        kind => kind.to_owned(),
    }
}

/// Passes words on, if there are any.
pub(crate) fn say(delta: fn(String) -> Delta, words: String, out: &mut Vec<Delta>) {
    if !words.is_empty() {
        out.push(delta(words));
    }
}

/// The object that an event or a body holds, unless it is a complaint.
pub(crate) fn object(data: &str) -> Result<Value, Fault> {
    match json::parse(data) {
        Some(value) if value.is_object() => sound(value),
        _ => Err(Fault::Broken),
    }
}

/// `value`, unless it is a complaint.
pub(crate) fn sound(value: Value) -> Result<Value, Fault> {
    match Complaint::read(&value) {
        Some(complaint) => Err(Fault::Complaint(complaint)),
        None => Ok(value),
    }
}

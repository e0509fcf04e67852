//! [`Details`]: OpenRouter's `reasoning_details`: the thoughts of a reply as the vendor behind it sent them, with their
//! proofs. They are sent back unchanged; otherwise that vendor refuses the calls of the message.
//!
//! ```text
//! {"reasoning_details": [{"type": "reasoning.text", "text", "signature", "index", "format"},
//!    {"type": "reasoning.summary", "summary"}, {"type": "reasoning.encrypted", "data", "id"}]}
//! ```
use crate::{Wire, json::text};
use haft_core::Part;
use serde_json::{Map, Value};

/// The details of one reply, merged from the chunks of a stream.
#[derive(Default)]
pub(super) struct Details(Vec<Value>);

impl Details {
    /// Adds the details of a chunk; anything but a list of objects is ignored.
    pub(super) fn push(&mut self, pieces: Value) {
        let Value::Array(pieces) = pieces else { return };
        for piece in pieces {
            let Value::Object(piece) = piece else { continue };
            match self.0.last_mut().and_then(Value::as_object_mut).filter(|last| goes_on(last, &piece)) {
                Some(last) => extend(last, piece),
                None => self.0.push(piece.into()),
            }
        }
    }

    /// The details in the form that the journal keeps; `None` if the reply had none.
    pub(super) fn signature(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| Wire::OpenaiChat.mark(&Value::from(self.0.clone()).to_string()))
    }
}

/// The details of a message, as [`Details::signature`] stored them.
pub(super) fn of_message(parts: &[Part]) -> Option<Value> {
    parts.iter().find_map(|part| match part {
        Part::Thinking { signature, .. } => {
            serde_json::from_str(Wire::OpenaiChat.own(signature.as_deref()?)?).ok()
        }
        Part::Text { .. } | Part::Image(_) | Part::Document(_) | Part::ToolCall(_) => None,
    })
}

/// Whether `piece` continues the text of `last`. Encrypted details are always complete.
fn goes_on(last: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let is_same = |field: &str| last.get(field) == piece.get(field);
    let is_text = last.get("type").is_some_and(|kind| text(kind) != "reasoning.encrypted");
    let is_signed = last.get("signature").is_some_and(|signature| !text(signature).is_empty());
    is_text && !is_signed && is_same("type") && is_same("index")
}

fn extend(last: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (name, value) in piece {
        match (last.get_mut(&name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(said)), Value::String(more)) if matches!(&*name, "text" | "summary") => {
                said.push_str(&more);
            }
            (_, value) => _ = last.insert(name, value),
        }
    }
}

//! The formats in which models are spoken to, and what a format must be able to do.
use crate::{
    anthropic, fault::Complaint, gemini, json, openai_chat, openai_responses, sse::Event, vendor::Quirks,
};
use haft_core::{Delta, Request, StopReason};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every wire that can be spoken.
pub const WIRES: &[Wire] = &[Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Gemini];

/// A format of requests and replies. The set is closed: a further vendor mostly speaks the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's chat completions, which most vendors and all local servers speak too.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's own.
    Gemini,
}

impl Wire {
    /// As it is written in `vendors.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Where requests for `model` go, after the base URL.
    pub(crate) fn path(self, model: &str, stream: bool) -> String {
        match self {
            Self::OpenaiChat => "/chat/completions".into(),
            Self::OpenaiResponses => "/responses".into(),
            Self::Anthropic => "/messages".into(),
            Self::Gemini => gemini::path(model, stream),
        }
    }

    /// Names and values of the headers that carry `key`, and of those that the wire wants besides.
    pub(crate) fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => {
                key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
            }
            Self::Anthropic => {
                let key = key.map(|key| ("x-api-key", key.to_owned()));
                key.into_iter().chain([("anthropic-version", anthropic::VERSION.to_owned())]).collect()
            }
            Self::Gemini => key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect(),
        }
    }

    pub(crate) fn body(self, request: &Request, quirks: &Quirks, stream: bool) -> Value {
        match self {
            Self::OpenaiChat => openai_chat::body(request, quirks, stream),
            Self::OpenaiResponses => openai_responses::body(request, quirks, stream),
            Self::Anthropic => anthropic::body(request, quirks, stream),
            Self::Gemini => gemini::body(request),
        }
    }

    pub(crate) fn parser(self) -> Box<dyn Parser> {
        match self {
            Self::OpenaiChat => Box::new(openai_chat::ChatReply::default()),
            Self::OpenaiResponses => Box::new(openai_responses::ResponsesReply::default()),
            Self::Anthropic => Box::new(anthropic::MessageReply::default()),
            Self::Gemini => Box::new(gemini::ContentReply::default()),
        }
    }
}

/// A thought can only be sent back to those who can check its signature: it names its wire, unless that is Anthropic.
impl Wire {
    /// A signature made of what the vendor gave.
    pub(crate) fn mark(self, proof: &str) -> String {
        format!("{}:{proof}", self.name())
    }

    /// What the vendor gave, if the signature bears this wire's name.
    pub(crate) fn own(self, signature: &str) -> Option<&str> {
        signature.strip_prefix(self.name())?.strip_prefix(':')
    }
}

/// Reads one reply off a wire: [`Parser::event`] for each event or [`Parser::whole`] once, then [`Parser::finish`].
/// What it does not know it passes over.
pub(crate) trait Parser: Send {
    /// One event of a streamed reply.
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

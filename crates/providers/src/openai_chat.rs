//! [`body`]: requests of OpenAI's chat completions. Responses are parsed in [`reply`].
//!
//! Source: platform.openai.com, API reference "Chat", 2026-11, and the behavior of compatible servers.
mod details;
mod reply;

pub(crate) use reply::ChatReply;

use crate::{
    constrain::{self, definition},
    gemini::signature,
    quirks::{EchoProofs, EchoReasoning, EmptyContent, Quirks, options},
};
use fnv::FnvHasher;
use haft_core::{CallId, Document, Image, Message, Part, Request, ToolCall, text_of};
use serde_json::{Map, Value, json};
use std::hash::Hasher;

/// The body of a request.
pub(crate) fn body(request: &Request, quirks: &Quirks, stream: bool) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    body.insert("messages".into(), messages(request, quirks).into());
    let tools = constrain::tools(request, quirks);
    if !tools.is_empty() {
        body.insert("tools".into(), tools.iter().map(|tool| definition(tool, quirks)).collect());
    }
    if request.max_output > 0 {
        body.insert(quirks.max_tokens_field.to_owned(), request.max_output.into());
    }
    body.insert("stream".into(), stream.into());
    if stream && quirks.stream_usage {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    body.extend(constrain::fields(request, quirks));
    body.extend(options(request, quirks));
    body.into()
}

fn messages(request: &Request, quirks: &Quirks) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    // Pictures of results follow after the last result: nothing may be between the results of one turn.
    let mut pictures = Vec::new();
    for message in &request.messages {
        if !matches!(**message, Message::Tool { .. }) {
            messages.extend(shown(&mut pictures));
        }
        match &**message {
            Message::User { parts } => messages.push(json!({"role": "user", "content": content(parts)})),
            Message::Assistant { parts } => messages.extend(assistant(parts, &request.model, quirks)),
            Message::Tool { call, name: _, result } => {
                let call = call_id(call, quirks);
                messages.push(json!({"role": "tool", "tool_call_id": call, "content": result.content}));
                pictures.extend(result.images.iter().map(image));
            }
        }
    }
    messages.extend(shown(&mut pictures));
    messages
}

/// A user message with the pictures of results, since the wire has none in results.
fn shown(pictures: &mut Vec<Value>) -> Option<Value> {
    if pictures.is_empty() {
        return None;
    }
    let note = json!({"type": "text", "text": "The images of the tool results above:"});
    let content: Vec<Value> = [note].into_iter().chain(pictures.drain(..)).collect();
    Some(json!({"role": "user", "content": content}))
}

/// A string if there is only text, since many local servers support nothing else.
fn content(parts: &[Part]) -> Value {
    if !parts.iter().any(|part| matches!(part, Part::Image(_) | Part::Document(_))) {
        return text_of(parts).into();
    }
    let pieces = parts.iter().filter_map(|part| match part {
        Part::Text { text } | Part::Document(Document { text, .. }) => {
            Some(json!({"type": "text", "text": text}))
        }
        Part::Image(picture) => Some(image(picture)),
        Part::Thinking { .. } | Part::ToolCall(_) => None,
    });
    pieces.collect()
}

fn image(image: &Image) -> Value {
    json!({"type": "image_url", "image_url": {"url": data_url(image)}})
}

pub(crate) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.mime, image.data)
}

/// `None` for a message that was interrupted before it had any text: the wire refuses an empty message.
fn assistant(parts: &[Part], model: &str, quirks: &Quirks) -> Option<Value> {
    let mut calls: Vec<Value> =
        parts.iter().filter_map(Part::as_call).map(|made| call(made, quirks)).collect();
    if calls.is_empty() && text_of(parts).is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    message.insert("content".into(), said(parts, quirks));
    let echo = match quirks.echo_reasoning {
        EchoReasoning::Never => false,
        EchoReasoning::WithCalls => !calls.is_empty(),
        EchoReasoning::Always => true,
    };
    if echo {
        // Empty if another model made the call: the vendors that require this field refuse a call without it.
        message.insert("reasoning_content".into(), thought(parts).into());
    }
    match quirks.echo_proofs {
        EchoProofs::Never => {}
        EchoProofs::CallSignatures => sign(&mut calls, &signature::of_calls(parts, model, quirks)),
        EchoProofs::Details => {
            message.extend(details::of_message(parts).map(|details| ("reasoning_details".into(), details)));
        }
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    Some(message.into())
}

/// Adds the signatures to the calls. Gemini 3 refuses a call without its signature.
fn sign(calls: &mut [Value], signatures: &[Option<&str>]) {
    for (call, proof) in calls.iter_mut().zip(signatures) {
        if let Some(proof) = proof {
            call["extra_content"] = json!({"google": {"thought_signature": proof}});
        }
    }
}

fn said(parts: &[Part], quirks: &Quirks) -> Value {
    let text = text_of(parts);
    match quirks.empty_content {
        EmptyContent::Null if text.is_empty() => Value::Null,
        EmptyContent::Null | EmptyContent::Text => text.into(),
    }
}

fn thought(parts: &[Part]) -> String {
    let thoughts = parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        Part::Text { .. } | Part::Image(_) | Part::Document(_) | Part::ToolCall(_) => None,
    });
    thoughts.collect()
}

/// the arguments are JSON inside a string.
fn call(call: &ToolCall, quirks: &Quirks) -> Value {
    let arguments = sound_arguments(call).to_string();
    json!({"id": call_id(&call.id, quirks), "type": "function", "function": {"name": sent_name(&call.name), "arguments": arguments}})
}

/// Maximum characters of a name; vendors refuse a whole conversation with a longer one.
const MAX_NAME: usize = 64;

/// The name of a call in a form that vendors accept: a model may have made up another one, which all later requests
/// contain.
pub(crate) fn sent_name(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let sent = name.chars().map(|letter| if fits(letter) { letter } else { '_' });
    if name.is_empty() { "unnamed".to_owned() } else { sent.take(MAX_NAME).collect() }
}

/// Maximum characters of an ID of a call (platform.openai.com/docs/api-reference/chat, 2026-11).
const MAX_CALL_ID: usize = 40;

/// The call's own ID. If it is too long, or the vendor requires a fixed form, nine letters and digits are derived from
/// it: another model may have made the call earlier in the session.
fn call_id(id: &CallId, quirks: &Quirks) -> String {
    let is_short = id.0.len() == 9 && id.0.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_short || (!quirks.nine_letter_call_ids && id.0.len() <= MAX_CALL_ID) {
        return id.0.clone();
    }
    nine_letters(id)
}

pub(crate) fn nine_letters(id: &CallId) -> String {
    // FNV-1a gives the same hash in each process, so that a resumed session hits the vendor's cache.
    let mut hasher = FnvHasher::default();
    hasher.write(id.0.as_bytes());
    let mut hash = hasher.finish();
    let letter = |_| {
        let letter = b"0123456789abcdefghijklmnopqrstuvwxyz"[(hash % 36) as usize];
        hash /= 36;
        char::from(letter)
    };
    (0..9).map(letter).collect()
}

/// The arguments as an object: chat templates of local servers fail on arguments that are not JSON, and Anthropic
/// refuses any input that is not an object.
pub(crate) fn sound_arguments(call: &ToolCall) -> Value {
    match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        unreadable => json!({"unreadable_arguments": unreadable}),
    }
}

//! [`body`]: requests of OpenAI's API "Responses". Its replies are parsed in [`reply`].
//!
//! The vendor stores nothing (`store: false`): each request has the whole conversation, including thoughts, which are
//! encrypted.
//!
//! Source: platform.openai.com, API reference "Responses" and guide "Reasoning", 2026-11.
mod reply;

pub(crate) use reply::ResponsesReply;

use crate::{
    Wire, constrain,
    openai_chat::{data_url, nine_letters, sent_name, sound_arguments},
    quirks::{EchoReasoning, Quirks, is_among, options},
};
use haft_core::{CallId, Document, Image, Message, Part, Request, ToolCall, ToolResult, ToolSpec, text_of};
use serde_json::{Map, Value, json};

/// Minimum of the output limit; the vendor refuses a smaller one.
const MIN_OUTPUT: u32 = 16;

/// The body of a request.
pub(crate) fn body(request: &Request, quirks: &Quirks, stream: bool) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    if !request.system.is_empty() {
        body.insert("instructions".into(), request.system.clone().into());
    }
    body.insert("input".into(), input(&request.messages, quirks).into());
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(|each| tool(each, quirks)).collect());
    }
    if request.max_output > 0 {
        body.insert("max_output_tokens".into(), request.max_output.max(MIN_OUTPUT).into());
    }
    body.insert("stream".into(), stream.into());
    body.insert("store".into(), false.into());
    if quirks.encrypted_reasoning && !is_among(&request.model, quirks.models_without_reasoning) {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    body.extend(options(request, quirks));
    if let Some(schema) = constrain::answer(request, quirks)
        && let Some(Value::Object(mut format)) = constrain::named_schema(schema)
    {
        format.insert("type".into(), "json_schema".into());
        constrain::insert_into(&mut body, "text", "format", format.into());
    }
    body.into()
}

/// A tool. Without the field `strict`, the wire takes the schema as strict and refuses optional parameters.
fn tool(tool: &ToolSpec, quirks: &Quirks) -> Value {
    let strict = quirks.strict_tools.then(|| constrain::strict(&tool.parameters)).flatten();
    let (is_strict, parameters) = (strict.is_some(), strict.unwrap_or_else(|| tool.parameters.clone()));
    let (name, description) = (&tool.name, &tool.description);
    json!({"type": "function", "name": name, "description": description, "parameters": parameters, "strict": is_strict})
}

fn input(messages: &[std::sync::Arc<Message>], quirks: &Quirks) -> Vec<Value> {
    let mut items = Vec::new();
    for message in messages {
        match &**message {
            Message::User { parts } => items.push(json!({"role": "user", "content": content(parts)})),
            Message::Assistant { parts } => items.extend(said(parts, quirks)),
            Message::Tool { call, name: _, result } => {
                items.push(
                    json!({"type": "function_call_output", "call_id": call_id(call), "output": output(result)}),
                );
            }
        }
    }
    items
}

fn content(parts: &[Part]) -> Value {
    if !parts.iter().any(|part| matches!(part, Part::Image(_) | Part::Document(_))) {
        return text_of(parts).into();
    }
    let pieces = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(input_text(text)),
        Part::Image(picture) => Some(image(picture)),
        Part::Document(pdf) => Some(document(pdf)),
        Part::Thinking { .. } | Part::ToolCall(_) => None,
    });
    pieces.collect()
}

fn output(result: &ToolResult) -> Value {
    if result.images.is_empty() {
        return result.content.clone().into();
    }
    [input_text(&result.content)].into_iter().chain(result.images.iter().map(image)).collect()
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn image(image: &Image) -> Value {
    json!({"type": "input_image", "image_url": data_url(image), "detail": "auto"})
}

/// Source: platform.openai.com, "PDF files", 2026-11.
fn document(document: &Document) -> Value {
    let url = format!("data:application/pdf;base64,{}", document.data);
    json!({"type": "input_file", "filename": document.name, "file_data": url})
}

/// The items of an assistant message, without thoughts at the end: the wire refuses a thought that is followed by
/// nothing.
fn said(parts: &[Part], quirks: &Quirks) -> Vec<Value> {
    let is_thought = |part: &Part| matches!(part, Part::Thinking { .. });
    let end = parts.iter().rposition(|part| !is_thought(part)).map_or(0, |last| last + 1);
    parts[..end].iter().filter_map(|part| item(part, quirks)).collect()
}

fn item(part: &Part, quirks: &Quirks) -> Option<Value> {
    match part {
        Part::Text { text } => (!text.is_empty()).then(|| json!({"role": "assistant", "content": text})),
        Part::Thinking { text, signature } => reasoning(text, signature.as_deref(), quirks),
        Part::ToolCall(call) => Some(function_call(call)),
        Part::Image(_) | Part::Document(_) => None,
    }
}

/// A thought: encrypted if it came so, as plain text for the vendors that want it back; thoughts of other models are
/// left out.
fn reasoning(text: &str, signature: Option<&str>, quirks: &Quirks) -> Option<Value> {
    let encrypted = signature.and_then(|signature| Wire::OpenaiResponses.own(signature));
    if let Some(encrypted) = encrypted {
        let summary: Vec<Value> =
            (!text.is_empty()).then(|| json!({"type": "summary_text", "text": text})).into_iter().collect();
        return Some(json!({"type": "reasoning", "summary": summary, "encrypted_content": encrypted}));
    }
    let echo = quirks.echo_reasoning != EchoReasoning::Never && signature.is_none() && !text.is_empty();
    let content = json!([{"type": "reasoning_text", "text": text}]);
    echo.then(|| json!({"type": "reasoning", "summary": [], "content": content}))
}

/// Maximum characters of an ID of a call on this wire.
const MAX_CALL_ID: usize = 64;

fn call_id(id: &CallId) -> String {
    if id.0.len() <= MAX_CALL_ID { id.0.clone() } else { nine_letters(id) }
}

/// The arguments are JSON inside a string.
fn function_call(call: &ToolCall) -> Value {
    let arguments = sound_arguments(call).to_string();
    json!({"type": "function_call", "call_id": call_id(&call.id), "name": sent_name(&call.name), "arguments": arguments})
}

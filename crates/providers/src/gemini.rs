//! [`body`]: the request in Gemini's own format, `generateContent`. [`reply`] parses the response.
//!
//! Source: ai.google.dev, API reference "Generating content", guides "Function calling" and "Thought signatures",
//! 2026-11.
mod reply;
mod schema;
pub(crate) mod signature;

pub(crate) use reply::ContentReply;

use crate::{
    constrain,
    openai_chat::{sent_name, sound_arguments},
    quirks::Quirks,
};
use haft_core::{CallId, Document, Image, Message, Part, Request, ToolResult, ToolSpec};
use serde_json::{Map, Value, json};

/// Options that are fields of the request; every other one belongs to its `generationConfig`.
const OUTER_OPTIONS: &[&str] = &["safetySettings", "toolConfig", "cachedContent"];

/// The path for requests to `model`, after the base URL.
pub(crate) fn path(model: &str, stream: bool) -> String {
    let folder = if model.contains('/') { "" } else { "models/" };
    let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    format!("/{folder}{model}:{method}")
}

/// The body of a request.
pub(crate) fn body(request: &Request, quirks: &Quirks) -> Value {
    let mut body = Map::new();
    if !request.system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": request.system}]}));
    }
    body.insert("contents".into(), contents(request, quirks).into());
    let tools = constrain::tools(request, quirks);
    if !tools.is_empty() {
        let declarations: Vec<Value> = tools.iter().map(declaration).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": declarations}]));
    }
    let mut config = Map::new();
    if request.max_output > 0 {
        config.insert("maxOutputTokens".into(), request.max_output.into());
    }
    for (name, value) in request.options.clone() {
        let place = if OUTER_OPTIONS.contains(&name.as_str()) { &mut body } else { &mut config };
        place.insert(name, value);
    }
    if let Some(schema) = constrain::answer(request, quirks) {
        config.insert("responseMimeType".into(), "application/json".into());
        config.insert("responseJsonSchema".into(), schema.clone());
    }
    if !config.is_empty() {
        body.insert("generationConfig".into(), config.into());
    }
    body.into()
}

fn declaration(tool: &ToolSpec) -> Value {
    let mut declaration = json!({"name": tool.name, "description": tool.description});
    if let Some(parameters) = schema::parameters(&tool.parameters) {
        declaration["parameters"] = parameters;
    }
    declaration
}

/// Joins adjacent messages of one role to one content, because the results of a turn must be together.
fn contents(request: &Request, quirks: &Quirks) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, parts) = match &**message {
            Message::User { parts } => ("user", seen(parts)),
            Message::Assistant { parts } => ("model", said(parts, &request.model, quirks)),
            Message::Tool { call, name, result } => ("user", response(call, name, result)),
        };
        match turns.last_mut() {
            Some((last, said)) if *last == role => said.extend(parts),
            // The API refuses a content without parts.
            _ if parts.is_empty() => {}
            _ => turns.push((role, parts)),
        }
    }
    turns.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn seen(parts: &[Part]) -> Vec<Value> {
    let pieces = parts.iter().filter_map(|part| match part {
        Part::Text { text } => (!text.is_empty()).then(|| json!({"text": text})),
        Part::Image(picture) => Some(image(picture)),
        Part::Document(pdf) => Some(document(pdf)),
        Part::Thinking { .. } | Part::ToolCall(_) => None,
    });
    pieces.collect()
}

fn image(image: &Image) -> Value {
    json!({"inlineData": {"mimeType": image.mime, "data": image.data}})
}

/// Source: ai.google.dev, "Document understanding", 2026-11.
fn document(document: &Document) -> Value {
    json!({"inlineData": {"mimeType": "application/pdf", "data": document.data}})
}

/// The parts of a reply. Thoughts are left out; their signatures are sent on the parts with which they came.
fn said(parts: &[Part], model: &str, quirks: &Quirks) -> Vec<Value> {
    let mut said = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Text { text } if !text.is_empty() => said.push(json!({"text": text})),
            Part::Text { .. } | Part::Image(_) | Part::Document(_) => {}
            Part::Thinking { signature, .. } => {
                if let Some((None, proof)) = signature.as_deref().and_then(signature::signed) {
                    sign_text(proof, &mut said);
                }
            }
            Part::ToolCall(call) => {
                let (id, name, args) = (&call.id.0, sent_name(&call.name), sound_arguments(call));
                calls.push(json!({"functionCall": {"id": id, "name": name, "args": args}}));
            }
        }
    }
    for (call, proof) in calls.iter_mut().zip(signature::of_calls(parts, model, quirks)) {
        if let Some(proof) = proof {
            call["thoughtSignature"] = proof.into();
        }
    }
    said.append(&mut calls);
    said
}

fn sign_text(proof: &str, said: &mut Vec<Value>) {
    match said.last_mut() {
        Some(text) if text["thoughtSignature"].is_null() => text["thoughtSignature"] = proof.into(),
        _ => said.push(json!({"text": "", "thoughtSignature": proof})),
    }
}

/// The result as an object, which the API requires; the names `output` and `error` are those of its guide.
fn response(call: &CallId, name: &str, result: &ToolResult) -> Vec<Value> {
    let field = if result.is_ok() { "output" } else { "error" };
    let response = json!({"id": call.0, "name": sent_name(name), "response": {field: result.content}});
    let pictures = result.images.iter().map(image);
    [json!({"functionResponse": response})].into_iter().chain(pictures).collect()
}

//! [`body`]: requests of Amazon Bedrock's Converse. Responses are parsed in [`reply`].
//!
//! One wire for all models of Bedrock that call tools; `InvokeModel` would need a different wire for each model maker.
//! Source: docs.aws.amazon.com, API reference "ConverseStream", guide "Prompt caching", 2026-11.
mod reply;

pub(crate) use reply::ConverseReply;

use crate::{
    Wire, constrain,
    openai_chat::{sent_name, sound_arguments},
    quirks::Quirks,
    sign_in::encoded,
    turns::{Turn, calls_without_thought, safe_id, turns},
};
use haft_core::{CallId, Document, Image, Message, Part, Request, ToolResult};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Parts of the names of models that can cache a conversation; the others refuse requests for it.
const CACHING: [&str; 5] =
    ["claude-3-7", "claude-haiku-4", "claude-opus-4", "claude-sonnet-4", "amazon.nova"];
/// Prefix of a signature that holds not the proof of a thought but the thought itself, encrypted by the vendor.
const REDACTED: &str = "redacted:";

/// The path of requests for `model`, after the base URL. The model may be the ARN of a profile.
pub(crate) fn path(model: &str, stream: bool) -> String {
    let method = if stream { "converse-stream" } else { "converse" };
    format!("/model/{}/{method}", encoded(model, ""))
}

/// The body of a request.
pub(crate) fn body(request: &Request, quirks: &Quirks) -> Value {
    let caches = CACHING.iter().any(|name| request.model.contains(name));
    let mut body = Map::new();
    if !request.system.trim().is_empty() {
        let text = [json!({"text": request.system})].into_iter().chain(cache_point(caches));
        body.insert("system".into(), text.collect());
    }
    let turns = turns(&request.messages, blocks, tool_result);
    let may_think = !calls_without_thought(&turns, is_call, is_thought);
    body.insert("messages".into(), messages(turns, caches).into());
    let mut tools: Vec<Value> = constrain::tools(request, quirks)
        .iter()
        .map(|tool| tool_spec(&tool.name, &tool.description, &tool.parameters))
        .collect();
    if tools.is_empty() {
        tools = named_in(&request.messages);
    }
    if !tools.is_empty() {
        body.insert("toolConfig".into(), json!({ "tools": tools }));
    }
    let mut config = Map::new();
    if request.max_output > 0 {
        config.insert("maxTokens".into(), request.max_output.into());
    }
    let mut others = Map::new();
    for (name, value) in request.options.clone() {
        match name.as_str() {
            "temperature" => config.insert(name, value),
            "top_p" => config.insert("topP".into(), value),
            "stop" => config.insert("stopSequences".into(), value),
            // Thinking of Claude, by the names of Anthropic and of this wire.
            "thinking" | "reasoning_config" if !may_think && value["type"] == "enabled" => None,
            // Options that only the models of some makers accept.
            _ => others.insert(name, value),
        };
    }
    for (name, fields) in [("inferenceConfig", config), ("additionalModelRequestFields", others)] {
        if !fields.is_empty() {
            body.insert(name.into(), fields.into());
        }
    }
    body.into()
}

fn cache_point(caches: bool) -> Option<Value> {
    caches.then(|| json!({"cachePoint": {"type": "default"}}))
}

fn tool_spec(name: &str, description: &str, parameters: &Value) -> Value {
    json!({"toolSpec": {"name": name, "description": description, "inputSchema": {"json": parameters}}})
}

/// The tools that the messages call. The wire refuses a conversation with calls without their tools, even if none is
/// offered anymore.
fn named_in(messages: &[Arc<Message>]) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for message in messages {
        let Message::Assistant { parts } = &**message else { continue };
        for call in parts.iter().filter_map(Part::as_call).filter(|call| !call.name.is_empty()) {
            if !names.contains(&call.name.as_str()) {
                names.push(&call.name);
            }
        }
    }
    names.iter().map(|name| tool_spec(name, "Not available.", &json!({"type": "object"}))).collect()
}

/// Merges consecutive turns of one role into one message: all results of a turn must be in one.
fn messages(mut turns: Vec<Turn>, caches: bool) -> Vec<Value> {
    if let Some((_, last)) = turns.last_mut() {
        last.extend(cache_point(caches));
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn is_call(block: &Value) -> bool {
    !block["toolUse"].is_null()
}

fn is_thought(block: &Value) -> bool {
    !block["reasoningContent"].is_null()
}

fn blocks(parts: &[Part]) -> Vec<Value> {
    let block = |part: &Part| match part {
        // The wire refuses empty text.
        Part::Text { text } | Part::Document(Document { text, .. }) => {
            (!text.trim().is_empty()).then(|| json!({"text": text}))
        }
        Part::Thinking { text, signature } => thinking(text, signature.as_deref()?),
        Part::Image(picture) => Some(image(picture)),
        Part::ToolCall(call) => Some(json!({"toolUse": {
            "toolUseId": safe_id(&call.id), "name": sent_name(&call.name), "input": sound_arguments(call),
        }})),
    };
    parts.iter().filter_map(block).collect()
}

/// A thought, unchanged. Thoughts of other wires are left out, since their proofs would be refused.
fn thinking(text: &str, signature: &str) -> Option<Value> {
    let proof = Wire::Converse.own(signature)?;
    let content = match proof.strip_prefix(REDACTED) {
        Some(data) => json!({"redactedContent": data}),
        None => json!({"reasoningText": {"text": text, "signature": proof}}),
    };
    Some(json!({"reasoningContent": content}))
}

fn image(image: &Image) -> Value {
    let format = image.mime.rsplit('/').next().unwrap_or_default();
    json!({"image": {"format": format, "source": {"bytes": image.data}}})
}

fn tool_result(call: &CallId, result: &ToolResult) -> Value {
    // The wire refuses results without content, and empty text.
    let text = if result.content.trim().is_empty() { "(no output)" } else { &result.content };
    let content: Vec<Value> =
        [json!({"text": text})].into_iter().chain(result.images.iter().map(image)).collect();
    let status = if result.is_ok() { "success" } else { "error" };
    json!({"toolResult": {"toolUseId": safe_id(call), "content": content, "status": status}})
}

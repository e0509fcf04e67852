//! [`body`]: requests of Anthropic's Messages. Responses are parsed in [`reply`].
//!
//! Source: docs.anthropic.com, "Messages" and "Streaming messages", 2026-11 (O-23, O-45).
mod reply;

pub(crate) use reply::MessageReply;

use crate::{
    CacheTtl, WIRES, constrain,
    openai_chat::{sent_name, sound_arguments},
    quirks::{PromptCache, Quirks},
    turns::{Turn, calls_without_thought, safe_id, turns},
};
use haft_core::{CallId, Document, Image, Part, Request, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

/// The only version of the wire.
pub(crate) const VERSION: &str = "2023-06-01";
/// Used if the request has no limit, since the wire requires one.
const MAX_OUTPUT: u32 = 8_192;
/// Prefix of a signature that holds not the proof of a thought but the thought itself, encrypted by the vendor.
const REDACTED: &str = "redacted_thinking:";

/// Replaces the version on Vertex AI.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// The path of requests for `model`, after the base URL.
pub(crate) fn path(model: &str, quirks: &Quirks, stream: bool) -> String {
    match (quirks.model_in_path, stream) {
        (false, _) => "/messages".into(),
        (true, true) => format!("/models/{model}:streamRawPredict"),
        (true, false) => format!("/models/{model}:rawPredict"),
    }
}

/// The body of a request.
pub(crate) fn body(request: &Request, quirks: &Quirks, stream: bool) -> Value {
    let mut body = Map::new();
    match quirks.model_in_path {
        true => body.insert("anthropic_version".into(), VERTEX_VERSION.into()),
        false => body.insert("model".into(), request.model.clone().into()),
    };
    let max_output = if request.max_output == 0 { MAX_OUTPUT } else { request.max_output };
    body.insert("max_tokens".into(), max_output.into());
    if !request.system.trim().is_empty() {
        body.insert("system".into(), system(&request.system, quirks));
    }
    let mut turns = turns(&request.messages, blocks, tool_result);
    if quirks.prompt_cache == PromptCache::InLastBlock {
        mark_end(&mut turns, quirks.cache_ttl);
    }
    let may_think = !calls_without_thought(&turns, is_call, is_thought);
    body.insert("messages".into(), messages(turns).into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        });
        body.insert("tools".into(), tools.collect());
    }
    body.insert("stream".into(), stream.into());
    if quirks.prompt_cache == PromptCache::InRequest {
        // Each round sends the whole conversation again; read from the cache, it costs a tenth. This marks the end of
        // the cached prefix.
        body.insert("cache_control".into(), cache_control(quirks.cache_ttl));
    }
    body.extend(request.options.clone());
    if !may_think && body.get("thinking").is_some_and(|thinking| thinking["type"] == "enabled") {
        body.remove("thinking");
    }
    if let Some(schema) = constrain::answer(request, quirks).and_then(constrain::closed) {
        let format = json!({"type": "json_schema", "schema": schema});
        constrain::insert_into(&mut body, "output_config", "format", format);
    }
    body.into()
}

/// If the cache must be requested, the end of tools and system prompt is marked, too, since these never change: that
/// prefix is still found after the conversation was shortened.
fn system(text: &str, quirks: &Quirks) -> Value {
    match quirks.prompt_cache {
        PromptCache::Unasked => text.into(),
        PromptCache::InRequest | PromptCache::InLastBlock => {
            json!([{"type": "text", "text": text, "cache_control": cache_control(quirks.cache_ttl)}])
        }
    }
}

/// Marks the end of the conversation in its last block, unless that is a thought, which cannot have the mark.
fn mark_end(turns: &mut [Turn], ttl: CacheTtl) {
    let last = turns.last_mut().and_then(|(_, blocks)| blocks.last_mut()).filter(|block| !is_thought(block));
    if let Some(block) = last {
        block["cache_control"] = cache_control(ttl);
    }
}

/// The mark that caches the prompt up to this place. All marks of a request have the same lifetime, since the wire
/// refuses a shorter one before a longer one.
fn cache_control(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::FiveMinutes => json!({"type": "ephemeral"}),
        CacheTtl::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

/// Consecutive turns of one role are one message; so all results of a turn are in one (O-47).
fn messages(turns: Vec<Turn>) -> Vec<Value> {
    turns.into_iter().map(|(role, blocks)| json!({"role": role, "content": plain(blocks)})).collect()
}

/// A string if the content is a single text without a mark (O-24, O-29).
fn plain(mut blocks: Vec<Value>) -> Value {
    match blocks.as_mut_slice() {
        [only] if only["type"] == "text" && only["cache_control"].is_null() => only["text"].take(),
        _ => blocks.into(),
    }
}

fn blocks(parts: &[Part]) -> Vec<Value> {
    parts.iter().filter_map(block).collect()
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn block(part: &Part) -> Option<Value> {
    match part {
        // The wire refuses empty text.
        Part::Text { text } => (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text})),
        Part::Thinking { text, signature } => thinking(text, signature.as_deref()?),
        Part::Image(picture) => Some(image(picture)),
        Part::Document(pdf) => Some(document(pdf)),
        Part::ToolCall(call) => Some(tool_use(call)),
    }
}

/// A thought, unchanged. Without a signature, or with that of another wire, it is not the vendor's own, and the wire
/// refuses it.
fn thinking(text: &str, signature: &str) -> Option<Value> {
    if WIRES.iter().any(|wire| wire.own(signature).is_some()) {
        return None;
    }
    Some(match signature.strip_prefix(REDACTED) {
        Some(data) => json!({"type": "redacted_thinking", "data": data}),
        None => json!({"type": "thinking", "thinking": text, "signature": signature}),
    })
}

fn image(image: &Image) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": image.mime, "data": image.data}})
}

/// Source: docs.anthropic.com, "PDF support", 2026-11.
fn document(document: &Document) -> Value {
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": document.data});
    json!({"type": "document", "source": source, "title": document.name})
}

/// O-25
fn tool_use(call: &ToolCall) -> Value {
    json!({"type": "tool_use", "id": safe_id(&call.id), "name": sent_name(&call.name), "input": sound_arguments(call)})
}

/// O-27, O-48
fn tool_result(call: &CallId, result: &ToolResult) -> Value {
    let content: Value = match result.images.is_empty() {
        true => result.content.clone().into(),
        false => {
            let text =
                (!result.content.trim().is_empty()).then(|| json!({"type": "text", "text": result.content}));
            text.into_iter().chain(result.images.iter().map(image)).collect()
        }
    };
    json!({"type": "tool_result", "tool_use_id": safe_id(call), "content": content, "is_error": !result.is_ok()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor;
    use haft_core::Message;
    use std::sync::Arc;

    #[test]
    fn vertex_ai_is_asked_to_cache_the_conversation_in_its_last_block() {
        let prompt = Message::User { parts: vec![Part::text("go")] };
        let said = Message::Assistant { parts: vec![Part::ToolCall(ToolCall::new("a", "read", json!({})))] };
        let result = ToolResult { content: "one".into(), ..ToolResult::default() };
        let answered = Message::Tool { call: CallId("a".into()), name: "read".into(), result };
        let mut request = Request { system: "Be kind.".into(), ..Request::default() };
        for (message, last) in [(prompt, "text"), (said, "tool_use"), (answered, "tool_result")] {
            request.messages.push(Arc::new(message));
            let body = body(&request, &vendor("vertex-anthropic").unwrap().quirks, true);
            let mark = json!({"type": "ephemeral"});
            let messages = body["messages"].as_array().unwrap();
            let end = &messages.last().unwrap()["content"][0];
            assert_eq!((&end["type"], &end["cache_control"]), (&json!(last), &mark));
            assert_eq!(body["system"][0]["cache_control"], mark);
            assert_eq!(body.to_string().matches("cache_control").count(), 2, "{body}");
        }
    }
}

//! [`told`]: converts a conversation for a model without native calls: everything becomes text.
use super::{UNREADABLE, voice};
use haft_core::{Message, Part, Request, ToolCall, ToolResult};
use haft_dialects::Dialect;
use std::sync::Arc;

/// The request with its tools in the system prompt, and with calls and results as text. Results for the same reply are
/// one message.
pub(super) fn told(request: Request, dialect: &Dialect) -> Request {
    let mut messages: Vec<Arc<Message>> = Vec::new();
    let mut results = Vec::new();
    for message in &request.messages {
        if let Message::Tool { name, result, .. } = &**message {
            results.push((name.as_str(), result));
            continue;
        }
        messages.extend(answered(&mut results, dialect));
        messages.push(match &**message {
            Message::Assistant { parts } if parts.iter().any(|part| part.as_call().is_some()) => {
                Arc::new(Message::Assistant { parts: without_calls(parts, dialect) })
            }
            _ => message.clone(),
        });
    }
    messages.extend(answered(&mut results, dialect));
    let tools = voice::tools(dialect, &request.tools);
    let parts = [request.system.as_str(), tools.as_str()];
    let system = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    Request { system, messages, tools: Arc::new([]), ..request }
}

/// A reply whose calls are appended as text.
fn without_calls(parts: &[Part], dialect: &Dialect) -> Vec<Part> {
    let calls: Vec<&ToolCall> = parts.iter().filter_map(Part::as_call).collect();
    let mut told: Vec<Part> = parts.iter().filter(|part| part.as_call().is_none()).cloned().collect();
    // Invalid calls are in the text already.
    let written = calls.into_iter().filter(|call| call.name != UNREADABLE);
    let written: Vec<String> = written.map(|call| voice::call(dialect, call)).collect();
    let written = written.join("\n");
    match told.last_mut() {
        _ if written.is_empty() => {}
        Some(Part::Text { text }) => *text = format!("{}\n{written}", text.trim_end()),
        _ => told.push(Part::text(written)),
    }
    // Some servers refuse messages without content.
    if told.is_empty() {
        told.push(Part::text("…"));
    }
    told
}

fn answered(results: &mut Vec<(&str, &ToolResult)>, dialect: &Dialect) -> Option<Arc<Message>> {
    if results.is_empty() {
        return None;
    }
    let texts =
        results.iter().enumerate().map(|(place, (name, result))| voice::result(dialect, place, name, result));
    let texts: Vec<String> = texts.collect();
    let mut parts = vec![Part::text(voice::results(dialect, &texts))];
    let images = results.drain(..).flat_map(|(_, result)| result.images.iter().cloned());
    parts.extend(images.map(Part::Image));
    Some(Arc::new(Message::User { parts }))
}

//! [`assemble`]: assembles recorded streams in the terms of their wire, to compare them with the vendors' own clients.
//!
//! Everything passes through the parser for real replies. What [`Delta`] cannot express (blocks of tools that Anthropic
//! runs itself, the borders between its blocks) is taken from the same events.
use crate::{Connection, Wire, endpoint::Endpoint, json, reading::Reading, sse::Events};
use haft_core::{Delta, Part, ProviderError, Reply, text_of};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The reply in `chunks`. For [`Wire::OpenaiChat`], [`Wire::Gemini`] and [`Wire::Converse`] `{content, reasoning,
/// tool_calls: [{id, name, arguments}], finish_reason, usage}`, for [`Wire::OpenaiResponses`] `{content, reasoning,
/// tool_calls: [{call_id, name, arguments}], status, usage}`, for [`Wire::Anthropic`] `{content: [blocks], stop_reason,
/// usage}`. If the reply was cut off or reports an error, the part before it and `error: {message}`.
pub fn assemble<'a>(wire: Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> Value {
    let chunks: Vec<&[u8]> = chunks.into_iter().collect();
    let mut reading = Reading::new(wire.parser());
    let mut deltas = Vec::new();
    let error = read(&mut reading, &endpoint(wire), &chunks, &mut deltas).err();
    // Whether a call was cut off is decided by the engine.
    deltas.retain(|delta| !matches!(delta, Delta::Stop(_)));
    let stop = reading.parser().stop_word().map(str::to_owned);
    let mut assembled = match wire {
        Wire::OpenaiChat | Wire::Gemini | Wire::Converse => chat(deltas, stop, reading.parser().declined()),
        Wire::OpenaiResponses => response(deltas, stop, reading.parser().declined()),
        Wire::Anthropic => message(deltas, stop, &chunks),
    };
    if let Some(error) = error {
        assembled["error"] = json!({"message": error.to_string()});
    }
    assembled
}

fn read(
    reading: &mut Reading,
    endpoint: &Endpoint,
    chunks: &[&[u8]],
    deltas: &mut Vec<Delta>,
) -> Result<(), ProviderError> {
    // The recording is read to its end even if the reply is complete: some recordings hold two replies in one stream.
    chunks.iter().try_for_each(|chunk| reading.push(chunk, endpoint, deltas))?;
    reading.finish(endpoint, deltas)
}

fn endpoint(wire: Wire) -> Endpoint {
    Endpoint::new(wire.speaker().expect("a test looks for one"), &Connection::default())
}

fn chat(deltas: Vec<Delta>, finish: Option<String>, declined: &str) -> Value {
    let reply = folded(deltas);
    let usage = reply.usage();
    let parts = reply.into_parts();
    let reasoning: String = parts.iter().filter_map(thought).collect();
    let content = text_of(&parts);
    let calls = parts.iter().filter_map(Part::as_call);
    let calls: Vec<Value> = calls
        .map(|call| json!({"id": call.id.0, "name": named(&call.name), "arguments": call.arguments}))
        .collect();
    json!({
        "content": content.strip_suffix(declined).unwrap_or(&content),
        "reasoning": reasoning,
        "tool_calls": calls,
        "finish_reason": finish,
        "usage": {"prompt_tokens": usage.input + usage.cache_read, "completion_tokens": usage.output},
    })
}

fn response(deltas: Vec<Delta>, status: Option<String>, declined: &str) -> Value {
    let mut reply = chat(deltas, None, declined);
    let calls = reply["tool_calls"].take();
    let calls = calls
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| json!({"call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}));
    let usage = &reply["usage"];
    json!({
        "content": reply["content"],
        "reasoning": reply["reasoning"],
        "tool_calls": calls.collect::<Vec<_>>(),
        "status": status,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    })
}

fn named(name: &str) -> Option<&str> {
    Some(name).filter(|name| !name.is_empty())
}

fn thought(part: &Part) -> Option<&str> {
    match part {
        Part::Thinking { text, .. } => Some(text),
        Part::Text { .. } | Part::Image(_) | Part::Document(_) | Part::ToolCall(_) => None,
    }
}

fn folded(deltas: Vec<Delta>) -> Reply {
    let mut reply = Reply::default();
    deltas.into_iter().for_each(|delta| drop(reply.push(delta)));
    reply
}

fn message(deltas: Vec<Delta>, stop: Option<String>, chunks: &[&[u8]]) -> Value {
    let usage = folded(deltas).usage();
    json!({
        "content": blocks(chunks),
        "stop_reason": stop,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
        },
    })
}

/// The blocks in the form of the wire.
fn blocks(chunks: &[&[u8]]) -> Vec<Value> {
    let (mut framing, mut events) = (Events::default(), Vec::new());
    for chunk in chunks {
        let _told_by_the_parser = framing.push(chunk, &mut events);
    }
    events.extend(framing.finish());
    let mut blocks = Blocks::default();
    for event in events {
        if let Some(data) = json::parse(&event.data) {
            blocks.take(data);
        }
    }
    blocks.done.into_values().map(|block| block.finish()).collect()
}

#[derive(Default)]
struct Blocks {
    done: BTreeMap<usize, Block>,
    base: usize,
}

struct Block {
    fields: Map<String, Value>,
    input: String,
}

impl Blocks {
    fn take(&mut self, mut data: Value) {
        let index = self.base + json::count(&data["index"]).unwrap_or(0) as usize;
        match json::text(&data["type"]) {
            "message_start" => self.base = self.done.keys().next_back().map_or(0, |last| last + 1),
            "content_block_start" => {
                let Value::Object(fields) = data["content_block"].take() else { return };
                self.done.insert(index, Block { fields, input: String::new() });
            }
            "content_block_delta" => {
                if let Some(block) = self.done.get_mut(&index) {
                    block.grow(&data["delta"]);
                }
            }
            _ => {}
        }
    }
}

impl Block {
    fn grow(&mut self, delta: &Value) {
        self.input.push_str(json::text(&delta["partial_json"]));
        for field in ["text", "thinking", "signature"] {
            let more = json::text(&delta[field]);
            if !more.is_empty() {
                let said = self.fields.get(field).map(json::text).unwrap_or_default();
                let said = format!("{said}{more}");
                self.fields.insert(field.into(), said.into());
            }
        }
    }

    fn finish(mut self) -> Value {
        if let Some(input) = json::parse(&self.input) {
            self.fields.insert("input".into(), input);
        }
        self.fields.into()
    }
}

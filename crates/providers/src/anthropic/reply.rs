//! [`MessageReply`]: parses replies of Anthropic's Messages, streamed or whole.
//!
//! ```text
//! message_start {message: {content, usage}}
//!   content_block_start {index, content_block}  content_block_delta {index, delta}  content_block_stop {index}
//! message_delta {delta: {stop_reason}, usage}
//! message_stop, and ping or error at any place
//! ```
//!
//! Blocks of tools that the vendor runs itself are ignored: they occur only if options ask for them.
use super::REDACTED;
use crate::{
    json::{count, take_text, text},
    parser::{Fault, Parser, kind, object, say},
    sse::Event,
};
use haft_core::{CallId, Delta, StopReason, Usage};
use serde_json::Value;
use std::collections::BTreeMap;

/// Parses the events of one streamed reply.
#[derive(Default)]
pub(crate) struct MessageReply {
    open: BTreeMap<usize, Open>,
    /// Added to indices: a second message in the same stream starts at 0 again.
    base: usize,
    next: usize,
    usage: Usage,
    stop: Option<String>,
    over: bool,
}

/// The part of a block that is held back until its end.
#[derive(Default)]
struct Open {
    signature: String,
    /// Arguments from the start of a call; discarded if they come in pieces, too.
    input: Option<Value>,
    is_call: bool,
    /// Whether it is a thought without text so far.
    is_hidden: bool,
}

impl Parser for MessageReply {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let mut data = object(&event.data)?;
        let kind = kind(&data, event);
        let index = self.base + count(&data["index"]).unwrap_or(0).min(u64::from(u32::MAX)) as usize;
        match kind.as_str() {
            "message_start" => {
                self.base = self.next;
                self.count(&data["message"]["usage"], out);
            }
            "content_block_start" => self.start(index, data["content_block"].take(), out),
            "content_block_delta" => self.more(index, data["delta"].take(), out),
            "content_block_stop" => self.end(index, out),
            "message_delta" => {
                self.stop_at(&data["delta"]["stop_reason"]);
                self.count(&data["usage"], out);
            }
            "message_stop" => self.over = true,
            // The wire reserves the right to add event types.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, mut body: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let blocks = body["content"].as_array_mut().map(std::mem::take).unwrap_or_default();
        for (index, block) in blocks.into_iter().enumerate() {
            self.start(index, block, out);
            self.end(index, out);
        }
        self.count(&body["usage"], out);
        self.stop_at(&body["stop_reason"]);
        self.over = body["type"] == "message";
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Option<StopReason> {
        let open: Vec<usize> = self.open.keys().copied().collect();
        open.into_iter().for_each(|index| self.end(index, out));
        match &self.stop {
            Some(word) => Some(stop_reason(word)),
            None => self.over.then_some(StopReason::EndTurn),
        }
    }

    fn is_at_work(&self) -> bool {
        self.open.values().any(|open| open.is_hidden)
    }

    fn stop_word(&self) -> Option<&str> {
        self.stop.as_deref()
    }
}

impl MessageReply {
    fn start(&mut self, index: usize, mut block: Value, out: &mut Vec<Delta>) {
        self.next = self.next.max(index + 1);
        let mut open = Open::default();
        match text(&block["type"]) {
            "text" => say(Delta::Text, take_text(&mut block["text"]), out),
            "thinking" => {
                open.is_hidden = text(&block["thinking"]).is_empty();
                say(Delta::Thinking, take_text(&mut block["thinking"]), out);
                open.signature = take_text(&mut block["signature"]);
            }
            "redacted_thinking" => open.signature = format!("{REDACTED}{}", text(&block["data"])),
            "tool_use" => {
                let (id, name) = (take_text(&mut block["id"]), take_text(&mut block["name"]));
                out.push(Delta::CallStart { index, id: CallId(id), name });
                open.is_call = true;
                open.input = Some(block["input"].take()).filter(|input| !is_empty(input));
            }
            _ => {}
        }
        self.open.insert(index, open);
    }

    fn more(&mut self, index: usize, mut delta: Value, out: &mut Vec<Delta>) {
        let open = self.open.entry(index).or_default();
        match text(&delta["type"]) {
            "text_delta" => say(Delta::Text, take_text(&mut delta["text"]), out),
            "thinking_delta" => {
                open.is_hidden &= text(&delta["thinking"]).is_empty();
                say(Delta::Thinking, take_text(&mut delta["thinking"]), out);
            }
            "signature_delta" => open.signature.push_str(text(&delta["signature"])),
            "input_json_delta" if open.is_call => {
                let json = take_text(&mut delta["partial_json"]);
                if !json.is_empty() {
                    open.input = None;
                    out.push(Delta::CallArguments { index, json });
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, index: usize, out: &mut Vec<Delta>) {
        let Some(open) = self.open.remove(&index) else { return };
        say(Delta::Signature, open.signature, out);
        let input = open.input.map(|input| Delta::CallArguments { index, json: input.to_string() });
        out.extend(input);
    }

    /// Applies a usage report. It contains the counts that have changed; the others keep their values.
    fn count(&mut self, usage: &Value, out: &mut Vec<Delta>) {
        let fields = [
            ("input_tokens", &mut self.usage.input),
            ("output_tokens", &mut self.usage.output),
            ("cache_read_input_tokens", &mut self.usage.cache_read),
            ("cache_creation_input_tokens", &mut self.usage.cache_write),
        ];
        for (field, tokens) in fields {
            *tokens = count(&usage[field]).unwrap_or(*tokens);
        }
        if usage.is_object() {
            out.push(Delta::Usage(self.usage));
        }
    }

    fn stop_at(&mut self, word: &Value) {
        if !text(word).is_empty() {
            self.stop = Some(text(word).to_owned());
        }
    }
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty)
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Refusal,
        // `end_turn`, `stop_sequence`, and `pause_turn`, which occurs only with tools that the vendor runs.
        _ => StopReason::EndTurn,
    }
}

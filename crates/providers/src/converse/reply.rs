//! [`ConverseReply`]: parses replies of Amazon Bedrock's Converse, streamed or whole.
//!
//! ```text
//! messageStart {role}
//!   contentBlockStart {contentBlockIndex, start: {toolUse: {toolUseId, name}}}
//!   contentBlockDelta {contentBlockIndex, delta: {text} | {toolUse: {input}} |
//!     {reasoningContent: {text} | {signature} | {redactedContent}}}
//!   contentBlockStop {contentBlockIndex}
//! messageStop {stopReason}
//! metadata {usage: {inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens}}
//! ```
use super::REDACTED;
use crate::{
    Wire,
    json::{count, take, take_text, text},
    parser::{Fault, Parser, kind, object, say},
    sse::Event,
};
use haft_core::{CallId, Delta, StopReason, Usage};
use serde_json::Value;
use std::collections::BTreeMap;

/// Parses the events of one streamed reply.
#[derive(Default)]
pub(crate) struct ConverseReply {
    /// The proofs of thoughts, which are held back until the end of their block.
    proofs: BTreeMap<usize, String>,
    stop: Option<String>,
    is_over: bool,
}

impl Parser for ConverseReply {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let mut data = object(&event.data)?;
        let kind = kind(&data, event);
        let index = count(&data["contentBlockIndex"]).unwrap_or(0).min(u64::from(u32::MAX)) as usize;
        match kind.as_str() {
            "contentBlockStart" => start(index, take(&mut take(&mut data, "start"), "toolUse"), out),
            "contentBlockDelta" => self.more(index, take(&mut data, "delta"), out),
            "contentBlockStop" => self.end(index, out),
            "messageStop" => self.stop_at(&data["stopReason"]),
            "metadata" => {
                out.extend(usage(&data["usage"]).map(Delta::Usage));
                self.is_over = self.stop.is_some();
            }
            // Event types may be added.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, mut body: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let blocks = body.pointer_mut("/output/message/content").and_then(Value::as_array_mut);
        for (index, mut block) in blocks.map(std::mem::take).unwrap_or_default().into_iter().enumerate() {
            let mut call = take(&mut block, "toolUse");
            let input = take(&mut call, "input");
            start(index, call, out);
            if input.is_object() {
                out.push(Delta::CallArguments { index, json: input.to_string() });
            }
            let mut reasoning = take(&mut block, "reasoningContent");
            say(Delta::Text, take_text(&mut take(&mut block, "text")), out);
            self.think(index, take(&mut reasoning, "reasoningText"), out);
            self.think(index, reasoning, out);
            self.end(index, out);
        }
        out.extend(usage(&body["usage"]).map(Delta::Usage));
        self.stop_at(&body["stopReason"]);
        self.is_over = self.stop.is_some();
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Option<StopReason> {
        let open: Vec<usize> = self.proofs.keys().copied().collect();
        open.into_iter().for_each(|index| self.end(index, out));
        self.stop.as_deref().map(stop_reason)
    }

    fn stop_word(&self) -> Option<&str> {
        self.stop.as_deref()
    }
}

fn start(index: usize, mut call: Value, out: &mut Vec<Delta>) {
    if call.is_object() {
        let (id, name) =
            (take_text(&mut take(&mut call, "toolUseId")), take_text(&mut take(&mut call, "name")));
        out.push(Delta::CallStart { index, id: CallId(id), name });
    }
}

impl ConverseReply {
    fn more(&mut self, index: usize, mut delta: Value, out: &mut Vec<Delta>) {
        say(Delta::Text, text(&delta["text"]).to_owned(), out);
        let json = text(&delta["toolUse"]["input"]).to_owned();
        if !json.is_empty() {
            out.push(Delta::CallArguments { index, json });
        }
        self.think(index, take(&mut delta, "reasoningContent"), out);
    }

    fn think(&mut self, index: usize, mut thought: Value, out: &mut Vec<Delta>) {
        say(Delta::Thinking, take_text(&mut take(&mut thought, "text")), out);
        for (field, mark) in [("signature", ""), ("redactedContent", REDACTED)] {
            let proof = text(&thought[field]);
            if !proof.is_empty() {
                self.proofs.entry(index).or_insert_with(|| mark.to_owned()).push_str(proof);
            }
        }
    }

    fn end(&mut self, index: usize, out: &mut Vec<Delta>) {
        let proof = self.proofs.remove(&index);
        out.extend(proof.map(|proof| Delta::Signature(Wire::Converse.mark(&proof))));
    }

    fn stop_at(&mut self, word: &Value) {
        if !text(word).is_empty() {
            self.stop = Some(text(word).to_owned());
        }
    }
}

/// The wire counts cached tokens separately from the other input.
fn usage(usage: &Value) -> Option<Usage> {
    let number = |field: &str| count(&usage[field]).unwrap_or(0);
    Some(Usage {
        input: count(&usage["inputTokens"])?,
        output: number("outputTokens"),
        cache_read: number("cacheReadInputTokens"),
        cache_write: number("cacheWriteInputTokens"),
    })
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "guardrail_intervened" | "content_filtered" => StopReason::Refusal,
        // `end_turn`, `stop_sequence`.
        _ => StopReason::EndTurn,
    }
}

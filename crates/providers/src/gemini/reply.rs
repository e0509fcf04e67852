//! [`ContentReply`]: parses replies of Gemini's own wire, streamed or whole.
//!
//! ```text
//! {"candidates": [{"content": {"parts": [{"text", "thought", "thoughtSignature",
//!    "functionCall": {"id", "name", "args"}}]}, "finishReason", "finishMessage"}],
//!  "promptFeedback": {"blockReason"}, "usageMetadata": {"promptTokenCount", "candidatesTokenCount",
//!  "thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"}, "error"}
//! ```
//!
//! Each event of a stream has this form, with the new parts; calls are always complete. The stream has no end marker:
//! it ends with the connection.
use super::signature::sign;
use crate::{
    fault::Complaint,
    json::{count, take_text, text},
    parser::{Fault, Parser, object, say, sound},
    sse::Event,
};
use haft_core::{CallId, Delta, StopReason, Usage};
use serde_json::Value;

/// Finish reasons for a call of the model that the vendor could not parse; a retry gives another call.
const FAILED: &[&str] = &["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"];

/// Parses the events of one streamed reply.
#[derive(Default)]
pub(crate) struct ContentReply {
    calls: usize,
    finish: Option<String>,
    is_whole: bool,
}

impl Parser for ContentReply {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.chunk(object(&event.data)?, out)
    }

    fn whole(&mut self, body: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.is_whole = true;
        self.chunk(body, out)
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_whole && self.is_complete()
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Option<StopReason> {
        let stop = stop_reason(self.finish.as_deref()?);
        let waits = stop == StopReason::EndTurn && self.calls > 0;
        Some(if waits { StopReason::ToolUse } else { stop })
    }

    fn stop_word(&self) -> Option<&str> {
        self.finish.as_deref()
    }
}

impl ContentReply {
    fn chunk(&mut self, mut chunk: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let candidate = chunk.pointer_mut("/candidates/0").map(Value::take).unwrap_or_default();
        let mut candidate = sound(candidate)?;
        let parts = candidate.pointer_mut("/content/parts").and_then(Value::as_array_mut);
        let parts = parts.map(std::mem::take).unwrap_or_default();
        parts.into_iter().filter(Value::is_object).for_each(|part| self.part(part, out));
        out.extend(usage(&chunk["usageMetadata"]).map(Delta::Usage));
        let blocked = text(&chunk["promptFeedback"]["blockReason"]);
        let finish =
            Some(text(&candidate["finishReason"])).filter(|word| !word.is_empty()).unwrap_or(blocked);
        if FAILED.contains(&finish) {
            let message = format!("the reply ended with {finish}: {}", text(&candidate["finishMessage"]));
            let message = message.trim_end_matches(": ").to_owned();
            return Err(Fault::Complaint(Complaint { message, ..Complaint::default() }));
        }
        if !finish.is_empty() {
            self.finish = Some(finish.to_owned());
        }
        Ok(())
    }

    fn part(&mut self, mut part: Value, out: &mut Vec<Delta>) {
        let delta = if part["thought"] == true { Delta::Thinking } else { Delta::Text };
        say(delta, take_text(&mut part["text"]), out);
        let call = part["functionCall"].is_object().then_some(self.calls);
        if let Some(index) = call {
            self.call(index, &mut part["functionCall"], out);
        }
        let proof = text(&part["thoughtSignature"]);
        if !proof.is_empty() {
            out.push(Delta::Signature(sign(call, proof)));
        }
    }

    fn call(&mut self, index: usize, call: &mut Value, out: &mut Vec<Delta>) {
        self.calls += 1;
        let (id, name) = (CallId(take_text(&mut call["id"])), take_text(&mut call["name"]));
        out.push(Delta::CallStart { index, id, name });
        let args = &call["args"];
        let json = if args.is_null() { "{}".to_owned() } else { args.to_string() };
        out.push(Delta::CallArguments { index, json });
    }
}

/// The wire counts thoughts separately from output, and cached tokens as part of the input.
fn usage(usage: &Value) -> Option<Usage> {
    let number = |field: &str| count(&usage[field]).unwrap_or(0);
    let read = count(&usage["promptTokenCount"])? + number("toolUsePromptTokenCount");
    let cache_read = number("cachedContentTokenCount").min(read);
    let output = number("candidatesTokenCount") + number("thoughtsTokenCount");
    Some(Usage { input: read - cache_read, output, cache_read, cache_write: 0 })
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "MAX_TOKENS" => StopReason::Length,
        "STOP" | "OTHER" | "FINISH_REASON_UNSPECIFIED" => StopReason::EndTurn,
        // `SAFETY`, `RECITATION`, `LANGUAGE`, `BLOCKLIST`, `PROHIBITED_CONTENT`, `SPII`, and others that are added each
        // year.
        _ => StopReason::Refusal,
    }
}

//! [`ResponsesReply`]: parses replies of OpenAI's Responses, streamed or whole.
//!
//! ```text
//! response.created, response.in_progress {response}
//!   response.output_item.added {output_index, item}
//!     response.output_text.delta, .refusal.delta, .reasoning_summary_text.delta, .reasoning_text.delta,
//!     .function_call_arguments.delta {output_index, delta}
//!   response.output_item.done {output_index, item}
//! response.completed, .incomplete, .failed {response: {status, output: [item], incomplete_details, error, usage}}
//! error {code, message}
//! ```
//!
//! A whole reply is the last `response` by itself. If the text of an item did not come in pieces, it is taken from the
//! end of the item. Items of tools that the vendor runs itself are ignored: they occur only if options ask for them.
use crate::{
    Wire,
    fault::Complaint,
    json::{count, take_text, text},
    parser::{Fault, Parser, kind, object, say, sound},
    sse::Event,
};
use haft_core::{CallId, Delta, StopReason, Usage};
use serde_json::Value;
use std::collections::BTreeMap;

/// Parses the events of one streamed reply.
#[derive(Default)]
pub(crate) struct ResponsesReply {
    items: BTreeMap<usize, Item>,
    /// Added to indices: a second response in the same stream starts at 0 again.
    base: usize,
    last: usize,
    has_calls: bool,
    /// Whether the last event reported work that produces no visible output.
    is_at_work: bool,
    status: Option<String>,
    /// The vendor's reason why the reply is incomplete.
    lack: String,
    declined: String,
}

/// The state of an item before its end.
#[derive(Default)]
struct Item {
    has_said: bool,
    is_call: bool,
}

impl Parser for ResponsesReply {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let mut data = object(&event.data)?;
        let kind = kind(&data, event);
        let index =
            count(&data["output_index"]).map(|index| self.base + index.min(u64::from(u32::MAX)) as usize);
        let index = index.unwrap_or(self.last);
        let delta = take_text(&mut data["delta"]);
        let kind = kind.strip_prefix("response.").unwrap_or(&kind);
        self.is_at_work = match kind {
            "created" | "queued" | "in_progress" => true,
            "output_item.added" => text(&data["item"]["type"]) == "reasoning",
            _ => false,
        };
        match kind {
            "created" => self.base = self.next(),
            "output_item.added" => self.begin(index, &mut data["item"], out),
            "output_item.done" => self.end(index, &mut data["item"], out),
            "output_text.delta" => self.say(index, Delta::Text, delta, out),
            "refusal.delta" => self.decline(index, delta, out),
            "reasoning_summary_part.added" => self.separate(index, out),
            "reasoning_summary_text.delta" | "reasoning_text.delta" => {
                self.say(index, Delta::Thinking, delta, out)
            }
            "function_call_arguments.delta" => self.argue(index, delta, out),
            "completed" | "incomplete" | "failed" | "cancelled" => {
                self.close(data["response"].take(), out)?
            }
            // Many other events repeat earlier text, or report tools that the vendor runs.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.close(body, out)
    }

    fn is_complete(&self) -> bool {
        self.status.is_some()
    }

    fn is_over(&self) -> bool {
        self.status.is_some()
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Option<StopReason> {
        self.status.as_ref()?;
        Some(match self.lack.as_str() {
            "" if !self.declined.is_empty() => StopReason::Refusal,
            "" if self.has_calls => StopReason::ToolUse,
            "" => StopReason::EndTurn,
            "content_filter" => StopReason::Refusal,
            // `max_output_tokens`, and other reasons for a reply that was cut off.
            _ => StopReason::Length,
        })
    }

    fn is_at_work(&self) -> bool {
        self.is_at_work
    }

    fn stop_word(&self) -> Option<&str> {
        self.status.as_deref()
    }

    fn declined(&self) -> &str {
        &self.declined
    }
}

impl ResponsesReply {
    fn next(&self) -> usize {
        self.items.keys().next_back().map_or(0, |last| last + 1)
    }

    fn item(&mut self, index: usize) -> &mut Item {
        self.last = index;
        self.items.entry(index).or_default()
    }

    fn begin(&mut self, index: usize, item: &mut Value, out: &mut Vec<Delta>) {
        let is_call = text(&item["type"]) == "function_call";
        let known = self.item(index);
        if !is_call || std::mem::replace(&mut known.is_call, true) {
            return;
        }
        self.has_calls = true;
        let id = CallId(take_text(&mut item["call_id"]));
        out.push(Delta::CallStart { index, id, name: take_text(&mut item["name"]) });
    }

    fn end(&mut self, index: usize, item: &mut Value, out: &mut Vec<Delta>) {
        self.begin(index, item, out);
        let has_said = self.item(index).has_said;
        match text(&item["type"]) {
            "function_call" if !has_said => self.argue(index, take_text(&mut item["arguments"]), out),
            "message" if !has_said => self.quote(index, &item["content"], out),
            "reasoning" => {
                if !has_said {
                    say(Delta::Thinking, thought(item), out);
                }
                let encrypted = text(&item["encrypted_content"]);
                if !encrypted.is_empty() {
                    out.push(Delta::Signature(Wire::OpenaiResponses.mark(encrypted)));
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, index: usize, delta: fn(String) -> Delta, words: String, out: &mut Vec<Delta>) {
        self.item(index).has_said |= !words.is_empty();
        say(delta, words, out);
    }

    fn decline(&mut self, index: usize, words: String, out: &mut Vec<Delta>) {
        self.declined.push_str(&words);
        self.say(index, Delta::Text, words, out);
    }

    fn argue(&mut self, index: usize, json: String, out: &mut Vec<Delta>) {
        let item = self.item(index);
        if item.is_call && !json.is_empty() {
            item.has_said = true;
            out.push(Delta::CallArguments { index, json });
        }
    }

    /// Separates the paragraphs of a summary.
    fn separate(&mut self, index: usize, out: &mut Vec<Delta>) {
        if self.item(index).has_said {
            out.push(Delta::Thinking("\n\n".into()));
        }
    }

    fn quote(&mut self, index: usize, content: &Value, out: &mut Vec<Delta>) {
        for part in content.as_array().into_iter().flatten() {
            self.say(index, Delta::Text, text(&part["text"]).to_owned(), out);
            self.decline(index, text(&part["refusal"]).to_owned(), out);
        }
    }

    fn close(&mut self, response: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let mut response = sound(response)?;
        let status = text(&response["status"]).to_owned();
        if matches!(status.as_str(), "failed" | "cancelled") {
            let message = format!("the reply ended with the status `{status}`");
            return Err(Fault::Complaint(Complaint { message, ..Complaint::default() }));
        }
        if self.next() == self.base {
            let items = response.pointer_mut("/output").and_then(Value::as_array_mut);
            let items = items.map(std::mem::take).unwrap_or_default();
            for (index, mut item) in items.into_iter().enumerate() {
                self.end(self.base + index, &mut item, out);
            }
        }
        out.extend(usage(&response["usage"]).map(Delta::Usage));
        self.lack = text(&response["incomplete_details"]["reason"]).to_owned();
        if self.lack.is_empty() && status == "incomplete" {
            self.lack = status.clone();
        }
        self.status = Some(if status.is_empty() { "completed".into() } else { status });
        Ok(())
    }
}

/// The summary of a reasoning item, or its full text, which only open models send.
fn thought(item: &Value) -> String {
    let words = |field: &str| {
        let parts = item[field].as_array().into_iter().flatten();
        parts.map(|part| text(&part["text"])).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    };
    Some(words("summary")).filter(|summary| !summary.is_empty()).unwrap_or_else(|| words("content"))
}

fn usage(usage: &Value) -> Option<Usage> {
    let read = count(&usage["input_tokens"])?;
    let cache_read = count(&usage["input_tokens_details"]["cached_tokens"]).unwrap_or(0).min(read);
    let output = count(&usage["output_tokens"]).unwrap_or(0);
    Some(Usage { input: read - cache_read, output, cache_read, cache_write: 0 })
}

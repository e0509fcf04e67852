//! [`ChatReply`]: parses replies of OpenAI's chat completions, streamed or whole.
//!
//! ```text
//! {"choices": [{"index": 0, "delta": {"content", "reasoning_content", "refusal",
//!    "tool_calls": [{"index", "id", "function": {"name", "arguments"}}]}, "finish_reason"}],
//!  "usage": {"prompt_tokens", "completion_tokens", "prompt_tokens_details": {"cached_tokens"}}, "error"}
//! ```
//!
//! A whole reply has `message` in place of `delta`. Each field may be missing, null or of another type: it is then
//! ignored. Gemini adds `extra_content.google.thought_signature` to a call, OpenRouter adds [`Details`] to a message.
use super::details::Details;
use crate::{
    fault::Complaint,
    gemini::signature::sign,
    json::{count, take_text, text},
    parser::{Fault, Parser, object, sound},
    sse::Event,
};
use haft_core::{CallId, Delta, StopReason, Usage};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Parses the chunks of one streamed reply.
#[derive(Default)]
pub(crate) struct ChatReply {
    calls: Calls,
    finish: Option<String>,
    over: bool,
    declined: String,
    details: Details,
}

impl Parser for ChatReply {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if event.data.trim() == "[DONE]" {
            self.over = true;
            return Ok(());
        }
        self.chunk(object(&event.data)?, out)
    }

    fn whole(&mut self, body: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.chunk(body, out)?;
        self.over = self.finish.is_some() || !out.is_empty();
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Option<StopReason> {
        out.extend(self.details.signature().into_iter().chain(self.calls.signatures()).map(Delta::Signature));
        let stop = match &self.finish {
            Some(_) if !self.declined.is_empty() => StopReason::Refusal,
            Some(word) => stop_reason(word),
            None if self.over => StopReason::EndTurn,
            None => return None,
        };
        // Many servers report `stop` after calls, too.
        match stop == StopReason::EndTurn && !self.calls.known.is_empty() {
            true => Some(StopReason::ToolUse),
            false => Some(stop),
        }
    }

    fn stop_word(&self) -> Option<&str> {
        self.finish.as_deref()
    }

    fn declined(&self) -> &str {
        &self.declined
    }
}

impl ChatReply {
    fn chunk(&mut self, mut chunk: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        // Only the first choice counts; some servers do not number choices.
        let choices = chunk["choices"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let first = choices.into_iter().find(|choice| count(&choice["index"]).unwrap_or(0) == 0);
        let mut choice = sound(first.filter(Value::is_object).unwrap_or_default())?;
        // Perplexity sends both: the addition, and the whole text so far.
        let said = if choice["delta"].is_object() { "delta" } else { "message" };
        self.say(&mut choice[said], out);
        let finish = text(&choice["finish_reason"]);
        if matches!(finish, "error" | "network_error" | "insufficient_system_resource") {
            let message = format!("the reply ended with `{finish}`");
            return Err(Fault::Complaint(Complaint { message, ..Complaint::default() }));
        }
        if !finish.is_empty() {
            self.finish = Some(finish.to_owned());
        }
        // Groq and Moonshot put the usage in other fields.
        let places = [&chunk["usage"], &chunk["x_groq"]["usage"], &choice["usage"]];
        out.extend(places.into_iter().find_map(usage).map(Delta::Usage));
        Ok(())
    }

    fn say(&mut self, said: &mut Value, out: &mut Vec<Delta>) {
        if !said.is_object() {
            return;
        }
        let fields = ["reasoning_content", "reasoning", "reasoning_text"];
        let thought = fields.iter().map(|field| take_text(&mut said[*field])).find(|text| !text.is_empty());
        out.extend(thought.map(Delta::Thinking));
        self.details.push(said["reasoning_details"].take());
        match said["content"].take() {
            Value::String(text) if !text.is_empty() => out.push(Delta::Text(text)),
            Value::Array(parts) => {
                parts.into_iter().filter(Value::is_object).for_each(|part| say_part(part, out))
            }
            _ => {}
        }
        let declined = take_text(&mut said["refusal"]);
        if !declined.is_empty() {
            self.declined.push_str(&declined);
            out.push(Delta::Text(declined));
        }
        if let Some(calls) = said["tool_calls"].as_array_mut() {
            calls.iter_mut().filter(|piece| piece.is_object()).for_each(|piece| self.calls.piece(piece, out));
        }
        // The format of calls before 2023-11, which some servers still send.
        if said["function_call"].is_object() {
            let function = said["function_call"].take();
            self.calls.piece(&mut serde_json::json!({"index": 0, "function": function}), out);
        }
    }
}

/// Reads parts of Mistral: `{"type":"text","text"}`, `{"type":"thinking","thinking":[{"type":"text","text"}]}`.
fn say_part(mut part: Value, out: &mut Vec<Delta>) {
    let thinking = match part["thinking"].take() {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        _ => String::new(),
    };
    if !thinking.is_empty() {
        out.push(Delta::Thinking(thinking));
    }
    let said = take_text(&mut part["text"]);
    if !said.is_empty() {
        out.push(Delta::Text(said));
    }
}

/// The calls of one reply, and the assignment of pieces to them.
#[derive(Default)]
struct Calls {
    known: BTreeMap<usize, OpenCall>,
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    last: Option<usize>,
}

#[derive(Default)]
struct OpenCall {
    id: String,
    /// The part of the name that has arrived.
    name: String,
    has_arguments: bool,
    /// The signature of Gemini's thought, which is passed on at the end of the reply.
    signature: String,
}

impl OpenCall {
    /// Adds a name, which may come in pieces before the arguments, and returns whether the name has grown. Some servers
    /// repeat the whole name in each piece, or the name so far.
    fn add_to_name(&mut self, name: &str) -> bool {
        if self.has_arguments && !self.name.is_empty() {
            return false;
        }
        let before = self.name.len();
        let rest = name.strip_prefix(&self.name).unwrap_or(name);
        self.name.push_str(rest);
        self.name.len() > before
    }
}

impl Calls {
    fn piece(&mut self, piece: &mut Value, out: &mut Vec<Delta>) {
        let mut function = Some(piece["function"].take()).filter(Value::is_object).unwrap_or_default();
        let (id, name) = (take_text(&mut piece["id"]), take_text(&mut function["name"]));
        let arguments = match function["arguments"].take() {
            Value::String(text) => text,
            Value::Null => String::new(),
            // Some servers send the arguments as an object instead of a string.
            value => value.to_string(),
        };
        let index = self.place(count(&piece["index"]), &id, &name);
        let signature = piece.pointer("/extra_content/google/thought_signature").map_or("", text).to_owned();
        let is_new = self.learn(index, &id, &name);
        let call = self.known.entry(index).or_default();
        if is_new {
            out.push(Delta::CallStart { index, id: CallId(id), name: call.name.clone() });
        }
        call.has_arguments |= !arguments.is_empty();
        if !signature.is_empty() {
            call.signature = signature;
        }
        if !arguments.is_empty() {
            out.push(Delta::CallArguments { index, json: arguments });
        }
    }

    /// Finds the call that a piece belongs to: by its index, otherwise by its ID. A piece with neither continues the
    /// last call, unless it brings a name.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let place = match index {
            // Some servers give every call the index 0 and distinguish calls by their IDs.
            Some(index) => {
                self.by_index.get(&index).copied().filter(|place| !self.is_another(*place, id, name))
            }
            None if !id.is_empty() => self.by_id.get(id).copied(),
            None if name.is_empty() => self.last,
            None => None,
        };
        let place = place.unwrap_or_else(|| self.open(index));
        self.last = Some(place);
        place
    }

    fn is_another(&self, place: usize, id: &str, name: &str) -> bool {
        let known = self.known.get(&place).map_or("", |known| known.id.as_str());
        !name.is_empty() && !id.is_empty() && !known.is_empty() && known != id
    }

    fn open(&mut self, index: Option<u64>) -> usize {
        let after_last = self.known.keys().next_back().map_or(0, |last| last + 1);
        let wanted = index.and_then(|index| u32::try_from(index).ok()).map(|index| index as usize);
        let place = wanted.filter(|place| !self.known.contains_key(place)).unwrap_or(after_last);
        if let Some(index) = index {
            self.by_index.insert(index, place);
        }
        place
    }

    fn signatures(&self) -> impl Iterator<Item = String> {
        let signed = self.known.values().enumerate().filter(|(_, call)| !call.signature.is_empty());
        signed.map(|(place, call)| sign(Some(place), &call.signature))
    }

    /// Records what a piece says about its call; returns whether any of it is new.
    fn learn(&mut self, place: usize, id: &str, name: &str) -> bool {
        let is_new = !self.known.contains_key(&place);
        let known = self.known.entry(place).or_default();
        let brings_id = known.id.is_empty() && !id.is_empty();
        let brings_name = known.add_to_name(name);
        if brings_id {
            id.clone_into(&mut known.id);
            self.by_id.entry(id.to_owned()).or_insert(place);
        }
        is_new || brings_id || brings_name
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let read = count(&usage["prompt_tokens"])?;
    // OpenAI and most; DeepSeek; Moonshot.
    let cached = [
        &usage["prompt_tokens_details"]["cached_tokens"],
        &usage["prompt_cache_hit_tokens"],
        &usage["cached_tokens"],
    ];
    let cache_read = cached.into_iter().find_map(count).unwrap_or(0).min(read);
    let output = count(&usage["completion_tokens"]).unwrap_or(0);
    Some(Usage { input: read - cache_read, output, cache_read, cache_write: 0 })
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "length" | "max_tokens" | "model_length" | "max_output_tokens" | "MAX_TOKENS" => StopReason::Length,
        "content_filter" | "refusal" | "safety" | "SAFETY" | "sensitive" => StopReason::Refusal,
        // `stop`, `eos`, `eos_token`, and other reasons.
        _ => StopReason::EndTurn,
    }
}

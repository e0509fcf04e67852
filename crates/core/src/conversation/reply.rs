//! [`Reply`]: folds the deltas of a model into one reply, and returns the live updates of each delta.
use crate::{CallId, Delta, Part, StopReason, ToolCall, Update, Usage};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Maximum bytes of text in one reply (8 MB, from our fault table). A longer reply is cut off as faulty.
pub const MAX_TEXT: usize = 8 << 20;
/// Maximum bytes of one reply, calls included. A longer reply is cut off as faulty.
pub const MAX_REPLY: usize = 32 << 20;
/// Bytes that a call counts in addition to its name and its arguments: its size in memory.
const CALL_BYTES: usize = 256;
/// Maximum bytes of a call's arguments. Longer arguments are not kept; an error asks the model to write in parts.
pub const MAX_ARGUMENTS: usize = 8 << 20;
/// Maximum bytes of unreadable arguments that are kept, for the model and the log.
const MAX_UNREADABLE_BYTES: usize = 2_000;
/// The problem of calls in a reply that ended with [`StopReason::Refusal`].
const REFUSED: &str = "the provider's content policy ended the reply, so its calls are not run";
/// Maximum nesting of arguments. `serde_json` has the same limit; it is defined here because the error message names
/// it.
const MAX_DEPTH: usize = 128;

/// A reply under construction. Tracks tool calls while their arguments stream in.
#[derive(Debug, Default)]
pub struct Reply {
    said: Vec<Part>,
    said_bytes: usize,
    /// Bytes of all calls, including those that were not kept.
    call_bytes: usize,
    calls: BTreeMap<usize, OpenCall>,
    /// The IDs under which the calls are shown while they stream.
    shown: HashSet<CallId>,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Debug)]
struct OpenCall {
    id: CallId,
    name: String,
    json: String,
    too_large: bool,
    problem: Option<String>,
    /// The ID under which the call is shown.
    shown: CallId,
    end: ObjectEnd,
    has_ended: bool,
}

impl Reply {
    /// Adds a delta, and returns its live updates.
    pub fn push(&mut self, delta: Delta) -> Vec<Update> {
        match delta {
            Delta::Text(text) => return self.say(text).into_iter().collect(),
            Delta::Thinking(text) => return self.think(text).into_iter().collect(),
            Delta::Signature(signature) => self.sign(signature),
            Delta::CallStart { index, id, name } => {
                return self.start_call(index, id, name).into_iter().collect();
            }
            Delta::CallArguments { index, json } => return self.add_arguments(index, json),
            Delta::CallProblem { index, problem } => {
                if let Some(open) = self.calls.get_mut(&index) {
                    open.problem = Some(problem);
                }
            }
            Delta::Usage(usage) => self.usage = usage,
            Delta::Retrying { reason, after, .. } => {
                *self = Self::default();
                return vec![Update::Retrying { reason, after_ms: after.as_millis() as u64 }];
            }
            Delta::Stop(stop) => return self.end(stop),
        }
        Vec::new()
    }

    /// Ends the reply, and returns the updates that end its open calls. Returns none if the reply was aborted
    /// ([`StopReason::is_endless`]).
    fn end(&mut self, stop: StopReason) -> Vec<Update> {
        self.stop = Some(stop);
        let open = self.calls.values_mut().filter(|call| !call.has_ended && !stop.is_endless());
        open.map(OpenCall::end).collect()
    }

    /// Returns the tokens that the provider has reported.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns why the reply ended; [`StopReason::EndTurn`] if the provider gave no reason.
    pub fn stop(&self) -> StopReason {
        self.stop.unwrap_or(StopReason::EndTurn)
    }

    /// Returns whether there is no text, no thinking and no call: nothing to continue from.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty() && self.calls.is_empty()
    }

    /// Returns whether the reply ended without text and calls; it may have thoughts. A reply with thoughts that was
    /// refused or cut off does not count: its stop reason explains it.
    pub fn is_no_answer(&self) -> bool {
        let is_a_word = |part: &Part| matches!(part, Part::Text { text } if !text.trim().is_empty());
        let says_why = !self.is_empty() && (self.stop().is_cut_off() || self.stop() == StopReason::Refusal);
        self.calls.is_empty() && !self.said.iter().any(is_a_word) && !says_why
    }

    /// Returns whether it has grown past [`MAX_TEXT`] or [`MAX_REPLY`] and should be cut off here.
    pub fn is_too_large(&self) -> bool {
        self.said_bytes > MAX_TEXT || self.said_bytes + self.call_bytes > MAX_REPLY
    }

    /// Returns whether a call of the reply is too large, so that an error can tell the model so.
    pub fn has_large_call(&self) -> bool {
        self.calls.values().any(|open| open.too_large)
    }

    /// Returns the complete reply: text and thoughts, then the calls in the order of their indices. Each call has a
    /// unique ID, and either an object as arguments or a `problem`.
    pub fn into_parts(self) -> Vec<Part> {
        let stop = self.stop();
        let mut ids = HashSet::new();
        let calls = self.calls.into_values().enumerate().map(|(place, open)| {
            let id = unique(open.id.clone(), place, &ids);
            ids.insert(id.clone());
            Part::ToolCall(finish(id, open, stop))
        });
        let calls: Vec<Part> = calls.collect();
        self.said.into_iter().chain(calls).collect()
    }

    /// Returns the parts of a reply that was cut off, without its calls, which may be incomplete.
    pub fn into_spoken_parts(self) -> Vec<Part> {
        self.said
    }

    fn say(&mut self, text: String) -> Option<Update> {
        if text.is_empty() {
            return None;
        }
        self.said_bytes += text.len();
        match self.said.last_mut() {
            Some(Part::Text { text: said }) => said.push_str(&text),
            _ => self.said.push(Part::Text { text: text.clone() }),
        }
        Some(Update::Text { text })
    }

    fn think(&mut self, text: String) -> Option<Update> {
        if text.is_empty() {
            return None;
        }
        self.said_bytes += text.len();
        match self.said.last_mut() {
            Some(Part::Thinking { text: thought, signature: None }) => thought.push_str(&text),
            _ => self.said.push(Part::Thinking { text: text.clone(), signature: None }),
        }
        Some(Update::Thinking { text })
    }

    fn sign(&mut self, proof: String) {
        match self.said.last_mut() {
            Some(Part::Thinking { signature: signature @ None, .. }) => *signature = Some(proof),
            _ => self.said.push(Part::Thinking { text: String::new(), signature: Some(proof) }),
        }
    }

    /// Starts a call. A second start at the same index completes the first one: some servers repeat the name in each
    /// piece, or send growing prefixes of it.
    fn start_call(&mut self, index: usize, id: CallId, name: String) -> Option<Update> {
        self.call_bytes += CALL_BYTES + id.0.len() + name.len();
        if let Some(open) = self.calls.get_mut(&index) {
            if open.id.0.is_empty() {
                open.id = id;
            }
            if name.starts_with(&open.name) {
                open.name = name;
            }
            return None;
        }
        let shown = unique(id.clone(), self.calls.len(), &self.shown);
        self.shown.insert(shown.clone());
        let update = Update::ToolCall { call: shown.clone(), name: name.clone() };
        self.calls.insert(
            index,
            OpenCall {
                id,
                name,
                json: String::new(),
                too_large: false,
                problem: None,
                shown,
                end: ObjectEnd::default(),
                has_ended: false,
            },
        );
        Some(update)
    }

    fn add_arguments(&mut self, index: usize, json: String) -> Vec<Update> {
        let Some(open) = self.calls.get_mut(&index).filter(|_| !json.is_empty()) else { return Vec::new() };
        self.call_bytes += json.len();
        open.too_large |= open.json.len() + json.len() > MAX_ARGUMENTS;
        if !open.too_large {
            open.json.push_str(&json);
        }
        let is_whole = !open.has_ended && open.end.is_in(&json);
        let delta = Update::ToolArguments { call: open.shown.clone(), delta: json };
        std::iter::once(delta).chain(is_whole.then(|| open.end())).collect()
    }
}

impl OpenCall {
    /// Ends the call on the screen, with the arguments as they are recorded.
    fn end(&mut self) -> Update {
        self.has_ended = true;
        let read = match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => read_arguments(&self.json, self.too_large, false),
        };
        let call = made(self.shown.clone(), String::new(), &self.json, read);
        Update::ToolCallEnd { call: call.id, arguments: call.arguments }
    }
}

/// Finds the end of a JSON object that arrives in pieces.
#[derive(Debug, Default)]
struct ObjectEnd {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl ObjectEnd {
    /// Whether the object ends in `piece`.
    fn is_in(&mut self, piece: &str) -> bool {
        let before = self.depth > 0;
        let mut ends = false;
        for byte in piece.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_text => self.is_escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    ends = self.depth == 0;
                }
                _ => {}
            }
        }
        ends && self.depth == 0 && (before || piece.trim_start().starts_with('{'))
    }
}

/// Returns the provider's ID if it is valid and unique, otherwise an ID made from the call's place in the reply.
fn unique(id: CallId, place: usize, taken: &HashSet<CallId>) -> CallId {
    if !id.0.trim().is_empty() && !taken.contains(&id) {
        return id;
    }
    let made = |n: usize| CallId(format!("call_{n}"));
    (place..).map(made).find(|made| !taken.contains(made)).expect("there are more numbers than calls")
}

fn finish(id: CallId, open: OpenCall, stop: StopReason) -> ToolCall {
    let OpenCall { name, json, too_large, problem, .. } = open;
    let refused = || (stop == StopReason::Refusal).then(|| REFUSED.to_owned());
    let problem = problem.or_else(refused);
    let read = problem.map_or_else(|| read_arguments(&json, too_large, stop.is_cut_off()), Err);
    made(id, name, &json, read)
}

fn made(id: CallId, name: String, json: &str, read: Result<Value, String>) -> ToolCall {
    match read {
        Ok(arguments) => ToolCall { id, name, arguments, problem: None },
        Err(problem) => {
            let arguments = Value::String(crate::clip::head(json, MAX_UNREADABLE_BYTES).to_owned());
            ToolCall { id, name, arguments, problem: Some(problem) }
        }
    }
}

impl ToolCall {
    /// Parses the arguments from JSON text. If they are not an object, the call gets a `problem`, which becomes its
    /// result.
    pub fn parse(id: impl Into<String>, name: impl Into<String>, arguments: &str) -> Self {
        let read = read_arguments(arguments, arguments.len() > MAX_ARGUMENTS, false);
        made(CallId(id.into()), name.into(), arguments, read)
    }
}

/// Parses the arguments as a JSON object; an error says why they are invalid. Empty text is an empty object.
fn read_arguments(json: &str, too_large: bool, cut_off: bool) -> Result<Value, String> {
    if too_large {
        return Err(format!(
            "the arguments are larger than {} MB; send the content in several smaller calls",
            MAX_ARGUMENTS >> 20
        ));
    }
    if json.trim().is_empty() {
        return match cut_off {
            true => Err("the reply reached its length limit before the arguments were written".into()),
            false => Ok(Value::Object(serde_json::Map::new())),
        };
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => Ok(Value::Object(object)),
        // Some models encode the object a second time, as a string (faults A05).
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(Value::Object(object)) => Ok(Value::Object(object)),
            _ => Err("the arguments must be a JSON object, not a string".into()),
        },
        Ok(other) => Err(format!("the arguments must be a JSON object, not {}", kind_of(&other))),
        Err(_) if cut_off => Err("the reply reached its length limit before the arguments were complete; \
                                  nothing was run. Send a shorter call, or the content in parts"
            .into()),
        Err(error) if error.is_eof() => Err(format!("the arguments end too early: {error}")),
        Err(error) if error.to_string().starts_with("recursion limit") => {
            Err(format!("the arguments are nested deeper than {MAX_DEPTH} levels"))
        }
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    }
}

/// The name of this kind of value in messages for the model.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

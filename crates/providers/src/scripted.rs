//! [`Scripted`]: a model whose replies are scripted: for tests, and for demonstrations without a key.
use crate::script::{FailKind, ScriptError, Step, StepCall};
use async_stream::try_stream;
use futures::{Stream, stream::BoxStream};
use haft_core::{
    CallId, Delta, Message, Provider, ProviderError, Request, StopReason, replies_left_out, text_of,
};
use parking_lot::Mutex;
use serde_json::Value;
use std::{collections::BTreeSet, future::pending, path::Path, time::Duration};
use tokio::time::sleep;

/// Takes its replies from a script.
///
/// The request alone determines the next step: a request with n assistant messages, including those that a summary
/// replaces, is after the n-th reply of the script. So a session continues at the right step in another process, too.
/// Errors are between replies; each happens once per process.
pub struct Scripted {
    steps: Vec<Step>,
    keeps_requests: bool,
    past: Mutex<Past>,
}

#[derive(Default)]
struct Past {
    requests: Vec<Request>,
    /// Indices of the errors that have happened.
    faults: BTreeSet<usize>,
}

impl Scripted {
    /// Replies with `steps`, and remembers the requests.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), keeps_requests: true, past: Mutex::default() }
    }

    /// Replies with the steps of a file; see [`Step`] for its format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        Ok(Self { keeps_requests: false, ..Self::new(Step::read_all(path)?) })
    }

    /// Adds a reply with this text.
    pub fn says(mut self, text: impl Into<String>) -> Self {
        self.steps.push(Step { say: Some(text.into()), ..Step::default() });
        self
    }

    /// Adds a reply that calls these tools, by name and arguments.
    pub fn calls<'a>(mut self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls =
            calls.into_iter().map(|(name, arguments)| StepCall { id: None, name: name.into(), arguments });
        self.steps.push(Step { calls: calls.collect(), ..Step::default() });
        self
    }

    /// The requests, in order; empty for a provider that was [opened](Self::open).
    pub fn requests(&self) -> Vec<Request> {
        self.past.lock().requests.clone()
    }

    /// The index of the step for `request`, if one is left.
    fn next(&self, request: &Request) -> Option<usize> {
        let replies = replies_in(request);
        let after_reply = |count: usize| {
            let mut places = (0..self.steps.len()).filter(|place| self.steps[*place].is_reply());
            places.nth(count - 1).map(|place| place + 1)
        };
        let start = if replies == 0 { 0 } else { after_reply(replies)? };
        let mut past = self.past.lock();
        if self.keeps_requests {
            past.requests.push(request.clone());
        }
        // A reply, or the first error that has not happened.
        (start..self.steps.len()).find(|place| self.steps[*place].is_reply() || past.faults.insert(*place))
    }
}

/// The number of replies in a request, including those that a summary replaces.
pub(crate) fn replies_in(request: &Request) -> usize {
    let is_said = |message: &&std::sync::Arc<Message>| matches!(***message, Message::Assistant { .. });
    let left_out = match request.messages.first().map(|message| &**message) {
        Some(Message::User { parts }) => replies_left_out(&text_of(parts)).unwrap_or_default(),
        _ => 0,
    };
    left_out + request.messages.iter().filter(is_said).count()
}

impl Provider for Scripted {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let place = self.next(&request);
        let step = place.map(|place| (place, self.steps[place].clone()));
        let count = self.steps.len();
        Box::pin(try_stream! {
            let (place, step) = step.ok_or_else(|| run_out(count))?;
            meets_expectation(&step, &request)?;
            for await delta in perform(place, step) {
                yield delta?;
            }
        })
    }
}

fn perform(place: usize, step: Step) -> impl Stream<Item = Result<Delta, ProviderError>> {
    try_stream! {
        for delta in said(place, &step) {
            // Even a sleep of zero would take a millisecond.
            if step.delay_ms > 0 {
                sleep(Duration::from_millis(step.delay_ms)).await;
            }
            yield delta;
        }
        if step.hang {
            pending::<()>().await;
        }
        if let Some(message) = step.fail {
            Err(failure(step.kind, message))?;
        }
        if let Some(usage) = step.usage {
            yield Delta::Usage(usage);
        }
        let usual = if step.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        yield Delta::Stop(step.stop.unwrap_or(usual));
    }
}

fn said(place: usize, step: &Step) -> Vec<Delta> {
    let mut deltas = Vec::new();
    deltas.extend(step.think.clone().map(Delta::Thinking));
    let text: Vec<char> = step.say.as_deref().unwrap_or_default().chars().collect();
    let length = step.pieces.unwrap_or(text.len()).max(1);
    deltas.extend(text.chunks(length).map(|piece| Delta::Text(piece.iter().collect())));
    for (index, call) in step.calls.iter().enumerate() {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{index}", place + 1));
        deltas.push(Delta::CallStart { index, id: CallId(id), name: call.name.clone() });
        deltas.push(Delta::CallArguments { index, json: as_written(&call.arguments) });
    }
    deltas
}

fn as_written(arguments: &Value) -> String {
    match arguments {
        Value::Null => "{}".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn meets_expectation(step: &Step, request: &Request) -> Result<(), ProviderError> {
    let Some(expected) = &step.expect else { return Ok(()) };
    let last = match request.messages.last().map(|message| &**message) {
        Some(Message::User { parts } | Message::Assistant { parts }) => text_of(parts),
        Some(Message::Tool { result, .. }) => result.content.clone(),
        None => String::new(),
    };
    if last.contains(expected) {
        return Ok(());
    }
    let last = haft_core::clip::head(&last, 500);
    Err(rejected(format!("it expected `{expected}` in the last message, which says `{last}`"), None))
}

fn run_out(steps: usize) -> ProviderError {
    let hint = "add a line to the script: each request takes the next one";
    rejected(format!("it has no more lines after {steps}"), Some(hint.into()))
}

fn rejected(message: String, hint: Option<String>) -> ProviderError {
    ProviderError::Rejected { provider: name(), message, hint }
}

fn failure(kind: FailKind, message: String) -> ProviderError {
    let provider = name();
    match kind {
        FailKind::Busy => {
            ProviderError::Busy { provider, message, retry_after: None, is_rate_limited: false }
        }
        FailKind::Auth => ProviderError::Auth { provider, message, hint: None },
        FailKind::Rejected => ProviderError::Rejected { provider, message, hint: None },
        FailKind::Context => ProviderError::ContextTooLong { message },
        FailKind::Connection => ProviderError::Connection { provider, message, source: None },
    }
}

fn name() -> String {
    "the script".into()
}

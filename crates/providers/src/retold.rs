//! [`Retold`]: a model that repeats the replies that a session recorded, and from some reply on asks another model.
use crate::scripted::replies_in;
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{CallId, Delta, Message, Part, Provider, ProviderError, Request, StopReason, text_of};
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Repeats recorded replies of a session and of its subagents. The request determines the conversation and the reply: a
/// conversation whose last reply is in the request continues; a new request belongs to the first recording that begins
/// with its task and has not begun yet.
pub struct Retold {
    /// The session's own conversation, then those of its subagents, in the order in which they began.
    conversations: Vec<Conversation>,
    then: Option<(usize, Arc<dyn Provider>)>,
}

/// The replies of one session.
struct Conversation {
    /// The first prompt of the user or of the parent agent.
    opening: String,
    replies: Vec<(Vec<Part>, StopReason)>,
    has_begun: AtomicBool,
}

impl Retold {
    /// Repeats `replies`, each with its stop reason, in the conversation that begins with `opening`.
    pub fn new(opening: String, replies: Vec<(Vec<Part>, StopReason)>) -> Self {
        Self { conversations: Vec::new(), then: None }.with_subagent(opening, replies)
    }

    /// Also repeats these replies in the conversation of a subagent whose task is `opening`.
    pub fn with_subagent(mut self, opening: String, replies: Vec<(Vec<Part>, StopReason)>) -> Self {
        self.conversations.push(Conversation { opening, replies, has_begun: AtomicBool::new(false) });
        self
    }

    /// Asks `other` after the first `count` replies of the session's own conversation, and for subagents that were not
    /// recorded.
    pub fn handing_over(self, count: usize, other: Arc<dyn Provider>) -> Self {
        Self { then: Some((count, other)), ..self }
    }

    /// The index of the conversation of `request`, which contains `said` replies.
    fn conversation(&self, request: &Request, said: usize) -> Option<usize> {
        if self.conversations.len() == 1 {
            return Some(0);
        }
        let places = 0..self.conversations.len();
        let task = asked(request);
        let last = request.messages.iter().rev().find_map(|message| match &**message {
            Message::Assistant { parts } => Some(parts),
            _ => None,
        });
        if let (Some(last), Some(before)) = (last, said.checked_sub(1)) {
            let said_last = |place: &usize| {
                let replies = &self.conversations[*place].replies;
                replies.get(before).is_some_and(|(parts, _)| are_alike(parts, last))
            };
            // The request of an attempt at a goal also holds the first prompt of the session.
            let is_below = |place: &usize| *place > 0 && task.contains(&self.conversations[*place].opening);
            let mut those = places.filter(said_last);
            return those.clone().find(is_below).or_else(|| those.next());
        }
        let mut known = places.filter(|place| task.contains(&self.conversations[*place].opening));
        known.find(|place| !self.conversations[*place].has_begun.swap(true, Ordering::Relaxed))
    }
}

/// The text of all messages before the first reply.
fn asked(request: &Request) -> String {
    let texts = request.messages.iter().map_while(|message| match &**message {
        Message::User { parts } => Some(text_of(parts)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether two replies have the same text and the same calls. Signatures of thoughts do not count.
fn are_alike(one: &[Part], other: &[Part]) -> bool {
    let calls = |parts: &[Part]| -> Vec<(CallId, String, Value)> {
        let calls = parts.iter().filter_map(Part::as_call);
        calls.map(|call| (call.id.clone(), call.name.clone(), call.arguments.clone())).collect()
    };
    calls(one) == calls(other) && text_of(one) == text_of(other)
}

impl Provider for Retold {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let said = replies_in(&request);
        let place = self.conversation(&request, said);
        if let Some((count, other)) = &self.then
            && place.is_none_or(|place| place == 0 && said >= *count)
        {
            return other.stream(request);
        }
        let replies = place.map_or(&[][..], |place| &self.conversations[place].replies);
        let deltas = match replies.get(said) {
            Some((parts, stop)) => deltas(parts, *stop).into_iter().map(Ok).collect(),
            None => vec![Err(ProviderError::Rejected {
                provider: "the recording".into(),
                message: match place {
                    None => "no session began with this task".to_owned(),
                    Some(_) => format!("all of its {} replies were used", replies.len()),
                },
                hint: None,
            })],
        };
        stream::iter(deltas).boxed()
    }
}

fn deltas(parts: &[Part], stop: StopReason) -> Vec<Delta> {
    let mut deltas: Vec<Delta> =
        parts.iter().enumerate().flat_map(|(index, part)| said(index, part)).collect();
    deltas.push(Delta::Stop(stop));
    deltas
}

fn said(index: usize, part: &Part) -> Vec<Delta> {
    match part {
        Part::Text { text } => vec![Delta::Text(text.clone())],
        Part::Thinking { text, .. } => vec![Delta::Thinking(text.clone())],
        Part::Image(_) | Part::Document(_) => Vec::new(),
        Part::ToolCall(call) => {
            let json = match (&call.problem, &call.arguments) {
                (Some(_), Value::String(written)) => written.clone(),
                (_, arguments) => arguments.to_string(),
            };
            let (id, name) = (call.id.clone(), call.name.clone());
            let problem = call.problem.clone().map(|problem| Delta::CallProblem { index, problem });
            let call = [Delta::CallStart { index, id, name }, Delta::CallArguments { index, json }];
            call.into_iter().chain(problem).collect()
        }
    }
}

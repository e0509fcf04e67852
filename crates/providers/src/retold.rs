//! A model that says again what a session recorded, and from some reply on lets another one speak.
use crate::scripted::replies_in;
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{Delta, Part, Provider, ProviderError, Request, StopReason};
use serde_json::Value;
use std::sync::Arc;

/// Says recorded replies again. Which one is next follows from the request alone, as for [`crate::Scripted`].
pub struct Retold {
    replies: Vec<(Vec<Part>, StopReason)>,
    then: Option<(usize, Arc<dyn Provider>)>,
}

impl Retold {
    /// Says `replies`, each with why it ended.
    pub fn new(replies: Vec<(Vec<Part>, StopReason)>) -> Self {
        Self { replies, then: None }
    }

    /// Asks `other` for the reply behind `count` of the recorded ones, and for all that follow.
    pub fn handing_over(self, count: usize, other: Arc<dyn Provider>) -> Self {
        Self { then: Some((count, other)), ..self }
    }
}

impl Provider for Retold {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let said = replies_in(&request);
        if let Some((count, other)) = &self.then
            && said >= *count
        {
            return other.stream(request);
        }
        let deltas = match self.replies.get(said) {
            Some((parts, stop)) => deltas(parts, *stop).into_iter().map(Ok).collect(),
            None => vec![Err(ProviderError::Rejected {
                provider: "the recording".into(),
                message: format!("all of its {} replies were used", self.replies.len()),
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
        Part::Image(_) => Vec::new(),
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

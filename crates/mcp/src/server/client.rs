//! [`Client`]: the other end of a call over MCP. It gets progress, answers questions, and may cancel the call.
use rmcp::{
    RoleServer,
    model::{ElicitRequestParams, ElicitationAction, ElicitationSchema, ProgressNotificationParam},
    service::{ElicitationMode, RequestContext},
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

/// The client of one call.
pub struct Client {
    context: RequestContext<RoleServer>,
    steps: AtomicU32,
}

impl Client {
    pub(super) fn new(context: RequestContext<RoleServer>) -> Self {
        Self { context, steps: AtomicU32::new(0) }
    }

    /// The protocol's data about the call.
    pub fn context(&self) -> &RequestContext<RoleServer> {
        &self.context
    }

    /// Cancelled when the client cancels the call, or disconnects.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.context.ct
    }

    /// Reports progress, if the client requested that.
    pub async fn progress(&self, message: impl Into<String>) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let progress = ProgressNotificationParam::new(token, f64::from(step)).with_message(message);
        let _client_is_gone = self.context.peer.notify_progress(progress).await;
    }

    /// Lets the client ask its user for a text, or for one of `choices` if there are any.
    pub async fn ask(&self, message: String, choices: &[&str]) -> Answered {
        if !self.context.peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
            return Answered::NoAnswer;
        }
        let mut field = json!({"type": "string", "title": "Answer"});
        if !choices.is_empty() {
            field["enum"] = json!(choices);
        }
        let form = json!({"type": "object", "properties": {"answer": field}, "required": ["answer"]});
        let requested_schema: ElicitationSchema =
            serde_json::from_value(form).expect("this is a form with one text");
        let request = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        match self.context.peer.create_elicitation(request).await {
            Ok(result) => match (result.action, result.content) {
                (ElicitationAction::Accept, Some(content)) => read(&content),
                (ElicitationAction::Decline, _) => Answered::No,
                _ => Answered::NoAnswer,
            },
            Err(_cannot_ask) => Answered::NoAnswer,
        }
    }
}

/// The result of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The user's answer.
    With(String),
    /// The user declined to answer.
    No,
    /// The client cannot ask, or got no answer.
    NoAnswer,
}

fn read(content: &Value) -> Answered {
    let answer = match &content["answer"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    Answered::With(answer)
}

//! [`AgentTool`]: an agent as a tool: each call has its own session.
use super::{
    Offer,
    client::Client,
    follow::{Approvals, follow},
};
use futures::future::BoxFuture;
use haft_core::{Change, Command, Outcome, Part};
use haft_engine::{EngineError, Session};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};
use std::sync::Arc;

/// Opens a session for an agent.
pub type Open = Arc<dyn Fn() -> Result<Session, EngineError> + Send + Sync>;

/// An agent that other programs may call.
pub struct AgentTool {
    /// The tool's name for clients.
    pub name: String,
    /// When to use the tool and what it returns.
    pub description: String,
    /// Opens a session for each call.
    pub open: Open,
}

impl Offer for AgentTool {
    fn tool(&self) -> Tool {
        let schema = json!({
            "type": "object",
            "properties": {
                "prompt": {
                    "type": "string",
                    "description": "What to do. The agent knows nothing else of your conversation.",
                },
                "description": {"type": "string", "description": "The task in a few words, for people."},
            },
            "required": ["prompt"],
        });
        Tool::new(self.name.clone(), self.description.clone(), object(schema))
    }

    fn call<'a>(&'a self, arguments: JsonObject, client: &'a Client) -> BoxFuture<'a, CallToolResult> {
        Box::pin(async move {
            let Some(prompt) = arguments.get("prompt").and_then(Value::as_str) else {
                return failed("`prompt` is required and must be a string");
            };
            match (self.open)() {
                Ok(session) => work(&session, prompt, client).await,
                Err(error) => failed(&error.to_string()),
            }
        })
    }
}

async fn work(session: &Session, prompt: &str, client: &Client) -> CallToolResult {
    let command = Command::Prompt { parts: vec![Part::text(prompt)], channel: None };
    let report = follow(session, command, client, Approvals::Session).await;
    let kind_of = |change: &Change| json!({"path": change.path, "kind": change.kind()});
    let changes: Value = report.changes.iter().map(kind_of).collect();
    let details = json!({
        "session": session.id(), "outcome": report.outcome, "text": report.text, "rounds": report.rounds,
        "changes": changes, "error": report.error,
    });
    let mut text = report.text;
    if let Some(error) = &report.error {
        text += &format!("\nerror: {error}");
    }
    for change in changes.as_array().into_iter().flatten() {
        text += &format!(
            "\n{}: {}",
            change["kind"].as_str().unwrap_or_default(),
            change["path"].as_str().unwrap_or_default()
        );
    }
    let content = vec![ContentBlock::text(text.trim_start().to_owned())];
    let mut result = match report.outcome {
        Some(Outcome::Finished) => CallToolResult::success(content),
        _ => CallToolResult::error(content),
    };
    result.structured_content = Some(details);
    result
}

pub(super) fn failed(why: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

pub(super) fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

//! [`OwnTool`]: a tool of Haft itself: its calls are handled like a model's calls.
use super::{
    Offer,
    agent::{Open, failed, object},
    client::Client,
    follow::{Approvals, follow},
};
use futures::future::BoxFuture;
use haft_core::ToolSpec;
use haft_engine::CallReport;
use haft_providers::direct;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::Value;

/// A tool that other programs may call.
pub struct OwnTool {
    /// Definition of the tool.
    pub spec: ToolSpec,
    /// Opens a session for each call, in which [`direct::Direct`] replaces the model.
    pub open: Open,
}

impl Offer for OwnTool {
    fn tool(&self) -> Tool {
        let ToolSpec { name, description, parameters, .. } = self.spec.clone();
        Tool::new(name, description, object(parameters))
    }

    fn call<'a>(&'a self, arguments: JsonObject, client: &'a Client) -> BoxFuture<'a, CallToolResult> {
        Box::pin(async move {
            let session = match (self.open)() {
                Ok(session) => session,
                Err(error) => return failed(&error.to_string()),
            };
            let prompt = direct::prompt(&self.spec.name, &Value::Object(arguments).to_string());
            let report = follow(&session, prompt, client, Approvals::Call).await;
            let Some(result) = report.calls.first().map(CallReport::result) else {
                return failed(report.error.as_deref().unwrap_or("the call did not come to its end"));
            };
            let mut content = vec![ContentBlock::text(result.content.clone())];
            content.extend(result.images.iter().map(|image| ContentBlock::image(&image.data, &image.mime)));
            match result.is_green() {
                true => CallToolResult::success(content),
                false => CallToolResult::error(content),
            }
        })
    }
}

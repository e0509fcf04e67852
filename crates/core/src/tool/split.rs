//! [`SplitResult`]: a result with separate parts for the model and the person.
use crate::{Shown, ToolResult};
use serde::Serialize;

/// A result by who reads it, as JSON `{for_llm, for_user, silent, is_error, async}`. Made from a [`ToolResult`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitResult {
    /// What the model reads; of an error that has no text for it, the error's message.
    pub for_llm: String,
    /// What people read in its place; `None` if they see a preview of `for_llm`, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_user: Option<String>,
    /// Whether people see nothing.
    pub silent: bool,
    /// Whether the call failed, or the tests did that it ran.
    pub is_error: bool,
    /// Whether the work continues, and its end will be reported.
    #[serde(rename = "async")]
    pub is_async: bool,
}

impl From<&ToolResult> for SplitResult {
    fn from(result: &ToolResult) -> Self {
        let message = result.error.as_ref().map(|error| &error.message);
        let for_llm = message.filter(|_| result.content.is_empty()).unwrap_or(&result.content).clone();
        let (for_user, silent) = match &result.shown {
            Shown::Preview => (None, false),
            Shown::Text(text) | Shown::Message(text) => (Some(text.clone()), false),
            Shown::Nothing => (None, true),
        };
        Self { for_llm, for_user, silent, is_error: !result.is_green(), is_async: result.job.is_some() }
    }
}

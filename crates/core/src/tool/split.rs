//! [`SplitResult`]: a result with separate texts for the model and the user.
use crate::{Shown, ToolResult};
use serde::Serialize;

/// A result with separate texts for its readers, as JSON `{for_llm, for_user, silent, is_error, async}`. Made from a
/// [`ToolResult`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitResult {
    /// The text for the model; for an error without such a text, the error's message.
    pub for_llm: String,
    /// The text for the user; `None` if the user sees a preview of `for_llm`, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_user: Option<String>,
    /// Whether nothing is shown to the user.
    pub silent: bool,
    /// Whether the call, or the tests that it ran, failed.
    pub is_error: bool,
    /// Whether the work continues in the background and its end will be reported.
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

//! Asks hooks before and after a call, and words what they add.
use crate::scope::CallScope;
use haft_core::{Hooked, Moment, ToolCall, ToolError, ToolErrorKind, ToolResult, clip};
use tokio_util::sync::CancellationToken;

/// Maximum bytes that hooks may add at a time.
const MAX_CONTEXT_BYTES: usize = 10_000;

/// What the model reads behind the result of `call`, or why the call does not run.
pub(crate) async fn before(scope: &CallScope, call: &ToolCall) -> Result<String, ToolError> {
    let Hooked { deny, context } = scope.hooks.hear(&scope.session, Moment::BeforeCall { call }).await;
    match deny {
        Some(reason) => {
            let reason = clip::head(&reason, MAX_CONTEXT_BYTES);
            let message = format!("a hook denied `{}`: {reason}", call.name);
            Err(ToolError::new(ToolErrorKind::Security, message).hint("find a way that the hook allows"))
        }
        None => Ok(hook_note(context)),
    }
}

/// What the model reads behind `result`. Empty if the turn is interrupted meanwhile.
pub(crate) async fn after(
    scope: &CallScope,
    call: &ToolCall,
    result: &ToolResult,
    cancel: &CancellationToken,
) -> String {
    tokio::select! {
        biased;
        hooked = scope.hooks.hear(&scope.session, Moment::AfterCall { call, result }) => hook_note(hooked.context),
        () = cancel.cancelled() => String::new(),
    }
}

/// Marks what hooks added, so that the model does not take it for words of the tool or the person. Empty for nothing.
pub fn hook_note(context: Option<String>) -> String {
    let context = context.filter(|context| !context.trim().is_empty());
    context.map_or_else(String::new, |context| {
        format!("\n[a hook says: {}]", clip::head(context.trim(), MAX_CONTEXT_BYTES))
    })
}

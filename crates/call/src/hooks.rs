//! Asks hooks before and after a call, and words what they add.
use crate::{checked::CheckedCall, scope::CallScope};
use haft_core::{HOOK_ASKS, HOOK_NOTE, Hooked, Moment, ToolCall, ToolError, ToolErrorKind, ToolResult, clip};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Maximum bytes that hooks may add at a time.
const MAX_CONTEXT_BYTES: usize = 10_000;

/// A call as hooks are told of it.
pub(crate) struct HookedCall {
    call: ToolCall,
    writes: Vec<PathBuf>,
}

/// What hooks said before a call that none of them denied.
#[derive(Default)]
pub(crate) struct Heard {
    /// What the model reads behind the result.
    pub(crate) note: String,
    /// Why a person must approve the call.
    pub(crate) ask: Option<String>,
}

impl HookedCall {
    pub(crate) fn new(checked: &CheckedCall, call: &ToolCall) -> Self {
        Self { call: checked.with_own_names(call), writes: checked.writes() }
    }

    /// Fails if a hook denies the call.
    pub(crate) async fn before(&self, scope: &CallScope) -> Result<Heard, ToolError> {
        let Self { call, writes } = self;
        let moment = Moment::BeforeCall { call, writes };
        let Hooked { deny, ask, context } = scope.hooks.hear(&scope.session, moment).await;
        if let Some(reason) = deny {
            let reason = clip::head(&reason, MAX_CONTEXT_BYTES);
            let message = format!("a hook denied `{}`: {reason}", call.name);
            let error = ToolError::new(ToolErrorKind::Security, message);
            return Err(error.hint("find a way that the hook allows"));
        }
        let ask = ask.map(|reason| format!("{HOOK_ASKS}: {}", clip::head(&reason, MAX_CONTEXT_BYTES)));
        Ok(Heard { note: hook_note(context), ask })
    }

    /// What the model reads behind `result`. Empty if the turn is interrupted meanwhile.
    pub(crate) async fn after(
        &self,
        scope: &CallScope,
        result: &ToolResult,
        cancel: &CancellationToken,
    ) -> String {
        let Self { call, writes } = self;
        tokio::select! {
            biased;
            hooked = scope.hooks.hear(&scope.session, Moment::AfterCall { call, writes, result }) => hook_note(hooked.context),
            () = cancel.cancelled() => String::new(),
        }
    }
}

/// Marks what hooks added, so that the model does not take it for words of the tool or the person. Empty for nothing.
pub fn hook_note(context: Option<String>) -> String {
    let context = context.filter(|context| !context.trim().is_empty());
    context.map_or_else(String::new, |context| {
        format!("{HOOK_NOTE}{}]", clip::head(context.trim(), MAX_CONTEXT_BYTES))
    })
}

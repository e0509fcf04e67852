//! [`HookedCall`]: asks hooks before and after a call, and formats what they add.
use crate::{checked::CheckedCall, errors::last_words, scope::CallScope};
use futures::FutureExt;
use haft_core::{
    FOLDER_NOTE, HOOK_ASKS, HOOK_NOTE, Hooked, Hooks, Moment, SessionId, ToolCall, ToolError, ToolErrorKind,
    ToolResult, clip,
};
use std::{panic::AssertUnwindSafe, path::PathBuf};
use tokio_util::sync::CancellationToken;

/// Maximum bytes that hooks may add at a time.
const MAX_CONTEXT_BYTES: usize = 10_000;

/// A call, as hooks receive it.
pub(crate) struct HookedCall {
    call: ToolCall,
    writes: Vec<PathBuf>,
}

/// The answers of hooks before a call that none of them denied.
#[derive(Default)]
pub(crate) struct Heard {
    /// The note that follows the result for the model.
    pub(crate) note: String,
    /// Why the user must approve the call.
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
        let Hooked { deny, ask, context, .. } = hear(&*scope.hooks, &scope.session, moment).await;
        if let Some(reason) = deny {
            let reason = clip::head(&reason, MAX_CONTEXT_BYTES);
            let message = format!("a hook denied `{}`: {reason}", call.name);
            let error = ToolError::new(ToolErrorKind::Security, message);
            return Err(error.hint("find a way that the hook allows"));
        }
        let ask = ask.map(|reason| format!("{HOOK_ASKS}: {}", clip::head(&reason, MAX_CONTEXT_BYTES)));
        Ok(Heard { note: hook_note(context), ask })
    }

    /// The note that follows `result` for the model. Empty if the turn is interrupted meanwhile.
    pub(crate) async fn after(
        &self,
        scope: &CallScope,
        result: &ToolResult,
        cancel: &CancellationToken,
    ) -> String {
        let Self { call, writes } = self;
        tokio::select! {
            biased;
            hooked = hear(&*scope.hooks, &scope.session, Moment::AfterCall { call, writes, result }) => {
                let notes = hooked.notes.iter().map(|(file, text)| folder_note(file, text));
                notes.fold(hook_note(hooked.context), |all, note| all + &note)
            }
            () = cancel.cancelled() => String::new(),
        }
    }
}

/// The answer of `hooks`. Hooks that panic deny, because they may have wanted to.
pub async fn hear(hooks: &dyn Hooks, session: &SessionId, moment: Moment<'_>) -> Hooked {
    let heard = AssertUnwindSafe(async { hooks.hear(session, moment).await }).catch_unwind().await;
    heard.unwrap_or_else(|panic| {
        let fault = format!("a hook panicked: {}", last_words(&*panic));
        tracing::error!(fault);
        Hooked { context: Some(fault.clone()), ..Hooked::deny(fault) }
    })
}

fn folder_note(file: &str, text: &str) -> String {
    let text = text.trim();
    let kept = clip::head(text, MAX_CONTEXT_BYTES);
    let cut = match text.len() - kept.len() {
        0 => String::new(),
        missing => format!("\n[{missing} bytes more: read the file to see them]"),
    };
    format!("{FOLDER_NOTE}`{}`:\n{kept}{cut}]", file.escape_debug())
}

/// Marks context of hooks as such, so that the model does not take it for text of the tool or the user. Empty if there
/// is none.
pub fn hook_note(context: Option<String>) -> String {
    let context = context.filter(|context| !context.trim().is_empty());
    context.map_or_else(String::new, |context| {
        format!("{HOOK_NOTE}{}]", clip::head(context.trim(), MAX_CONTEXT_BYTES))
    })
}

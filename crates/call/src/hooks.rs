//! Asks hooks before and after a call, and words what they add.
use crate::{checked::CheckedCall, scope::CallScope};
use haft_core::{HOOK_ASKS, HOOK_NOTE, Hooked, Moment, ToolCall, ToolError, ToolErrorKind, ToolResult, clip};
use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};
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
        let states = || writes.iter().map(|path| state(path)).collect::<Vec<_>>();
        let before = states();
        let context = tokio::select! {
            biased;
            hooked = scope.hooks.hear(&scope.session, Moment::AfterCall { call, writes, result }) => hooked.context,
            () = cancel.cancelled() => return String::new(),
        };
        let changed = writes.iter().zip(before).zip(states()).filter(|((_, before), after)| before != after);
        let changed = changed.map(|((path, _), _)| {
            let path = path.strip_prefix(&scope.workspace).unwrap_or(path).display();
            format!("{HOOK_NOTE}changed `{path}` after this call: read it again before you edit it]")
        });
        hook_note(context) + &changed.collect::<String>()
    }
}

/// What tells that a file was changed; `None` if it does not exist.
fn state(path: &Path) -> Option<(SystemTime, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Marks what hooks added, so that the model does not take it for words of the tool or the person. Empty for nothing.
pub fn hook_note(context: Option<String>) -> String {
    let context = context.filter(|context| !context.trim().is_empty());
    context.map_or_else(String::new, |context| {
        format!("{HOOK_NOTE}says: {}]", clip::head(context.trim(), MAX_CONTEXT_BYTES))
    })
}

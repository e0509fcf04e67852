//! Where hooks are asked, and where what they say is put.
use crate::session::context::SessionContext;
use haft_core::{
    Fact, Hooked, Moment, Outcome, Part, ToolCall, ToolError, ToolErrorKind, ToolResult, clip, text_of,
};
use tokio_util::sync::CancellationToken;

/// Hooks may add so many bytes at a time.
const MAX_CONTEXT: usize = 10_000;

/// What the model is to read behind the result of `call`, or why it does not run.
pub(crate) async fn before(session: &SessionContext, call: &ToolCall) -> Result<String, ToolError> {
    let Hooked { deny, context } = hear(session, Moment::BeforeCall { call }).await;
    match deny {
        Some(reason) => {
            let message = format!("a hook denied `{}`: {}", call.name, clip::head(&reason, MAX_CONTEXT));
            Err(ToolError::new(ToolErrorKind::Security, message).hint("find a way that the hook allows"))
        }
        None => Ok(behind(context)),
    }
}

/// What the model is to read behind `result`. Nothing where the turn is interrupted.
pub(crate) async fn after(
    session: &SessionContext,
    call: &ToolCall,
    result: &ToolResult,
    cancel: &CancellationToken,
) -> String {
    tokio::select! {
        biased;
        hooked = hear(session, Moment::AfterCall { call, result }) => behind(hooked.context),
        () = cancel.cancelled() => String::new(),
    }
}

/// A prompt with what hooks add to it, or [`Fact::PromptDenied`] in its place. Other facts stay as they are.
///
/// A prompt that is interrupted before every hook has answered is denied: the model would read it with the next one.
pub(crate) async fn checked(session: &SessionContext, fact: Fact, cancel: &CancellationToken) -> Fact {
    let Fact::Prompted { mut parts, channel } = fact else { return fact };
    let prompt = text_of(&parts);
    let hooked = tokio::select! {
        biased;
        hooked = hear(session, Moment::TurnStarts { prompt: &prompt }) => hooked,
        () = cancel.cancelled() => Hooked::deny("interrupted before the hooks had answered"),
    };
    if let Some(reason) = hooked.deny {
        return Fact::PromptDenied { parts, channel, reason };
    }
    let context = behind(hooked.context);
    if !context.is_empty() {
        parts.push(Part::text(context));
    }
    Fact::Prompted { parts, channel }
}

/// Tells hooks that a turn is over, also one that was interrupted.
pub(crate) async fn turn_ends(session: &SessionContext, outcome: Outcome) {
    hear(session, Moment::TurnEnds { outcome }).await;
}

async fn hear(session: &SessionContext, moment: Moment<'_>) -> Hooked {
    session.shared.setup.hooks.hear(&session.id, moment).await
}

/// Told apart from what the tool or the person said.
fn behind(context: Option<String>) -> String {
    let context = context.filter(|context| !context.trim().is_empty());
    context.map_or_else(String::new, |context| {
        format!("\n[a hook says: {}]", clip::head(context.trim(), MAX_CONTEXT))
    })
}

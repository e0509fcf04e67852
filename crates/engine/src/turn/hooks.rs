//! [`checked`] and [`turn_ends`]: ask hooks when a turn begins and when it ends.
use crate::session::context::SessionContext;
use haft_call::hook_note;
use haft_core::{Fact, Hooked, Moment, Outcome, Part, text_of};
use tokio_util::sync::CancellationToken;

/// Returns a prompt with the context of hooks, or [`Fact::PromptDenied`] in its place. Other facts are returned
/// unchanged.
///
/// A prompt that is interrupted before every hook has answered is denied: otherwise the model would read it with the
/// next prompt.
pub(crate) async fn checked(session: &SessionContext, fact: Fact, cancel: &CancellationToken) -> Fact {
    let Fact::Prompted { mut parts, channel } = fact else { return fact };
    let prompt = text_of(&parts);
    let hooked = tokio::select! {
        biased;
        hooked = hear(session, Moment::TurnStarts { prompt: &prompt }) => hooked,
        () = cancel.cancelled() => Hooked::deny("interrupted before the hooks had answered"),
    };
    if let Some(reason) = hooked.deny {
        let reason = format!("a hook denied it: {reason}");
        return Fact::PromptDenied { parts, channel, reason };
    }
    let context = hook_note(hooked.context);
    if !context.is_empty() {
        parts.push(Part::text(context));
    }
    Fact::Prompted { parts, channel }
}

/// Tells hooks that a turn has ended, even if it was interrupted.
pub(crate) async fn turn_ends(session: &SessionContext, outcome: Outcome) {
    hear(session, Moment::TurnEnds { outcome }).await;
}

async fn hear(session: &SessionContext, moment: Moment<'_>) -> Hooked {
    haft_call::hear(&*session.calls.hooks, &session.calls.session, moment).await
}

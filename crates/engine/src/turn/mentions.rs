//! [`resolved`]: inserts the prompts and resources of tool sources that the user's prompt names.
use crate::session::context::{Log, SessionContext};
use futures::FutureExt;
use haft_call::last_words;
use haft_core::{Fact, Part, SessionOpened};
use std::panic::AssertUnwindSafe;
use tokio_util::sync::CancellationToken;

/// Returns a prompt with the contents that sources have for the names in its first text, or [`Fact::PromptDenied`] in
/// its place. Other facts are returned unchanged, and so are prompts of jobs and subagents, which no user typed.
pub(crate) async fn resolved(
    log: &Log,
    session: &SessionContext,
    fact: Fact,
    cancel: &CancellationToken,
) -> Fact {
    let Fact::Prompted { mut parts, channel } = fact else { return fact };
    let sources = &session.shared.setup.sources;
    let Some(Part::Text { text }) = parts.first().cloned().filter(|_| !sources.is_empty() && is_typed(log))
    else {
        return Fact::Prompted { parts, channel };
    };
    for source in sources {
        let found = tokio::select! {
            biased;
            found = AssertUnwindSafe(async { source.resolve(&text).await }).catch_unwind() => {
                found.unwrap_or_else(|panic| Err(format!("a source of tools panicked: {}", last_words(&*panic))))
            }
            () = cancel.cancelled() => Err("it was interrupted before it was complete".to_owned()),
        };
        match found {
            Ok(None) => {}
            Ok(Some(found)) => {
                parts.splice(..1, found);
                break;
            }
            Err(reason) => return Fact::PromptDenied { parts, channel, reason },
        }
    }
    Fact::Prompted { parts, channel }
}

fn is_typed(log: &Log) -> bool {
    let entries = log.journal.entries();
    SessionOpened::of(&entries).is_none_or(|opened| !opened.is_job() && !opened.is_subagent())
}

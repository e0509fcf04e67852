//! [`compact`]: replaces the beginning of a conversation by a summary, written by the model or, if it fails, built by
//! rules.
use super::{
    ask::{self, StreamEnd},
    digest,
};
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
    setup::Model,
};
use haft_core::{Fact, Message, Part, Reply, Request, Summarizer, Update, Usage, Window, text_of, tokens};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const SUMMARY_SYSTEM_PROMPT: &str = "You summarize a conversation between a person and an agent that works with tools, so that the \
                      agent can go on from the summary alone.";

const SUMMARY_PROMPT: &str = "Write the summary that the agent goes on from. Say what is to be done and how far it is; what was \
                     decided and why; what was found out, with names of files, functions and numbers as they stand; \
                     which errors came up and how they were solved; and what comes next. Take over earlier summaries. \
                     No preface. At most 500 words.";

/// Additional tokens for a summary request, for models that think first.
const THINKING_TOKENS: u64 = 2_000;

/// Replaces all but the last `kept` messages by a summary. Records nothing before the summary is complete, so that a
/// crash or a cancellation leaves the conversation unchanged.
pub(crate) async fn compact(
    log: &mut Log,
    session: &SessionContext,
    window: &Window,
    kept: usize,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let messages = log.transcript.messages();
    let left_out = messages[..messages.len().saturating_sub(kept)].to_vec();
    tracing::debug!("summarizing {} messages", left_out.len());
    log.journal.live(Update::Summarizing);
    let asked = ask(log, session, window, &left_out, cancel).await?;
    if cancel.is_cancelled() {
        return Ok(());
    }
    let entries = log.journal.entries();
    let (text, by, usage) = match asked {
        Some((text, usage)) => (text, Summarizer::Model, usage),
        None => (digest::digest(&entries, window.summary()), Summarizer::Digest, Usage::default()),
    };
    let files = digest::changed_files(&entries).map(|files| tokens::fit(&files, window.summary() / 2, ""));
    let summary = [Some(tokens::fit(&text, window.summary(), "")), files];
    let summary = summary.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let before = log.transcript.size(window.fixed);
    let fact = |after| Fact::Compacted {
        summary: summary.clone(),
        kept,
        pinned_bytes: window.pinned_bytes(),
        by,
        before,
        after,
        usage,
    };
    let mut then = log.transcript.clone();
    then.apply(&fact(0));
    // A result that is no longer in the prompt cannot be referred to.
    session.calls.repeats.clear();
    log.record(fact(then.size(window.fixed)))
}

/// Asks the model for a summary of `messages`; `None` if it fails or the summary is empty.
async fn ask(
    log: &mut Log,
    session: &SessionContext,
    window: &Window,
    messages: &[Arc<Message>],
    cancel: &CancellationToken,
) -> Result<Option<(String, Usage)>, JournalError> {
    let model = session.model(&log.transcript);
    let mut request = request_for(session, model, window, messages);
    let prompt = tokens::of_text(SUMMARY_SYSTEM_PROMPT) + tokens::of_message(&request.messages[0]);
    let budget = &session.limits.budget;
    let reserved = session.budget.reserve(budget, model.price, prompt, request.max_output.into());
    let Ok(mut reserved) = reserved else { return Ok(None) };
    request.max_output = u32::try_from(reserved.reply).unwrap_or(u32::MAX);
    let mut reply = Reply::default();
    let heard = ask::read_stream(log, session, request, &mut reply, (&mut reserved, cancel), false).await?;
    match heard {
        StreamEnd::Whole if !reply.stop().is_endless() => {}
        StreamEnd::Failed(error) => {
            tracing::warn!(%error, "no summary by the model");
            ask::given_up(log, &mut reserved, reply, error.is_timed_out(), &error.to_string())?;
            return Ok(None);
        }
        StreamEnd::Whole | StreamEnd::TooLarge | StreamEnd::Interrupted | StreamEnd::Reached(_) => {
            ask::given_up(log, &mut reserved, reply, false, "no summary by the model")?;
            return Ok(None);
        }
    }
    let usage = reply.usage();
    let text = text_of(&reply.into_parts()).trim().to_owned();
    reserved.spend(usage, tokens::of_text(&text));
    Ok((!text.is_empty()).then_some((text, usage)))
}

fn request_for(
    session: &SessionContext,
    model: &Model,
    window: &Window,
    messages: &[Arc<Message>],
) -> Request {
    let told = digest::told(messages, window.limit() / 2);
    let parts = vec![Part::text(format!("{told}\n\n---\n\n{SUMMARY_PROMPT}"))];
    Request {
        model: model.name.clone(),
        system: SUMMARY_SYSTEM_PROMPT.into(),
        messages: vec![Arc::new(Message::User { parts })],
        tools: Arc::default(),
        max_output: u32::try_from((window.summary() + THINKING_TOKENS).min(window.reply)).unwrap_or(u32::MAX),
        form: None,
        answer: None,
        options: session.shared.setup.profile.options.clone(),
    }
}

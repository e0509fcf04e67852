//! [`ask_once`]: sends one request to the model, within the window and the budget, and records the reply and its cost.
use super::{answer, fallback};
use crate::setup::Model;
use crate::{
    journal::{Journal, JournalError},
    session::{
        budget::Reserved,
        context::{Log, SessionContext},
    },
};
use futures::StreamExt;
use haft_call::add_late_usage;
use haft_core::{
    Delta, Fact, Message, ModelFault, Part, ProviderError, Reached, Reply, Request, StopReason, Transcript,
    Window, provider::REFUSED_HINT, tokens,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The window of a model if it is unknown: most models have at least this (2025-10).
const DEFAULT_WINDOW_TOKENS: u64 = 128_000;

/// Maximum tokens that stay free between a request and its reply, because the size of the request is an estimate.
const MAX_MARGIN_TOKENS: u64 = 1_024;

/// Tokens reserved for a reply without a limit.
const DEFAULT_REPLY_TOKENS: u32 = 8_192;

/// The problem of a call whose arguments contain a secret.
const SECRET_IN_ARGUMENTS: &str = "its arguments hold a value that is kept secret, which the journal must not hold; \
     have a command read it from a file or a variable, or ask the user to write it";

/// Why there is no reply.
pub(crate) enum NoReply {
    Reached(Reached),
    /// `was_begun`: a part of the reply was shown live.
    Failed {
        error: ProviderError,
        was_begun: bool,
    },
    /// The provider's content policy refused the request, and another model can be asked.
    Refused {
        was_begun: bool,
    },
    Interrupted,
}

/// How a reply ended.
pub(crate) enum StreamEnd {
    Whole,
    /// The reply exceeded the maximum size.
    TooLarge,
    Interrupted,
    Failed(ProviderError),
    /// The provider wanted to retry the request, but another attempt would exceed the budget.
    Reached(Reached),
}

/// Sends a request, counts its cost, and returns the fact that records the answer. `most`: tokens that the reply may have
/// at most, in addition to the other limits.
pub(crate) async fn ask_once(
    log: &mut Log,
    session: &SessionContext,
    most: Option<u32>,
    cancel: &CancellationToken,
) -> Result<Result<Fact, NoReply>, JournalError> {
    let mut request = request(session, &log.transcript);
    if let Some(most) = most.filter(|most| u64::from(*most) < wanted(request.max_output)) {
        request.max_output = most;
    }
    let mut reserved = match reserve(session, &log.transcript, request.max_output) {
        Ok(reserved) => reserved,
        Err(reached) => return Ok(Err(NoReply::Reached(reached))),
    };
    if reserved.reply < wanted(request.max_output) {
        request.max_output = u32::try_from(reserved.reply).unwrap_or(u32::MAX);
    }
    let mut reply = Reply::default();
    let heard = read_stream(log, session, request, &mut reply, (&mut reserved, cancel), true).await?;
    let usage = reply.usage();
    let fact = match heard {
        StreamEnd::Reached(reached) => return Ok(Err(NoReply::Reached(reached))),
        StreamEnd::Failed(error) => {
            let was_begun = !reply.is_empty();
            given_up(log, &mut reserved, reply, error.is_timed_out(), &error.to_string())?;
            return Ok(Err(NoReply::Failed { error, was_begun }));
        }
        // Not recorded, so that the next model does not read it as its own reply.
        StreamEnd::Whole if reply.stop() == StopReason::Refusal && fallback::is_left(log, session) => {
            let was_begun = !reply.is_empty();
            given_up(log, &mut reserved, reply, true, ModelFault::Refused.sentence())?;
            return Ok(Err(NoReply::Refused { was_begun }));
        }
        StreamEnd::Interrupted if reply.is_empty() => Err(NoReply::Interrupted),
        StreamEnd::Interrupted => Ok(spoken(reply, StopReason::Interrupted)),
        StreamEnd::TooLarge if reply.has_large_call() => Ok(cut_off(reply)),
        StreamEnd::TooLarge => Ok(spoken(reply, StopReason::Endless)),
        StreamEnd::Whole if reply.is_empty() && reply.stop() == StopReason::Refusal => Ok(refused()),
        StreamEnd::Whole if reply.is_no_answer() => Ok(Fact::ModelFailed {
            message: "the model answered nothing".into(),
            hint: Some("ask again, or take another model".into()),
            reason: None,
        }),
        // A call of such a reply may be incomplete, and a second request would give the same.
        StreamEnd::Whole if reply.stop().is_endless() => {
            let stop = reply.stop();
            Ok(spoken(reply, stop))
        }
        StreamEnd::Whole => {
            let (stop, mut parts) = (reply.stop(), reply.into_parts());
            refuse_secrets(&mut parts, &log.journal);
            Ok(Fact::Replied { stop, usage, parts })
        }
    };
    reserved.spend(usage, fact.as_ref().map_or(0, written_in));
    Ok(fact)
}

/// Refuses calls whose arguments contain a secret: the redacted call in the journal would differ from the call that
/// runs.
fn refuse_secrets(parts: &mut [Part], journal: &Journal) {
    for part in parts {
        let Part::ToolCall(call) = part else { continue };
        let hidden = journal.hidden(call.arguments.clone());
        if call.problem.is_none() && hidden != call.arguments {
            call.problem = Some(SECRET_IN_ARGUMENTS.into());
            // The redacted value is used, because a secret with escaped characters would not be found in JSON text.
            call.arguments = hidden.to_string().into();
        }
    }
}

/// Reserves the maximum cost of the next request, with a reply of at most `max_output` tokens.
pub(crate) fn reserve(
    session: &SessionContext,
    transcript: &Transcript,
    max_output: u32,
) -> Result<Reserved, Reached> {
    let prompt = transcript.size(window(session, transcript).fixed);
    let price = session.model(transcript).price;
    session.budget.reserve(&session.limits.budget, price, prompt, wanted(max_output))
}

fn wanted(max_output: u32) -> u64 {
    u64::from(if max_output == 0 { DEFAULT_REPLY_TOKENS } else { max_output })
}

/// Reads one reply to its end. `is_shown`: each delta is shown live. Records the cost of attempts that the provider
/// gave up.
pub(crate) async fn read_stream(
    log: &mut Log,
    session: &SessionContext,
    request: Request,
    reply: &mut Reply,
    (reserved, cancel): (&mut Reserved, &CancellationToken),
    is_shown: bool,
) -> Result<StreamEnd, JournalError> {
    let model = session.model(&log.transcript);
    let mut deltas = haft_call::ask(&*model.provider, request);
    loop {
        let delta = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(StreamEnd::Interrupted),
            delta = deltas.next() => delta,
        };
        let delta = match delta {
            Some(Ok(delta)) => delta,
            Some(Err(error)) => return Ok(StreamEnd::Failed(error)),
            None => return Ok(StreamEnd::Failed(ended_early(&model.spec))),
        };
        let is_last = matches!(delta, Delta::Stop(_));
        let retried = match &delta {
            Delta::Retrying { reason, charged, .. } => {
                Some((std::mem::take(reply), *charged, reason.clone()))
            }
            _ => None,
        };
        let updates = reply.push(delta);
        if is_shown && !updates.is_empty() {
            updates.into_iter().for_each(|update| log.journal.live(update));
            // Yields to followers, because a reply that arrives all at once would outrun them.
            tokio::task::coop::consume_budget().await;
        }
        if let Some((abandoned, charged, reason)) = retried {
            given_up(log, reserved, abandoned, charged, &reason)?;
            if let Err(reached) = reserved.fits_again(&session.limits.budget) {
                return Ok(StreamEnd::Reached(reached));
            }
        }
        if is_last {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = add_late_usage(&mut deltas, reply) => {}
            }
            return Ok(StreamEnd::Whole);
        }
        if reply.is_too_large() {
            return Ok(StreamEnd::TooLarge);
        }
    }
}

/// Records the cost of a failed request, if the vendor may charge for it (`charged`) or the model had begun to answer.
pub(crate) fn given_up(
    log: &mut Log,
    reserved: &mut Reserved,
    reply: Reply,
    charged: bool,
    reason: &str,
) -> Result<(), JournalError> {
    let counted = reply.usage();
    if !charged && counted.total() == 0 && reply.is_empty() {
        return Ok(());
    }
    let written = tokens::of_message(&Message::Assistant { parts: reply.into_parts() });
    let usage = reserved.lose(counted, written);
    log.record(Fact::Retried { reason: reason.to_owned(), usage })
}

fn refused() -> Fact {
    Fact::ModelFailed {
        message: format!("the model {}: its vendor's content policy", ModelFault::Refused.sentence()),
        hint: Some(REFUSED_HINT.into()),
        reason: Some(ModelFault::Refused),
    }
}

/// Estimated tokens of a reply.
fn written_in(fact: &Fact) -> u64 {
    match fact {
        Fact::Replied { parts, .. } => tokens::of_message(&Message::Assistant { parts: parts.clone() }),
        _ => 0,
    }
}

/// The fact for a reply that was cut off, without its calls, which may be incomplete.
fn spoken(reply: Reply, stop: StopReason) -> Fact {
    let usage = reply.usage();
    Fact::Replied { parts: reply.into_spoken_parts(), usage, stop }
}

/// The fact for a reply that was cut off. It keeps the calls, each of which gets an error for the model.
fn cut_off(mut reply: Reply) -> Fact {
    reply.push(Delta::Stop(StopReason::Length));
    Fact::Replied { stop: StopReason::Length, usage: reply.usage(), parts: reply.into_parts() }
}

fn ended_early(model: &str) -> ProviderError {
    let message = "the reply ended before it was complete".to_owned();
    ProviderError::Connection { provider: model.to_owned(), message, source: None }
}

/// The window of the model that the turn asks.
pub(crate) fn window(session: &SessionContext, transcript: &Transcript) -> Window {
    let setup = &session.shared.setup;
    let tokens = session.model(transcript).window.unwrap_or(DEFAULT_WINDOW_TOKENS);
    let reply = match setup.profile.max_output {
        0 => tokens,
        limit => u64::from(limit),
    };
    Window::new(tokens, reply, session.toolbox.kit().prefix.tokens)
}

/// Whether a request allows a reply of more than `tokens`.
pub(crate) fn allows_longer_reply(log: &Log, session: &SessionContext, tokens: u32) -> bool {
    wanted(room_for_reply(session, &log.transcript)) > u64::from(tokens)
}

/// The request with the whole conversation; its messages are shared, which costs one pointer each.
pub(crate) fn request(session: &SessionContext, transcript: &Transcript) -> Request {
    let kit = session.toolbox.kit();
    let prefix = &kit.prefix;
    Request {
        model: session.model(transcript).name.clone(),
        system: prefix.system.clone(),
        messages: messages(transcript, session.model(transcript)),
        tools: prefix.tools.clone(),
        max_output: room_for_reply(session, transcript),
        form: None,
        answer: answer::form(transcript),
        options: session.options.clone(),
    }
}

/// The messages of the transcript, with text in place of documents if the model takes no documents.
fn messages(transcript: &Transcript, model: &Model) -> Vec<Arc<Message>> {
    let all = transcript.messages();
    if model.documents {
        return all.to_vec();
    }
    all.iter().map(|message| message.without_documents().map_or_else(|| message.clone(), Arc::new)).collect()
}

/// The profile's limit on output, at most the rest of the window: some servers refuse a request that could exceed it. A
/// model may count more tokens than the estimate.
fn room_for_reply(session: &SessionContext, transcript: &Transcript) -> u32 {
    let wanted = session.shared.setup.profile.max_output;
    if session.model(transcript).window.is_none() {
        return wanted;
    }
    let window = window(session, transcript);
    let size = transcript.size(window.fixed);
    let margin = (size / 4).min(MAX_MARGIN_TOKENS);
    let left = window.tokens.saturating_sub(size + margin).max(window.reply.min(256));
    wanted.min(u32::try_from(left).unwrap_or(u32::MAX))
}

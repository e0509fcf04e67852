//! [`run_turn`]: the turn loop, which asks the model and runs its calls until the transcript says stop.
mod answer;
mod ask;
pub(crate) mod attempts;
pub(crate) mod background;
mod calls;
mod compact;
mod digest;
mod fallback;
mod goal;
mod hooks;
mod mentions;
mod planning;
pub(crate) mod recover;
pub(crate) mod rewind;
mod room;
mod spent;

use crate::{
    journal::JournalError,
    session::{
        budget,
        context::{Log, SessionContext},
        queue::Queued,
    },
};
use ask::NoReply;
use calls::run_tools;
use compact::compact;
use haft_core::{
    Completion, Fact, OnCap, Outcome, Part, ProviderError, RemainingWork, SessionSetup, Spending, Step,
    StopReason, Usage, Window, active_path,
    window::{self, Room},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Maximum tokens of the reply if a request was rejected as too long and cannot be shortened: some servers count the
/// maximum reply as part of the request.
const SHORT_REPLY_TOKENS: u32 = 1_024;

/// Runs a turn, beginning with the fact that opens it. If that is a prompt, the last reply must match `schema`. A
/// denied prompt ends the turn before the model reads it.
pub(crate) async fn open_turn(
    log: &mut Log,
    session: &SessionContext,
    opening: Fact,
    schema: Option<Value>,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let is_prompt = matches!(opening, Fact::Prompted { .. });
    let opening = mentions::resolved(log, session, opening, cancel).await;
    let opening = hooks::checked(session, opening, cancel).await;
    let opening = background::settled(log, session, opening, cancel).await?;
    let is_denied = matches!(opening, Fact::PromptDenied { .. });
    if !matches!(opening, Fact::Called { .. }) {
        keep_setup(log, session)?;
    }
    log.record(opening)?;
    if !is_denied && is_prompt && (schema.is_some() || log.transcript.answer_schema().is_some()) {
        log.record(Fact::AnswerSchema { schema })?;
    }
    if !is_denied && is_prompt {
        planning::instruct(log, session)?;
    }
    match (is_denied, cancel.is_cancelled()) {
        (false, _) => run_turn(log, session, cancel).await,
        (true, false) => end_turn(log, session, Outcome::Refused).await,
        (true, true) => end_turn(log, session, Outcome::Interrupted).await,
    }
}

/// Records the agent, the model and the effort of the session if the conversation so far had others.
pub(crate) fn keep_setup(log: &mut Log, session: &SessionContext) -> Result<(), JournalError> {
    let setup = SessionSetup {
        agent: session.calls.agent.clone(),
        model: session.model.spec.clone(),
        effort: session.model.effort.clone(),
    };
    match log.transcript.setup() == Some(&setup) {
        true => Ok(()),
        false => log.record(Fact::SetupChanged { setup, price: session.model.price }),
    }
}

async fn run_turn(
    log: &mut Log,
    session: &SessionContext,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    loop {
        look_for_tools(session, cancel).await;
        match log.transcript.next_step(&session.limits) {
            Step::AskModel => ask_model(log, session, cancel).await?,
            Step::RunTools(calls) => match calls.as_slice() {
                [attempts] if log.transcript.is_attempting() => {
                    attempts::run(log, session, attempts.clone(), cancel).await?;
                }
                _ => {
                    goal::allow(log, session, &calls);
                    run_tools(log, session, calls, cancel).await?;
                }
            },
            Step::Stop(outcome) => {
                let outcome = match outcome {
                    Outcome::Finished | Outcome::Refused => {
                        check_reply(log, session, outcome, cancel).await?
                    }
                    outcome => Some(outcome),
                };
                if let Some(outcome) = outcome
                    && !attempts::begin(log, session, outcome)?
                {
                    return end_turn(log, session, outcome).await;
                }
            }
        }
        if cancel.is_cancelled() {
            // The request that found no time left may already have recorded this.
            if log.transcript.next_step(&session.limits) == Step::Stop(Outcome::Budget) {
                continue;
            }
            let out_of_time = session.budget.out_of_time(&session.limits.budget);
            log.record(out_of_time.unwrap_or(Fact::Interrupted))?;
        } else {
            apply_queued(log, session, cancel).await?;
        }
    }
}

/// Refreshes the tools of sources. This may take time, because some sources start programs first.
async fn look_for_tools(session: &SessionContext, cancel: &CancellationToken) {
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = session.toolbox.refresh(&session.shared.setup, &session.calls.session) => {}
    }
}

/// Summarizes the conversation at the user's request. Ends like a turn, for callers that wait for the end of a turn.
pub(crate) async fn compact_now(
    log: &mut Log,
    session: &SessionContext,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    recover::end_open_calls(log, session, "the conversation was summarized first")?;
    let window = ask::window(session, &log.transcript);
    if let Some(Room::Compact { kept }) = window::compact(&log.transcript, 0) {
        compact(log, session, &window, kept, cancel).await?;
    }
    end_turn(log, session, if cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::Finished }).await
}

/// Records the prompts and the results of background tasks since the last round. If no round is left to answer them,
/// they wait for the next turn.
async fn apply_queued(
    log: &mut Log,
    session: &SessionContext,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    while let Some(queued) = session.queue.pop_if(|fact| is_answered(log, session, fact)) {
        let Queued { fact, ticket } = queued;
        let fact = mentions::resolved(log, session, fact, cancel).await;
        let fact = hooks::checked(session, fact, cancel).await;
        let fact = background::settled(log, session, fact, cancel).await?;
        ticket.begin(&log.journal);
        // Only facts that add a message to the conversation end its open calls.
        if matches!(fact, Fact::Prompted { .. } | Fact::TaskEnded { .. }) {
            recover::end_open_calls(log, session, "a prompt came first")?;
        }
        let (is_denied, is_prompt) =
            (matches!(fact, Fact::PromptDenied { .. }), matches!(fact, Fact::Prompted { .. }));
        log.record(fact)?;
        if is_prompt {
            planning::instruct(log, session)?;
        }
        match is_denied {
            true => ticket.done(&log.journal),
            false => session.queue.join(ticket),
        }
    }
    Ok(())
}

/// Whether a round is left that answers `fact`, or it needs no answer.
fn is_answered(log: &Log, session: &SessionContext, fact: &Fact) -> bool {
    if matches!(fact, Fact::TaskStarted { .. }) {
        return true;
    }
    let mut then = log.transcript.clone();
    if let Step::Stop(Outcome::Budget) = then.next_step(&session.limits) {
        return false;
    }
    then.apply(fact);
    let is_asked = then.next_step(&session.limits) == Step::AskModel;
    is_asked && ask::reserve(session, &then, ask::request(session, &then).max_output).is_ok()
}

/// Checks the last reply of a turn that would end with `outcome`. Returns how the turn ends; `None` if the model is
/// asked again.
async fn check_reply(
    log: &mut Log,
    session: &SessionContext,
    outcome: Outcome,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, JournalError> {
    if log.transcript.is_checking() {
        return goal::judge(log, outcome);
    }
    if log.transcript.is_attempting() {
        return goal::judge_attempts(log);
    }
    let outcome = match outcome {
        Outcome::Finished if session.limits.evidence => check_claims(log, session)?,
        outcome => Some(outcome),
    };
    let outcome = match outcome {
        Some(outcome @ (Outcome::Finished | Outcome::Refused)) => answer::check(log, outcome)?,
        outcome => outcome,
    };
    let outcome = match outcome {
        Some(outcome) => planning::ask(log, session, outcome, cancel).await?,
        None => None,
    };
    outcome.map_or(Ok(None), |outcome| goal::check(log, outcome))
}

/// Checks the claims of the last reply. Returns how the turn ends; `None` if the model is asked again.
fn check_claims(log: &mut Log, session: &SessionContext) -> Result<Option<Outcome>, JournalError> {
    let claims =
        session.shared.setup.evidence.unproven(&log.journal.entries(), session.limits.check.as_deref());
    if claims.is_empty() {
        return Ok(Some(Outcome::Finished));
    }
    if log.transcript.is_reminded() {
        return Ok(Some(Outcome::Unproven));
    }
    let text = reminder(&claims);
    log.record(Fact::Reminded { claims, text })?;
    Ok(None)
}

/// The text for the model about unproven claims.
fn reminder(unproven: &[String]) -> String {
    format!(
        "[Nothing in this session shows what you claim]\n- {}\nDo it now, or say what is true instead. This is asked \
         once.",
        unproven.join("\n- ")
    )
}

async fn end_turn(log: &mut Log, session: &SessionContext, outcome: Outcome) -> Result<(), JournalError> {
    recover::end_open_calls(log, session, not_run(outcome))?;
    let limits = &session.limits;
    // Counted before the profile's text is recorded in place of a further reply.
    let rounds = log.transcript.rounds();
    if outcome == Outcome::RoundLimit {
        tracing::warn!("Max iterations ({}) reached", limits.max_rounds.unwrap_or_default());
        log.record(match &limits.on_cap {
            OnCap::Apologize(apology) => {
                let parts = vec![Part::text(apology)];
                Fact::Replied { parts, usage: Usage::default(), stop: StopReason::EndTurn }
            }
            OnCap::Stop => rounds_reached(log, session),
        })?;
    }
    hooks::turn_ends(session, outcome).await;
    let spent = spent_by(log, session);
    log.record(Fact::TurnEnded { outcome, rounds, usage: spent.usage, cost_usd: spent.cost_usd() })?;
    log.journal.sync().await
}

fn rounds_reached(log: &Log, session: &SessionContext) -> Fact {
    let left = RemainingWork::of(&active_path(&log.journal.entries()));
    let limit = session.limits.max_rounds.unwrap_or_default();
    let words = session.shared.setup.profile.reasons.rounds.as_ref();
    let reason = words.map(|words| words.replace("{n}", &limit.to_string()));
    Fact::RoundsReached { limit, left, reason }
}

/// The spending of the turn, including subagents that drew from the budget of this session.
fn spent_by(log: &Log, session: &SessionContext) -> Spending {
    match session.owns_budget {
        true => session.budget.spent(),
        false => spent::own(session, log),
    }
}

fn not_run(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Repeating => "the same calls were made again and again",
        Outcome::Interrupted => "interrupted by the user",
        Outcome::Finished
        | Outcome::Failed
        | Outcome::RoundLimit
        | Outcome::Budget
        | Outcome::Refused
        | Outcome::Unproven
        | Outcome::InvalidAnswer
        | Outcome::Stuck => "the turn ended first",
    }
}

async fn ask_model(
    log: &mut Log,
    session: &SessionContext,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    if goal::check_first(log)? || fallback::is_awaited(log, cancel).await? {
        return Ok(());
    }
    if let Some(switch) = fallback::from_the_first(log, session) {
        return log.record(switch);
    }
    nudge(log, session)?;
    let window = ask::window(session, &log.transcript);
    room::make_room(log, session, &window, cancel).await?;
    // A power failure must not lose what the model has read.
    log.journal.sync().await?;
    tracing::debug!("Agent iteration {}", log.transcript.rounds() + 1);
    let mut said = ask::ask_once(log, session, None, cancel).await?;
    if matches!(said, Err(NoReply::Failed { error: ProviderError::ContextTooLong { .. }, .. })) {
        let is_smaller = shrink(log, session, &window, cancel).await?;
        let most = Some(SHORT_REPLY_TOKENS).filter(|_| !is_smaller);
        if is_smaller || ask::allows_longer_reply(log, session, SHORT_REPLY_TOKENS) {
            said = ask::ask_once(log, session, most, cancel).await?;
        }
    }
    let fact = match said {
        Ok(fact) => fact,
        Err(NoReply::Reached(limit)) => budget::reached(limit),
        Err(NoReply::Failed { error, was_begun }) => fallback::after(log, session, &error, was_begun),
        Err(NoReply::Refused { was_begun }) => fallback::after_refusal(log, session, was_begun),
        Err(NoReply::Interrupted) => return Ok(()),
    };
    log.record(worded(fact, log, session))
}

/// Sets the profile's text for a failure of the model.
fn worded(fact: Fact, log: &Log, session: &SessionContext) -> Fact {
    match (fact, &session.shared.setup.profile.reasons.inference) {
        (Fact::ModelFailed { message, hint, reason }, Some(words)) => {
            let round = log.transcript.rounds().to_string();
            let message = words.replace("{n}", &round).replace("{why}", &message);
            Fact::ModelFailed { message, hint, reason }
        }
        (fact, _) => fact,
    }
}

/// Records the text that asks a model to continue after a reply without calls.
fn nudge(log: &mut Log, session: &SessionContext) -> Result<(), JournalError> {
    match &session.limits.completion {
        Completion::PhraseOrIdle { go_on, .. } if log.transcript.ends_with_reply() => {
            log.record(Fact::Nudged { text: go_on.clone() })
        }
        Completion::PhraseOrIdle { .. } | Completion::NoCalls => Ok(()),
    }
}

/// Called when the server rejects a request as too long: shrinks the history to half of its current size. Returns
/// whether it got smaller.
async fn shrink(
    log: &mut Log,
    session: &SessionContext,
    window: &Window,
    cancel: &CancellationToken,
) -> Result<bool, JournalError> {
    let half = Window::new(log.transcript.size(window.fixed) / 2, window.reply, window.fixed);
    if room::make_room(log, session, &half, cancel).await? {
        return Ok(true);
    }
    let is_summarized = log.transcript.is_compacted() || log.transcript.messages().len() < 2;
    if !is_summarized {
        compact(log, session, window, 0, cancel).await?;
    }
    Ok(log.transcript.is_compacted() && !is_summarized)
}

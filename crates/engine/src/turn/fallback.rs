//! [`after`]: decides what follows a failed request: another model takes over, the turn waits until a limit is reset,
//! or it ends.
use crate::{
    journal::{
        JournalError,
        local_time::{local_time, now},
    },
    session::context::{Log, SessionContext},
    setup::Model,
};
use haft_core::{Fact, ModelFault, ProviderError, Update};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum interval between readings of the clock during a wait, because the machine may be suspended meanwhile.
const CLOCK_INTERVAL_MS: u64 = 30_000;

/// Minimum of the first wait. The minimum doubles with each consecutive wait, whatever the vendor says, so that a
/// server that names a wrong time is not asked endlessly.
const MIN_WAIT_MS: u64 = 1_000;

/// Maximum number of doublings of the minimum wait, which is then 17 minutes.
const MAX_DOUBLINGS: u32 = 10;

/// Why a model cannot answer.
struct Failure {
    reason: ModelFault,
    /// The vendor's message.
    message: String,
    /// When it can, in milliseconds since 1970-01-01 UTC, if the vendor named a time.
    until: Option<u64>,
}

/// Returns the fact to record after a failed request. `was_begun`: a part of the reply was shown live.
pub(crate) fn after(log: &Log, session: &SessionContext, error: &ProviderError, was_begun: bool) -> Fact {
    tracing::debug!(?error, "the model could not be asked");
    let failed = |hint| Fact::ModelFailed { message: error.to_string(), hint, reason: error.fault() };
    let hint = error.hint().map(str::to_owned);
    let Some(reason) = error.fault() else { return failed(hint) };
    let until = error.retry_after().map(after_now);
    let failure = Failure { reason, message: error.to_string(), until };
    remember(log, session, &failure);
    match switched(log, session, &failure).or_else(|| awaited(log, session, &failure)) {
        Some(fact) => {
            take_back(log, &failure, was_begun);
            fact
        }
        None => failed(with_reset(log, session, &failure, hint)),
    }
}

/// The fact to record after the model refused to answer, if [`is_left`] says that another one can be asked.
pub(crate) fn after_refusal(log: &Log, session: &SessionContext, was_begun: bool) -> Fact {
    let reason = ModelFault::Refused;
    let message = format!("{} {}", session.model(&log.transcript).spec, reason.sentence());
    let failure = Failure { reason, message: message.clone(), until: None };
    let fact = switched(log, session, &failure);
    take_back(log, &failure, was_begun);
    fact.unwrap_or(Fact::ModelFailed { message, hint: None, reason: Some(reason) })
}

/// Whether another model is left in this turn.
pub(crate) fn is_left(log: &Log, session: &SessionContext) -> bool {
    next(log, session).is_some()
}

/// Returns the switch, at the beginning of a turn, from a model that cannot answer until the user resolves a fault.
pub(crate) fn from_the_first(log: &Log, session: &SessionContext) -> Option<Fact> {
    let faults = session.lasting_faults.lock().expect("no code panics while it holds the faults");
    let known = faults.get(&session.model(&log.transcript).spec).cloned();
    drop(faults);
    let (reason, message) = known?;
    switched(log, session, &Failure { reason, message, until: None })
}

/// Sleeps if the turn waits for a model. Returns whether it was cancelled.
pub(crate) async fn is_awaited(log: &Log, cancel: &CancellationToken) -> Result<bool, JournalError> {
    let Some(until) = log.transcript.models().awaited_until() else { return Ok(false) };
    log.journal.sync().await?;
    loop {
        let left = until.saturating_sub(now()).min(CLOCK_INTERVAL_MS);
        if left == 0 {
            return Ok(false);
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(true),
            () = tokio::time::sleep(Duration::from_millis(left)) => {}
        }
    }
}

fn after_now(wait: Duration) -> u64 {
    now().saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

fn remember(log: &Log, session: &SessionContext, failure: &Failure) {
    if failure.reason.is_lasting() {
        let spec = session.model(&log.transcript).spec.clone();
        let mut faults = session.lasting_faults.lock().expect("no code panics while it holds the faults");
        faults.insert(spec, (failure.reason, failure.message.clone()));
    }
}

/// Voids the live updates of the reply.
fn take_back(log: &Log, failure: &Failure, was_begun: bool) {
    if was_begun {
        log.journal.live(Update::Retrying { reason: failure.message.clone(), after_ms: 0 });
    }
}

/// The first model that has not failed and is not the one that was asked.
fn next<'a>(log: &Log, session: &'a SessionContext) -> Option<&'a Model> {
    let (asked, failed) = (&session.model(&log.transcript).spec, log.transcript.models().failed());
    let faults = session.lasting_faults.lock().expect("no code panics while it holds the faults");
    session.models().find(|model| {
        let has_failed = failed.iter().any(|failed| failed.model == model.spec);
        model.spec != *asked && !has_failed && !faults.contains_key(&model.spec)
    })
}

fn switched(log: &Log, session: &SessionContext, failure: &Failure) -> Option<Fact> {
    let next = next(log, session)?;
    Some(Fact::ModelSwitched {
        from: session.model(&log.transcript).spec.clone(),
        to: next.spec.clone(),
        reason: failure.reason,
        message: failure.message.clone(),
        until: failure.until,
        price: next.price,
    })
}

/// The wait for the model that can answer first, if the vendor named a time within the limit.
fn awaited(log: &Log, session: &SessionContext, failure: &Failure) -> Option<Fact> {
    if !session.limits.waits {
        return None;
    }
    let (model, reason, until) = first_reset(log, session, failure)?;
    let (now, models) = (now(), log.transcript.models());
    let least = MIN_WAIT_MS << models.waits_in_a_row().min(MAX_DOUBLINGS);
    let until = until.max(now + least);
    let seconds = (until - now).div_ceil(1_000);
    let is_within = models.waited_seconds().saturating_add(seconds) <= session.limits.max_wait;
    let fact = Fact::ModelAwaited { model: model.spec.clone(), reason, until, seconds, price: model.price };
    is_within.then_some(fact)
}

/// The model among those that failed in this turn that can answer first, and when.
fn first_reset<'a>(
    log: &Log,
    session: &'a SessionContext,
    failure: &Failure,
) -> Option<(&'a Model, ModelFault, u64)> {
    let own = failure.until.map(|until| (session.model(&log.transcript), failure.reason, until));
    let earlier = log.transcript.models().failed().iter();
    let earlier = earlier
        .filter_map(|failed| Some((session.model_named(&failed.model)?, failed.reason, failed.until?)));
    own.into_iter().chain(earlier).min_by_key(|(_, _, until)| *until)
}

/// The hint, with the time at which a model can be asked again and how to wait for it.
fn with_reset(
    log: &Log,
    session: &SessionContext,
    failure: &Failure,
    hint: Option<String>,
) -> Option<String> {
    let Some((model, _, until)) = first_reset(log, session, failure) else { return hint };
    let how = match session.limits.waits {
        false => "`--wait` waits until then".to_owned(),
        true => format!("that is beyond `--wait-limit`, {} s", session.limits.max_wait),
    };
    let reset = format!("`{}` can be asked again at {}: {how}", model.spec, local_time(until));
    Some(hint.map_or_else(|| reset.clone(), |hint| format!("{hint}; {reset}")))
}

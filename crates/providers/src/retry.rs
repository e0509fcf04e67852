//! [`Retry`]: a provider that repeats requests of another one if that may help.
use futures::{StreamExt, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request, StopReason, UnreadableReply};
use std::{error::Error, sync::Arc, time::Duration};
use tokio::time::sleep;

/// Maximum number of requests for one reply.
const MAX_REQUESTS: u32 = 8;
/// Maximum number of requests if the connection to another machine is refused: enough for a server that restarts.
const MAX_REFUSED: u32 = 5;
/// Maximum number of requests that the server accepts and does not answer in time: each may be charged.
const MAX_TIMED_OUT: u32 = 3;
/// Maximum number of requests that are answered with something other than a reply: a web page, or a call that the
/// vendor could not parse.
const MAX_UNREADABLE: u32 = 3;
/// Maximum number of requests if the host name cannot be resolved: a resolver may be down for a moment, and a
/// misspelled name stays unknown.
const MAX_UNKNOWN: u32 = 2;
/// Maximum time spent waiting between the requests for one reply.
const MAX_WAITING: Duration = Duration::from_secs(60);
/// Minimum time between two requests.
const MIN_WAIT: Duration = Duration::from_millis(200);
/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Maximum of a single wait; even with jitter, seven of them stay below [`MAX_WAITING`].
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Maximum number of further requests after an empty reply: a model may always reply with nothing, and each request
/// costs money.
const MAX_EMPTY: u32 = 2;

/// Repeats requests after transient errors ([`ProviderError::is_transient`]) and after replies without any content.
/// Before each wait it emits [`Delta::Retrying`], which voids the deltas before.
pub struct Retry {
    inner: Arc<dyn Provider>,
}

impl Retry {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner }
    }
}

impl Provider for Retry {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let inner = self.inner.clone();
        Box::pin(async_stream::stream! {
            let mut tries = Tries::default();
            loop {
                let mut reply = inner.stream(request.clone());
                let (mut heard, mut is_silent) = (Heard::Nothing, true);
                let mut written = 0;
                let trouble = loop {
                    match reply.next().await {
                        Some(Ok(Delta::Stop(StopReason::Length))) if heard == Heard::Nothing => {
                            break Trouble::Fault(used_up(written));
                        }
                        Some(Ok(Delta::Stop(stop))) if heard.is_no_answer(stop) => break Trouble::Empty,
                        Some(Ok(Delta::Stop(stop))) => {
                            yield Ok(Delta::Stop(stop));
                            while let Some(Ok(usage @ Delta::Usage(_))) = reply.next().await {
                                yield Ok(usage);
                            }
                            return;
                        }
                        Some(Ok(delta)) => {
                            heard = heard.max(Heard::in_delta(&delta));
                            is_silent = false;
                            if let Delta::Usage(usage) = &delta {
                                written = usage.output;
                            }
                            yield Ok(delta);
                        }
                        Some(Err(error)) => break Trouble::Fault(error),
                        None => break Trouble::Fault(cut_off()),
                    }
                };
                drop(reply);
                let (reason, charged) = (trouble.to_string(), !is_silent || trouble.may_be_charged());
                match tries.wait_after(trouble, fastrand::f64()) {
                    Ok(after) => {
                        yield Ok(Delta::Retrying { reason, after, charged });
                        sleep(after).await;
                    }
                    Err(error) => {
                        yield Err(error);
                        return;
                    }
                }
            }
        })
    }
}

/// The content of a reply so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Heard {
    Nothing,
    /// Thoughts or white space, nothing for the user.
    NoWord,
    Answer,
}

impl Heard {
    fn in_delta(delta: &Delta) -> Self {
        match delta {
            Delta::Text(text) if text.trim().is_empty() => Self::NoWord,
            Delta::Text(_) => Self::Answer,
            Delta::CallStart { .. } | Delta::CallArguments { .. } | Delta::CallProblem { .. } => Self::Answer,
            Delta::Thinking(_) | Delta::Signature(_) => Self::NoWord,
            Delta::Usage(_) | Delta::Retrying { .. } | Delta::Stop(_) => Self::Nothing,
        }
    }

    /// Whether the reply is not an answer. A model that was cut off while it thought is not asked again, since it would
    /// be cut off again.
    fn is_no_answer(self, stop: StopReason) -> bool {
        match self {
            Self::Nothing => stop != StopReason::Refusal,
            Self::NoWord => stop != StopReason::Refusal && !stop.is_cut_off(),
            Self::Answer => false,
        }
    }
}

/// Why a reply is unusable.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("the model answered nothing")]
    Empty,
    #[error(transparent)]
    Fault(ProviderError),
}

impl Trouble {
    /// Whether the failed request may be charged, as an empty reply is.
    fn may_be_charged(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Fault(error) => error.is_timed_out(),
        }
    }
}

/// The attempts for one reply.
#[derive(Debug, Default)]
struct Tries {
    requests: u32,
    empty: u32,
    waited: Duration,
}

impl Tries {
    /// The time to wait before the next request; otherwise the error with which to give up. `chance` is in 0..1.
    fn wait_after(&mut self, trouble: Trouble, chance: f64) -> Result<Duration, ProviderError> {
        self.requests += 1;
        let error = match trouble {
            Trouble::Fault(error) if error.is_transient() => error,
            Trouble::Fault(error) => return Err(error),
            Trouble::Empty => {
                self.empty += 1;
                if self.empty > MAX_EMPTY {
                    return Err(answered_nothing(self.empty));
                }
                cut_off()
            }
        };
        let left = MAX_WAITING.saturating_sub(self.waited);
        let wait = match asked_wait(&error) {
            Some(asked) if asked > left => return Err(too_long(error, asked)),
            Some(asked) => (asked + Duration::from_secs_f64(chance)).min(left.max(asked)),
            None => self.backoff(chance).min(left),
        };
        if self.requests >= most_requests(&error) || left < MIN_WAIT {
            return Err(noted(error, &format!("gave up after {} requests", self.requests)));
        }
        let wait = wait.max(MIN_WAIT);
        self.waited += wait;
        Ok(wait)
    }

    /// Doubles each time, with a quarter less or more, so that many clients do not retry at the same time.
    fn backoff(&self, chance: f64) -> Duration {
        let doubled = FIRST_WAIT * 2u32.pow((self.requests - 1).min(MAX_REQUESTS));
        doubled.min(MAX_WAIT).mul_f64(0.75 + chance / 2.0)
    }
}

fn most_requests(error: &ProviderError) -> u32 {
    let causes = || std::iter::successors(error.source(), |&cause| cause.source());
    // The machine was reached, but no server listens there.
    let is_refused = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::ConnectionRefused;
    match () {
        () if causes().filter_map(|cause| cause.downcast_ref()).any(is_refused) => MAX_REFUSED,
        () if error.is_timed_out() => MAX_TIMED_OUT,
        () if causes().any(|cause| cause.is::<UnreadableReply>()) => MAX_UNREADABLE,
        () if causes().any(says_unknown) => MAX_UNKNOWN,
        () => MAX_REQUESTS,
    }
}

/// Whether the host name could not be resolved. The HTTP client has no public type for this error.
fn says_unknown(cause: &(dyn Error + 'static)) -> bool {
    cause.to_string().contains("dns error")
}

fn asked_wait(error: &ProviderError) -> Option<Duration> {
    match error {
        ProviderError::Busy { retry_after, .. } | ProviderError::Internal { retry_after, .. } => *retry_after,
        ProviderError::Auth { .. }
        | ProviderError::SignIn { .. }
        | ProviderError::Denied { .. }
        | ProviderError::Exhausted { .. }
        | ProviderError::NotRunning { .. }
        | ProviderError::Untrusted { .. }
        | ProviderError::ContextTooLong { .. }
        | ProviderError::NoAnswer { .. }
        | ProviderError::Rejected { .. }
        | ProviderError::Refused { .. }
        | ProviderError::Connection { .. } => None,
    }
}

fn too_long(error: ProviderError, asked: Duration) -> ProviderError {
    noted(error, &format!("the server asks to wait {} s, which is too long to wait for", asked.as_secs()))
}

fn noted(error: ProviderError, note: &str) -> ProviderError {
    match error {
        ProviderError::Busy { provider, message, retry_after, is_rate_limited } => {
            let message = format!("{message}; {note}");
            ProviderError::Busy { provider, message, retry_after, is_rate_limited }
        }
        ProviderError::Internal { provider, message, retry_after, source } => {
            ProviderError::Internal { provider, message: format!("{message}; {note}"), retry_after, source }
        }
        ProviderError::Connection { provider, message, source } => {
            ProviderError::Connection { provider, message: format!("{message}; {note}"), source }
        }
        lasting @ (ProviderError::Auth { .. }
        | ProviderError::SignIn { .. }
        | ProviderError::Denied { .. }
        | ProviderError::Exhausted { .. }
        | ProviderError::NotRunning { .. }
        | ProviderError::Untrusted { .. }
        | ProviderError::ContextTooLong { .. }
        | ProviderError::NoAnswer { .. }
        | ProviderError::Rejected { .. }
        | ProviderError::Refused { .. }) => lasting,
    }
}

fn cut_off() -> ProviderError {
    ProviderError::Connection {
        provider: "the model".into(),
        message: "the reply was cut off".into(),
        source: None,
    }
}

/// The error if the output limit is reached by hidden thoughts: only the token count shows them.
fn used_up(tokens: u64) -> ProviderError {
    let message = match tokens {
        0 => "the model reached its limit of output tokens before it answered".to_owned(),
        _ => format!("the model used its {tokens} output tokens for thinking, and answered nothing"),
    };
    let hint =
        "raise `max_output` in a profile of your own (`haft help profiles`), or lower `--effort`".to_owned();
    ProviderError::NoAnswer { message, hint }
}

fn answered_nothing(times: u32) -> ProviderError {
    ProviderError::Rejected {
        provider: "the model".into(),
        message: format!("it answered nothing, {times} times"),
        hint: Some("say more in the prompt, or use another model".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::TimedOut;

    fn busy(seconds: Option<u64>) -> ProviderError {
        ProviderError::Busy {
            provider: "it".into(),
            message: "full".into(),
            retry_after: seconds.map(Duration::from_secs),
            is_rate_limited: false,
        }
    }

    // A44
    #[test]
    fn how_often_is_asked_depends_on_who_is_not_there() {
        let io = |error: std::io::Error| Box::<dyn Error + Send + Sync>::from(error);
        let table = [
            (io(std::io::Error::other("dns error: failed to lookup address information")), MAX_UNKNOWN),
            (io(std::io::ErrorKind::ConnectionRefused.into()), MAX_REFUSED),
            (TimedOut.into(), MAX_TIMED_OUT),
            (UnreadableReply.into(), MAX_UNREADABLE),
            (io(std::io::Error::other("something else")), MAX_REQUESTS),
        ];
        for (source, expected) in table {
            let told = source.to_string();
            let (provider, message, source) = ("it".into(), told.clone(), Some(source));
            let error = ProviderError::Connection { provider, message, source };
            assert_eq!(most_requests(&error), expected, "{told}");
        }
    }

    // A38, A39
    #[test]
    fn what_the_server_asks_for_is_kept() {
        let table = [(0, 0.0, 0.2), (4, 0.0, 4.0), (4, 0.999, 4.999), (60, 0.5, 60.0)];
        for (asked, chance, expected) in table {
            let wait = Tries::default().wait_after(Trouble::Fault(busy(Some(asked))), chance).unwrap();
            assert!((wait.as_secs_f64() - expected).abs() < 1e-6, "{asked}: {wait:?}");
        }
        let error = Tries::default().wait_after(Trouble::Fault(busy(Some(86_400))), 0.5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it is busy: full; the server asks to wait 86400 s, which is too long to wait for"
        );
    }

    #[test]
    fn waits_grow_and_stay_within_their_bounds() {
        for chance in [0.0, 0.5, 0.999] {
            let mut tries = Tries::default();
            let waits: Vec<Duration> =
                std::iter::from_fn(|| tries.wait_after(Trouble::Fault(busy(None)), chance).ok()).collect();
            assert_eq!(waits.len(), 7);
            assert!(waits.is_sorted() && waits[0] >= MIN_WAIT && tries.waited <= MAX_WAITING, "{waits:?}");
        }
    }
}

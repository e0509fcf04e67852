//! [`Patience`]: how long to wait for a model; [`Course`]: when to end a reply that does not end by itself.
use crate::{Timeouts, endpoint::Endpoint, novelty::Novelty, reading::is_progress};
use haft_core::{Delta, ProviderError, StopReason, TimedOut};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{Instant, timeout_at};

/// How long to wait for the usage after the model has stopped; a server that keeps the connection open sends nothing
/// else.
const USAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether a request timed out because the server sent nothing: later requests wait as long as for a model that thinks
/// in silence. Shared by all requests to a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence(Arc<AtomicBool>);

/// How much longer to wait for the server of one reply.
pub(crate) struct Patience {
    timeouts: Timeouts,
    silence: Silence,
    deadline: Instant,
    /// The timeout that `deadline` belongs to.
    given: Duration,
    /// When the request was sent, or the model's last progress.
    heard: Instant,
    course: Course,
}

impl Patience {
    /// Starts the clock. Called when a request is sent.
    pub(crate) fn new(timeouts: Timeouts, stream: bool, silence: Silence) -> Self {
        let given = match (stream, silence.0.load(Relaxed)) {
            (false, _) => timeouts.whole,
            (true, false) => timeouts.first_byte,
            (true, true) => timeouts.first_byte.max(timeouts.thinking),
        };
        let (now, course) = (Instant::now(), Course::new(timeouts.repeating, timeouts.reply));
        Self { timeouts, silence, deadline: now + given, given, heard: now, course }
    }

    /// Waits for `event`, at most until the deadline.
    pub(crate) async fn wait<F: Future>(
        &mut self,
        endpoint: &Endpoint,
        event: F,
    ) -> Result<F::Output, ProviderError> {
        timeout_at(self.deadline, event).await.map_err(|_| {
            self.silence.0.fetch_or(!self.course.has_begun(), Relaxed);
            let message = format!("the server sent nothing for {} s", self.given.as_secs_f32());
            endpoint.broken_by(&message, TimedOut)
        })
    }

    /// The reason to end the reply before `delta`, if there is one.
    pub(crate) fn is_over_with(&mut self, delta: &Delta) -> Option<StopReason> {
        if !is_progress(delta) {
            return None;
        }
        self.heard = Instant::now();
        self.wait_for(self.timeouts.idle);
        self.course.is_over_with(delta)
    }

    /// Extends the deadline, since the server says that the model thinks.
    pub(crate) fn let_think(&mut self) {
        if self.given < self.timeouts.thinking {
            self.wait_for(self.timeouts.thinking);
        }
    }

    /// Shortens the deadline, since only usage may follow.
    pub(crate) fn let_finish(&mut self) {
        self.deadline = self.deadline.min(Instant::now() + USAGE_TIMEOUT);
    }

    /// Sets the timeout, counted from the model's last progress: a server cannot extend it with empty events.
    fn wait_for(&mut self, given: Duration) {
        (self.given, self.deadline) = (given, self.heard + given);
    }
}

/// Decides when to end a reply that does not end by itself.
pub(crate) struct Course {
    repeating: Duration,
    reply: Duration,
    novelty: Novelty,
    /// When the reply began, and when it last said something new.
    said: Option<[Instant; 2]>,
}

impl Course {
    /// See [`Timeouts::repeating`] and [`Timeouts::reply`].
    pub(crate) fn new(repeating: Duration, reply: Duration) -> Self {
        Self { repeating, reply, novelty: Novelty::default(), said: None }
    }

    fn has_begun(&self) -> bool {
        self.said.is_some()
    }

    /// Adds a piece of the reply. Returns the reason to end the reply before it, if there is one.
    pub(crate) fn is_over_with(&mut self, delta: &Delta) -> Option<StopReason> {
        let now = Instant::now();
        let is_new = self.novelty.observe(delta);
        let [begun, new] = self.said.get_or_insert([now, now]);
        if is_new {
            *new = now;
        }
        match () {
            () if now - *new > self.repeating => Some(StopReason::Repeating),
            () if now - *begun > self.reply => Some(StopReason::Endless),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Usage};
    use tokio::time::advance;

    /// The number of seconds after which a reply is ended that sends `of(n)` in its n-th second.
    async fn ended_after(of: impl Fn(u64) -> Delta) -> Option<(u64, StopReason)> {
        let mut patience = Patience::new(Timeouts::default(), true, Silence::default());
        for second in 0..4_000 {
            if let Some(stop) = patience.is_over_with(&of(second)) {
                return Some((second, stop));
            }
            advance(Duration::from_secs(1)).await;
        }
        None
    }

    // A29
    #[tokio::test(start_paused = true)]
    async fn a_reply_that_says_nothing_new_is_ended_whatever_it_is_made_of() {
        let piece = |what, second: u64| match (what, second % 2) {
            ("text", _) => Delta::Text("tok ".into()),
            ("thinking", _) | ("thinking and text in turn", 0) => {
                Delta::Thinking(format!("thought {second} "))
            }
            ("thinking and text in turn", _) => Delta::Text("well ".into()),
            ("arguments", _) => Delta::CallArguments { index: 0, json: "x".into() },
            ("white space", _) => Delta::Text("\n".into()),
            (_, _) => {
                let (index, id) = (usize::try_from(second).unwrap(), CallId(second.to_string()));
                Delta::CallStart { index, id, name: "bash".into() }
            }
        };
        for what in ["text", "thinking", "thinking and text in turn", "arguments", "white space", "calls"] {
            let ended = ended_after(|second| piece(what, second)).await;
            assert!(matches!(ended, Some((120..=150, StopReason::Repeating))), "{what}: {ended:?}");
        }
    }

    /// Ten thousand different words.
    fn fresh(second: u64) -> String {
        let letters = [second / 676, second / 26, second].map(|n| char::from(b'a' + (n % 26) as u8));
        letters.into_iter().chain([' ']).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_model_with_something_to_say_has_an_hour() {
        assert_eq!(
            ended_after(|second| Delta::Thinking(fresh(second))).await,
            Some((3_601, StopReason::Endless))
        );
        let seldom = |second| match second % 100 {
            0 => Delta::Text(fresh(second)),
            _ => Delta::Text("again ".into()),
        };
        assert_eq!(ended_after(seldom).await, Some((3_601, StopReason::Endless)));
        assert_eq!(
            ended_after(|_| Delta::Usage(Usage::default())).await,
            None,
            "a count of tokens says nothing"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_thinks_in_silence_is_waited_for_longer() {
        let endpoint = Endpoint::new(crate::vendor("openai").unwrap(), &crate::Connection::default());
        let silence = Silence::default();
        let waited = async |patience: &mut Patience| {
            let start = Instant::now();
            patience.wait(&endpoint, std::future::pending::<()>()).await.unwrap_err();
            start.elapsed().as_secs()
        };
        let new = || Patience::new(Timeouts::default(), true, silence.clone());
        let mut told = new();
        advance(Duration::from_secs(50)).await;
        told.let_think();
        let mut said = new();
        said.is_over_with(&Delta::Text("so ".into()));
        assert_eq!(waited(&mut said).await, 60, "it has said something");
        assert_eq!(waited(&mut told).await, 190, "the server says that it thinks, 50 s and 60 s ago");
        assert_eq!(waited(&mut new()).await, 300, "it was given up before");
        let other = &mut Patience::new(Timeouts::default(), true, Silence::default());
        assert_eq!(waited(other).await, 60);
    }
}

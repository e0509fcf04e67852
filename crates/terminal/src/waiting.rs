//! [`Waiting`]: after a single prompt, waits for the background commands that it started, since they end with the
//! process.
use haft_core::{Entry, Fact, Outcome, Running, Seq};
use haft_engine::{Session, TurnReport};
use haft_present::{cursor::next, safe};
use std::{
    io::{Write, stderr},
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum wait if the turn has no timeout: a command that runs longer is more often a server than a build.
const DEFAULT_WAIT_LIMIT: Duration = Duration::from_secs(60);

/// The background work of one prompt.
pub(crate) struct Waiting {
    from: Seq,
    began: Instant,
    most: Option<Duration>,
}

impl Waiting {
    /// Called before the prompt is sent. `seconds`: the timeout of its turn.
    pub(crate) fn begin(session: &Session, seconds: Option<u64>) -> Self {
        Self { from: next(session), began: Instant::now(), most: seconds.map(Duration::from_secs) }
    }

    /// How long to wait for running work; `None` if there is none, or the turn did not finish.
    pub(crate) fn limit(&self, session: &Session, report: &TurnReport) -> Option<Duration> {
        let entries = self.entries(session);
        let is_at_work = !Running::of(&entries).is_empty() || is_told_of_an_end(&entries);
        let is_waited_for = report.outcome == Some(Outcome::Finished) && !session.is_joined();
        let left = self.most.map(|most| most.saturating_sub(self.began.elapsed()));
        (is_at_work && is_waited_for).then(|| left.unwrap_or(DEFAULT_WAIT_LIMIT))
    }

    /// The report of the prompt, including the turns that were opened by the end of background work.
    pub(crate) fn report(&self, session: &Session) -> TurnReport {
        TurnReport::of(&self.entries(session))
    }

    /// Prints what is waited for.
    pub(crate) fn tell(&self, session: &Session, quiet: bool) -> std::io::Result<()> {
        self.each(session, quiet, "waiting for background task", "; Ctrl-C ends it")
    }

    /// Prints what ends with the process.
    pub(crate) fn tell_ended(&self, session: &Session, quiet: bool) -> std::io::Result<()> {
        if session.is_joined() { Ok(()) } else { self.each(session, quiet, "ended background task", "") }
    }

    fn each(&self, session: &Session, quiet: bool, what: &str, more: &str) -> std::io::Result<()> {
        let running = Running::of(&self.entries(session)).into_iter().filter(|_| !quiet);
        running.into_iter().try_for_each(|Running { job, title, .. }| {
            writeln!(stderr(), "({what} {job}: {}{more})", safe::name(&title))
        })
    }

    fn entries(&self, session: &Session) -> Vec<Arc<Entry>> {
        session.entries().into_iter().filter(|entry| entry.seq >= self.from).collect()
    }
}

/// Whether the turn that informs the model of the end of background work is still running.
fn is_told_of_an_end(entries: &[Arc<Entry>]) -> bool {
    let last = entries.iter().rev().map(|entry| &entry.fact);
    let mut ends = last.filter(|fact| matches!(fact, Fact::TaskEnded { .. } | Fact::TurnEnded { .. }));
    matches!(ends.next(), Some(Fact::TaskEnded { .. }))
}

//! [`Waiting`]: after a single prompt, waits for the commands that it left running, before they end with the process.
use haft_core::{Entry, Fact, Outcome, Running, Seq};
use haft_engine::{Session, TurnReport};
use haft_present::{cursor::next, safe};
use std::{
    io::{Write, stderr},
    sync::Arc,
    time::{Duration, Instant},
};

/// Where the turn has no limit of time: what takes longer is more often a server than a build.
const DEFAULT_WAIT_LIMIT: Duration = Duration::from_secs(60);

/// What one prompt waits for.
pub(crate) struct Waiting {
    from: Seq,
    began: Instant,
    most: Option<Duration>,
}

impl Waiting {
    /// Before the prompt is given. `seconds`: the limit of its turn.
    pub(crate) fn begin(session: &Session, seconds: Option<u64>) -> Self {
        Self { from: next(session), began: Instant::now(), most: seconds.map(Duration::from_secs) }
    }

    /// How long to wait for what is at work; `None` if nothing is, or the turn came to no good end.
    pub(crate) fn limit(&self, session: &Session, report: &TurnReport) -> Option<Duration> {
        let entries = self.entries(session);
        let is_at_work = !Running::of(&entries).is_empty() || is_told_of_an_end(&entries);
        let is_waited_for = report.outcome == Some(Outcome::Finished) && !session.is_joined();
        let left = self.most.map(|most| most.saturating_sub(self.began.elapsed()));
        (is_at_work && is_waited_for).then(|| left.unwrap_or(DEFAULT_WAIT_LIMIT))
    }

    /// What came of the prompt, with the turns that ends of work opened.
    pub(crate) fn report(&self, session: &Session) -> TurnReport {
        TurnReport::of(&self.entries(session))
    }

    /// Says what is waited for.
    pub(crate) fn tell(&self, session: &Session, quiet: bool) -> std::io::Result<()> {
        self.each(session, quiet, "waiting for background task", "; Ctrl-C ends it")
    }

    /// Says what ends with the process.
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

/// Whether the turn that tells the model of the end of background work still runs.
fn is_told_of_an_end(entries: &[Arc<Entry>]) -> bool {
    let last = entries.iter().rev().map(|entry| &entry.fact);
    let mut ends = last.filter(|fact| matches!(fact, Fact::TaskEnded { .. } | Fact::TurnEnded { .. }));
    matches!(ends.next(), Some(Fact::TaskEnded { .. }))
}

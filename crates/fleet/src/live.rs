//! [`LiveSender`] and [`Following`]: live events of jobs. The worker that has a job sends them to the servers whose
//! clients follow it, as notifications of PostgreSQL. No table stores them: a lost event is part of what is recorded
//! later.
//!
//! A worker sends events only while a client follows, which [`Following`] repeats periodically. A notification on
//! [`LIVE`] is a job, a space, and [`Pieces`] as JSON or [`BEGUN`]. A notification on [`FOLLOWED`] is a job, or a job,
//! a space and [`ANEW`].
use crate::{
    database::{Database, FOLLOWED, LIVE, Notice},
    places::Moved,
};
use haft_core::{Event, SessionId, Update};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};
use tokio::sync::{broadcast, mpsc};
use tokio_postgres::types::Type;

/// A worker has begun with the job, and does not know yet who follows it.
const BEGUN: &str = "begun";
/// A client begins to follow, and has no piece yet.
const ANEW: &str = "anew";

/// Interval at which a server repeats that a client follows.
const RENEWAL: Duration = Duration::from_secs(10);
/// Time for which a worker sends live events after it was told that a client follows.
const FOLLOWED_FOR: Duration = Duration::from_secs(30);
/// Minimum interval between two notifications of a job.
const INTERVAL: Duration = Duration::from_millis(150);
/// Maximum bytes of a notification: PostgreSQL takes less than 8,000.
const MAX_PAYLOAD: usize = 7_900;
/// Maximum bytes of the text of a piece. It fits into a notification even if JSON needs six bytes for each byte.
const MAX_PIECE: usize = 1_200;
/// Maximum bytes of the pieces that are kept for clients that come later, and that are sent at a time. The oldest
/// pieces are dropped first.
const MAX_KEPT: usize = 64 * 1024;

/// Pieces of the live events after an entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pieces {
    /// Number of journal entries before them.
    after: u64,
    /// The number of the first piece that is still kept.
    first: usize,
    /// The number of the first of these pieces.
    from: usize,
    pieces: Vec<Update>,
}

impl Pieces {
    /// The number of the next piece.
    fn end(&self) -> usize {
        self.from + self.pieces.len()
    }
}

/// Takes the events of a job from its worker.
#[derive(Clone)]
pub struct LiveSender(mpsc::UnboundedSender<Event>);

impl LiveSender {
    /// Sends an event to the clients that follow the job. A recorded event replaces the live events before it.
    pub fn send(&self, event: &Event) {
        let is_shown = match event {
            Event::Recorded(_) => true,
            Event::Live(update) => is_shown(update),
        };
        if is_shown {
            let _it_has_ended = self.0.send(event.clone());
        }
    }
}

/// Whether clients that follow a job show it.
fn is_shown(update: &Update) -> bool {
    matches!(
        update,
        Update::Text { .. } | Update::Thinking { .. } | Update::ToolOutput { .. } | Update::Retrying { .. }
    )
}

/// The live events of a job, on its worker. `run` must be polled while the job is worked on.
pub(crate) struct LiveEvents {
    events: mpsc::UnboundedReceiver<Event>,
    kept: Pieces,
    /// Bytes of the text in `kept`.
    bytes: usize,
    /// The number of the first piece to send next.
    next: usize,
    /// The number of the first piece that was never sent, and so can still grow.
    open: usize,
}

impl LiveEvents {
    pub(crate) fn new() -> (LiveSender, Self) {
        let (sender, events) = mpsc::unbounded_channel();
        (LiveSender(sender), Self { events, kept: Pieces::default(), bytes: 0, next: 0, open: 0 })
    }

    /// Sends the events that it receives, until all senders are dropped.
    pub(crate) async fn run(mut self, database: Database, job: SessionId, moved: Moved) {
        let mut notices = database.notices();
        let mut followed: Option<Instant> = None;
        let mut last = Instant::now();
        notify(&database, LIVE, &format!("{job} {BEGUN}")).await;
        loop {
            let is_followed = followed.is_some_and(|heard| heard.elapsed() < FOLLOWED_FOR);
            let is_due = is_followed && self.next < self.kept.end();
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.apply(event),
                    None => return,
                },
                notice = notices.recv() => match notice {
                    Ok(notice) if notice.channel == FOLLOWED && notice.job == job.0 => {
                        followed = Some(Instant::now());
                        if notice.more == ANEW {
                            self.next = 0;
                        }
                    }
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = tokio::time::sleep_until((last + INTERVAL).into()), if is_due => {
                    for payload in payloads(&job, &moved, self.unsent()) {
                        notify(&database, LIVE, &payload).await;
                    }
                    last = Instant::now();
                }
            }
        }
    }

    fn apply(&mut self, event: Event) {
        let update = match event {
            Event::Recorded(entry) => {
                self.kept = Pieces { after: entry.seq.0 + 1, ..Pieces::default() };
                (self.bytes, self.next, self.open) = (0, 0, 0);
                return;
            }
            Event::Live(update) => update,
        };
        for update in split(update) {
            self.bytes += text_of(&update).len();
            let is_open = self.open < self.kept.end();
            let last = self.kept.pieces.last_mut().filter(|_| is_open);
            if !last.is_some_and(|last| append(last, &update)) {
                self.kept.pieces.push(update);
            }
        }
        while self.bytes > MAX_KEPT && self.kept.pieces.len() > 1 {
            self.bytes -= text_of(&self.kept.pieces.remove(0)).len();
            self.kept.from += 1;
        }
    }

    /// Takes the pieces that were not sent yet.
    fn unsent(&mut self) -> Pieces {
        let Pieces { after, from, pieces, .. } = &self.kept;
        let begin = self.next.max(*from);
        (self.next, self.open) = (self.kept.end(), self.kept.end());
        Pieces { after: *after, first: *from, from: begin, pieces: pieces[begin - from..].to_vec() }
    }
}

fn text_of(update: &Update) -> &str {
    match update {
        Update::Text { text } | Update::Thinking { text } => text,
        Update::ToolOutput { chunk, .. } => chunk,
        Update::Retrying { reason, .. } => reason,
        _ => "",
    }
}

/// Splits an update into several with the same content, none longer than a piece.
fn split(mut update: Update) -> Vec<Update> {
    let (Update::Text { text } | Update::Thinking { text } | Update::ToolOutput { chunk: text, .. }) =
        &mut update
    else {
        return vec![update];
    };
    if text.len() <= MAX_PIECE {
        return vec![update];
    }
    let rest = text.split_off(text.floor_char_boundary(MAX_PIECE));
    let mut behind = update.clone();
    if let Update::Text { text } | Update::Thinking { text } | Update::ToolOutput { chunk: text, .. } =
        &mut behind
    {
        *text = rest;
    }
    [vec![update], split(behind)].concat()
}

/// Appends `more` to `last` if it continues it; returns whether it did.
fn append(last: &mut Update, more: &Update) -> bool {
    if text_of(last).len() + text_of(more).len() > MAX_PIECE {
        return false;
    }
    match (last, more) {
        (Update::Text { text }, Update::Text { text: more })
        | (Update::Thinking { text }, Update::Thinking { text: more }) => text.push_str(more),
        (Update::ToolOutput { call, chunk }, Update::ToolOutput { call: of, chunk: more }) if call == of => {
            chunk.push_str(more);
        }
        _ => return false,
    }
    true
}

/// Splits pieces into notifications that PostgreSQL accepts. A piece that is too long for one is sent empty.
fn payloads(job: &SessionId, moved: &Moved, pieces: Pieces) -> Vec<String> {
    let text = serde_json::to_string(&pieces).unwrap_or_default();
    let payload = format!("{job} {}", moved.kept(&text));
    if payload.len() <= MAX_PAYLOAD {
        return vec![payload];
    }
    let Pieces { after, first, from, mut pieces } = pieces;
    let of = |from, pieces| Pieces { after, first, from, pieces };
    if pieces.len() == 1 {
        return payloads(job, moved, of(from, vec![Update::Text { text: String::new() }]));
    }
    let second = pieces.split_off(pieces.len() / 2);
    let middle = from + pieces.len();
    [payloads(job, moved, of(from, pieces)), payloads(job, moved, of(middle, second))].concat()
}

async fn notify(database: &Database, channel: &str, payload: &str) {
    let parameters = &[(&channel as _, Type::TEXT), (&payload as _, Type::TEXT)];
    let notified = database.query("send a live event", "SELECT pg_notify($1, $2)", parameters).await;
    if let Err(error) = notified {
        tracing::debug!(%error, "a live event is lost");
    }
}

/// News of a job that a client follows.
#[derive(Debug, PartialEq)]
pub enum News {
    /// Entries may have been recorded.
    Entries,
    /// Live events after the entries that the client has.
    Live(Vec<Update>),
    /// No message arrived within the timeout.
    Silence,
}

/// The events of a job that a client follows, from now on.
pub struct Following {
    database: Database,
    job: String,
    notices: broadcast::Receiver<Notice>,
    /// Whether live events are wanted.
    is_live: bool,
    /// When the worker was last told that a client follows.
    told: Option<Instant>,
    seen: Seen,
    /// Pieces after entries that the client does not have yet.
    early: VecDeque<Pieces>,
}

impl Following {
    /// Follows recorded entries and live events from now on.
    pub fn live(database: &Database, job: &str) -> Self {
        Self { is_live: true, ..Self::recorded(database, job) }
    }

    /// Follows only recorded entries, from now on.
    pub fn recorded(database: &Database, job: &str) -> Self {
        let notices = database.notices();
        let (database, job, early) = (database.clone(), job.to_owned(), VecDeque::new());
        Self { database, job, notices, is_live: false, told: None, seen: Seen::default(), early }
    }

    /// Waits for news, with the timeout `most`. `read`: the number of the job's entries that the client has.
    pub async fn next(&mut self, read: u64, most: Duration) -> News {
        let end = Instant::now() + most;
        loop {
            self.early.retain(|pieces| pieces.after >= read);
            while self.early.front().is_some_and(|pieces| pieces.after == read) {
                let updates =
                    self.early.pop_front().map(|pieces| self.seen.unseen(pieces)).unwrap_or_default();
                if !updates.is_empty() {
                    return News::Live(updates);
                }
            }
            let renewal = if self.is_live { self.tell_worker() } else { end };
            let heard = tokio::select! {
                heard = self.notices.recv() => heard,
                () = tokio::time::sleep_until(end.min(renewal).into()) => {
                    if Instant::now() >= end { return News::Silence }
                    continue;
                }
            };
            match heard {
                Ok(notice) if notice.channel.is_empty() => return News::Entries,
                Ok(notice) if notice.job != self.job || notice.channel == FOLLOWED => {}
                Ok(notice) if notice.channel == LIVE && notice.more == BEGUN => self.told = None,
                Ok(notice) if notice.channel == LIVE => {
                    let pieces = serde_json::from_str::<Pieces>(&notice.more).ok();
                    let Some(pieces) = pieces.filter(|_| self.is_live) else { continue };
                    let is_early = pieces.after > read;
                    self.early.push_back(pieces);
                    if is_early {
                        return News::Entries;
                    }
                }
                Ok(_) => return News::Entries,
                Err(broadcast::error::RecvError::Lagged(_)) => return News::Entries,
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    /// Tells the worker that the job is followed, unless it was told recently. Returns when to tell it again.
    fn tell_worker(&mut self) -> Instant {
        let now = Instant::now();
        let told = match self.told {
            Some(told) if now < told + RENEWAL => told,
            told => {
                let payload = if told.is_none() { format!("{} {ANEW}", self.job) } else { self.job.clone() };
                self.database.spawn(|database| async move { notify(&database, FOLLOWED, &payload).await });
                *self.told.insert(now)
            }
        };
        told + RENEWAL
    }
}

/// The pieces that a client has been shown.
#[derive(Debug, Default)]
struct Seen {
    /// Number of entries before them.
    after: u64,
    /// The number of the next piece to show.
    next: usize,
}

impl Seen {
    /// Updates that were not shown yet; empty if earlier ones are still missing.
    fn unseen(&mut self, pieces: Pieces) -> Vec<Update> {
        let Pieces { after, first, from, mut pieces } = pieces;
        if self.after != after {
            *self = Self { after, next: 0 };
        }
        if from > self.next.max(first) {
            return Vec::new();
        }
        let is_seen = self.next.saturating_sub(from).min(pieces.len());
        self.next = self.next.max(from + pieces.len());
        pieces.split_off(is_seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that a client is shown if it follows from the beginning, or from the notification with the index `late`
    /// on.
    fn shown(payloads: &[String], late: usize) -> String {
        let mut shown = String::new();
        let mut seen = Seen::default();
        for payload in &payloads[late..] {
            let pieces: Pieces = serde_json::from_str(payload.split_once(' ').unwrap().1).unwrap();
            shown.extend(seen.unseen(pieces).iter().map(text_of));
        }
        shown
    }

    #[test]
    fn text_of_any_length_is_sent_in_notifications_that_postgresql_takes() {
        let job = SessionId("20261123-120000-x".into());
        let moved = Moved::new(&SessionId("y".into()), "/z".as_ref());
        let texts = ["short".to_owned(), "\u{1b}[31m".repeat(400), "é".repeat(5_000), "a".repeat(20_000)];
        let (_sender, mut events) = LiveEvents::new();
        let mut sent = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            events.apply(Event::Live(Update::Text { text: text.clone() }));
            // Sends two updates at a time.
            if place % 2 == 1 {
                sent.extend(payloads(&job, &moved, events.unsent()));
            }
        }
        assert!(sent.iter().all(|payload| payload.len() < 8_000));
        assert_eq!(shown(&sent, 0), texts.concat());
        // For a client that comes later, everything is sent again; other clients skip that.
        events.next = 0;
        sent.extend(payloads(&job, &moved, events.unsent()));
        assert_eq!(shown(&sent, 0), texts.concat());
        assert_eq!(shown(&sent, 3), texts.concat());
        // The number of kept bytes is limited, and nothing is shown out of order.
        events.apply(Event::Live(Update::Text { text: "b".repeat(MAX_KEPT) }));
        sent.extend(payloads(&job, &moved, events.unsent()));
        assert!(shown(&sent, 0).ends_with(&"b".repeat(MAX_KEPT - MAX_PIECE)));
    }
}

//! [`session`] and [`all`]: the events of a session as server-sent events: each is a line of `stream-json`, and a
//! recorded one has its place as the event's ID, so that a client can resume where it stopped.
//!
//! The server keeps nothing for a client: what it has not read is in the journal. Live pieces that a slow client misses
//! are part of what is recorded later.
use crate::{
    error::{Answer, ApiError},
    figures::{Counted, Figures},
    hub::{Hub, Known, News},
    timeline::TimelineFold,
};
use async_stream::stream;
use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::Response,
};
use bytes::Bytes;
use futures::{
    Stream, StreamExt,
    stream::{BoxStream, select_all},
};
use haft_core::{Entry, Event, Seq, line};
use haft_present::lines;
use serde::Deserialize;
use serde_json::json;
use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::timeout,
};
use utoipa::{IntoParams, ToSchema};

/// Interval of the comments that show an idle client that the connection stands.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Where a stream begins.
pub(crate) struct Start {
    pub(crate) from: u64,
    /// The client has read entries that the session does not have, e.g., since a backup was restored.
    is_reset: bool,
}

impl Start {
    /// Begins after the entry that the client has read last, or where it asks. `end`: the next entry of the session, if
    /// known. A browser that reconnects by itself gives up after an error, so beyond the end it gets everything again.
    ///
    /// # Errors
    /// Fails if the last entry that the client names is invalid, or if it asks for one beyond the end.
    pub(crate) fn of(headers: &HeaderMap, asked: Option<u64>, end: Option<Seq>) -> Answer<Self> {
        match last_event_id(headers)? {
            Some(last) if end.is_some_and(|end| last >= end.0) => Ok(Self { from: 0, is_reset: true }),
            Some(last) => Ok(Self { from: last.saturating_add(1), is_reset: false }),
            None => check(asked.unwrap_or_default(), end).map(|from| Self { from, is_reset: false }),
        }
    }

    /// The event before all others that tells the client to start over.
    pub(crate) fn sign(&self) -> Option<Bytes> {
        self.is_reset.then(|| Bytes::from_static(b"event: reset\nid:\ndata: {\"from\":0}\n\n"))
    }
}

fn last_event_id(headers: &HeaderMap) -> Answer<Option<u64>> {
    let Some(last) = headers.get("last-event-id").filter(|last| !last.as_bytes().trim_ascii().is_empty())
    else {
        return Ok(None);
    };
    let number = last.to_str().ok().and_then(|last| last.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        let last = String::from_utf8_lossy(last.as_bytes());
        ApiError::wrong(format!("`Last-Event-ID` is `{}`, which is no entry", last.escape_debug()))
            .suggest("send the ID of the last event, or leave the header out to begin at the first one")
    })
}

/// `from`, if it is no further than `end`, the next entry of the session.
pub(crate) fn check(from: u64, end: Option<Seq>) -> Answer<u64> {
    match end {
        Some(end) if from > end.0 => Err(ApiError::wrong(format!(
            "the session ends before the entry {from}: the next one is {}",
            end.0
        ))
        .suggest("follow it from 0, and drop what you have of it")),
        _ => Ok(from),
    }
}

/// What a client is told.
pub(crate) enum Message {
    /// An event, or an update of a timeline, as JSON on one line, with its place where it is recorded.
    Line { seq: Option<u64>, line: String },
    /// An event, which is written as a line of `stream-json`.
    Event(Event),
    /// The session cannot be followed.
    Refused(ApiError),
    /// A comment, which clients pass over.
    Beat,
}

impl Message {
    /// Every event as a line.
    fn written(self) -> Self {
        let Self::Event(event) = self else { return self };
        let seq = match &event {
            Event::Recorded(entry) => Some(entry.seq.0),
            Event::Live(_) => None,
        };
        Self::Line { seq, line: lines::event(&event) }
    }

    /// The event in it, if it can be read.
    fn event(&self) -> Option<Event> {
        match self {
            Self::Event(event) => Some(event.clone()),
            Self::Line { line, .. } => {
                line::entry(line.as_bytes()).ok().map(|entry| Event::Recorded(Arc::new(entry)))
            }
            Self::Refused(_) | Self::Beat => None,
        }
    }

    /// The event in a stream of one session.
    pub(crate) fn alone(self) -> Bytes {
        match self.written() {
            Self::Line { seq: Some(seq), line } => format!("id: {seq}\ndata: {line}\n\n").into(),
            Self::Line { seq: None, line } => format!("data: {line}\n\n").into(),
            Self::Refused(error) => format!("data: {}\n\n", json!(error.body())).into(),
            Self::Event(_) | Self::Beat => beat(),
        }
    }

    /// The event in a stream of several sessions; `place` is the index of its session.
    fn among(self, place: usize) -> Bytes {
        match self.written() {
            Self::Line { line, .. } => format!("data: {{\"follow\":{place},\"event\":{line}}}\n\n").into(),
            Self::Refused(error) => {
                let error = json!(error.body())["error"].take();
                format!("data: {}\n\n", json!({"follow": place, "error": error})).into()
            }
            Self::Event(_) | Self::Beat => beat(),
        }
    }
}

/// Sessions that one stream follows.
const MAX_FOLLOWED: usize = 64;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Followed {
    /// Sessions to follow, at most 64: `ID:FROM,ID:FROM`, each from its entry `FROM` on
    #[serde(default)]
    follow: String,
    /// What the events of these sessions are [default: journal]
    #[serde(default)]
    #[param(inline)]
    pub(crate) view: View,
}

impl Followed {
    /// Their IDs, and from where on.
    ///
    /// # Errors
    /// Fails where there are too many, and where one does not look so.
    pub(crate) fn sessions(&self) -> Answer<Vec<(String, u64)>> {
        let one = |text: &str| {
            let (id, from) = text.split_once(':')?;
            Some((id.to_owned(), from.parse().ok()?))
        };
        let all = self.follow.split(',').filter(|text| !text.is_empty());
        let all: Option<Vec<_>> = all.map(one).collect();
        all.filter(|all| all.len() <= MAX_FOLLOWED).ok_or_else(|| {
            ApiError::wrong(format!("`follow` is not a list of at most {MAX_FOLLOWED} sessions"))
                .suggest("write `ID:FROM`, with commas between, and the first entry wanted of each as `FROM`")
        })
    }
}

/// Merges the streams; each event has the place of its stream.
pub(crate) fn together(streams: Vec<BoxStream<'static, Message>>) -> impl Stream<Item = Bytes> + Send {
    let placed = streams.into_iter().enumerate();
    select_all(placed.map(|(place, told)| told.map(move |told| told.among(place)).boxed()))
}

/// What the events of a session are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum View {
    /// Lines of `--output stream-json`
    #[default]
    Journal,
    /// Updates of the timeline, as `GET /v1/sessions/{id}/timeline` returns them
    Timeline,
}

impl View {
    /// This view of a session from the entry `from` on. `follow` gives its events from an entry on; a timeline is folded
    /// from the first one.
    pub(crate) fn of<S>(self, from: u64, follow: impl FnOnce(u64) -> S) -> BoxStream<'static, Message>
    where
        S: Stream<Item = Message> + Send + 'static,
    {
        if self == Self::Journal {
            return follow(from).boxed();
        }
        let mut fold = TimelineFold::default();
        let mut update = move |message: Message| match message.event() {
            None => Some(message),
            Some(event) => {
                let update = fold.apply(&event)?;
                let is_wanted = update.seq.is_none_or(|seq| seq >= from);
                is_wanted.then(|| Message::Line { seq: update.seq, line: update.line() })
            }
        };
        follow(0).filter_map(move |message| ready(update(message))).boxed()
    }
}

/// Follows the session from `from` on until the client leaves or the server stops.
pub(crate) fn session(hub: Hub, known: Known, from: Seq) -> impl Stream<Item = Message> + Send {
    stream! {
        let (mut next, mut read) = (from, None);
        loop {
            let mut news = hub.news();
            if let Some(mut events) = hub.events(&known, next).await {
                loop {
                    match timeout(HEARTBEAT, events.next()).await {
                        Ok(Some(event)) => {
                            if let Event::Recorded(entry) = &event {
                                next = Seq(entry.seq.0 + 1);
                            }
                            yield Message::Event(event);
                        }
                        Ok(None) => break,
                        Err(_) => {
                            hub.touch(&known.id);
                            yield Message::Beat;
                        }
                    }
                }
                if hub.stopping().is_cancelled() {
                    break;
                }
            }
            // A journal only grows, and a long one is not read again and again.
            let length = hub.home().length(&known.id);
            if read.replace(length) != Some(length) {
                for entry in stored(&hub, &known, next) {
                    next = Seq(entry.seq.0 + 1);
                    yield Message::Event(Event::Recorded(entry));
                }
            }
            yield Message::Beat;
            tokio::select! {
                () = hub.stopping().cancelled() => break,
                is_open = reopened(&hub, &known, &mut news) => if !is_open { yield Message::Beat },
            }
        }
    }
}

/// Entries in the file that were not sent yet; empty if it cannot be read.
fn stored(hub: &Hub, known: &Known, next: Seq) -> Vec<Arc<Entry>> {
    let entries = hub.home().peek(&known.id.0).unwrap_or_default();
    entries.into_iter().filter(|entry| entry.seq >= next).collect()
}

/// Until the session is opened, here or, as far as a look now and then tells, elsewhere.
async fn reopened(hub: &Hub, known: &Known, news: &mut Receiver<News>) -> bool {
    let here = async {
        loop {
            match news.recv().await {
                Ok(News { session, state: Some(_) })
                    if session == known.id && hub.live(&known.id).is_some() =>
                {
                    return;
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) if hub.live(&known.id).is_some() => return,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    };
    timeout(HEARTBEAT, here).await.is_ok()
}

/// What changes about all sessions: `{"session":ID,"state":STATE|null}`.
pub(crate) fn all(hub: Hub) -> impl Stream<Item = Bytes> + Send {
    // From the moment on at which the client was admitted.
    let mut news = hub.news();
    stream! {
        yield beat();
        loop {
            let heard = tokio::select! {
                () = hub.stopping().cancelled() => break,
                heard = timeout(HEARTBEAT, news.recv()) => heard,
            };
            match heard {
                // A user does not hear of what is another's.
                Ok(Ok(News { session, .. })) if hub.user().is_some() && hub.find(&session.0).is_err() => {}
                Ok(Ok(News { session, state })) => {
                    let line = json!({"session": session, "state": state});
                    yield Bytes::from(format!("data: {line}\n\n"));
                }
                Ok(Err(RecvError::Lagged(_))) => {
                    yield Bytes::from_static(b"data: {\"session\":null,\"state\":null}\n\n");
                }
                Ok(Err(RecvError::Closed)) => break,
                Err(_) => yield beat(),
            }
        }
    }
}

/// A comment, which clients pass over.
pub(crate) fn beat() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// A stream of server-sent events, which is counted while it lasts.
pub(crate) fn counted(figures: &Arc<Figures>, told: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let counted = Counted::new(figures.clone());
    response(told.inspect(move |_| {
        let _while_it_lasts = &counted;
    }))
}

/// A stream of server-sent events.
pub(crate) fn response(told: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(told.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies keep answers back to send more at once; this header is nginx's.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

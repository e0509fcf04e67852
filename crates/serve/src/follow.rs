//! What happens in a session, as server-sent events: each is a line of `stream-json`, and what is recorded has its place as
//! the event's ID, so that a client goes on where it stopped.
//!
//! Nothing is kept for a client: what it has not read stands in the journal. Live pieces that a slow one misses are part of
//! what is recorded later.
use crate::{
    figures::Counted,
    hub::{Hub, Known, News},
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
use futures::{Stream, StreamExt};
use haft_core::{Entry, Event, Seq};
use haft_present::lines;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::timeout,
};

/// How often a client that hears nothing else hears that the connection stands.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// The place behind the one that the client has read last.
pub(crate) fn from(headers: &HeaderMap, asked: Option<u64>) -> Seq {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.trim().parse::<u64>().ok());
    Seq(last.map_or(asked.unwrap_or_default(), |last| last + 1))
}

/// Follows the session from `from` on until the client leaves or the server stops.
pub(crate) fn session(hub: Hub, known: Known, from: Seq) -> Response {
    let counted = Counted::new(hub.figures().clone());
    let told = stream! {
        let _counted = counted;
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
                            yield told(&event);
                        }
                        Ok(None) => break,
                        Err(_) => {
                            hub.touch(&known.id);
                            yield beat();
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
                    yield told(&Event::Recorded(entry));
                }
            }
            yield beat();
            tokio::select! {
                () = hub.stopping().cancelled() => break,
                is_open = reopened(&hub, &known, &mut news) => if !is_open { yield beat() },
            }
        }
    };
    response(told)
}

/// What stands in the file and was not told. One that cannot be read tells nothing.
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
pub(crate) fn all(hub: Hub) -> Response {
    let counted = Counted::new(hub.figures().clone());
    let told = stream! {
        let _counted = counted;
        let mut news = hub.news();
        yield beat();
        loop {
            let heard = tokio::select! {
                () = hub.stopping().cancelled() => break,
                heard = timeout(HEARTBEAT, news.recv()) => heard,
            };
            match heard {
                Ok(Ok(News { session, state })) => {
                    let line = serde_json::json!({"session": session, "state": state});
                    yield Bytes::from(format!("data: {line}\n\n"));
                }
                Ok(Err(RecvError::Lagged(_))) => {
                    yield Bytes::from_static(b"data: {\"session\":null,\"state\":null}\n\n");
                }
                Ok(Err(RecvError::Closed)) => break,
                Err(_) => yield beat(),
            }
        }
    };
    response(told)
}

fn told(event: &Event) -> Bytes {
    let line = lines::event(event);
    Bytes::from(match event {
        Event::Recorded(entry) => format!("id: {}\ndata: {line}\n\n", entry.seq),
        Event::Live(_) => format!("data: {line}\n\n"),
    })
}

/// A comment, which clients pass over.
pub(crate) fn beat() -> Bytes {
    Bytes::from_static(b":\n\n")
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

//! [`Replay`]: feeds the content of a cassette through the parser for real replies.
use crate::{
    Connection, Timeouts, Wire,
    answer::Answer,
    cassette::{Begin, Chunk, Line},
    endpoint::Endpoint,
    http,
    patience::{Patience, Silence},
    remote::read,
};
use async_stream::try_stream;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request};
use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A model that repeats the replies of a cassette: the first exchange for the first request, and so on.
pub struct Replay {
    exchanges: Vec<Exchange>,
    next: AtomicUsize,
    at_recorded_speed: bool,
}

#[derive(Clone)]
struct Exchange {
    wire: Wire,
    status: u16,
    media_type: String,
    retry_after: Option<Duration>,
    chunks: Vec<(Duration, Bytes)>,
}

impl Replay {
    /// Reads a cassette. An invalid line is an error of kind `InvalidData` that names it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut exchanges = BTreeMap::new();
        for (index, line) in fs::read_to_string(path)?.lines().enumerate() {
            add(&mut exchanges, line).map_err(|error| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("line {} of the cassette: {error}", index + 1),
                )
            })?;
        }
        let exchanges = exchanges.into_values().collect();
        Ok(Self { exchanges, next: AtomicUsize::new(0), at_recorded_speed: false })
    }

    /// Pauses as the server did.
    pub fn at_recorded_speed(self) -> Self {
        Self { at_recorded_speed: true, ..self }
    }
}

fn add(exchanges: &mut BTreeMap<usize, Exchange>, line: &str) -> io::Result<()> {
    match serde_json::from_str(line)? {
        Line::Begin(Begin { exchange, wire, status, media_type, retry_after_ms, request: _ }) => {
            let retry_after = retry_after_ms.map(Duration::from_millis);
            exchanges
                .insert(exchange, Exchange { wire, status, media_type, retry_after, chunks: Vec::new() });
        }
        Line::Chunk(Chunk { exchange, at_ms, text, base64 }) => {
            let bytes = match base64 {
                Some(base64) => BASE64_STANDARD.decode(base64).map_err(io::Error::other)?,
                None => text.unwrap_or_default().into_bytes(),
            };
            let begun = exchanges
                .get_mut(&exchange)
                .ok_or_else(|| io::Error::other("its exchange has no beginning"))?;
            begun.chunks.push((Duration::from_millis(at_ms), bytes.into()));
        }
    }
    Ok(())
}

impl Provider for Replay {
    fn stream(&self, _request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let exchange = self.exchanges.get(self.next.fetch_add(1, Ordering::Relaxed)).cloned();
        let (count, at_recorded_speed) = (self.exchanges.len(), self.at_recorded_speed);
        Box::pin(try_stream! {
            let exchange = exchange.ok_or_else(|| ended(count))?;
            let endpoint = Arc::new(endpoint(exchange.wire));
            let answer = http::accept(&endpoint, exchange.answer(at_recorded_speed)).await?;
            for await delta in read(endpoint, answer, Patience::new(Timeouts::default(), true, Silence::default())) {
                yield delta?;
            }
        })
    }
}

impl Exchange {
    fn answer(self, at_recorded_speed: bool) -> Answer {
        let start = Instant::now();
        let bytes = stream::iter(self.chunks).then(move |(at, bytes)| async move {
            if at_recorded_speed {
                tokio::time::sleep_until(start + at).await;
            }
            Ok(bytes)
        });
        Answer {
            is_final: false,
            status: self.status,
            media_type: self.media_type,
            retry_after: self.retry_after,
            location: None,
            date: None,
            bytes: bytes.boxed(),
        }
    }
}

fn endpoint(wire: Wire) -> Endpoint {
    let speaker = wire.speaker().expect("a test looks for one");
    Endpoint { title: "the cassette".into(), ..Endpoint::new(speaker, &Connection::default()) }
}

fn ended(exchanges: usize) -> ProviderError {
    ProviderError::Rejected {
        provider: "the cassette".into(),
        message: format!("it has only {exchanges} exchanges"),
        hint: Some("record it again".into()),
    }
}

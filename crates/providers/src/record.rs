//! Cassettes: what a server sent, byte for byte and with its timing, to be fed through the same parser again.
//!
//! JSON Lines. An exchange begins with `{"exchange":0,"wire","status","media_type","retry_after_ms","request"}`;
//! then `{"exchange":0,"at_ms","text"}` for each chunk, or `"base64"` in place of `"text"`.
//! The key is in none of them.
use crate::{
    Connection, Timeouts, Wire,
    endpoint::Endpoint,
    http::{self, Answer},
    patience::{Patience, Silence},
    remote::read,
};
use async_stream::try_stream;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A cassette that is being recorded.
#[derive(Debug)]
pub struct Record {
    file: Mutex<File>,
    exchanges: AtomicUsize,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Begin(Begin),
    Chunk(Chunk),
}

#[derive(Serialize, Deserialize)]
struct Begin {
    exchange: usize,
    wire: Wire,
    status: u16,
    media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    request: Value,
}

#[derive(Serialize, Deserialize)]
struct Chunk {
    exchange: usize,
    at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Record {
    /// A new cassette in the place of any old one.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Arc<Self>> {
        let file = Mutex::new(File::create(path)?);
        Ok(Arc::new(Self { file, exchanges: AtomicUsize::new(0) }))
    }

    pub(crate) fn begin(self: &Arc<Self>, endpoint: &Endpoint, body: &[u8]) -> Tape {
        let request = serde_json::from_slice(body).unwrap_or_default();
        let exchange = self.exchanges.fetch_add(1, Ordering::Relaxed);
        Tape { record: self.clone(), endpoint: endpoint.clone(), request, exchange, start: Instant::now() }
    }

    fn write(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())
    }
}

/// One exchange on its way to a cassette.
pub(crate) struct Tape {
    record: Arc<Record>,
    endpoint: Endpoint,
    request: Value,
    exchange: usize,
    start: Instant,
}

impl Tape {
    /// `answer` as it was, each chunk written down before it is passed on.
    pub(crate) fn listen(mut self, answer: Answer) -> Result<Answer, ProviderError> {
        let begin = Begin {
            exchange: self.exchange,
            wire: self.endpoint.wire,
            status: answer.status,
            media_type: answer.media_type.clone(),
            retry_after_ms: answer.retry_after.map(|wait| wait.as_millis() as u64),
            request: self.request.take(),
        };
        self.write(&Line::Begin(begin))?;
        let bytes = answer.bytes.and_then(move |chunk| {
            let written = self.write(&self.chunk(&chunk));
            async move { written.map(|()| chunk) }
        });
        Ok(Answer { bytes: bytes.boxed(), ..answer })
    }

    fn chunk(&self, bytes: &[u8]) -> Line {
        let text = std::str::from_utf8(bytes).ok().map(|text| self.endpoint.hide_key(text.to_owned()));
        let base64 = text.is_none().then(|| BASE64_STANDARD.encode(bytes));
        Line::Chunk(Chunk {
            exchange: self.exchange,
            at_ms: self.start.elapsed().as_millis() as u64,
            text,
            base64,
        })
    }

    fn write(&self, line: &Line) -> Result<(), ProviderError> {
        self.record.write(line).map_err(|error| ProviderError::Rejected {
            provider: "the cassette".into(),
            message: format!("cannot write it: {error}"),
            hint: Some("free some space, or record to another place".into()),
        })
    }
}

/// A model that says again what is on a cassette: the first exchange to the first request, and so on.
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
    /// Reads a cassette. A line that is none is an error of kind `InvalidData` that names it.
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

    /// Pauses where the server did.
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
            status: self.status,
            media_type: self.media_type,
            retry_after: self.retry_after,
            location: None,
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
        message: format!("it holds only {exchanges} exchanges"),
        hint: Some("record it again".into()),
    }
}

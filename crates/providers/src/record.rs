//! [`Record`]: records what a server sends, while it is read.
use crate::{
    Key, Wire,
    answer::Answer,
    cassette::{Begin, Chunk, Line},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::{StreamExt, TryStreamExt};
use haft_core::ProviderError;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::time::Instant;

/// A cassette that is being recorded.
#[derive(Debug)]
pub struct Record {
    file: Mutex<File>,
    exchanges: AtomicUsize,
}

impl Record {
    /// Creates a cassette, and replaces an existing one.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Arc<Self>> {
        let file = Mutex::new(File::create(path)?);
        Ok(Arc::new(Self { file, exchanges: AtomicUsize::new(0) }))
    }

    pub(crate) fn begin(self: &Arc<Self>, wire: Wire, key: Option<Key>, body: &[u8]) -> Tape {
        let request = serde_json::from_slice(body).unwrap_or_default();
        let exchange = self.exchanges.fetch_add(1, Ordering::Relaxed);
        Tape { record: self.clone(), wire, key, request, exchange, start: Instant::now() }
    }

    fn write(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.lock().write_all(text.as_bytes())
    }
}

/// Records one exchange for a cassette.
pub(crate) struct Tape {
    record: Arc<Record>,
    wire: Wire,
    key: Option<Key>,
    request: Value,
    exchange: usize,
    start: Instant,
}

impl Tape {
    /// Returns `answer`, with each chunk recorded before it is passed on.
    pub(crate) fn listen(mut self, answer: Answer) -> Result<Answer, ProviderError> {
        let begin = Begin {
            exchange: self.exchange,
            wire: self.wire,
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
        let text = std::str::from_utf8(bytes).ok().map(|text| self.without_key(text.to_owned()));
        let base64 = text.is_none().then(|| BASE64_STANDARD.encode(bytes));
        Line::Chunk(Chunk {
            exchange: self.exchange,
            at_ms: self.start.elapsed().as_millis() as u64,
            text,
            base64,
        })
    }

    fn without_key(&self, text: String) -> String {
        match &self.key {
            Some(key) => key.hide_in(text),
            None => text,
        }
    }

    fn write(&self, line: &Line) -> Result<(), ProviderError> {
        self.record.write(line).map_err(|error| ProviderError::Rejected {
            provider: "the cassette".into(),
            message: format!("cannot write it: {error}"),
            hint: Some("free some space, or record to another directory".into()),
        })
    }
}

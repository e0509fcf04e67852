//! A model behind a vendor's wire, with the clocks that keep a silent or endless server from holding the turn.
use crate::{
    Key, Record, Vendor,
    endpoint::Endpoint,
    http::{self, Answer},
    reading::{Reading, is_progress},
    sse::MAX_EVENT,
};
use async_stream::try_stream;
use futures::{Stream, StreamExt, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request, StopReason};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};

/// After the model has stopped, its usage may follow; a server that keeps the line open has nothing else to say.
const AFTERTHOUGHT: Duration = Duration::from_secs(2);

/// How to reach a vendor.
#[derive(Clone, Debug)]
pub struct Connection {
    /// In place of the vendor's own.
    pub base_url: Option<String>,
    /// `None` for servers that want none.
    pub key: Option<Key>,
    /// Whether the reply comes piece by piece.
    pub stream: bool,
    /// In place of the vendor's own.
    pub timeouts: Option<Timeouts>,
    /// Writes down what the server sends.
    pub record: Option<Arc<Record>>,
}

impl Default for Connection {
    fn default() -> Self {
        Self { base_url: None, key: None, stream: true, timeouts: None, record: None }
    }
}

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first thing that the model says.
    pub first_byte: Duration,
    /// From one thing that the model says to the next; comments and pings do not count.
    pub idle: Duration,
    /// Of text without a break; then the reply ends as if it had run into its length limit.
    pub prose: Duration,
    /// For a reply that comes in one piece.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            prose: Duration::from_secs(120),
            whole: Duration::from_secs(600),
        }
    }
}

/// A provider for `vendor`. Nothing is sent before the first request, and every fault of the network is
/// passed on: wrap it in [`crate::Retry`].
pub fn connect(vendor: &Vendor, connection: Connection) -> Arc<dyn Provider> {
    let endpoint = Arc::new(Endpoint::new(vendor, &connection));
    let timeouts = connection.timeouts.unwrap_or_else(|| vendor.timeouts());
    Arc::new(Remote { endpoint, timeouts, stream: connection.stream, record: connection.record })
}

#[derive(Clone)]
struct Remote {
    endpoint: Arc<Endpoint>,
    timeouts: Timeouts,
    stream: bool,
    record: Option<Arc<Record>>,
}

impl Provider for Remote {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let remote = self.clone();
        Box::pin(try_stream! {
            let patience = Patience::new(remote.timeouts, remote.stream);
            let answer = patience.wait(&remote.endpoint, remote.ask(&request)).await??;
            drop(request);
            for await delta in read(remote.endpoint.clone(), answer, patience) {
                yield delta?;
            }
        })
    }
}

impl Remote {
    async fn ask(&self, request: &Request) -> Result<Answer, ProviderError> {
        let body =
            self.endpoint.wire.body(request, &self.endpoint.quirks, self.stream).to_string().into_bytes();
        let path = self.endpoint.wire.path(&request.model, self.stream);
        let tape = self.record.as_ref().map(|record| record.begin(&self.endpoint, &body));
        let answer = http::post(&self.endpoint, &path, body).await?;
        let answer = match tape {
            Some(tape) => tape.listen(answer)?,
            None => answer,
        };
        http::accept(&self.endpoint, answer).await
    }
}

/// The deltas of an answer that was a success.
pub(crate) fn read(
    endpoint: Arc<Endpoint>,
    mut answer: Answer,
    mut patience: Patience,
) -> impl Stream<Item = Result<Delta, ProviderError>> {
    try_stream! {
        refuse_pages(&endpoint, &answer)?;
        let mut reading = Reading::new(endpoint.wire.parser());
        let mut deltas = Vec::new();
        let mut is_first = true;
        while !reading.is_over() {
            let chunk = match patience.wait(&endpoint, answer.bytes.next()).await {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(None) => break,
                // The model had said all before the line broke or fell silent.
                Ok(Some(Err(_))) | Err(_) if reading.is_complete() => break,
                Ok(Some(Err(error))) | Err(error) => Err(error)?,
            };
            if is_first && chunk.trim_ascii().is_empty() {
                continue;
            }
            if std::mem::take(&mut is_first) && chunk.trim_ascii_start().starts_with(b"{") {
                let body = patience.wait(&endpoint, whole(&endpoint, &chunk, answer.bytes)).await??;
                reading.whole(&body, &endpoint, &mut deltas)?;
                break;
            }
            let pushed = reading.push(&chunk, &endpoint, &mut deltas);
            for delta in deltas.drain(..) {
                if patience.is_worn_out_by(&delta) {
                    yield Delta::Stop(StopReason::Length);
                    return;
                }
                yield delta;
            }
            pushed?;
            if reading.is_complete() {
                patience.let_finish();
            }
        }
        reading.finish(&endpoint, &mut deltas)?;
        for delta in deltas {
            yield delta;
        }
    }
}

/// A login page of a network or a proxy comes with a success as its status.
fn refuse_pages(endpoint: &Endpoint, answer: &Answer) -> Result<(), ProviderError> {
    let media_type = answer.media_type.as_str();
    let may_be_a_reply = ["", "text/event-stream", "text/plain", "application/octet-stream"]
        .contains(&media_type)
        || media_type.contains("json");
    match may_be_a_reply {
        true => Ok(()),
        false => {
            Err(endpoint.broken(&format!("the server answered with {media_type}, which is no event stream")))
        }
    }
}

/// A reply that came in one piece, although it may have been asked for as a stream.
async fn whole(
    endpoint: &Endpoint,
    first: &[u8],
    rest: BoxStream<'static, Result<bytes::Bytes, ProviderError>>,
) -> Result<Vec<u8>, ProviderError> {
    let (rest, error) = http::gather(rest, MAX_EVENT).await;
    match error {
        Some(error) => Err(error),
        None if rest.len() == MAX_EVENT => Err(endpoint.broken("the server sent a reply of more than 16 MB")),
        None => Ok([first, &rest].concat()),
    }
}

/// How much longer we wait.
pub(crate) struct Patience {
    timeouts: Timeouts,
    deadline: Instant,
    prose_since: Option<Instant>,
    given: Duration,
}

impl Patience {
    pub(crate) fn new(timeouts: Timeouts, stream: bool) -> Self {
        let given = if stream { timeouts.first_byte } else { timeouts.whole };
        Self { timeouts, deadline: Instant::now() + given, prose_since: None, given }
    }

    async fn wait<F: Future>(&self, endpoint: &Endpoint, event: F) -> Result<F::Output, ProviderError> {
        timeout_at(self.deadline, event).await.map_err(|_| {
            endpoint.broken(&format!("the server said nothing for {} s", self.given.as_secs_f32()))
        })
    }

    fn is_worn_out_by(&mut self, delta: &Delta) -> bool {
        if !is_progress(delta) {
            return false;
        }
        let now = Instant::now();
        self.given = self.timeouts.idle;
        self.deadline = now + self.given;
        if !matches!(delta, Delta::Text(_)) {
            self.prose_since = None;
            return false;
        }
        now.duration_since(*self.prose_since.get_or_insert(now)) > self.timeouts.prose
    }

    fn let_finish(&mut self) {
        self.deadline = self.deadline.min(Instant::now() + AFTERTHOUGHT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Usage};
    use tokio::time::advance;

    // A29
    #[tokio::test(start_paused = true)]
    async fn only_prose_without_a_break_wears_patience_out() {
        let text = || Delta::Text("x".into());
        let call = || Delta::CallStart { index: 0, id: CallId("a".into()), name: "x".into() };
        let thought = || Delta::Thinking("x".into());
        let tokens = || Delta::Usage(Usage::default());
        let table: [(&str, [Delta; 4], bool); 5] = [
            ("text for 150 s", [text(), text(), text(), text()], true),
            ("broken by thinking", [text(), thought(), text(), text()], false),
            ("broken by a call", [text(), text(), call(), text()], false),
            ("thinking only", [thought(), thought(), thought(), thought()], false),
            ("a count of tokens is no break", [text(), tokens(), text(), text()], true),
        ];
        for (what, deltas, expected) in table {
            let mut patience = Patience::new(Timeouts::default(), true);
            let mut worn_out = false;
            for delta in &deltas {
                worn_out |= patience.is_worn_out_by(delta);
                advance(Duration::from_secs(50)).await;
            }
            assert_eq!(worn_out, expected, "{what}");
        }
    }
}

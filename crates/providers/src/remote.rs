//! [`connect`]: a model behind a vendor's wire, with timeouts so that a silent or endless server does not block the
//! turn.
use crate::{
    Connection, Effort, Record, Timeouts, Vendor,
    answer::Answer,
    effort,
    endpoint::Endpoint,
    http,
    patience::{Patience, Silence},
    reading::Reading,
    sse::MAX_EVENT,
};
use async_stream::try_stream;
use futures::{Stream, StreamExt, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request, UnreadableReply};
use std::sync::Arc;

/// A provider for `vendor`. Nothing is sent before the first request, and all network errors are passed on: wrap it in
/// [`crate::Retry`].
pub fn connect(vendor: &Vendor, connection: Connection) -> Arc<dyn Provider> {
    let endpoint = Arc::new(Endpoint::new(vendor, &connection));
    let base_url = connection.base_url.as_deref().unwrap_or(vendor.base_url);
    let timeouts = connection.timeouts.unwrap_or_else(|| vendor.timeouts_at(base_url));
    let Connection { stream, effort, record, .. } = connection;
    Arc::new(Remote { endpoint, timeouts, stream, effort, record, silence: Silence::default() })
}

#[derive(Clone)]
struct Remote {
    endpoint: Arc<Endpoint>,
    timeouts: Timeouts,
    stream: bool,
    effort: Option<Effort>,
    record: Option<Arc<Record>>,
    silence: Silence,
}

impl Provider for Remote {
    fn stream(&self, mut request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let remote = self.clone();
        if let Some(effort) = remote.effort {
            effort::ask(&mut request, effort, &remote.endpoint.quirks);
        }
        Box::pin(try_stream! {
            let mut patience = Patience::new(remote.timeouts, remote.stream, remote.silence.clone());
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
        let path = self.endpoint.wire.path(&request.model, &self.endpoint.quirks, self.stream);
        let Some(signer) = &self.endpoint.signer else { return self.post(&path, body).await };
        match self.post(&path, body.clone()).await {
            // The token was revoked, or expired early.
            Err(ProviderError::Auth { .. }) if signer.forget().await => self.post(&path, body).await,
            answer => answer,
        }
    }

    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Answer, ProviderError> {
        let tape = self
            .record
            .as_ref()
            .map(|record| record.begin(self.endpoint.wire, self.endpoint.key.clone(), &body));
        let answer = http::post(&self.endpoint, path, body).await?;
        let answer = match tape {
            Some(tape) => tape.listen(answer)?,
            None => answer,
        };
        http::accept(&self.endpoint, answer).await
    }
}

/// The deltas of a successful response.
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
                // The reply was complete before the connection broke or timed out.
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
                if let Some(stop) = patience.is_over_with(&delta) {
                    yield Delta::Stop(stop);
                    return;
                }
                yield delta;
            }
            pushed?;
            if reading.is_at_work() {
                patience.let_think();
            }
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

/// Refuses web pages: a login page of a network or a proxy comes with a success status.
fn refuse_pages(endpoint: &Endpoint, answer: &Answer) -> Result<(), ProviderError> {
    let media_type = answer.media_type.as_str();
    let may_be_a_reply = [
        "",
        "text/event-stream",
        "text/plain",
        "application/octet-stream",
        "application/vnd.amazon.eventstream",
    ]
    .contains(&media_type)
        || media_type.contains("json");
    match may_be_a_reply {
        true => Ok(()),
        false => {
            let what = format!("the server answered with {media_type}, which is not an event stream");
            Err(endpoint.broken_by(&what, UnreadableReply))
        }
    }
}

/// Reads a reply in one piece, even if a stream was requested.
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

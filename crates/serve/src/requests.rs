//! Requests with an `Idempotency-Key`: one that is sent again is answered as before, and done once.
//!
//! A [`Store`] keeps each key with the request that it came with, the ID of what that request makes, and the answer. Where a
//! crash came between, the handler finds by [`Keyed`] what was done already: the session has that ID, the prompt stands in
//! the journal under the key's name.
mod files;

use crate::{
    api::body::whole,
    error::{Answer, ApiError},
    gate::given,
};
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header::CONTENT_TYPE, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use files::{Files, Taken};
use futures::{StreamExt, stream};
use haft_core::SessionId;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{convert::Infallible, fmt::Write, path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

/// The header of draft-ietf-httpapi-idempotency-key-header-07.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer is one that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Characters of a key.
const LONGEST: usize = 255;
/// So long a key is kept.
pub(crate) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Pieces of a stream that wait for a client which reads slowly.
const AHEAD: usize = 64;
/// How long requests with a key may take to keep their answers once the server stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a handler knows of the key of its request.
#[derive(Clone, Debug)]
pub(crate) struct Keyed {
    /// Hexadecimal digits that stand for the client and its key.
    pub(crate) name: String,
    /// What the request makes gets this ID.
    pub(crate) id: SessionId,
    /// The request may have been done before, as far as a crash let it.
    pub(crate) is_repeated: bool,
}

/// The key of a request, where it has one.
pub(crate) struct Key(pub(crate) Option<Keyed>);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

/// Answers requests with a key. All clones are one.
#[derive(Clone)]
pub(crate) struct Requests(Arc<Inner>);

struct Inner {
    files: Files,
    tasks: TaskTracker,
}

impl Requests {
    /// Keeps keys in `folder`.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(Arc::new(Inner { files: Files::new(folder), tasks: TaskTracker::new() }))
    }

    /// Waits until those that were begun have kept their answers, but not for ever.
    pub(crate) async fn close(&self) {
        self.0.tasks.close();
        let _a_repeat_looks_what_was_done = tokio::time::timeout(FAREWELL, self.0.tasks.wait()).await;
    }

    /// Does the request, also where its client leaves meanwhile, and keeps the answer.
    async fn perform(&self, mut taken: Taken, request: Request, next: Next) -> Answer<Response> {
        let (to, answered) = oneshot::channel();
        self.0.tasks.spawn(async move {
            let response = next.run(request).await;
            let (head, body) = response.into_parts();
            if !is_stream(&head.headers) {
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                let kept = taken.keep(head.status, &head.headers, &body).await;
                let _it_has_left = to.send(kept.map(|()| Response::from_parts(head, Body::from(body))));
                return;
            }
            let (piece, mut pieces) = mpsc::channel::<Bytes>(AHEAD);
            let told = stream::poll_fn(move |context| pieces.poll_recv(context)).map(Ok::<_, Infallible>);
            let (status, headers) = (head.status, head.headers.clone());
            let _it_has_left = to.send(Ok(Response::from_parts(head, Body::from_stream(told))));
            let (mut all, mut body) = (Vec::new(), body.into_data_stream());
            while let Some(Ok(bytes)) = body.next().await {
                all.extend_from_slice(&bytes);
                let _it_has_left = piece.send(bytes).await;
            }
            if let Err(error) = taken.keep(status, &headers, &all).await {
                tracing::warn!(?error, "the answer to a request with a key is not kept");
            }
        });
        answered.await.unwrap_or_else(|_| Err(ApiError::failed("a fault in the program")))
    }
}

/// Answers a request with a key once; all others pass.
pub(crate) async fn once(State(requests): State<Requests>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !request.headers().contains_key(KEY) {
        return next.run(request).await;
    }
    answer(&requests, request, next).await.unwrap_or_else(ApiError::into_response)
}

async fn answer(requests: &Requests, request: Request, next: Next) -> Answer<Response> {
    let name = name(request.headers())?;
    let (mut head, body) = request.into_parts();
    let body = whole(Request::from_parts(head.clone(), body)).await?;
    let asked = fingerprint(&head, &body);
    let mut taken = requests.0.files.take(&name).await?;
    if taken.is_other(&asked) {
        return Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "key_reused",
            "the `Idempotency-Key` came with another request before",
        )
        .suggest("take a new key for each request, and the same one only to send that request again"));
    }
    if let Some((status, kind, body)) = taken.answer() {
        return Ok((status, [(CONTENT_TYPE, kind), (REPLAYED, HeaderValue::from_static("true"))], body)
            .into_response());
    }
    let (id, is_repeated) = taken.begin(asked).await?;
    head.extensions.insert(Keyed { name, id, is_repeated });
    requests.perform(taken, Request::from_parts(head, Body::from(body)), next).await
}

/// Of the client by its token, and of its key: two clients may choose the same one.
fn name(headers: &HeaderMap) -> Answer<String> {
    let mut keys = headers.get_all(KEY).iter();
    let key = keys.next().map(|key| key.as_bytes().trim_ascii()).unwrap_or_default();
    let is_right = (1..=LONGEST).contains(&key.len()) && key.iter().all(|byte| (b' '..=b'~').contains(byte));
    if !is_right || keys.next().is_some() {
        return Err(ApiError::wrong(format!(
            "an `Idempotency-Key` is one header of 1 to {LONGEST} visible ASCII characters"
        ))
        .suggest("send a random one, such as a UUID, and the same one only to send the request again"));
    }
    Ok(digest(&[given(headers).unwrap_or_default(), key]))
}

/// Of all that makes a request another one. JSON is the same however it is written.
fn fingerprint(head: &Parts, body: &[u8]) -> String {
    let read = serde_json::from_slice::<Value>(body).map(|value| value.to_string());
    let body = read.as_ref().map_or(body, String::as_bytes);
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    digest(&[target.as_bytes(), body])
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |mut digits, byte| {
        let _a_string_takes_all = write!(digits, "{byte:02x}");
        digits
    })
}

fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

//! [`Requests`]: requests with an `Idempotency-Key`: a repeated request gets the same response, and is executed only
//! once.
//!
//! A [`Store`] keeps each key with its request, the ID of what that request creates, and the response. After a crash in
//! between, the handler of the repeated request finds out with [`Keyed`] what was done already: a created session has
//! that ID, a prompt is in the journal under the key's name, and other changes to a session come after the stored
//! position of its journal.
mod files;
mod rows;

use crate::{
    api::body::whole,
    bearer::given,
    error::{Answer, ApiError},
};
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header::CONTENT_TYPE, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use files::Files;
use futures::{StreamExt, stream};
use haft_core::{Entry, SessionId};
use haft_engine::Session;
use haft_fleet::{Database, RequestAnswer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{convert::Infallible, fmt::Write, path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

/// The request header of draft-ietf-httpapi-idempotency-key-header-07.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Response header that marks a replayed response.
const REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Maximum length of a key, in characters.
const MAX_KEY_LENGTH: usize = 255;
/// How long a key is kept.
pub(crate) const KEY_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Pieces of a streamed response that are buffered for a client that reads slowly.
const STREAM_BUFFER_PIECES: usize = 64;
/// How long running requests with a key may take to store their responses once the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Entries of a session.
type Entries = [Arc<Entry>];

/// What a handler knows about the key of its request.
#[derive(Clone)]
pub(crate) struct Keyed {
    /// The name of the key: hexadecimal digits derived from the client and its key.
    pub(crate) name: String,
    /// The ID of what the request creates.
    pub(crate) id: SessionId,
    /// Whether an earlier attempt of the request may have been executed, in part if a crash cut it off.
    pub(crate) is_repeated: bool,
    keeper: Arc<Keeper>,
}

impl Keyed {
    /// The entries before an earlier attempt of the request, and those since; `None` if no attempt had begun.
    pub(crate) fn earlier<'a>(&self, entries: &'a Entries) -> Option<(&'a Entries, &'a Entries)> {
        let Keeper::File(taken) = &*self.keeper else { return None };
        let next = taken.position()?;
        Some(entries.split_at(entries.partition_point(|entry| entry.seq < next)))
    }
}

/// Stores the current end of the journal of `session` before a request changes anything there: the request's entries
/// come after this position.
pub(crate) async fn begin(key: Option<&Keyed>, session: &Session) -> Answer<()> {
    match key.map(|key| &*key.keeper) {
        Some(Keeper::File(taken)) => taken.begin_at(haft_present::cursor::next(session)).await,
        // A server of a fleet runs no sessions itself.
        Some(Keeper::Row(_)) | None => Ok(()),
    }
}

/// The key of a request, if it has one.
pub(crate) struct Key(pub(crate) Option<Keyed>);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

/// Answers requests with a key. Clones share the same store.
#[derive(Clone)]
pub(crate) struct Requests(Arc<Inner>);

struct Inner {
    store: Store,
    tasks: TaskTracker,
}

/// The storage of keys.
enum Store {
    Files(Files),
    Fleet(Database),
}

/// The state of a key.
enum Found {
    /// The key belongs to another request.
    Other,
    Answered(RequestAnswer),
    /// The request is to be executed, and its response stored.
    Begun {
        id: SessionId,
        is_repeated: bool,
        keeper: Keeper,
    },
}

/// Stores the response to a request. While a [`Keeper::File`] exists, no other request can use the key.
enum Keeper {
    File(files::Taken),
    Row(rows::Row),
}

impl Store {
    async fn find(&self, name: &str, request: String) -> Answer<Found> {
        match self {
            Self::Files(files) => files.find(name, request).await,
            Self::Fleet(database) => rows::find(database, name, &request).await,
        }
    }
}

impl Keeper {
    /// Stores a successful response; returns the one that was stored first. After an error, a repeated request is
    /// executed again: the position is dropped, since entries after it may be those of others.
    async fn keep(&self, answer: RequestAnswer) -> Answer<RequestAnswer> {
        let is_done = (200..300).contains(&answer.status);
        match self {
            Self::File(taken) if !is_done => taken.forget_position().await.map(|()| answer),
            Self::Row(_) if !is_done => Ok(answer),
            Self::File(taken) => taken.keep(&answer).await.map(|()| answer),
            Self::Row(row) => row.keep(answer).await,
        }
    }
}

impl Requests {
    /// Stores keys in `folder`.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self::of(Store::Files(Files::new(folder)))
    }

    /// Stores keys in the database of a fleet, for all its servers.
    pub(crate) fn in_fleet(database: Database) -> Self {
        Self::of(Store::Fleet(database))
    }

    fn of(store: Store) -> Self {
        Self(Arc::new(Inner { store, tasks: TaskTracker::new() }))
    }

    /// Waits, with a timeout, until all running requests have stored their responses.
    pub(crate) async fn close(&self) {
        self.0.tasks.close();
        let _a_repeat_looks_what_was_done = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.0.tasks.wait()).await;
    }

    /// Executes the request, even if its client disconnects meanwhile, and stores the response.
    async fn perform(&self, keeper: Arc<Keeper>, request: Request, next: Next) -> Answer<Response> {
        let (to, answered) = oneshot::channel();
        self.0.tasks.spawn(async move {
            let (head, body) = next.run(request).await.into_parts();
            if !is_stream(&head.headers) {
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                let kept = keeper.keep(answer_of(&head, &body)).await;
                let respond = |kept: RequestAnswer| Response::from_parts(head, Body::from(kept.body));
                let _it_has_left = to.send(kept.map(respond));
                return;
            }
            let (piece, mut pieces) = mpsc::channel::<Bytes>(STREAM_BUFFER_PIECES);
            let told = stream::poll_fn(move |context| pieces.poll_recv(context)).map(Ok::<_, Infallible>);
            let begun = answer_of(&head, b"");
            let _it_has_left = to.send(Ok(Response::from_parts(head, Body::from_stream(told))));
            let (mut all, mut body) = (Vec::new(), body.into_data_stream());
            while let Some(Ok(bytes)) = body.next().await {
                all.extend_from_slice(&bytes);
                let _it_has_left = piece.send(bytes).await;
            }
            let answer = RequestAnswer { body: String::from_utf8_lossy(&all).into_owned(), ..begun };
            if let Err(error) = keeper.keep(answer).await {
                tracing::warn!(?error, "the answer to a request with a key is not kept");
            }
        });
        answered.await.unwrap_or_else(|_| Err(ApiError::failed("a fault in the program")))
    }
}

fn answer_of(head: &axum::http::response::Parts, body: &[u8]) -> RequestAnswer {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let body = String::from_utf8_lossy(body).into_owned();
    RequestAnswer { status: head.status.as_u16(), kind: kind.to_owned(), body }
}

/// Middleware that executes a request with a key once; all others pass.
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
    match requests.0.store.find(&name, asked).await? {
        Found::Other => Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "key_reused",
            "the `Idempotency-Key` came with another request before",
        )
        .suggest("take a new key for each request, and the same one only to send that request again")),
        Found::Answered(answer) => Ok(again(answer)),
        Found::Begun { id, is_repeated, keeper } => {
            let keeper = Arc::new(keeper);
            head.extensions.insert(Keyed { name, id, is_repeated, keeper: keeper.clone() });
            requests.perform(keeper, Request::from_parts(head, Body::from(body)), next).await
        }
    }
}

fn again(RequestAnswer { status, kind, body }: RequestAnswer) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = HeaderValue::from_str(&kind).unwrap_or(HeaderValue::from_static("application/json"));
    (status, [(CONTENT_TYPE, kind), (REPLAYED_HEADER, HeaderValue::from_static("true"))], body)
        .into_response()
}

/// Name of the request's file, derived from the client's token and its key: two clients may choose the same key.
fn name(headers: &HeaderMap) -> Answer<String> {
    let mut keys = headers.get_all(KEY).iter();
    let key = keys.next().map(|key| key.as_bytes().trim_ascii()).unwrap_or_default();
    let is_right =
        (1..=MAX_KEY_LENGTH).contains(&key.len()) && key.iter().all(|byte| (b' '..=b'~').contains(byte));
    if !is_right || keys.next().is_some() {
        return Err(ApiError::wrong(format!(
            "an `Idempotency-Key` is one header of 1 to {MAX_KEY_LENGTH} visible ASCII characters"
        ))
        .suggest("send a random one, such as a UUID, and the same one only to send the request again"));
    }
    Ok(digest(&[given(headers).unwrap_or_default(), key]))
}

/// Fingerprint of everything that distinguishes requests. The whitespace of JSON and the order of its members do not
/// count.
fn fingerprint(head: &Parts, body: &[u8]) -> String {
    let read = serde_json::from_slice::<Value>(body).map(|mut value| {
        value.sort_all_objects();
        value.to_string()
    });
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

//! [`AccessLog`]: writes a line of JSON to standard output for each request, when its response has ended.
use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderName, HeaderValue, Method},
    response::Response,
};
use haft_core::SessionId;
use hyper::body::{Frame, SizeHint};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use std::{
    io::{Write, stdout},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

/// The header with the ID of a request. A proxy may set it, otherwise the server does; the response repeats it.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum length of an ID that a proxy sets, in characters.
const MAX_ID_LENGTH: usize = 128;
/// Maximum length of a logged path, in characters.
const MAX_PATH_LENGTH: usize = 512;

/// Whether requests are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessLog {
    Off,
    StandardOutput,
}

impl AccessLog {
    pub(crate) fn of(is_on: bool) -> Self {
        if is_on { Self::StandardOutput } else { Self::Off }
    }
}

/// An extension of a response: the session that the request created or found. Most requests name it in their path.
#[derive(Clone, Debug)]
pub(crate) struct OfSession(pub(crate) SessionId);

/// A request that was received. It is logged when this value is dropped: when the response is sent completely, or the
/// client has disconnected.
#[derive(Serialize)]
pub(crate) struct Logged {
    /// Time at which the request was received.
    #[serde(serialize_with = "to_milliseconds")]
    time: Timestamp,
    request_id: String,
    #[serde(serialize_with = "as_text")]
    method: Method,
    /// Path without the query after `?`.
    path: String,
    /// `null` if the client disconnected before the response began.
    status: Option<u16>,
    /// Time until the end of the response, in milliseconds.
    duration_ms: f64,
    /// Length of the response's body, in bytes.
    bytes: u64,
    session: Option<String>,
    #[serde(skip)]
    begun: Instant,
    #[serde(skip)]
    log: AccessLog,
}

impl Logged {
    pub(crate) fn new(log: AccessLog, request: &Request) -> Self {
        let path: String = request.uri().path().chars().take(MAX_PATH_LENGTH).collect();
        let given = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
        Self {
            time: Timestamp::now(),
            request_id: given.filter(|id| is_id(id)).map_or_else(new_id, str::to_owned),
            method: request.method().clone(),
            session: session_of(&path),
            path,
            status: None,
            duration_ms: 0.0,
            bytes: 0,
            begun: Instant::now(),
            log,
        }
    }

    /// Adds the request's ID to the response, and follows the body to its end.
    pub(crate) fn follow(mut self, mut response: Response) -> Response {
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        if self.log == AccessLog::Off {
            return response;
        }
        self.status = Some(response.status().as_u16());
        if let Some(OfSession(id)) = response.extensions().get() {
            self.session = Some(id.0.clone());
        }
        response.map(|body| Body::new(Followed { body, logged: self }))
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        if self.log == AccessLog::Off {
            return;
        }
        self.duration_ms = (self.begun.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        let _it_is_closed = stdout().lock().write_all(line.as_bytes());
    }
}

/// A body that counts its bytes.
struct Followed {
    body: Body,
    logged: Logged,
}

impl HttpBody for Followed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) {
            self.logged.bytes += data.map_or(0, Bytes::len) as u64;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn is_id(given: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    (1..=MAX_ID_LENGTH).contains(&given.len()) && given.bytes().all(is_known)
}

fn new_id() -> String {
    format!("{:032x}", fastrand::u128(..))
}

/// The session or job that a path names.
fn session_of(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/v1/sessions/").or_else(|| path.strip_prefix("/v1/jobs/"))?;
    rest.split('/').next().filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Writes the time as RFC 3339, in UTC.
fn to_milliseconds<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

fn as_text<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.as_str())
}

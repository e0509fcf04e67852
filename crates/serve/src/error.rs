//! [`ApiError`]: the error that a client reads: `{"error":{"type","message","suggestion"}}`.
use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use haft_app::Failure;
use haft_engine::{Closed, EngineError, JournalError};
use haft_present::host::Problem;
use serde::Serialize;
use utoipa::ToSchema;

/// What OpenAI's clients obey before the status (github.com/openai/openai-python, `_should_retry`, 2026-11).
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A longer message is cut.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Ends a request.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    detail: ErrorDetail,
    /// Whether the same request would do something a second time.
    is_final: bool,
}

/// The body of every answer that is an error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorDetail {
    /// Kind of the error, one word for programs.
    #[serde(rename = "type")]
    #[schema(example = "not_found")]
    kind: &'static str,
    /// What was tried, on what, and why it failed.
    #[schema(example = "there is no session `20261123-101500-0123456789abcdef`")]
    message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "`GET /v1/sessions` lists them")]
    suggestion: Option<String>,
}

pub(crate) type Answer<T> = Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // It may repeat what the client sent.
        if let Some((cut, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
            message.truncate(cut);
            message += "…";
        }
        Self { status, detail: ErrorDetail { kind, message, suggestion: None }, is_final: false }
    }

    /// The request cannot be understood or makes no sense.
    pub(crate) fn wrong(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// The client may not do that.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// There is no such thing.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// A conflict with the current state.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// An undo of single calls is refused, but one that also takes others back or merges texts would do.
    pub(crate) fn in_the_way(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "in_the_way", message)
    }

    /// A limit is reached at the moment.
    pub(crate) fn limited(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit", message)
    }

    /// A server that this one depends on does not answer at the moment.
    pub(crate) fn away(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message).suggest("send the request again")
    }

    /// The journal cannot record a prompt or an answer.
    pub(crate) fn unrecorded(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "not_recorded", message).suggest(
            "ask the person who runs the server to free some space, then send the request again: what was recorded is kept",
        )
    }

    /// An error for something that was tried and failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message)
    }

    /// What to do next.
    pub(crate) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.detail.suggestion = Some(suggestion.into());
        self
    }

    /// Clients must not send the request again by themselves, as those of OpenAI do after many errors.
    pub(crate) fn never_again(self) -> Self {
        Self { is_final: true, ..self }
    }

    /// What is wrong, as the client reads it.
    pub(crate) fn message(&self) -> &str {
        &self.detail.message
    }

    /// Whether there is no such thing.
    pub(crate) fn is_missing(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// The error as JSON, for an event of a stream that has begun.
    pub(crate) fn body(self) -> ErrorBody {
        ErrorBody { error: self.detail }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let never_again = self.is_final.then(|| (SHOULD_RETRY, HeaderValue::from_static("false")));
        (self.status, never_again.into_iter().collect::<HeaderMap>(), Json(self.body())).into_response()
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Problem::from(failure).into()
    }
}

impl From<Problem> for ApiError {
    fn from(Problem { message, suggestion, is_usage }: Problem) -> Self {
        let error = if is_usage { Self::wrong(message) } else { Self::failed(message) };
        match suggestion {
            Some(suggestion) => error.suggest(suggestion),
            None => error,
        }
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> Self {
        let message = error.to_string();
        let found = match &error {
            JournalError::Missing(_) => Self::missing(message),
            JournalError::Locked(_) | JournalError::NotRemoved { .. } => Self::conflict(message),
            JournalError::Ambiguous { .. }
            | JournalError::SameName { .. }
            | JournalError::NoName { .. }
            | JournalError::NoFork { .. } => Self::wrong(message),
            error if error.is_out_of_files() => Self::away(message),
            JournalError::Io { action: "create" | "write" | "sync" | "name", .. } => {
                return Self::unrecorded(message);
            }
            JournalError::Newer { .. } | JournalError::Unreadable { .. } | JournalError::Io { .. } => {
                Self::failed(message)
            }
        };
        match error {
            JournalError::Missing(_) => found.suggest("`GET /v1/sessions` lists them"),
            error => match error.hint() {
                Some(hint) => found.suggest(hint),
                None => found,
            },
        }
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Journal(error) => error.into(),
            EngineError::NoSuchAgent { .. } => {
                Self::wrong(error.to_string()).suggest("`GET /v1/agents` lists them")
            }
            EngineError::NoModel { .. }
            | EngineError::HomeInWorkspace { .. }
            | EngineError::WorkspaceInGit(_) => Self::wrong(error.to_string()),
            EngineError::NotAttached { .. } | EngineError::ShutDown => Self::failed(error.to_string()),
            EngineError::NotOpen(_) | EngineError::NotJoined { .. } => Self::conflict(error.to_string())
                .suggest("end the other `haft` that has it open, or start a new session"),
        }
    }
}

impl From<Closed> for ApiError {
    fn from(error: Closed) -> Self {
        Self::conflict(error.to_string()).suggest("send the request again: the session is opened anew")
    }
}

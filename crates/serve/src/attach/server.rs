//! [`Server`]: asks a `haft serve` over HTTP, and opens the WebSocket of a session.
use super::ServerAddress;
use crate::socket::{MAX_MESSAGE_BYTES, PROTOCOL, link};
use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use haft_app::Failure;
use haft_engine::{Dial, Link, NotDialed};
use haft_http::Reach;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig},
    },
};

/// Timeout for the server's response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of sessions in a list.
const MAX_LISTED: usize = 200;

/// A server, and the token for its requests.
#[derive(Clone)]
pub struct Server {
    base: String,
    token: String,
    client: Client,
}

/// A session in the server's list.
#[derive(Clone, Debug, Deserialize)]
pub struct ListedSession {
    /// ID of the session.
    pub id: String,
    /// Name of the session, or the beginning of its first prompt.
    #[serde(default)]
    pub title: String,
    /// `working`, `asking`, `idle` or `elsewhere`.
    #[serde(default)]
    pub state: String,
    /// The folder on the server in which the session works.
    #[serde(default)]
    pub workspace: String,
    /// The model, as `PROVIDER/MODEL`.
    #[serde(default)]
    pub model: String,
    /// In milliseconds since 1970-01-01 UTC.
    #[serde(default)]
    pub opened_at: u64,
    /// In milliseconds since 1970-01-01 UTC.
    #[serde(default)]
    pub last_at: u64,
    /// The context window of the model, in tokens; only given for a single session, not in lists.
    #[serde(default)]
    pub window: Option<u64>,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum CallError {
    /// The server cannot be reached at the moment.
    Lost(String),
    /// The server refuses the request.
    Refused { message: String, suggestion: Option<String> },
}

/// The body of an error response, as the server's `ErrorBody`.
#[derive(Deserialize)]
struct Refusal {
    error: RefusalDetail,
}

#[derive(Deserialize)]
struct RefusalDetail {
    message: String,
    #[serde(default)]
    suggestion: Option<String>,
}

impl Server {
    /// A client of the server at `address`. Sends nothing by itself.
    ///
    /// # Errors
    ///
    /// If no HTTP client can be built on this system.
    pub fn new(address: &ServerAddress, token: String) -> Result<Self, Failure> {
        let client = Reach::of(&address.base).builder().http1_only().build();
        let client = client.map_err(|error| Failure::failed(format!("cannot connect: {}", said(&error))))?;
        Ok(Self { base: address.base.clone(), token, client })
    }

    /// Lists the server's sessions, newest first.
    ///
    /// # Errors
    ///
    /// If the server does not answer, refuses the token, or is not a Haft server.
    pub async fn sessions(&self) -> Result<Vec<ListedSession>, Failure> {
        Ok(self.list().await?)
    }

    /// Begins a session, and returns its ID.
    ///
    /// # Errors
    ///
    /// As [`Self::sessions`].
    pub async fn begin(&self) -> Result<String, Failure> {
        Ok(self.create(&serde_json::json!({})).await?)
    }

    /// The address of the page of a session.
    pub(super) fn page_of(&self, id: &str) -> String {
        format!("{}/#s/{id}", self.base)
    }

    pub(super) async fn list(&self) -> Result<Vec<ListedSession>, CallError> {
        #[derive(Deserialize)]
        struct Listed {
            sessions: Vec<ListedSession>,
        }
        let listed: Listed = self.ask(Method::GET, &format!("/v1/sessions?limit={MAX_LISTED}"), None).await?;
        Ok(listed.sessions)
    }

    /// Creates a session with the properties in `body`, and returns its ID.
    pub(super) async fn create(&self, body: &Value) -> Result<String, CallError> {
        let made: ListedSession = self.ask(Method::POST, "/v1/sessions", Some(body)).await?;
        Ok(made.id)
    }

    /// Sends a request to `path`, and reads the response.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, CallError> {
        let mut request = self.request(method, path).timeout(ANSWER_TIMEOUT);
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        let bytes = response.bytes().await.map_err(|error| self.lost(&error))?;
        serde_json::from_slice(&bytes).map_err(|_| self.is_foreign(status))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token)
    }

    fn lost(&self, error: &reqwest::Error) -> CallError {
        CallError::Lost(format!("`{}` does not answer: {}", self.base, said(error)))
    }

    /// Builds the error from the response of a server that refused a request.
    async fn refused(&self, response: Response) -> CallError {
        let status = response.status();
        let body = response.bytes().await.unwrap_or_default();
        let Ok(Refusal { error: RefusalDetail { message, suggestion } }) = serde_json::from_slice(&body)
        else {
            return match is_passing(status) {
                true => CallError::Lost(format!("`{}` answers with HTTP {status}", self.base)),
                false => self.is_foreign(status),
            };
        };
        match (is_passing(status), status) {
            (true, _) => CallError::Lost(message),
            (false, StatusCode::UNAUTHORIZED) => CallError::Refused {
                message: format!("`{}` refuses the token", self.base),
                suggestion: Some("`haft serve --show-token` on that machine prints the right one".to_owned()),
            },
            (false, _) => CallError::Refused { message, suggestion },
        }
    }

    fn is_foreign(&self, status: StatusCode) -> CallError {
        CallError::Refused {
            message: format!("`{}` does not answer as `haft serve` does (HTTP {status})", self.base),
            suggestion: Some("check the address and its port".to_owned()),
        }
    }

    /// Opens the WebSocket of a session.
    async fn open_socket(&self, id: &str) -> Result<Link, CallError> {
        let key = generate_key();
        let request = self
            .request(Method::GET, &format!("/v1/sessions/{id}/socket"))
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key)
            .header(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let is_accepted = header(header::SEC_WEBSOCKET_ACCEPT) == Some(&*derive_accept_key(key.as_bytes()))
            && header(header::SEC_WEBSOCKET_PROTOCOL) == Some(PROTOCOL);
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS if is_accepted => {}
            status @ StatusCode::SWITCHING_PROTOCOLS => return Err(self.is_foreign(status)),
            status if status.is_success() => return Err(self.is_foreign(status)),
            _ => return Err(self.refused(response).await),
        }
        let upgraded = response.upgrade().await.map_err(|error| self.lost(&error))?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(limits)).await;
        Ok(link(socket, data, Message::Binary))
    }
}

fn data(message: Message) -> Option<Bytes> {
    matches!(message, Message::Binary(_) | Message::Text(_)).then(|| message.into_data())
}

/// Whether the same request may succeed later, judged by the status.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

/// The innermost cause of the error, without the description of the request around it.
fn said(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Lost(why) => {
                Self::failed(why).hint("start `haft serve` there, and check the address and its port")
            }
            CallError::Refused { message, suggestion: Some(suggestion) } => {
                Self::failed(message).hint(suggestion)
            }
            CallError::Refused { message, suggestion: None } => Self::failed(message),
        }
    }
}

/// A session of a server.
pub(super) struct Route {
    pub(super) server: Arc<Server>,
    pub(super) id: String,
}

impl Dial for Route {
    fn address(&self) -> String {
        self.server.page_of(&self.id)
    }

    fn dial(&self) -> BoxFuture<'_, Result<Link, NotDialed>> {
        async {
            let opened = timeout(ANSWER_TIMEOUT, self.server.open_socket(&self.id)).await;
            match opened {
                Ok(Ok(link)) => Ok(link),
                Ok(Err(CallError::Lost(why))) => Err(NotDialed::Lost(why)),
                Ok(Err(CallError::Refused { message, suggestion })) => {
                    let hint = suggestion.map(|hint| format!(" ({hint})")).unwrap_or_default();
                    Err(NotDialed::Refused(message + &hint))
                }
                Err(_) => Err(NotDialed::Lost(format!("`{}` does not answer", self.server.base))),
            }
        }
        .boxed()
    }
}

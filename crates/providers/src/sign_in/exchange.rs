//! [`exchange`]: sends one request to a token server.
use crate::{http, json, reset::skew};
use haft_core::{Secrets, clip, secret};
use haft_http::{Reach, io_kind, says};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use std::{
    fs,
    io::ErrorKind,
    path::Path,
    time::{Duration, SystemTime},
};
use tokio::time::timeout;

/// Timeout of a token server, which answers within milliseconds if it exists.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of a response. A token has a few thousand.
const MAX_TOKEN_BYTES: usize = 1 << 20;
/// Maximum bytes of a server's message that are passed on.
const KEPT_WORDS: usize = 500;

/// Why no credential could be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// A server did not answer, or had an error: the token may be available later.
    #[error("{0}")]
    Unreachable(String),
    /// The token is refused until the user changes something.
    #[error("{0}")]
    Refused(String),
}

impl FetchError {
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }
}

/// The response of a server.
pub(super) struct Answered {
    address: String,
    status: u16,
    date: Option<SystemTime>,
    pub(super) text: String,
}

/// Reads the token in a file that its platform rewrites before the token expires. The token is registered as a secret,
/// so that no output shows it.
pub(super) fn read_token(path: &Path) -> Result<String, FetchError> {
    let token = fs::read_to_string(path);
    let token =
        token.map_err(|error| FetchError::refused(format!("cannot read `{}`: {error}", path.display())))?;
    secret::register(&token);
    Ok(token.trim().to_owned())
}

/// The text in the first element `name` of `text`, which is XML without attributes in that element.
pub(super) fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.split_once(&format!("<{name}>"))?.1;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

/// Posts `form` to `address`.
pub(super) async fn post_form(address: &str, form: &[(&str, &str)]) -> Result<Answered, FetchError> {
    let mut url = reqwest::Url::parse("http://form").expect("it is one");
    let body = url.query_pairs_mut().extend_pairs(form).finish().query().unwrap_or_default().to_owned();
    let client = http::client(Reach::of(address)).map_err(|error| FetchError::refused(error.to_string()))?;
    let request = client.post(address).header("content-type", "application/x-www-form-urlencoded");
    exchange(address, request.header("accept", "application/json").body(body)).await
}

/// Sends `request` to `address`.
pub(super) async fn exchange(address: &str, request: RequestBuilder) -> Result<Answered, FetchError> {
    let answered = async {
        let response = request.send().await.map_err(|error| failed(address, error))?;
        whole(address, response).await
    };
    timeout(EXCHANGE_TIMEOUT, answered)
        .await
        .unwrap_or_else(|_| Err(FetchError::Unreachable(format!("`{address}` did not answer within 10 s"))))
}

async fn whole(address: &str, mut response: Response) -> Result<Answered, FetchError> {
    let status = response.status().as_u16();
    let date = response.headers().get("date").and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(address, error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_TOKEN_BYTES {
            return Err(FetchError::refused(format!("`{address}` sent more than 1 MB in place of a token")));
        }
    }
    Ok(Answered {
        address: address.to_owned(),
        status,
        date,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

impl Answered {
    /// Returns a successful response; otherwise the server's message as an error.
    pub(super) fn accepted(self) -> Result<Self, FetchError> {
        if (200..=299).contains(&self.status) {
            return Ok(self);
        }
        let body = json::parse(&self.text).unwrap_or_default();
        let words = [&body["error_description"], &body["error"], &body["message"], &body["Message"]];
        let words = words.into_iter().map(json::text).find(|words| !words.is_empty());
        let words = words.or_else(|| element(&self.text, "Message")).unwrap_or_default();
        // Hidden before the message is clipped, since a part of a secret would not be found.
        let words = Secrets::default().hide(words.lines().next().unwrap_or_default());
        let skew = self.date.and_then(|date| skew(date, SystemTime::now()));
        let parts = [clip::head(&words, KEPT_WORDS).to_string(), skew.unwrap_or_default()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let colon = if parts.is_empty() { "" } else { ": " };
        let (address, status) = (self.address, self.status);
        let message = format!("`{address}` answered with HTTP {status}{colon}{}", parts.join("; "));
        Err(match status {
            408 | 429 | 500.. => FetchError::Unreachable(message),
            _ => FetchError::Refused(message),
        })
    }

    /// The body of a successful response.
    pub(super) fn json(self) -> Result<Value, FetchError> {
        let accepted = self.accepted()?;
        json::parse(&accepted.text).ok_or_else(|| {
            FetchError::refused(format!("`{}` answered with something that is not JSON", accepted.address))
        })
    }
}

fn failed(address: &str, error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    let what = match io_kind(&error) {
        Some(ErrorKind::ConnectionRefused) => "nothing listens there",
        _ if says(&error, "dns error") => "unknown host name",
        _ if says(&error, "certificate") => "its certificate is not trusted",
        _ if error.is_connect() => "no connection",
        _ => "the answer was cut off",
    };
    FetchError::Unreachable(format!("cannot ask `{address}`: {what}"))
}

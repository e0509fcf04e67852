//! [`Api`]: sends requests to Telegram, one per method, and parses the responses.
//!
//! Only `ok` and the necessary parts of a result are parsed, since servers that replace Telegram omit fields. The token
//! is part of each address, so no address is ever logged or shown.
use fnv::FnvHasher;
use haft_http::{CONNECT, Reach};
use reqwest::{
    Client, RequestBuilder, Response,
    multipart::{Form, Part},
};
use serde_json::{Value, json};
use std::{fmt, hash::Hasher, time::Duration};

/// Timeout of all requests except the one for updates.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long Telegram holds a request for updates while there are none.
const POLL_TIMEOUT: Duration = Duration::from_secs(25);
/// Maximum bytes of a response: a hundred updates have a few hundred kilobytes.
const MAX_ANSWER: usize = 16 << 20;
/// How long to wait if Telegram answers "too many requests" without a time.
const USUAL_WAIT: Duration = Duration::from_secs(3);

/// Maximum time of one wait, whatever Telegram asks for.
const MAX_WAIT: Duration = Duration::from_secs(3_600);
/// Prefix of the error for a response that does not come from the Bot API.
const NO_ANSWER: &str = "no answer of the Bot API";

/// The token of a bot. It is never printed.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// `None` if the text has characters that cannot be in a token, such as white space.
    pub fn new(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b":_-".contains(&byte);
        (!text.is_empty() && text.bytes().all(fits)).then(|| Self(text.to_owned()))
    }

    /// An ID of the bot that does not reveal the token: the number before the colon, otherwise a hash of the token.
    pub(super) fn bot(&self) -> String {
        match self.0.split_once(':') {
            Some((id, _)) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => id.to_owned(),
            _ => {
                let mut print = FnvHasher::default();
                print.write(self.0.as_bytes());
                format!("{:016x}", print.finish())
            }
        }
    }
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    /// No response arrived, or the server failed: a retry may succeed.
    Unreachable(String),
    /// Retry only after this time.
    Wait(Duration),
    /// The chat has this ID from here on.
    Moved(i64),
    /// Telegram refuses the request.
    Refused {
        /// HTTP status code.
        code: u64,
        /// Telegram's description of the error.
        description: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => f.write_str(why),
            Self::Wait(time) => write!(f, "too many requests, wait {} s", time.as_secs()),
            Self::Moved(to) => write!(f, "the chat is now {to}"),
            Self::Refused { code, description } => write!(f, "{description} ({code})"),
        }
    }
}

impl Refusal {
    /// Whether Telegram's description contains `words`, ignoring case.
    pub(super) fn says(&self, words: &str) -> bool {
        matches!(self, Self::Refused { description, .. } if description.to_lowercase().contains(words))
    }

    /// Whether Telegram itself refused, not a server in between.
    pub(super) fn is_of_telegram(&self) -> bool {
        !matches!(self, Self::Refused { description, .. } if description.starts_with(NO_ANSWER))
    }
}

/// A file to send.
pub(super) struct Upload<'a> {
    /// The name of the field: `photo`, `document`.
    pub(super) field: &'a str,
    pub(super) name: &'a str,
    pub(super) mime: &'a str,
    pub(super) bytes: &'a [u8],
}

/// A client for one bot.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    url: String,
    token: Token,
}

impl Api {
    /// `url`: the address before `/bot<TOKEN>/<METHOD>`.
    pub(super) fn new(url: &str, token: Token) -> Result<Self, String> {
        let parsed = reqwest::Url::parse(url).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
        let parsed = parsed.ok_or_else(|| "it begins with neither `http://` nor `https://`".to_owned())?;
        let client = Reach::of(parsed.as_str()).builder().build();
        let client = client.map_err(|error| error.without_url().to_string())?;
        Ok(Self { client, url: url.trim_end_matches('/').to_owned(), token })
    }

    /// Calls `method`, and returns its result.
    pub(super) async fn call(&self, method: &str, parameters: &Value) -> Result<Value, Refusal> {
        self.ask(self.json(method, parameters), REQUEST_TIMEOUT).await
    }

    /// Requests the updates from `offset` on; waits a while if there are none.
    pub(super) async fn updates(&self, offset: i64) -> Result<Vec<Value>, Refusal> {
        let parameters = json!({
            "offset": offset, "timeout": POLL_TIMEOUT.as_secs(), "limit": 100,
            "allowed_updates": ["message", "edited_message", "callback_query"],
        });
        match self.ask(self.json("getUpdates", &parameters), POLL_TIMEOUT + CONNECT).await? {
            Value::Array(updates) => Ok(updates),
            _ => Err(Refusal::Unreachable("the list of updates is none".into())),
        }
    }

    /// Calls a method with a file, and returns its result.
    pub(super) async fn send(&self, method: &str, chat: i64, file: Upload<'_>) -> Result<Value, Refusal> {
        let name: String =
            file.name.chars().map(|c| if c == '"' || c.is_control() { '_' } else { c }).collect();
        let part = Part::bytes(file.bytes.to_vec()).file_name(name).mime_str(file.mime);
        let part = part.map_err(|error| refused(400, &error.to_string()))?;
        // Telegram does not decode names.
        let form = Form::new().percent_encode_noop().text("chat_id", chat.to_string());
        let form = form.part(file.field.to_owned(), part);
        self.ask(self.client.post(self.address(method)).multipart(form), REQUEST_TIMEOUT * 5).await
    }

    /// Downloads a file by the path that `getFile` returned; at most `limit` bytes.
    pub(super) async fn file(&self, path: &str, limit: usize) -> Result<Vec<u8>, Refusal> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        if path.starts_with('/') || path.contains("..") || !path.bytes().all(fits) {
            return Err(refused(400, "its path is none that can be asked for"));
        }
        let request = self.client.get(format!("{}/file/bot{}/{path}", self.url, self.token.0)).send();
        let response = self.in_time(REQUEST_TIMEOUT, request).await?;
        match response.status().as_u16() {
            200 => self
                .in_time(REQUEST_TIMEOUT * 5, gather(response, limit))
                .await?
                .ok_or_else(|| refused(400, &format!("it has more than {} MB", limit >> 20))),
            code @ 500.. => Err(Refusal::Unreachable(format!("Telegram answers {code}"))),
            code => Err(refused(code.into(), "it cannot be had")),
        }
    }

    fn address(&self, method: &str) -> String {
        format!("{}/bot{}/{method}", self.url, self.token.0)
    }

    fn json(&self, method: &str, parameters: &Value) -> RequestBuilder {
        let request = self.client.post(self.address(method));
        request.header("content-type", "application/json").body(parameters.to_string())
    }

    async fn ask(&self, request: RequestBuilder, limit: Duration) -> Result<Value, Refusal> {
        let asked = async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            Ok((status, gather(response, MAX_ANSWER).await?))
        };
        let (status, body) = self.in_time(limit, asked).await?;
        result(status, &body.unwrap_or_default()).map_err(|refusal| self.cleaned(refusal))
    }

    async fn in_time<T>(
        &self,
        limit: Duration,
        asked: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Refusal> {
        match tokio::time::timeout(limit, asked).await {
            Ok(answered) => answered.map_err(|error| self.cleaned(Refusal::Unreachable(told(error)))),
            Err(_) => Err(Refusal::Unreachable("no answer in time".into())),
        }
    }

    /// Removes the token from an error: a server in place of Telegram may repeat the address.
    fn cleaned(&self, refusal: Refusal) -> Refusal {
        let clean = |text: String| text.replace(&self.token.0, "…");
        match refusal {
            Refusal::Unreachable(why) => Refusal::Unreachable(clean(why)),
            Refusal::Refused { code, description } => {
                Refusal::Refused { code, description: clean(description) }
            }
            other @ (Refusal::Wait(_) | Refusal::Moved(_)) => other,
        }
    }
}

fn refused(code: u64, description: &str) -> Refusal {
    Refusal::Refused { code, description: description.to_owned() }
}

/// Parses a response, whatever its status.
fn result(status: u16, body: &[u8]) -> Result<Value, Refusal> {
    let Ok(Value::Object(mut answer)) = serde_json::from_slice(body) else {
        return Err(no_answer(status, body.len()));
    };
    if answer.get("ok") == Some(&Value::Bool(true)) {
        return Ok(answer.remove("result").unwrap_or_default());
    }
    let code = answer.get("error_code").and_then(Value::as_u64).unwrap_or(status.into());
    let description = answer.get("description").and_then(Value::as_str).unwrap_or("no reason is given");
    let more = |name: &str| answer.get("parameters").and_then(|more| more.get(name));
    if let Some(to) = more("migrate_to_chat_id").and_then(Value::as_i64) {
        return Err(Refusal::Moved(to));
    }
    let wait = more("retry_after").and_then(Value::as_u64);
    match (code, wait) {
        (_, Some(seconds)) => Err(Refusal::Wait(Duration::from_secs(seconds).min(MAX_WAIT))),
        (429, None) => Err(Refusal::Wait(USUAL_WAIT)),
        (500.., None) => Err(Refusal::Unreachable(format!("Telegram answers {code}: {description}"))),
        (_, None) => Err(refused(code, description)),
    }
}

/// The error if another server answered. A retry does not help if it blames the request.
fn no_answer(status: u16, bytes: usize) -> Refusal {
    let why = format!("{NO_ANSWER}, but {status} and {bytes} bytes");
    match status {
        408 => Refusal::Unreachable(why),
        429 => Refusal::Wait(USUAL_WAIT),
        400..500 => refused(status.into(), &why),
        _ => Refusal::Unreachable(why),
    }
}

/// Reads the body; `None` if it is longer than `limit` bytes.
async fn gather(mut response: Response, limit: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut gathered = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        gathered.extend_from_slice(&chunk);
        if gathered.len() > limit {
            return Ok(None);
        }
    }
    Ok(Some(gathered))
}

fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    let last = causes.last().map(ToString::to_string);
    match error.is_connect() {
        true => format!("no connection: {}", last.unwrap_or_default()),
        false => last.unwrap_or_else(|| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_by_what_it_says_not_by_its_status() {
        let refused = |code, text: &str| Err(refused(code, text));
        let table = [
            (200, r#"{"ok":true,"result":{"id":1}}"#, Ok(json!({"id": 1}))),
            (200, r#"{"ok":true}"#, Ok(Value::Null)),
            (500, r#"{"ok":true,"result":null}"#, Ok(Value::Null)),
            (400, r#"{"ok":false,"error_code":400,"description":"no"}"#, refused(400, "no")),
            (401, r#"{"ok":false}"#, refused(401, "no reason is given")),
            (
                429,
                r#"{"ok":false,"parameters":{"retry_after":7}}"#,
                Err(Refusal::Wait(Duration::from_secs(7))),
            ),
            (429, r#"{"ok":false}"#, Err(Refusal::Wait(USUAL_WAIT))),
            (
                429,
                r#"{"ok":false,"parameters":{"retry_after":18446744073709551615}}"#,
                Err(Refusal::Wait(MAX_WAIT)),
            ),
            (
                400,
                r#"{"ok":false,"error_code":400,"parameters":{"migrate_to_chat_id":-7}}"#,
                Err(Refusal::Moved(-7)),
            ),
            (413, "<html>", refused(413, "no answer of the Bot API, but 413 and 6 bytes")),
            (429, "<html>", Err(Refusal::Wait(USUAL_WAIT))),
            (
                502,
                "<html>",
                Err(Refusal::Unreachable("no answer of the Bot API, but 502 and 6 bytes".into())),
            ),
            (
                500,
                r#"{"ok":false,"description":"x"}"#,
                Err(Refusal::Unreachable("Telegram answers 500: x".into())),
            ),
        ];
        for (status, body, expected) in table {
            assert_eq!(result(status, body.as_bytes()), expected, "{status} {body}");
        }
    }

    // A token in a message would end up in logs and terminals.
    #[tokio::test]
    async fn no_error_tells_the_token() {
        let token = "12345:very-secret_token";
        assert!(!format!("{:?}", Token::new(token)).contains("secret"));
        assert_eq!(Token::new(token).unwrap().bot(), "12345");
        assert!(!Token::new("sampleToken").unwrap().bot().contains("sample"));
        assert!(Token::new("a b").is_none() && Token::new("").is_none());
        let api = Api::new("http://127.0.0.1:1", Token::new(token).unwrap()).unwrap();
        let told = api.call("getMe", &json!({})).await.unwrap_err();
        assert!(matches!(&told, Refusal::Unreachable(why) if !why.contains("secret")), "{told}");
        let echoed = api.cleaned(super::refused(404, "there is no /bot12345:very-secret_token/x"));
        assert_eq!(echoed, super::refused(404, "there is no /bot…/x"));
        let asked = api.file("../etc/passwd", 9).await.unwrap_err();
        assert!(asked.says("path"), "{asked}");
    }
}

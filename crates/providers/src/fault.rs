//! [`Complaint`]: responses that are not a reply, sorted by who can act on them.
use crate::{
    endpoint::Endpoint,
    json,
    reset::{self, skew},
};
use haft_core::{ProviderError, TimedOut, UnreadableReply, clip};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Maximum bytes of a vendor's message that are passed on.
const KEPT_WORDS: usize = 1_000;

/// Phrases of vendors for a conversation that is too long, in lower case. Collected from their documentation and from
/// recorded responses, 2026-11.
const TOO_LONG_WORDS: &[&str] = &[
    "context_length_exceeded",              // OpenAI, Groq, vLLM (code)
    "exceed_context_size",                  // llama.cpp (type)
    "available context size",               // llama.cpp
    "context size has been exceeded",       // LM Studio, older llama.cpp
    "context the overflows",                // LM Studio, its spelling
    "maximum context length",               // OpenAI, DeepSeek, OpenRouter, Mistral, vLLM
    "maximum model length",                 // vLLM
    "maximum prompt length",                // xAI
    "prompt is too long",                   // Anthropic
    "input is too long",                    // Bedrock behind proxies
    "exceed context limit",                 // Anthropic, input and max_tokens together
    "exceeded model token limit",           // Moonshot
    "exceeds the maximum number of tokens", // Gemini
    "exceeds the context length",           // Ollama
    "exceeded max context length",          // Ollama, newer
    "contextwindowexceeded",                // LiteLLM
    "greater than max_seq_len",             // TabbyAPI
    "`max_new_tokens` must be <=",          // TGI
    "max sequence length",                  // TensorRT-LLM, MLX
    "longer than the model's context",      // vLLM
    "context window",                       // OpenAI, newer models
    "reduce the length of the messages",    // Groq
    "request_too_large",                    // Anthropic, by bytes
];

/// Phrases of vendors for an overload, in lower case.
const OVERLOAD_WORDS: &[&str] =
    &["overloaded", "rate_limit", "rate limit", "too many requests", "capacity", "unavailable", "busy"];

/// Phrases for accounts without credit: waiting does not help.
const BILLING_WORDS: &[&str] =
    &["insufficient_quota", "insufficient balance", "credit balance is too low", "insufficient credits"];

/// Codes of plans whose quota is used up until it is reset: a retry before that does not help. Codex and ChatGPT plans,
/// 2026-11.
const QUOTA_WORDS: &[&str] = &["usage_limit_reached", "usage_not_included"];

/// Error codes for prompts that a filter stopped: Azure OpenAI ("Content filtering", 2026-11), and OpenAI.
const REFUSAL_CODES: &[&str] = &["content_filter", "content_policy_violation"];

/// Phrases for a call of the model that its vendor could not parse; a retry may give another call. Groq, Gemini's
/// finish reasons, and Ollama.
const UNREADABLE_WORDS: &[&str] = &[
    "tool_use_failed",
    "malformed_function_call",
    "unexpected_tool_call",
    "malformed_response",
    "error parsing tool call",
    "xml syntax error",
];

/// Phrases of servers that do not support tool calls, in lower case: Ollama, vLLM and llama.cpp, 2026-11.
const NO_TOOLS_WORDS: &[&str] = &["does not support tools", "--enable-auto-tool-choice", "requires --jinja"];

/// Phrases of local servers that cannot load a model, in lower case: Ollama, 2026-11.
const NO_MEMORY_WORDS: &[&str] = &["requires more system memory", "cudamalloc failed: out of memory"];

/// Phrases for a conversation that a model's chat template does not accept, in lower case: those of the templates, and
/// of llama.cpp's template parser, 2026-11.
const TEMPLATE_WORDS: &[&str] = &[
    "conversation roles must alternate",
    "system role not supported",
    "value is not callable",
    "error rendering prompt with jinja template",
];

/// Phrases of vendors in a 403 for a wrong key, token or signature, in lower case. Any other 403 refuses the model or
/// the request.
const KEY_WORDS: &[&str] =
    &["api key", "api_key", "api-key", "token", "credential", "signature", "authentication"];

/// An error in the vendor's words, from a body or from the middle of a stream.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Complaint {
    /// HTTP status, or 0.
    pub status: u16,
    /// `code` and `type` of the error, in lower case.
    pub code: String,
    /// The vendor's message.
    pub message: String,
    /// The delay that the vendor asked for.
    pub retry_after: Option<Duration>,
    /// Whether a daily quota is used up.
    pub is_daily: bool,
    /// Whether the server says that a retry does not help.
    pub is_final: bool,
}

impl Complaint {
    /// Reads the error in `value`, in any of the usual forms: `{"error":{"message","type","code"}}`,
    /// `{"error":"text"}`, `{"object":"error","message"}`, `{"type":"error","error":{…}}`. `{"detail":…}` is not an
    /// error, since a good reply may contain it.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let error = match &value["error"] {
            Value::Object(error) if !error.is_empty() => &value["error"],
            Value::String(error) if !error.is_empty() => return Some(Self::said(error.clone(), value)),
            _ if value["object"] == "error" || value["type"] == "error" => value,
            _ => return None,
        };
        Some(Self::said(message_in(error).unwrap_or_else(|| error.to_string()), error))
    }

    /// Reads the error from the body of an HTTP response without success.
    pub(crate) fn of_body(status: u16, body: &str, retry_after: Option<Duration>) -> Self {
        let value = json::parse(body).unwrap_or_default();
        // Gemini's OpenAI-compatible endpoint wraps the object in an array.
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
        let read = Self::read(value).or_else(|| Some(Self::said(message_in(value)?, value)));
        let plain = || Self { message: plain_words(status, body), ..Self::default() };
        let read = read.unwrap_or_else(plain);
        Self { status, retry_after: retry_after.or(read.retry_after), ..read }
    }

    fn said(message: String, error: &Value) -> Self {
        let code = format!("{} {}", json::text(&error["code"]), json::text(&error["type"])).to_lowercase();
        let status = ["code", "status_code", "status"].iter().find_map(|field| json::count(&error[field]));
        let status = status.and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
        let (retry_after, is_daily) = (reset::in_body(error, SystemTime::now()), reset::is_daily(error));
        Self { status, code, message, retry_after, is_daily, is_final: false }
    }

    /// Sorts the error by what can be done about it.
    pub(crate) fn sort(self, endpoint: &Endpoint) -> ProviderError {
        let kind = self.kind();
        let words = self.words(endpoint);
        let provider = endpoint.title.clone();
        match kind {
            Kind::Auth => ProviderError::Auth { provider, message: words, hint: Some(key_hint(endpoint)) },
            Kind::Denied => ProviderError::Denied { provider, message: words, hint: access_hint(endpoint) },
            Kind::Busy => ProviderError::Busy {
                provider,
                message: words,
                retry_after: self.retry_after,
                is_rate_limited: self.is_rate_limited(),
            },
            Kind::Exhausted => ProviderError::Exhausted {
                provider,
                message: words,
                hint: Some(Hint::Pay.text(endpoint)),
                retry_after: self.retry_after,
            },
            Kind::Internal => ProviderError::Internal {
                provider,
                message: words,
                retry_after: self.retry_after,
                source: None,
            },
            Kind::Unreadable => ProviderError::Internal {
                provider,
                message: words,
                retry_after: None,
                source: Some(UnreadableReply.into()),
            },
            Kind::TimedOut => {
                ProviderError::Connection { provider, message: words, source: Some(TimedOut.into()) }
            }
            Kind::Refused => ProviderError::Refused { provider, message: words },
            Kind::TooLong => ProviderError::ContextTooLong { message: words },
            Kind::Rejected(hint) => ProviderError::Rejected {
                provider,
                message: words,
                hint: hint.map(|hint| hint.text(endpoint)),
            },
        }
    }

    fn kind(&self) -> Kind {
        let said = format!("{} {}", self.code, self.message).to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
        let is_used_up = self.is_daily || self.status == 429 && self.is_final;
        if is_used_up || self.status == 402 || says(BILLING_WORDS) || says(QUOTA_WORDS) {
            return Kind::Exhausted;
        }
        if !matches!(self.status, 401 | 403 | 429) && (self.status == 413 || says(TOO_LONG_WORDS)) {
            return Kind::TooLong;
        }
        if matches!(self.status, 0 | 400) && REFUSAL_CODES.iter().any(|code| self.code.contains(code)) {
            return Kind::Refused;
        }
        if says(UNREADABLE_WORDS) {
            return Kind::Unreadable;
        }
        match self.status {
            401 => Kind::Auth,
            403 if says(KEY_WORDS) => Kind::Auth,
            403 => Kind::Denied,
            // Gemini's OpenAI-compatible endpoint answers 400 to a wrong key.
            400 if says(&["api key not valid", "api_key_invalid"]) => Kind::Auth,
            400..=422 | 500 if says(NO_TOOLS_WORDS) => Kind::Rejected(Some(Hint::CallsAsText)),
            400..=422 | 500 if says(TEMPLATE_WORDS) => Kind::Rejected(Some(Hint::Template)),
            500 if says(NO_MEMORY_WORDS) => Kind::Rejected(Some(Hint::Memory)),
            // LM Studio answers 200 to an unknown path.
            0 if says(&["unexpected endpoint or method"]) => Kind::Rejected(Some(Hint::Model)),
            404 => Kind::Rejected(Some(Hint::Model)),
            408 | 409 | 425 | 429 | 503 | 529 => Kind::Busy,
            // The model behind the server failed: Bedrock reports this before and in a stream, and asks to retry.
            424 => Kind::Internal,
            // A gateway timed out; 524 is Cloudflare's. The request behind it may have been charged.
            504 | 524 => Kind::TimedOut,
            400..=499 => Kind::Rejected(None),
            // An error in the middle of a stream has no status, only a code.
            0 if says(&["authentication_error", "invalid_api_key"]) => Kind::Auth,
            0 if says(&["permission_error"]) => Kind::Denied,
            0 if says(&["invalid_request", "not_found_error"]) => Kind::Rejected(None),
            _ if says(OVERLOAD_WORDS) => Kind::Busy,
            _ => Kind::Internal,
        }
    }

    fn is_rate_limited(&self) -> bool {
        self.status == 429 || self.code.contains("rate_limit")
    }

    fn words(&self, endpoint: &Endpoint) -> String {
        let status = match self.status {
            0 => String::new(),
            status => format!(" (HTTP {status})"),
        };
        // Hidden before the message is clipped, so that no part of a key is left.
        let words = endpoint.hide_key(self.message.trim().to_owned());
        format!("{}{status}", clip::head(&words, KEPT_WORDS))
    }
}

enum Kind {
    Auth,
    Denied,
    Busy,
    Internal,
    Unreadable,
    TimedOut,
    TooLong,
    Refused,
    Exhausted,
    Rejected(Option<Hint>),
}

enum Hint {
    Model,
    Pay,
    CallsAsText,
    Template,
    Memory,
}

impl Hint {
    fn text(self, endpoint: &Endpoint) -> String {
        match self {
            Self::Model => {
                let address = endpoint.address();
                // Most local servers do, and their documentation gives the address without it.
                let below = match address.starts_with("http://") && !address.contains("/v1") {
                    true => "; if the server answers below `/v1`, `--base-url` has to end with that",
                    false => "",
                };
                format!(
                    "check the model name: `haft models list {}` lists the models of {}; the address is {address}{below}",
                    endpoint.name, endpoint.title
                )
            }
            Self::CallsAsText => {
                "start the server with tool calls, or let the model write its calls as text: `--dialect auto`"
                    .to_owned()
            }
            Self::Template => {
                "the model's chat template refuses the conversation: update the model or its template, take \
                 another model, or let the model write its calls as text: `--dialect auto`"
                    .to_owned()
            }
            Self::Memory => {
                "free some memory, or take a smaller model or a smaller quantization of it".to_owned()
            }
            Self::Pay => format!("the account at {} needs credit or a higher limit", endpoint.title),
        }
    }
}

/// Adds a hint about the clock of this machine, if that is why a signature was refused. `date` is that of the server.
pub(crate) fn with_clock(
    error: ProviderError,
    endpoint: &Endpoint,
    date: Option<SystemTime>,
) -> ProviderError {
    let is_signed = endpoint.signer.is_some();
    let skew = date.filter(|_| is_signed).and_then(|date| skew(date, SystemTime::now()));
    match (error, skew) {
        (ProviderError::Auth { provider, message, hint: _ }, Some(skew)) => {
            ProviderError::Auth { provider, message, hint: Some(skew) }
        }
        (error, _) => error,
    }
}

fn key_hint(endpoint: &Endpoint) -> String {
    if let Some(signer) = &endpoint.signer {
        return signer.hint();
    }
    if let Some(account) = &endpoint.account {
        let (title, name) = (&endpoint.title, &endpoint.name);
        return format!(
            "check the key of the account `{account}` for {title}: `haft login status` shows its source, and \
             `haft login {name} --account {account}` saves another one"
        );
    }
    match (&endpoint.key_variable, &endpoint.key) {
        (Some(variable), None) => format!(
            "set {variable} to a key of {}, or save one with `haft login {}`",
            endpoint.title, endpoint.name
        ),
        (Some(variable), Some(_)) => format!(
            "check that {variable} is a valid key of {}; `haft login status` shows the source of the key",
            endpoint.title
        ),
        (None, None) => format!(
            "the server at {} requires a key: set `key` in the table `[vendors.{}]` of your configuration \
             (`haft config path` prints the file)",
            endpoint.address(),
            endpoint.name
        ),
        (None, Some(_)) => format!("check that the key is one of the server at {}", endpoint.address()),
    }
}

fn access_hint(endpoint: &Endpoint) -> String {
    match &endpoint.signer {
        Some(signer) => signer.hint(),
        None => format!(
            "check at {} that your account may use this model from where you are, or name another model with `--model`",
            endpoint.title
        ),
    }
}

/// The error for a redirect. It is not followed, because the key must not reach another origin.
pub(crate) fn redirected(endpoint: &Endpoint, status: u16, target: Option<&str>) -> ProviderError {
    let target = clip::head(target.unwrap_or("an unknown address"), 200);
    ProviderError::Rejected {
        provider: endpoint.title.clone(),
        message: endpoint
            .hide_key(format!("{} redirects to {target} (HTTP {status}); not followed", endpoint.address())),
        hint: Some("if that address is correct, set it as the base URL".into()),
    }
}

/// The delay that the server asked for: `retry-after-ms`, otherwise `retry-after` in seconds or as an HTTP date.
pub(crate) fn retry_after(
    milliseconds: Option<&str>,
    seconds: Option<&str>,
    now: SystemTime,
) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    if let Some(milliseconds) = milliseconds.and_then(number) {
        return Duration::try_from_secs_f64(milliseconds / 1_000.0).ok();
    }
    let seconds = seconds?;
    match number(seconds) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => {
            let date = httpdate::parse_http_date(seconds.trim()).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

fn message_in(error: &Value) -> Option<String> {
    let found = ["message", "error", "detail", "msg"].iter().map(|field| &error[field]);
    let found = found.map(|value| match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => value.to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    });
    found.into_iter().find(|text| !text.is_empty())
}

/// The message of a body that is not JSON. For a web page, the status is used instead, which says more.
fn plain_words(status: u16, body: &str) -> String {
    let body = body.trim();
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    match body.is_empty() || body.starts_with('<') {
        true => reason.unwrap_or("no reason given").to_owned(),
        false => body.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connection, Key, vendor};

    fn endpoint() -> Endpoint {
        let settings = Connection { key: Some(Key::new("sk-secret")), ..Connection::default() };
        Endpoint::new(vendor("openai").unwrap(), &settings)
    }

    fn kind(error: &ProviderError) -> &'static str {
        match error {
            ProviderError::Auth { .. } => "auth",
            ProviderError::SignIn { .. } => "sign-in",
            ProviderError::Denied { .. } => "denied",
            ProviderError::Busy { .. } => "busy",
            ProviderError::Exhausted { .. } => "exhausted",
            ProviderError::Internal { .. } => "internal",
            ProviderError::NotRunning { .. } => "not running",
            ProviderError::Untrusted { .. } => "untrusted",
            ProviderError::ContextTooLong { .. } => "context",
            ProviderError::NoAnswer { .. } => "no answer",
            ProviderError::Rejected { .. } => "rejected",
            ProviderError::Refused { .. } => "refused",
            ProviderError::Connection { .. } => "connection",
        }
    }

    #[test]
    fn errors_inside_a_stream_have_codes_only() {
        let table = [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "busy"),
            (r#"{"error":{"message":"Provider returned error","code":502}}"#, "internal"),
            (r#"{"error":{"type":"invalid_request_error","message":"bad"}}"#, "rejected"),
            (r#"{"error":{"type":"authentication_error","message":"bad"}}"#, "auth"),
            (
                r#"{"error":{"code":"tool_use_failed","type":"invalid_request_error","status_code":400}}"#,
                "internal",
            ),
        ];
        for (event, expected) in table {
            let complaint = Complaint::read(&json::parse(event).unwrap()).unwrap();
            assert_eq!(kind(&complaint.sort(&endpoint())), expected, "{event}");
        }
        for good in [r#"{"error":null}"#, r#"{"error":{}}"#, r#"{"choices":[]}"#] {
            assert_eq!(Complaint::read(&json::parse(good).unwrap()), None);
        }
    }

    // A38, A39
    #[test]
    fn servers_say_in_three_ways_how_long_to_wait() {
        let now = SystemTime::UNIX_EPOCH;
        let table = [
            (None, Some("4"), Some(4_000)),
            (None, Some("0.5"), Some(500)),
            (Some("250"), Some("4"), Some(250)),
            (None, Some("Thu, 01 Jan 1970 00:00:07 GMT"), Some(7_000)),
            (None, Some("soon"), None),
            (None, Some("-3"), None),
            (None, None, None),
        ];
        for (milliseconds, seconds, expected) in table {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(retry_after(milliseconds, seconds, now), expected, "{seconds:?}");
        }
    }

    // A46, A51
    #[test]
    fn a_message_is_short_and_says_what_to_do() {
        let long = format!(r#"{{"error":{{"message":"{}sk-secret"}}}}"#, "x".repeat(995));
        let error = Complaint::of_body(401, &long, None).sort(&endpoint());
        let shown = error.to_string();
        assert!(shown.len() < 1_100 && !shown.contains("sk-s"), "{shown}");
        assert_eq!(
            error.hint(),
            Some(
                "check that OPENAI_API_KEY is a valid key of OpenAI; `haft login status` shows the source of the key"
            )
        );
    }
}

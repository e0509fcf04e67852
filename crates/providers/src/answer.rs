//! [`Answer`]: the response of a server before its body is parsed.
use bytes::Bytes;
use futures::stream::BoxStream;
use haft_core::ProviderError;
use std::time::{Duration, SystemTime};

/// A response whose headers have arrived.
pub(crate) struct Answer {
    pub status: u16,
    /// Media type without its parameters, in lower case; empty if there is none.
    pub media_type: String,
    pub retry_after: Option<Duration>,
    /// Whether the server says that a retry does not help (`x-should-retry` of Anthropic and OpenAI).
    pub is_final: bool,
    pub location: Option<String>,
    /// The time of the server's clock.
    pub date: Option<SystemTime>,
    /// The decompressed body.
    pub bytes: BoxStream<'static, Result<Bytes, ProviderError>>,
}

//! What a server answers, before anyone has looked at the body.
use bytes::Bytes;
use futures::stream::BoxStream;
use haft_core::ProviderError;
use std::time::{Duration, SystemTime};

/// An answer whose headers have come.
pub(crate) struct Answer {
    pub status: u16,
    /// Media type without its parameters, in lower case; empty if there is none.
    pub media_type: String,
    pub retry_after: Option<Duration>,
    /// Whether the server says that asking again does not help (`x-should-retry` of Anthropic and OpenAI).
    pub is_final: bool,
    pub location: Option<String>,
    /// What the clock of the server says.
    pub date: Option<SystemTime>,
    /// The body, inflated.
    pub bytes: BoxStream<'static, Result<Bytes, ProviderError>>,
}

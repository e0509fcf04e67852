//! [`Line`]: the format of a cassette: what a server sent, byte for byte and with its timing.
//!
//! JSON Lines. An exchange begins with `{"exchange":0,"wire","status","media_type","retry_after_ms","request"}`;
//! then `{"exchange":0,"at_ms","text"}` for each chunk, or `"base64"` in place of `"text"`.
//! The key is in none of them.
use crate::Wire;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line of a cassette.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    Begin(Begin),
    Chunk(Chunk),
}

/// The beginning of an exchange.
#[derive(Serialize, Deserialize)]
pub(crate) struct Begin {
    pub(crate) exchange: usize,
    pub(crate) wire: Wire,
    pub(crate) status: u16,
    pub(crate) media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) request: Value,
}

/// A chunk of the response, as it arrived.
#[derive(Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub(crate) exchange: usize,
    pub(crate) at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base64: Option<String>,
}

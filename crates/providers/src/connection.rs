//! [`Connection`]: the parameters to reach a vendor, as data.
use crate::{CacheTtl, Effort, Key, Record, Timeouts, Variables};
use std::sync::Arc;

/// The parameters to reach a vendor.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Replaces the vendor's own address.
    pub base_url: Option<String>,
    /// The API key; `None` for servers that need none.
    pub key: Option<Key>,
    /// The name of the account to which the key belongs, if the user has several.
    pub account: Option<String>,
    /// Variables for the address of a cloud, and for signing in to it without a key.
    pub variables: Variables,
    /// Whether the reply is streamed.
    pub stream: bool,
    /// Replaces the vendor's default timeouts.
    pub timeouts: Option<Timeouts>,
    /// The reasoning effort, for models that accept one.
    pub effort: Option<Effort>,
    /// How long the vendor keeps the conversation in its cache, if it must be asked to.
    pub cache_ttl: CacheTtl,
    /// Records what the server sends.
    pub record: Option<Arc<Record>>,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            base_url: None,
            key: None,
            account: None,
            variables: Variables::default(),
            stream: true,
            timeouts: None,
            effort: None,
            cache_ttl: CacheTtl::default(),
            record: None,
        }
    }
}

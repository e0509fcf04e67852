//! How to reach a vendor, as data.
use crate::{CacheTtl, Effort, Key, Record, Timeouts, Variables};
use std::sync::Arc;

/// How to reach a vendor.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Replaces the vendor's own address.
    pub base_url: Option<String>,
    /// `None` for servers that want none.
    pub key: Option<Key>,
    /// The name of the account that the key belongs to, for a user who has several.
    pub account: Option<String>,
    /// What the address of a cloud is made of, and how it is signed in to where there is no key.
    pub variables: Variables,
    /// Whether the reply comes piece by piece.
    pub stream: bool,
    /// In place of the vendor's own.
    pub timeouts: Option<Timeouts>,
    /// How hard its models think, where they take that.
    pub effort: Option<Effort>,
    /// How long the vendor keeps the conversation in its cache, where it must be asked to.
    pub cache_ttl: CacheTtl,
    /// Writes down what the server sends.
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

//! [`Model`]: a model and the way to it.
use haft_core::{Price, Provider};
use std::sync::Arc;

/// Opens a model from `VENDOR/MODEL`; an error says why it cannot.
pub type Models = Arc<dyn Fn(&str) -> Result<Model, String> + Send + Sync>;

/// A model and the way to it.
#[derive(Clone)]
pub struct Model {
    /// As people write it: `VENDOR/MODEL`.
    pub spec: String,
    /// As the vendor spells it.
    pub name: String,
    /// Tokens that it takes in, request and reply together; `None` if unknown.
    pub window: Option<u64>,
    /// What it costs; `None` if unknown.
    pub price: Option<Price>,
    /// The provider that is asked.
    pub provider: Arc<dyn Provider>,
}

impl Model {
    /// One of which nothing more is known; `spec` is `VENDOR/MODEL`.
    pub fn plain(spec: &str, provider: Arc<dyn Provider>) -> Self {
        let name = spec.split_once('/').map_or(spec, |(_, name)| name).to_owned();
        Self { spec: spec.to_owned(), name, window: None, price: None, provider }
    }
}

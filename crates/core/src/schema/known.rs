//! Schemas that others refer to by their URI. Nothing is ever fetched.
use jsonschema::{Retrieve, Uri};
use serde_json::Value;
use std::{collections::HashMap, error::Error, sync::Arc};

/// Those that are known; every other reference is refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(pub(super) Arc<HashMap<String, Value>>);

impl Retrieve for Known {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let known = self.0.get(uri.as_str()).cloned();
        known.ok_or_else(|| format!("`{uri}` is not known, and schemas are not fetched").into())
    }
}

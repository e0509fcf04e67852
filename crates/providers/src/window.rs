//! [`served_window`]: asks a server for the context window that it gives a model.
use crate::{Connection, Vendor, endpoint::Endpoint, installed::read, models::above};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// Timeout of the response. If a busy server is slower, a usual window is assumed.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);
/// Timeout for a server that has to load the model first: otherwise the first request would wait that long.
const LOAD_TIMEOUT: Duration = Duration::from_secs(600);

/// Whether a server may be asked to load a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loading {
    /// Allowed: the model is used next, and would be loaded then anyway.
    Allowed,
    /// Avoided: only models that are loaded have a window.
    Avoided,
}

/// The window of `model` in tokens, with which the server was started; `None` if the server does not report it in time:
/// half a second, or ten minutes if Ollama has to load the model.
///
/// Sources: docs.vllm.ai (`max_model_len`), llama.cpp tools/server/README.md (`GET /props`), lmstudio.ai/docs
/// "REST API v0" (`GET /api/v0/models`), docs.ollama.com/api (`GET /api/ps`, `POST /api/generate`), 2026-11.
pub async fn served_window(
    vendor: &Vendor,
    connection: &Connection,
    model: &str,
    loading: Loading,
) -> Option<u64> {
    let endpoint = Endpoint::new(vendor, connection);
    let found = match running(&endpoint, vendor).await {
        Some(before) => loaded(&endpoint, before, model, loading).await,
        None => timeout(ANSWER_TIMEOUT, listed(&endpoint, model)).await.ok().flatten(),
    };
    found.filter(|window| *window > 0)
}

/// The models that Ollama has loaded; `None` for other servers.
async fn running(endpoint: &Endpoint, vendor: &Vendor) -> Option<Value> {
    if !vendor.quirks.lists_sizes {
        return None;
    }
    let list = timeout(ANSWER_TIMEOUT, document(&above(endpoint), "/api/ps")).await.ok()??;
    list["models"].is_array().then_some(list)
}

async fn listed(endpoint: &Endpoint, model: &str) -> Option<u64> {
    let above = above(endpoint);
    if let Some(window) = of_list(&document(endpoint, "/models").await?, model) {
        return Some(window);
    }
    let props = document(&above, "/props").await.unwrap_or_default();
    if let Some(window) = props["default_generation_settings"]["n_ctx"].as_u64() {
        return Some(window);
    }
    of_list(&document(&above, "/api/v0/models").await?, model)
}

/// The window in Ollama, which reports it for loaded models. Another model is loaded first, if that is allowed: its
/// window depends on the free memory.
async fn loaded(endpoint: &Endpoint, before: Value, model: &str, loading: Loading) -> Option<u64> {
    let is_loaded = before["models"].as_array()?.iter().any(|row| is_named(row, model));
    if is_loaded || loading == Loading::Avoided {
        return of_running(&before, model);
    }
    let above = above(endpoint);
    let load = read(&above, "/api/generate", Some(json!({"model": model, "stream": false})));
    timeout(LOAD_TIMEOUT, load).await.ok()?.ok()?;
    of_running(&timeout(ANSWER_TIMEOUT, document(&above, "/api/ps")).await.ok()??, model)
}

async fn document(endpoint: &Endpoint, path: &str) -> Option<Value> {
    read(endpoint, path, None).await.ok()
}

fn of_list(list: &Value, model: &str) -> Option<u64> {
    let row = list["data"].as_array()?.iter().find(|row| row["id"] == model)?;
    let names = ["loaded_context_length", "max_model_len", "context_length"];
    names.iter().find_map(|name| row[name].as_u64())
}

fn of_running(list: &Value, model: &str) -> Option<u64> {
    list["models"].as_array()?.iter().find(|row| is_named(row, model))?["context_length"].as_u64()
}

/// Ollama lists a model with its tag, which is `latest` if a request names none.
fn is_named(row: &Value, model: &str) -> bool {
    let name = row["name"].as_str().unwrap_or_default();
    name == model || name.strip_suffix(":latest") == Some(model)
}

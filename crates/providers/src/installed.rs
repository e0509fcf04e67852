//! [`best_model`]: finds the best model that a server on this machine has installed.
use crate::{Connection, Vendor, endpoint::Endpoint, http, json, models::above};
use haft_core::ProviderError;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// Timeout for a list of models. A server on this machine answers in milliseconds, and more slowly while it loads a
/// model.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of a list.
const MAX_LIST_BYTES: usize = 4 << 20;
/// Maximum number of models whose capabilities are requested, largest first.
const MAX_ASKED_MODELS: usize = 8;

/// A model that a server has installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The model's name on the server.
    pub name: String,
    /// Why this model was chosen, as the end of a sentence: `the largest of 3 that can call tools`.
    pub why: String,
}

/// The best model of a server on this machine: the largest one that can call tools if the server reports sizes
/// (Ollama), otherwise the newest. `None` if it has no chat model. Source: github.com/ollama/ollama docs/api.md,
/// 2026-11.
///
/// # Errors
///
/// If the server does not answer within ten seconds, or the response is not a list of models.
pub async fn best_model(
    vendor: &Vendor,
    connection: &Connection,
) -> Result<Option<Installed>, ProviderError> {
    let endpoint = Endpoint::new(vendor, connection);
    let asked = async {
        if vendor.quirks.lists_sizes
            && let Ok(list) = read(&above(&endpoint), "/api/tags", None).await
            && let Some(rows) = list["models"].as_array()
        {
            return Ok(largest(&endpoint, rows).await);
        }
        let list = read(&endpoint, "/models", None).await?;
        Ok(newest(list["data"].as_array().or(list.as_array()).map_or(&[], Vec::as_slice)))
    };
    timeout(ANSWER_TIMEOUT, asked)
        .await
        .unwrap_or_else(|_| Err(endpoint.broken("no list of models within 10 s")))
}

async fn largest(endpoint: &Endpoint, rows: &[Value]) -> Option<Installed> {
    let name = |row: &Value| row["model"].as_str().or(row["name"].as_str()).map(str::to_owned);
    let mut sized: Vec<(u64, String)> = rows
        .iter()
        .filter_map(|row| Some((row["size"].as_u64().unwrap_or_default(), name(row)?)))
        .filter(|(_, name)| !is_embedding(name))
        .collect();
    sized.sort_by(|(size, name), (other_size, other)| other_size.cmp(size).then_with(|| name.cmp(other)));
    let count = sized.len();
    let mut talks = None;
    for (_, name) in sized.into_iter().take(MAX_ASKED_MODELS) {
        let about = read(&above(endpoint), "/api/show", Some(json!({"model": name}))).await;
        let about = about.unwrap_or_default();
        let can = |what: &str| {
            let all = about["capabilities"].as_array();
            all.map(|all| all.iter().any(|capability| capability == what))
        };
        if can("tools") == Some(true) {
            return Some(Installed { name, why: among(count, "the largest", " that can call tools") });
        }
        if can("completion") != Some(false) {
            talks.get_or_insert(name);
        }
    }
    talks.map(|name| Installed { name, why: among(count, "the largest", "") })
}

fn newest(rows: &[Value]) -> Option<Installed> {
    let row =
        |row: &Value| Some((row["created"].as_u64().unwrap_or_default(), row["id"].as_str()?.to_owned()));
    let named: Vec<(u64, String)> =
        rows.iter().filter_map(row).filter(|(_, name)| !is_embedding(name)).collect();
    let count = named.len();
    // Among models of the same age, the first by name.
    let newest = named.into_iter().min_by_key(|(created, name)| (std::cmp::Reverse(*created), name.clone()));
    newest.map(|(_, name)| Installed { name, why: among(count, "the newest", "") })
}

fn among(count: usize, which: &str, that: &str) -> String {
    match count {
        1 => "the only one there".to_owned(),
        _ => format!("{which} of {count} there{that}"),
    }
}

fn is_embedding(name: &str) -> bool {
    name.to_lowercase().contains("embed")
}

/// The response of a server as JSON. With a `body`, the request is a POST.
pub(crate) async fn read(
    endpoint: &Endpoint,
    path: &str,
    body: Option<Value>,
) -> Result<Value, ProviderError> {
    let answer = match body {
        Some(body) => http::post(endpoint, path, body.to_string().into_bytes()).await?,
        None => http::get(endpoint, path).await?,
    };
    let (body, error) = http::gather(http::accept(endpoint, answer).await?.bytes, MAX_LIST_BYTES).await;
    if let Some(error) = error {
        return Err(error);
    }
    json::parse(&String::from_utf8_lossy(&body))
        .ok_or_else(|| endpoint.broken("the response is not a list of models"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_model_is_taken_and_the_first_of_those_that_are_alike() {
        let model = |id: &str, created: u64| json!({"id": id, "created": created});
        let table = [
            (vec![], None),
            (vec![model("nomic-embed-text", 9)], None),
            (vec![model("a", 1)], Some(("a", "the only one there"))),
            (vec![model("a", 1), model("b", 2)], Some(("b", "the newest of 2 there"))),
            (vec![json!({"id": "b"}), json!({"id": "a"})], Some(("a", "the newest of 2 there"))),
        ];
        for (rows, expected) in table {
            let found = newest(&rows);
            let found = found.as_ref().map(|found| (found.name.as_str(), found.why.as_str()));
            assert_eq!(found, expected, "{rows:?}");
        }
    }
}

//! [`list_models`]: the models that a vendor offers; [`is_listening`]: whether a local server is running.
use crate::{Connection, SignIn, Vendor, Wire, endpoint::Endpoint, http, json, quirks::Quirks};
use haft_core::ProviderError;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// Timeout for a list of names, which is short.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a connection to this machine, which takes a few milliseconds.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum bytes of a list. The longest known one (OpenRouter, 2026-11) has 600 kB.
const MAX_LIST_BYTES: usize = 8 << 20;

/// The names of the models that `vendor` offers, sorted.
pub async fn list_models(vendor: &Vendor, connection: &Connection) -> Result<Vec<String>, ProviderError> {
    let endpoint = Endpoint::new(vendor, connection);
    let listed = timeout(LIST_TIMEOUT, list(&endpoint)).await;
    listed.unwrap_or_else(|_| Err(endpoint.broken("no list of models within 10 s")))
}

/// Checks whether the vendor accepts the key of `connection`: requests the list of models, which costs nothing, or a
/// resource that only a valid key may read.
///
/// # Errors
///
/// [`ProviderError::Auth`] if the key was refused; any other error if that is unknown.
pub async fn check_key(vendor: &Vendor, connection: &Connection) -> Result<(), ProviderError> {
    let endpoint = Endpoint::new(vendor, connection);
    let asked = async {
        match &vendor.key_path {
            Some(path) => http::accept(&endpoint, http::get(&endpoint, path).await?).await.map(|_| ()),
            None => list(&endpoint).await.map(|_| ()),
        }
    };
    timeout(LIST_TIMEOUT, asked).await.unwrap_or_else(|_| Err(endpoint.broken("no answer within 10 s")))
}

/// The endpoint with the version removed from its address.
pub(crate) fn above(endpoint: &Endpoint) -> Endpoint {
    let base_url = endpoint.base_url.trim_end_matches("/v1").to_owned();
    Endpoint { base_url, ..endpoint.clone() }
}

/// Whether a server that can list its models answers at `base_url` within 200 ms.
pub async fn is_listening(base_url: &str) -> bool {
    let endpoint = Endpoint {
        name: String::new(),
        title: "the local server".into(),
        wire: Wire::OpenaiChat,
        base_url: base_url.trim_end_matches('/').to_owned(),
        key: None,
        key_variable: None,
        account: None,
        start: None,
        quirks: Quirks::NONE,
        sign_in: None,
        signer: None,
    };
    matches!(timeout(CONNECT_TIMEOUT, list(&endpoint)).await, Ok(Ok(_)))
}

async fn list(endpoint: &Endpoint) -> Result<Vec<String>, ProviderError> {
    let path = match endpoint.wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => "/models",
        Wire::Anthropic => "/models?limit=1000",
        Wire::Gemini => "/models?pageSize=1000",
        Wire::Converse => "/foundation-models",
    };
    let endpoint = &match endpoint.sign_in {
        Some(SignIn::Google) => of_publisher(endpoint),
        // Models are listed by another service of the same region.
        Some(SignIn::Aws) => {
            let base_url = endpoint.base_url.replacen("//bedrock-runtime.", "//bedrock.", 1);
            Endpoint { base_url, ..endpoint.clone() }
        }
        _ => endpoint.clone(),
    };
    let answer = http::accept(endpoint, http::get(endpoint, path).await?).await?;
    let (body, error) = http::gather(answer.bytes, MAX_LIST_BYTES).await;
    if let Some(error) = error {
        return Err(error);
    }
    names(&String::from_utf8_lossy(&body))
        .ok_or_else(|| endpoint.broken("the response is not a list of models"))
}

/// Google lists the models of a publisher for all projects together, in the beta version of its API.
fn of_publisher(endpoint: &Endpoint) -> Endpoint {
    let place = |mark: &str| endpoint.base_url.find(mark);
    let base_url = match (place("/v1/projects/"), place("/publishers/")) {
        (Some(root), Some(publisher)) => {
            format!("{}/v1beta1{}", &endpoint.base_url[..root], &endpoint.base_url[publisher..])
        }
        _ => endpoint.base_url.clone(),
    };
    Endpoint { base_url, ..endpoint.clone() }
}

/// Reads the names from `{"data":[{"id"}]}`; some servers omit the outer object. Gemini: `{"models":[{"name"}]}`, and
/// Vertex AI `publisherModels`, whose names begin with the publisher. Bedrock: `{"modelSummaries":[{"modelId"}]}`.
fn names(body: &str) -> Option<Vec<String>> {
    let body = json::parse(body)?;
    // The response of Ollama without models.
    if body["object"] == "list" && body["data"].is_null() {
        return Some(Vec::new());
    }
    let list = body["data"]
        .as_array()
        .or_else(|| body["models"].as_array())
        .or_else(|| body["publisherModels"].as_array())
        .or_else(|| body["modelSummaries"].as_array())
        .or_else(|| body.as_array())?;
    let name = |model: &Value| {
        let name =
            model["id"].as_str().or_else(|| model["modelId"].as_str()).or_else(|| model["name"].as_str())?;
        Some(without_prefix(name).to_owned())
    };
    let mut names: Vec<String> = list.iter().filter_map(name).collect();
    names.sort();
    Some(names)
}

/// The name without the prefix of Gemini's APIs. In other names, such as a path, `models/` stays.
fn without_prefix(name: &str) -> &str {
    let after_publisher = name.strip_prefix("publishers/").and_then(|rest| rest.split_once('/'));
    let rest = after_publisher.map_or(name, |(_, rest)| rest);
    rest.strip_prefix("models/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_models_come_in_many_shapes() {
        let table = [
            (r#"{"object":"list","data":[{"id":"b"},{"id":"models/a"},{}]}"#, Some(vec!["a", "b"])),
            (r#"[{"id":"a"}]"#, Some(vec!["a"])),
            (r#"{"models":[{"name":"models/a"}]}"#, Some(vec!["a"])),
            (r#"{"modelSummaries":[{"modelId":"a","modelName":"A"}]}"#, Some(vec!["a"])),
            (r#"{"publisherModels":[{"name":"publishers/google/models/a"}]}"#, Some(vec!["a"])),
            (r#"{"data":[{"id":"/srv/models/Qwen3"}]}"#, Some(vec!["/srv/models/Qwen3"])),
            (r#"{"object":"list","data":null}"#, Some(vec![])),
            ("<html>", None),
            ("{}", None),
        ];
        for (body, expected) in table {
            let expected = expected.map(|names| names.into_iter().map(str::to_owned).collect());
            assert_eq!(names(body), expected, "{body}");
        }
    }
}

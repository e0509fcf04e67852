//! Prompts and resources.
use rmcp::model::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A red dot.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No sound at all.
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA=";

pub(crate) fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn prompts() -> Vec<Prompt> {
    of(json!([
        {"name": "test_simple_prompt", "description": "Says one thing."},
        {"name": "test_prompt_with_arguments", "description": "Says what it is given.", "arguments": [
            {"name": "arg1", "description": "One thing.", "required": true},
            {"name": "arg2", "description": "Another.", "required": true},
        ]},
        {"name": "test_prompt_with_embedded_resource", "description": "Holds a resource.", "arguments": [
            {"name": "resourceUri", "description": "Which one.", "required": true},
        ]},
        {"name": "test_prompt_with_image", "description": "Holds a picture."},
    ]))
}

pub(crate) fn prompt(name: &str, arguments: &Map<String, Value>) -> Option<GetPromptResult> {
    let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let contents = match name {
        "test_simple_prompt" => vec![json!({"type": "text", "text": "This is a simple prompt for testing."})],
        "test_prompt_with_arguments" => {
            let text = format!("Prompt with arguments: arg1='{}', arg2='{}'", given("arg1"), given("arg2"));
            vec![json!({"type": "text", "text": text})]
        }
        "test_prompt_with_embedded_resource" => {
            let (uri, text) = (given("resourceUri"), "Embedded resource content for testing.");
            vec![
                json!({"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}}),
            ]
        }
        "test_prompt_with_image" => vec![json!({"type": "image", "data": PNG, "mimeType": "image/png"})],
        _ => return None,
    };
    let messages = contents.into_iter().map(|content| json!({"role": "user", "content": content}));
    Some(of(json!({"messages": messages.collect::<Vec<_>>()})))
}

pub(crate) fn resources() -> Vec<Resource> {
    of(json!([
        {"uri": "test://static-text", "name": "text", "description": "A text.", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "binary", "description": "A picture.", "mimeType": "image/png"},
        {"uri": "test://watched-resource", "name": "watched", "description": "Changes.", "mimeType": "text/plain"},
    ]))
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    of(json!([{"uriTemplate": "test://template/{id}/data", "name": "template", "description": "By its id.",
               "mimeType": "application/json"}]))
}

pub(crate) fn resource(uri: &str) -> Option<ResourceContents> {
    let text = |text: String, mime: &str| json!({"uri": uri, "mimeType": mime, "text": text});
    let contents = match uri {
        "test://static-text" => text("This is the content of the static text resource.".into(), "text/plain"),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        "test://watched-resource" => text("Nothing happened yet.".into(), "text/plain"),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            text(
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string(),
                "application/json",
            )
        }
    };
    Some(of(contents))
}

pub(crate) fn completion() -> CompleteResult {
    of(json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}))
}

//! Tools that answer with every kind of content, and talk back to the client while they run.
use crate::contents::{PNG, WAV, of};
use futures::future::BoxFuture;
use haft_mcp::server::{Client, Offer};
use rmcp::model::*;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

pub(crate) struct Fixture {
    name: &'static str,
    parameters: Value,
    does: Does,
}

enum Does {
    Say(Value),
    Fail,
    Log,
    Progress,
    Sample,
    Elicit(Value),
}

pub(crate) fn all() -> Vec<Fixture> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let embedded = |uri: &str, mime: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}});
    let mixed = json!([
        text("Multiple content types test:"),
        image,
        embedded("test://mixed-content-resource", "application/json", "{\"test\":\"data\",\"value\":123}"),
    ]);
    let resource =
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.");
    let sound = json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]);
    let tool = |name, does| Fixture { name, parameters: json!({"type": "object", "properties": {}}), does };
    let with = |name, parameter: &str, does| Fixture {
        name,
        parameters: json!({"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}),
        does,
    };
    let name = json!({"username": {"type": "string"}, "email": {"type": "string"}});
    vec![
        tool("test_simple_text", Does::Say(json!([text("This is a simple text response for testing.")]))),
        tool("test_image_content", Does::Say(json!([image]))),
        tool("test_audio_content", Does::Say(sound)),
        tool("test_embedded_resource", Does::Say(json!([resource]))),
        tool("test_multiple_content_types", Does::Say(mixed)),
        tool("test_error_handling", Does::Fail),
        tool("test_tool_with_logging", Does::Log),
        tool("test_tool_with_progress", Does::Progress),
        with("test_sampling", "prompt", Does::Sample),
        with("test_elicitation", "message", Does::Elicit(name)),
        tool("test_elicitation_sep1034_defaults", Does::Elicit(defaults())),
        tool("test_elicitation_sep1330_enums", Does::Elicit(enums())),
        Fixture {
            name: "json_schema_2020_12_tool",
            parameters: schema(),
            does: Does::Say(json!([text("fine")])),
        },
    ]
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn enums() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = json!([{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"},
                        {"const": "value3", "title": "Third"}]);
    json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"},
        }}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": false,
    })
}

impl Offer for Fixture {
    fn tool(&self) -> Tool {
        let Value::Object(parameters) = self.parameters.clone() else { panic!("a schema is an object") };
        Tool::new(self.name, format!("For tests: {}.", self.name), parameters)
    }

    fn call<'a>(&'a self, arguments: JsonObject, client: &'a Client) -> BoxFuture<'a, CallToolResult> {
        Box::pin(async move {
            let said = match &self.does {
                Does::Say(content) => return CallToolResult::success(of(content.clone())),
                Does::Fail => {
                    let text = "This tool intentionally returns an error for testing";
                    return CallToolResult::error(vec![ContentBlock::text(text)]);
                }
                Does::Log => log(client).await,
                Does::Progress => progress(client).await,
                Does::Sample => sample(&arguments, client).await,
                Does::Elicit(fields) => elicit(&arguments, fields, client).await,
            };
            CallToolResult::success(vec![ContentBlock::text(said)])
        })
    }
}

async fn log(client: &Client) -> String {
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let note = of(json!({"level": "info", "data": step}));
        client.context().peer.notify_logging_message(note).await.unwrap();
        sleep(Duration::from_millis(50)).await;
    }
    "logged".into()
}

async fn progress(client: &Client) -> String {
    for step in ["begun", "half way", "done"] {
        client.progress(step).await;
        sleep(Duration::from_millis(50)).await;
    }
    "done".into()
}

async fn sample(arguments: &JsonObject, client: &Client) -> String {
    let message = json!({"role": "user", "content": {"type": "text", "text": arguments["prompt"]}});
    let request = of(json!({"messages": [message], "maxTokens": 100}));
    let answer = client.context().peer.create_message(request).await;
    format!("LLM response: {answer:?}")
}

async fn elicit(arguments: &JsonObject, fields: &Value, client: &Client) -> String {
    let message = arguments.get("message").cloned().unwrap_or(json!("Please fill in."));
    let form = json!({"type": "object", "properties": fields, "required": []});
    let request = of(json!({"mode": "form", "message": message, "requestedSchema": form}));
    let answer = client.context().peer.create_elicitation(request).await;
    format!("User response: {answer:?}")
}

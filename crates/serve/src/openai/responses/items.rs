//! [`Items`]: collects the items of a response, and returns the events about them.
use crate::openai::teller::Told;
use serde_json::{Value, json};

/// The items so far. Text and thoughts go into one item until something else follows.
#[derive(Default)]
pub(super) struct Items {
    all: Vec<Value>,
    /// Index of the item that still grows.
    open: Option<usize>,
}

impl Items {
    /// All items.
    pub(super) fn all(&self) -> Vec<Value> {
        self.all.clone()
    }

    /// Adds a piece of the turn, and returns its events.
    pub(super) fn tell(&mut self, told: &Told) -> Vec<Value> {
        match told {
            Told::Text(text) => self.grow("message", text),
            Told::Thinking(text) => self.grow("reasoning", text),
            Told::Began { call, name, arguments } => {
                let mut events = self.end();
                let arguments = arguments.to_string();
                let item = json!({
                    "type": "mcp_call", "id": call, "server_label": "haft", "name": name, "arguments": arguments,
                    "output": null, "error": null, "status": "in_progress",
                });
                let index = self.add(item, &mut events);
                events.push(
                    json!({"type": "response.mcp_call.in_progress", "item_id": call, "output_index": index}),
                );
                events.push(json!({
                    "type": "response.mcp_call_arguments.done", "item_id": call, "output_index": index, "arguments": arguments,
                }));
                events
            }
            Told::Ended { call, result, .. } => {
                let mut events = self.end();
                let known =
                    self.all.iter().position(|item| item["type"] == "mcp_call" && item["id"] == call.0);
                let Some(index) = known else { return events };
                let item = &mut self.all[index];
                let status = if result.is_ok() { "completed" } else { "failed" };
                item["status"] = status.into();
                match result.is_ok() {
                    true => item["output"] = result.content.clone().into(),
                    false => item["error"] = failure(&result.content),
                }
                let done = item.clone();
                let kind = format!("response.mcp_call.{status}");
                events.push(json!({"type": kind, "item_id": call, "output_index": index}));
                events
                    .push(json!({"type": "response.output_item.done", "output_index": index, "item": done}));
                events
            }
        }
    }

    fn add(&mut self, item: Value, events: &mut Vec<Value>) -> usize {
        let index = self.all.len();
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
        self.all.push(item);
        index
    }

    fn grow(&mut self, kind: &str, text: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if self.open.is_none_or(|open| self.all[open]["type"] != kind) {
            events = self.end();
            self.begin(kind, &mut events);
        }
        let Some(index) = self.open else { return events };
        let item = &mut self.all[index];
        // A blank line separates replies, and each reply has its own item.
        let is_empty = item["content"][0]["text"].as_str().is_none_or(str::is_empty);
        let text = if is_empty { text.trim_start_matches('\n') } else { text };
        let so_far = item["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        item["content"][0]["text"] = (so_far + text).into();
        let word = if kind == "message" { "output_text" } else { "reasoning_text" };
        let mut delta = json!({
            "type": format!("response.{word}.delta"), "item_id": item["id"], "output_index": index, "content_index": 0, "delta": text,
        });
        if kind == "message" {
            delta["logprobs"] = json!([]);
        }
        events.push(delta);
        events
    }

    fn begin(&mut self, kind: &str, events: &mut Vec<Value>) {
        let index = self.all.len();
        let (id, part) = match kind {
            "message" => {
                (format!("msg_{index}"), json!({"type": "output_text", "text": "", "annotations": []}))
            }
            _ => (format!("rs_{index}"), json!({"type": "reasoning_text", "text": ""})),
        };
        let mut item = json!({"type": kind, "id": id, "status": "in_progress", "content": []});
        match kind {
            "message" => item["role"] = "assistant".into(),
            _ => item["summary"] = json!([]),
        }
        self.add(item, events);
        self.all[index]["content"] = json!([part]);
        self.open = Some(index);
        if kind == "message" {
            events.push(json!({
                "type": "response.content_part.added", "item_id": id, "output_index": index, "content_index": 0, "part": part,
            }));
        }
    }

    /// Completes the item that still grows.
    pub(super) fn end(&mut self) -> Vec<Value> {
        let Some(index) = self.open.take() else { return Vec::new() };
        let item = &mut self.all[index];
        item["status"] = "completed".into();
        let (id, part) = (item["id"].clone(), item["content"][0].clone());
        let place = |mut event: Value| {
            event["item_id"] = id.clone();
            event["output_index"] = index.into();
            event["content_index"] = 0.into();
            event
        };
        let mut events = Vec::new();
        match item["type"] == "message" {
            true => {
                let done = json!({"type": "response.output_text.done", "text": part["text"], "logprobs": []});
                events.push(place(done));
                events.push(place(json!({"type": "response.content_part.done", "part": part})));
            }
            false => {
                events.push(place(json!({"type": "response.reasoning_text.done", "text": part["text"]})))
            }
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        events
    }
}

/// The error of a call on an MCP server in the form that OpenAI's SDKs read (`McpToolCallError`, openai-python 3.54).
fn failure(content: &str) -> Value {
    json!({"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": content}]})
}

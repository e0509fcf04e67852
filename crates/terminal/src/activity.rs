//! Calls as an activity stream: `--output activity`, one `{"type", "data"}` a line, in the words of Code Ally's document.
use haft_core::{CallId, Event, Fact, Update};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The calls that run, by their names: output comes without one.
#[derive(Debug, Default)]
pub(crate) struct Activity(HashMap<CallId, String>);

impl Activity {
    /// Returns what the stream says of `event`; most events are not about calls.
    pub(crate) fn of(&mut self, event: &Event) -> Option<Value> {
        match event {
            Event::Live(Update::ToolOutput { call, chunk }) => {
                let name = self.0.get(call)?;
                Some(
                    json!({"type": "tool_output_chunk", "data": {"toolName": name, "call": call, "chunk": chunk}}),
                )
            }
            Event::Live(_) => None,
            Event::Recorded(entry) => self.of_fact(&entry.fact),
        }
    }

    fn of_fact(&mut self, fact: &Fact) -> Option<Value> {
        match fact {
            Fact::ToolStarted { call, name, arguments, .. } => {
                self.0.insert(call.clone(), name.clone());
                let data = json!({"toolName": name, "call": call, "arguments": arguments});
                Some(json!({"type": "tool_call_start", "data": data}))
            }
            Fact::ToolEnded { call, name, result, .. } => {
                self.0.remove(call);
                let (kind, data) = match &result.error {
                    None => {
                        let result = object(&result.content);
                        (
                            "tool_call_end",
                            json!({"toolName": name, "call": call, "success": true, "result": result}),
                        )
                    }
                    Some(error) => {
                        let data = json!({
                            "toolName": name, "call": call, "message": error.message,
                            "error_type": error.kind, "suggestion": error.suggestion,
                        });
                        ("error", data)
                    }
                };
                Some(json!({"type": kind, "data": data}))
            }
            _ => None,
        }
    }
}

/// What the model reads: as an object where a profile words results in JSON, else as text.
fn object(content: &str) -> Value {
    serde_json::from_str(content).ok().filter(Value::is_object).unwrap_or_else(|| content.into())
}

//! [`Activity`]: an event of a call in the format that Code Ally's document specifies, `{"type", "data"}`.
use crate::{CallId, Event, Fact, Part, ToolCall, ToolResult, Update};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// What kind of activity it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityType {
    /// A call begins: `toolName`, `call`, `arguments`.
    ToolCallStart,
    /// The call printed output: `toolName`, `call`, `chunk`.
    ToolOutputChunk,
    /// The call has ended: `toolName`, `call`, `success`, `result`. Each call that begins ends once.
    ToolCallEnd,
    /// The call failed: `toolName`, `call`, `message`, `error_type`, `suggestion`. Its end follows.
    Error,
}

/// An event of a running call. As JSON `{"type":…,"data":{…}}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activity {
    /// Which kind.
    #[serde(rename = "type")]
    pub kind: ActivityType,
    /// Fields of the event, as [`ActivityType`] names them.
    pub data: Value,
}

/// Folds events into activities.
#[derive(Debug, Default)]
pub struct Activities {
    /// Calls of the last reply, as the model wrote them.
    asked: HashMap<CallId, ToolCall>,
    /// Tool names of the running calls: updates with output do not contain them.
    running: HashMap<CallId, String>,
}

impl Activities {
    /// Returns the activities of `event`, in order; most events have none.
    pub fn of(&mut self, event: &Event) -> Vec<Activity> {
        match event {
            Event::Live(Update::ToolOutput { call, chunk }) => {
                let name = self.running.get(call);
                let data = |name| json!({"toolName": name, "call": call, "chunk": chunk});
                name.map(|name| activity(ActivityType::ToolOutputChunk, data(name))).into_iter().collect()
            }
            Event::Live(_) => Vec::new(),
            Event::Recorded(entry) => self.of_fact(&entry.fact),
        }
    }

    fn of_fact(&mut self, fact: &Fact) -> Vec<Activity> {
        match fact {
            Fact::Replied { parts, .. } => {
                let calls = parts.iter().filter_map(Part::as_call);
                self.asked = calls.map(|call| (call.id.clone(), call.clone())).collect();
                Vec::new()
            }
            Fact::Called { made } | Fact::GoalChecked { made } | Fact::AttemptsBegun { made } => {
                self.asked = [(made.id.clone(), made.clone())].into();
                Vec::new()
            }
            Fact::ToolStarted { call, name, arguments, .. } => {
                self.running.insert(call.clone(), name.clone());
                vec![self.start(call, name, arguments)]
            }
            Fact::ToolEnded { call, name, result, .. } => self.ended(call, name, result),
            _ => Vec::new(),
        }
    }

    fn start(&self, call: &CallId, name: &str, arguments: &Value) -> Activity {
        let arguments = self.asked.get(call).map_or(arguments, |asked| &asked.arguments);
        let data = json!({"toolName": name, "call": call, "arguments": arguments});
        activity(ActivityType::ToolCallStart, data)
    }

    /// Ends a call. A call that was refused also begins here.
    fn ended(&mut self, call: &CallId, name: &str, result: &ToolResult) -> Vec<Activity> {
        let mut all = Vec::new();
        if self.running.remove(call).is_none() {
            all.push(self.start(call, name, &Value::Null));
        }
        if let Some(error) = &result.error {
            let data = json!({
                "toolName": name, "call": call, "message": error.message,
                "error_type": error.kind, "suggestion": error.suggestion,
            });
            all.push(activity(ActivityType::Error, data));
        }
        let told = object(&result.content);
        let success = result.is_ok() && told.get("success") != Some(&Value::Bool(false));
        let data = json!({"toolName": name, "call": call, "success": success, "result": told});
        all.push(activity(ActivityType::ToolCallEnd, data));
        all
    }
}

fn activity(kind: ActivityType, data: Value) -> Activity {
    Activity { kind, data }
}

/// The content for the model: an object if the profile formats results as JSON, otherwise a text.
fn object(content: &str) -> Value {
    serde_json::from_str(content).ok().filter(Value::is_object).unwrap_or_else(|| content.into())
}

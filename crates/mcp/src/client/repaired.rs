//! [`Repaired`]: a connection on which an invalid entry in a response does not invalidate the rest.
//!
//! The SDK parses a response as a whole: one tool without a schema would lose all tools of its server, and one content
//! block of an unknown type would lose the whole result.
use haft_core::clip;
use rmcp::{
    model::{ContentBlock, JsonRpcMessage, Prompt, Resource, ResourceTemplate, ServerResult, Tool},
    service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Maximum bytes of an invalid content block that are shown.
const MAX_SHOWN_BLOCK_BYTES: usize = 1_000;

pub(super) struct Repaired<T>(pub(super) T);

impl<T: Transport<RoleClient>> Transport<RoleClient> for Repaired<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.0.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let mut message = self.0.receive().await?;
        if let JsonRpcMessage::Response(response) = &mut message
            && let ServerResult::CustomResult(unread) = &mut response.result
            && let Some(result) = repaired(&mut unread.0)
        {
            response.result = result;
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.0.close()
    }
}

/// The response without its invalid entries, if that makes it a valid result of MCP.
fn repaired(result: &mut Value) -> Option<ServerResult> {
    keep::<Tool>(result.get_mut("tools"), with_schema);
    keep::<Prompt>(result.get_mut("prompts"), |_| ());
    keep::<Resource>(result.get_mut("resources"), |_| ());
    keep::<ResourceTemplate>(result.get_mut("resourceTemplates"), |_| ());
    keep::<ContentBlock>(result.get_mut("content"), |block| *block = note_of(block));
    let read = ServerResult::deserialize(&*result).ok()?;
    (!matches!(read, ServerResult::CustomResult(_))).then_some(read)
}

/// Keeps the entries of a list that are valid, or become valid with `mend`.
fn keep<Entry: DeserializeOwned>(entries: Option<&mut Value>, mend: impl Fn(&mut Value)) {
    let is_valid = |entry: &Value| Entry::deserialize(entry).is_ok();
    let Some(entries) = entries.and_then(Value::as_array_mut) else { return };
    entries.retain_mut(|entry| {
        is_valid(entry) || {
            mend(entry);
            is_valid(entry)
        }
    });
}

/// Adds a schema to a tool without one: it takes no arguments.
fn with_schema(tool: &mut Value) {
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object()).cloned();
    let text = |key| tool.get(key).and_then(Value::as_str);
    *tool = json!({
        "name": text("name"),
        "description": text("description").unwrap_or_default(),
        "inputSchema": schema.unwrap_or_else(|| json!({"type": "object"})),
    });
}

fn note_of(block: &Value) -> Value {
    let text = block.to_string();
    let shown = clip::head(&text, MAX_SHOWN_BLOCK_BYTES);
    json!({"type": "text", "text": format!("[content that cannot be read: {shown}]")})
}

//! [`turns`]: a conversation for wires on which user and assistant take turns, and results are what the user says.
use haft_core::{CallId, Message, Part, ToolResult};
use serde_json::Value;
use std::sync::Arc;

/// Makes one message of neighbors of one role, each as its role and its blocks. Messages without content are left out, since
/// these wires refuse them.
pub(crate) fn turns(
    messages: &[Arc<Message>],
    blocks: fn(&[Part]) -> Vec<Value>,
    tool_result: fn(&CallId, &ToolResult) -> Value,
) -> Vec<(&'static str, Vec<Value>)> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match &**message {
            Message::User { parts } => ("user", blocks(parts)),
            Message::Assistant { parts } => ("assistant", blocks(parts)),
            Message::Tool { call, name: _, result } => ("user", vec![tool_result(call, result)]),
        };
        match turns.last_mut() {
            Some((last, said)) if *last == role => said.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    turns
}

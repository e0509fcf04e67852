//! [`turns`]: converts a conversation for wires on which user and assistant alternate, and results are user messages.
use crate::openai_chat::nine_letters;
use haft_core::{CallId, Message, Part, ToolResult};
use serde_json::Value;
use std::sync::Arc;

/// Maximum characters of the ID of a call on these wires.
const MAX_CALL_ID: usize = 64;

/// A role and the content of its messages.
pub(crate) type Turn = (&'static str, Vec<Value>);

/// Merges consecutive messages of one role, each given as its role and its blocks. Messages without content are left
/// out, since these wires refuse them.
pub(crate) fn turns(
    messages: &[Arc<Message>],
    blocks: fn(&[Part]) -> Vec<Value>,
    tool_result: fn(&CallId, &ToolResult) -> Value,
) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
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

/// Whether the last assistant message calls tools, and does not begin with a thought of the vendor's own. Claude
/// refuses to think with a budget after calls of another model.
pub(crate) fn calls_without_thought(
    turns: &[Turn],
    is_call: fn(&Value) -> bool,
    is_thought: fn(&Value) -> bool,
) -> bool {
    let last = turns.iter().rfind(|(role, _)| *role == "assistant");
    last.is_some_and(|(_, blocks)| blocks.iter().any(is_call) && !blocks.first().is_some_and(is_thought))
}

/// The call's own ID, or a derived one without the characters that these wires refuse: another vendor may have made the
/// call (`functions.read:0`). A hash of the original ends the derived ID, so that different IDs stay different.
pub(crate) fn safe_id(id: &CallId) -> String {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if id.0.len() <= MAX_CALL_ID && id.0.chars().all(is_safe) {
        return id.0.clone();
    }
    let hash = format!("_{}", nine_letters(id));
    let letters = id.0.chars().map(|letter| if is_safe(letter) { letter } else { '_' });
    letters.take(MAX_CALL_ID - hash.len()).collect::<String>() + &hash
}

//! [`Direct`]: a provider without a model, which makes the call that its prompt names.
//!
//! The call passes through the same checks, policy, view, stage and journal as a model's call.
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{
    CallId, Command, Delta, Message, Part, Provider, ProviderError, Request, StopReason, text_of,
};

/// Makes the call in a prompt of [`prompt`], once per session, and then ends each turn.
pub struct Direct;

const WORD: &str = "call";

/// The model of a session with this provider, as in settings.
pub const MODEL: &str = "script/direct";

/// `arguments` are passed on unchanged; the checks of the call find out whether they are JSON.
pub fn prompt(tool: &str, arguments: &str) -> Command {
    let parts = vec![Part::text(format!("{WORD} {tool} {arguments}"))];
    Command::Prompt { parts, channel: None }
}

impl Provider for Direct {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let deltas = match request.messages.last().map(AsRef::as_ref) {
            Some(Message::User { parts }) if !has_called(&request) => {
                call(&text_of(&parts[..parts.len().min(1)]))
            }
            _ => vec![Delta::Text("done".into()), Delta::Stop(StopReason::EndTurn)],
        };
        stream::iter(deltas.into_iter().map(Ok)).boxed()
    }
}

/// Whether the call was made. Later prompts of the turn, e.g., of hooks and limits, make no further call.
fn has_called(request: &Request) -> bool {
    request.messages.iter().any(|message| matches!(**message, Message::Tool { .. }))
}

fn call(prompt: &str) -> Vec<Delta> {
    let named = prompt.strip_prefix(WORD).unwrap_or(prompt).trim_start();
    let (tool, arguments) = named.split_once(' ').unwrap_or((named, "{}"));
    vec![
        Delta::CallStart { index: 0, id: CallId("call_0".into()), name: tool.into() },
        Delta::CallArguments { index: 0, json: arguments.into() },
        Delta::Stop(StopReason::ToolUse),
    ]
}

//! One call without a model: a provider that makes the call it is told to make.
//!
//! The call passes through the same checks, policy, view, stage and journal as a call of a model.
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{
    CallId, Command, Delta, Message, Part, Provider, ProviderError, Request, StopReason, text_of,
};

/// Makes the call that a prompt of [`prompt`] names, once in a session, and has nothing more to say.
pub struct Direct;

const WORD: &str = "call";

/// The model of a session in which this provider answers, as models are written in settings.
pub const MODEL: &str = "script/direct";

/// `arguments` are passed on as they are; the checks of the call find out whether they are JSON.
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

/// Whatever a turn asks after that, for all that hooks and limits say.
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

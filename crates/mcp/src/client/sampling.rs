//! [`answer`]: passes a server's prompt to the model (sampling), once the user has read the prompt and agreed.
#![expect(
    deprecated,
    reason = "servers of all revisions in use ask so; 2026-07-28 only announces the end of it"
)]
use haft_core::{Message, Part, Question, Sampled, SamplingRequest, StopReason, ToolContext, text_of};
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, ErrorData, Role, SamplingMessage,
    SamplingMessageContentBlock,
};

/// Maximum bytes of a prompt, since the user reads all of it.
const MAX_PROMPT: usize = 20_000;

/// Maximum tokens of an answer.
const MAX_OUTPUT: u32 = 8_192;

/// Error code of the specification: the user rejected the request.
const REJECTED: ErrorCode = ErrorCode(-1);

/// Shows the whole prompt and the model to the user of `ctx`, and asks the model if the user agrees.
///
/// # Errors
///
/// If the prompt is not only text or too long to read, the user declines or cannot be asked, the budget of the turn is
/// used up, or the model fails. The server gets the reason.
pub(super) async fn answer(
    server: &str,
    request: CreateMessageRequestParams,
    ctx: &ToolContext,
) -> Result<CreateMessageResult, ErrorData> {
    let request = read(server, &request)?;
    let model = ctx.sampler.model().ok_or_else(|| rejected("there is no model to ask"))?;
    let choices = vec!["yes".to_owned(), "no".to_owned()];
    let question = Question { text: question(&request, model), choices, draft: None };
    let said = ctx.person.ask(question).await;
    let said = said.ok_or_else(|| rejected("there is no person who could agree"))?;
    if !matches!(said.trim().to_lowercase().as_str(), "yes" | "y") {
        return Err(rejected("the person declined"));
    }
    let failed = |error| ErrorData::internal_error(format!("the model gave no answer: {error}"), None);
    ctx.sampler.sample(request).await.map(written).map_err(failed)
}

/// Parses the request, if Haft supports it.
fn read(server: &str, request: &CreateMessageRequestParams) -> Result<SamplingRequest, ErrorData> {
    let invalid = |why: &str| ErrorData::invalid_params(format!("cannot ask a model: {why}"), None);
    let has_tools = request.tools.as_ref().is_some_and(|tools| !tools.is_empty());
    if has_tools || request.tool_choice.is_some() {
        return Err(invalid("a model that answers a server calls no tools"));
    }
    let messages = request.messages.iter().map(message).collect::<Option<Vec<_>>>();
    let messages = messages.ok_or_else(|| invalid("the prompt has something other than text"))?;
    let system = request.system_prompt.clone().unwrap_or_default();
    let bytes = messages.iter().map(|message| text(message).len()).sum::<usize>() + system.len();
    if !matches!(messages.last(), Some(Message::User { .. })) {
        return Err(invalid("the last message must be one of the user"));
    }
    if bytes > MAX_PROMPT {
        let why = format!("a person must read the prompt, and it has {bytes} bytes; at most {MAX_PROMPT}");
        return Err(invalid(&why));
    }
    let max_output = request.max_tokens.clamp(1, MAX_OUTPUT);
    Ok(SamplingRequest { server: server.to_owned(), system, messages, max_output })
}

/// A message of text; `None` if it contains other content.
fn message(message: &SamplingMessage) -> Option<Message> {
    let parts = message.content.iter().map(|block| match block {
        SamplingMessageContentBlock::Text(text) => Some(Part::text(text.text.clone())),
        _ => None,
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    Some(match message.role {
        Role::Assistant => Message::Assistant { parts },
        _ => Message::User { parts },
    })
}

fn text(message: &Message) -> String {
    match message {
        Message::User { parts } | Message::Assistant { parts } => text_of(parts),
        Message::Tool { result, .. } => result.content.clone(),
    }
}

/// The question to the user: the server, the model, the limit and the whole prompt.
fn question(request: &SamplingRequest, model: &str) -> String {
    let SamplingRequest { server, system, messages, max_output } = request;
    let system = (!system.is_empty()).then(|| format!("system: {system}\n"));
    let messages = messages.iter().map(|message| {
        let speaker = if matches!(message, Message::Assistant { .. }) { "assistant" } else { "user" };
        format!("{speaker}: {}\n", text(message))
    });
    let prompt: String = system.into_iter().chain(messages).collect();
    format!(
        "The MCP server `{server}` wants to ask `{model}`, for at most {max_output} tokens:\n{prompt}Send it, and the \
         answer to the server?"
    )
}

fn written(Sampled { model, text, stop, .. }: Sampled) -> CreateMessageResult {
    let stop = match stop {
        StopReason::Length => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        _ => CreateMessageResult::STOP_REASON_END_TURN,
    };
    CreateMessageResult::new(SamplingMessage::assistant_text(text), model).with_stop_reason(stop)
}

/// The error if the model is not asked, with the reason.
pub(super) fn rejected(why: &str) -> ErrorData {
    ErrorData::new(REJECTED, format!("the request was rejected: {why}"), None)
}

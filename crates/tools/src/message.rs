//! [`Message`] (`message`): shows the person a text while the work goes on.
use crate::examples::examples_for;
use haft_core::{Aliases, Effect, Example, Shown, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

pub(crate) struct Message;

/// Tell the person something now, while the work goes on. The last answer needs no tool.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    text: String,
}

impl Tool for Message {
    const NAME: &'static str = "message";
    const SUPPRESS_ANIMATION: bool = true;
    const LEAVES_FILES: bool = true;
    type Args = Args;
    const ALIASES: Aliases = Aliases {
        names: &["send_message", "notify", "notify_user", "message_notify_user", "send_user_message"],
        parameters: &[("text", &["message", "content", "body"])],
    };

    fn effects(&self, _: &Args, _: &Path) -> Vec<Effect> {
        Vec::new()
    }

    /// The text appears where the conversation takes place: a front-end follows its session and shows what people are
    /// to see.
    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let text = args.text.trim();
        if text.is_empty() {
            return Err(ToolError::new(ToolErrorKind::Validation, "cannot send a message: `text` is empty"));
        }
        let (told, details) = match &ctx.channel {
            Some(channel) => (
                format!("Sent to {}.", channel.kind),
                json!({"text": text, "channel": channel.kind, "chat": channel.chat}),
            ),
            None => ("Sent.".into(), json!({"text": text})),
        };
        let shown = Shown::Message(text.to_owned());
        Ok(ToolOutput { shown, ..ToolOutput::text(told).details(details) })
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

//! [`Ask`] (`ask`): asks the person a question.
use haft_core::{Aliases, Effect, Question, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

pub(crate) struct Ask;

/// Ask the person something that only they can decide, and wait for the answer.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The question.
    question: String,
    /// Answers to choose from.
    choices: Option<Vec<String>>,
}

impl Tool for Ask {
    const NAME: &'static str = "ask";
    const ALIASES: Aliases = Aliases {
        names: &["ask_user", "ask_human", "ask_followup_question", "question", "request_user_input"],
        parameters: &[("question", &["text", "prompt"]), ("choices", &["options", "follow_up"])],
    };
    const SUPPRESS_ANIMATION: bool = true;
    const ENDS_ITSELF: bool = true;
    const LEAVES_FILES: bool = true;
    const IDEMPOTENT: bool = true;
    type Args = Args;

    fn effects(&self, _: &Args, _: &Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { question: text, choices } = args;
        let question = Question { text, choices: choices.unwrap_or_default(), draft: None };
        match ctx.person.ask(question).await {
            Some(answer) => {
                let details = json!({"answer": answer});
                Ok(ToolOutput::text(format!("The person answers: {answer}")).details(details).silent())
            }
            None => Err(ToolError::new(ToolErrorKind::User, "the question was not answered")
                .hint("decide by yourself, and say in the end what you took for granted")),
        }
    }
}

//! [`Todo`] (`todo`): the list of steps, as the model sees it. It lives only in the conversation.
use crate::examples::examples_for;
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;

pub(crate) struct Todo;

/// Keep the list of steps of a longer task. Give the whole list each time; keep one step in progress.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    items: Vec<Item>,
    /// Why it changed.
    #[expect(dead_code, reason = "models give it, and people see it among the arguments")]
    #[schemars(extend("x-hidden" = true))]
    explanation: Option<String>,
}

// One step. Not a doc comment: the model knows what is meant.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Item {
    text: String,
    #[schemars(extend("x-accepts" = {"enum": [
        "pending", "in_progress", "done", "completed", "todo", "open", "cancelled",
    ]}))]
    status: State,
    /// What other systems add to a step.
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "accepted, not needed")]
    #[schemars(extend("x-hidden" = true))]
    id: Option<serde_json::Value>,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "accepted, not needed")]
    #[schemars(extend("x-hidden" = true))]
    priority: Option<String>,
    #[serde(default, rename = "activeForm", skip_serializing)]
    #[expect(dead_code, reason = "accepted, not needed")]
    #[schemars(extend("x-hidden" = true))]
    active_form: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    #[serde(alias = "todo", alias = "open")]
    Pending,
    InProgress,
    #[serde(alias = "completed", alias = "cancelled")]
    Done,
}

impl Tool for Todo {
    const NAME: &'static str = "todo";
    const LEAVES_FILES: bool = true;
    const IDEMPOTENT: bool = true;
    type Args = Args;
    const ALIASES: Aliases = Aliases {
        names: &["TodoWrite", "todowrite", "todo_write", "write_todos", "update_plan", "todo_list"],
        parameters: &[
            ("items", &["todos", "plan", "steps"]),
            ("text", &["content", "step", "description", "title"]),
            ("status", &["state"]),
        ],
    };

    fn effects(&self, _: &Args, _: &Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        if let Some(empty) = args.items.iter().position(|item| item.text.trim().is_empty()) {
            let message = format!("cannot keep the list: `items[{empty}].text` is empty");
            return Err(ToolError::new(ToolErrorKind::Validation, message).hint("say what is to be done"));
        }
        let list = list(&args.items);
        Ok(ToolOutput::text(list.clone()).show(list).details(json!({"items": args.items})))
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// A heading and a line for each step.
fn list(items: &[Item]) -> String {
    if items.is_empty() {
        return "The list is empty.".into();
    }
    let done = items.iter().filter(|item| item.status == State::Done).count();
    let lines = items.iter().map(|Item { text, status, .. }| {
        let mark = match status {
            State::Pending => "[ ]",
            State::InProgress => "[>]",
            State::Done => "[x]",
        };
        format!("\n{mark} {}", text.trim())
    });
    format!("{done} of {} done{}", items.len(), lines.collect::<String>())
}

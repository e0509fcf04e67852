//! [`Delegate`] (`delegate`): lets another agent do a part of the work.
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

pub(crate) struct Delegate;

/// Let another agent do a self-contained task with the same tools, and get its answer. It knows only what you write.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The whole task: what to do, where, and what to report.
    task: String,
    /// Which agent.
    #[schemars(extend("x-hidden" = true))]
    agent: Option<String>,
    /// In 3 to 5 words.
    #[schemars(extend("x-hidden" = true))]
    #[expect(dead_code, reason = "models know it from elsewhere; the task says more")]
    description: Option<String>,
}

impl Tool for Delegate {
    const NAME: &'static str = "delegate";
    const ALIASES: Aliases = Aliases {
        names: &["task", "agent", "subagent", "spawn_agent", "run_subagent", "new_task"],
        parameters: &[("task", &["prompt", "message"]), ("agent", &["subagent_type", "agent_type"])],
    };
    const ENDS_ITSELF: bool = true;
    type Args = Args;

    /// The other agent reads here; everything else that it does is judged call by call. So several can work side by
    /// side.
    fn effects(&self, _: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.to_owned())]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if args.task.trim().is_empty() {
            let why = "cannot delegate: the task is empty";
            return Err(ToolError::new(ToolErrorKind::Validation, why)
                .hint("say what to do, where, and what to report"));
        }
        let shown = ctx.on_progress.clone();
        ctx.subagents.run(args.task, args.agent, Box::new(move |line| shown(line))).await
    }
}

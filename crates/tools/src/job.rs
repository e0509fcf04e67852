//! [`LookAtJob`] (`job`): shows the state and output of a background command.
use haft_core::{
    Aliases, Effect, TaskId, TaskLook, TaskState, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{path::Path, time::Duration};

pub(crate) struct LookAtJob;

/// Look at background jobs: what one printed since the last look, or, without `id`, which there are.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The job's number.
    id: Option<String>,
    /// Wait for its end, at most so many seconds.
    wait: Option<u64>,
    /// End it.
    stop: Option<bool>,
}

impl Tool for LookAtJob {
    const NAME: &'static str = "job";
    const ALIASES: Aliases = Aliases {
        names: &["jobs", "bash_output", "bashoutput", "task_output", "taskoutput"],
        parameters: &[
            ("id", &["bash_id", "job_id", "shell_id", "task_id"]),
            ("wait", &["timeout"]),
            ("stop", &["kill"]),
        ],
    };
    const ENDS_ITSELF: bool = true;
    const LEAVES_FILES: bool = true;
    type Args = Args;

    fn effects(&self, _: &Args, _: &Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Some(id) = args.id.map(TaskId) else { return Ok(list(&ctx.jobs.all())) };
        find(ctx, &id)?;
        if args.stop == Some(true) {
            ctx.jobs.stop(&id);
            ctx.jobs.wait(&id, STOP_TIMEOUT).await;
        }
        if let Some(seconds) = args.wait {
            ctx.jobs.wait(&id, Duration::from_secs(seconds.min(MAX_WAIT))).await;
        }
        Ok(look(&find(ctx, &id)?, args.wait.is_some_and(|seconds| seconds > 0)))
    }
}

/// How long ending a command may take: it is gone within 2 seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum wait in seconds. For longer, the model had better answer: the end of a job is reported.
const MAX_WAIT: u64 = 600;

fn find(ctx: &ToolContext, id: &TaskId) -> Result<TaskState, ToolError> {
    let all = ctx.jobs.all();
    all.iter().find(|job| job.id == *id).cloned().ok_or_else(|| {
        let error = ToolError::new(ToolErrorKind::User, format!("there is no job `{id}`"));
        error.hint(list(&all).for_model)
    })
}

fn list(jobs: &[TaskState]) -> ToolOutput {
    let lines: Vec<String> = jobs.iter().map(line).collect();
    match lines.is_empty() {
        true => ToolOutput::text("There are no jobs."),
        false => ToolOutput::text(lines.join("\n")),
    }
}

fn line(job: &TaskState) -> String {
    format!("job {} ({}): {}", job.id, state(job), job.title)
}

fn state(job: &TaskState) -> &'static str {
    if job.running { "running" } else { "ended" }
}

fn look(job: &TaskState, waited: bool) -> ToolOutput {
    let unread = job.output.take();
    let before = match unread.missing {
        0 => String::new(),
        bytes => format!("[{bytes} bytes before are lost]\n"),
    };
    let printed = match unread.text.trim_end_matches('\n') {
        "" => "(no new output)",
        text => text,
    };
    let text = format!("{}\n{before}{printed}", line(job));
    let look = TaskLook { job: job.id.clone(), running: job.running, waited, output: unread.text };
    ToolOutput::text(text).details(json!(look))
}

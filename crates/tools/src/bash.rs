//! `bash`: a shell command.
use crate::{BashSettings, examples::examples_for, guard};
use haft_core::{Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use haft_sandbox::{Captured, Exit, Finished, ProcessError, Shell};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

pub(crate) struct Bash(pub(crate) BashSettings);

/// Run a shell command in the workspace; get its output and exit code.
/// There is no terminal and no input: use flags that avoid questions. Long output is cut: filter it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The command line.
    command: String,
    /// Seconds after which it is killed.
    timeout: Option<u64>,
    /// Folder to start in, relative to the workspace.
    working_dir: Option<PathBuf>,
    /// What it does, in 5 to 10 words.
    description: Option<String>,
    /// Return at once; its end is reported later. For servers and long builds.
    background: Option<bool>,
}

impl Tool for Bash {
    const NAME: &'static str = "bash";
    type Args = Args;

    fn effects(&self, args: &Args, _: &Path) -> Vec<Effect> {
        vec![Effect::Execute(args.command.clone())]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if let Some(why) = guard::refusal(&args.command) {
            let message = format!("cannot run the command: {why}");
            return Err(
                ToolError::new(ToolErrorKind::Security, message).hint("name what you mean more narrowly")
            );
        }
        if args.background == Some(true) {
            return Ok(self.in_background(args, ctx));
        }
        let limit = Limit::of(&self.0, args.timeout);
        let folder = args.working_dir.map_or_else(|| ctx.workspace.clone(), |folder| ctx.path(folder));
        let shell = self.shell(args.command, folder, Some(limit.seconds), ctx);
        let mut live = LIVE;
        let watch = |chunk: &str| {
            if live > 0 {
                live = live.saturating_sub(chunk.len());
                ctx.progress(chunk);
            }
        };
        let finished = shell.run(watch).await.map_err(not_run)?;
        Report::new(&self.0, finished).result(&limit)
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// So many bytes are kept of each stream where a larger clip does not ask for more.
const CAPTURE: usize = 1_000_000;

/// So many bytes are shown while a command runs. More nobody reads, and it would wait in memory.
const LIVE: usize = 1_000_000;

impl Bash {
    fn shell(&self, command: String, folder: PathBuf, seconds: Option<u64>, ctx: &ToolContext) -> Shell {
        let environment = ctx.access.environment.clone();
        let timeout = seconds.map(Duration::from_secs);
        let capture = CAPTURE.max(self.0.clip.bytes.saturating_mul(2));
        Shell { command, folder, environment, timeout, capture, spill: None }
    }

    /// A job outlives the view of its call, so it runs in the real workspace, and for as long as it likes unless the
    /// call says how long.
    fn in_background(&self, args: Args, ctx: &ToolContext) -> ToolOutput {
        let Args { command, timeout, working_dir, description, background: _ } = args;
        let title = description.unwrap_or_else(|| command.clone());
        let folder = working_dir.map_or_else(|| ctx.live.clone(), |folder| ctx.live.join(folder));
        let shell = self.shell(command, folder, timeout, ctx);
        let settings = self.0.clone();
        let limit = Limit { seconds: timeout.unwrap_or_default(), asked: None };
        let work = async move {
            let finished = shell.run(|_| ()).await.map_err(not_run)?;
            Report::new(&settings, finished).result(&limit)
        };
        ToolOutput::running(ctx.jobs.start(title, Box::pin(work)))
    }
}

/// How long a command may run.
struct Limit {
    seconds: u64,
    /// What the call asked for, if that was too long.
    asked: Option<u64>,
}

impl Limit {
    /// Nothing, and 0, mean the default.
    fn of(settings: &BashSettings, asked: Option<u64>) -> Self {
        let wanted = asked.filter(|seconds| *seconds > 0).unwrap_or(settings.timeout_default);
        let seconds = wanted.min(settings.timeout_max);
        Self { seconds, asked: (wanted > seconds).then_some(wanted) }
    }

    /// a request above the maximum is cut, and said so.
    fn note(&self) -> Option<String> {
        let asked = self.asked?;
        Some(format!("[a timeout of {asked} s is too long: it was cut to {} s]", self.seconds))
    }
}

fn not_run(error: ProcessError) -> ToolError {
    let kind = match error {
        ProcessError::Nul => ToolErrorKind::Validation,
        ProcessError::Start { .. } | ProcessError::Lost(_) => ToolErrorKind::System,
    };
    ToolError::new(kind, error.to_string()).caused_by(error)
}

/// What a command left, cut to what a model reads.
struct Report {
    stdout: String,
    stderr: String,
    truncated: bool,
    exit: Exit,
}

impl Report {
    fn new(settings: &BashSettings, finished: Finished) -> Self {
        let Finished { stdout, stderr, exit, .. } = finished;
        let (stdout, stderr) = (clip(settings, &stdout), clip(settings, &stderr));
        let truncated = stdout.1 || stderr.1;
        Self { stdout: stdout.0, stderr: stderr.0, truncated, exit }
    }

    fn result(self, limit: &Limit) -> Result<ToolOutput, ToolError> {
        let text = [Some(self.text()), limit.note()].into_iter().flatten().collect::<Vec<_>>().join("\n");
        let details = self.details();
        if self.exit != Exit::TimedOut {
            return Ok(ToolOutput::text(text).details(details));
        }
        let message = format!(
            "timed out after {} s; the command was killed. Its output so far:\n{text}",
            limit.seconds
        );
        let hint = "give a longer `timeout`, or run it in the `background`";
        let mut details = details;
        details["error"] = json!(format!("timed out after {} s", limit.seconds));
        Err(ToolError::new(ToolErrorKind::System, message).hint(hint).details(details))
    }

    /// Standard output, standard error, and how it ended if not well.
    fn text(&self) -> String {
        let mut parts: Vec<&str> =
            [self.stdout.as_str(), &self.stderr].map(|text| text.trim_end_matches('\n')).into();
        parts.retain(|text| !text.is_empty());
        if parts.is_empty() {
            parts.push("(no output)");
        }
        let end = match self.exit {
            Exit::Code(0) | Exit::TimedOut => String::new(),
            Exit::Code(code) => format!("\n[exit code: {code}]"),
            Exit::Signal(signal) => format!("\n[killed by signal {signal}]"),
        };
        parts.join("\n") + &end
    }

    /// A-81, C-40, X-13. A signal is told as a shell tells it.
    fn details(&self) -> Value {
        let code = match self.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(signal) => Some(128 + signal),
            Exit::TimedOut => None,
        };
        let mut details = json!({
            "stdout": self.stdout, "stderr": self.stderr, "exit_code": code, "return_code": code,
            "truncated": self.truncated,
        });
        if self.exit == Exit::TimedOut {
            details["timed_out"] = json!(true);
        }
        details
    }
}

/// A stream as the model reads it, and whether something is missing.
fn clip(settings: &BashSettings, captured: &Captured) -> (String, bool) {
    let clipped = settings.clip.split(&captured.text);
    let bytes = clipped.missing_bytes as u64 + captured.missing_bytes;
    let lines = clipped.missing_lines as u64 + captured.missing_lines;
    if bytes == 0 {
        return (captured.text.clone(), false);
    }
    let note = match &settings.marker {
        Some(marker) => marker.clone(),
        None => format!("\n[{bytes} bytes, {lines} lines left out; filter the output or write it to a file]"),
    };
    let head = clipped.head.trim_end_matches('\n');
    let newline = if clipped.tail.is_empty() { "" } else { "\n" };
    (format!("{head}{note}{newline}{}", clipped.tail), true)
}

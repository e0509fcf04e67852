//! [`Bash`] (`bash`): runs a shell command.
use crate::{BashSettings, OnTimeout, examples::examples_for, guard};
use haft_core::{
    Aliases, Effect, Example, TaskId, TaskOutput, TaskWork, Tool, ToolContext, ToolError, ToolErrorKind,
    ToolOutput, Tracking,
};
use haft_process::{Finished, ProcessError, Shell};
use need::Need;
use report::Report;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use watch::{Running, Watch};

mod need;
mod report;
mod screen;
mod watch;

pub(crate) struct Bash(pub(crate) BashSettings);

/// Run a shell command in the workspace; get its output and exit code.
/// There is no terminal and no input: use flags that avoid questions. Long output is cut: filter it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The command line.
    #[schemars(with = "String", extend("x-accepts" = {
        "type": ["string", "array"], "items": {"type": "string"}, "minItems": 1
    }))]
    command: CommandLine,
    /// Seconds after which it is killed.
    timeout: Option<u64>,
    /// Folder to start in, relative to the workspace.
    #[schemars(extend("x-hidden" = true))]
    working_dir: Option<PathBuf>,
    /// What it does, in 5 to 10 words.
    #[schemars(extend("x-hidden" = true))]
    description: Option<String>,
    /// Return at once; its end is reported later. For servers and long builds.
    background: Option<bool>,
    /// What a confined command does not have and this one needs; a person is asked. `network:HOST` for each host,
    /// `network`, or `live`: the real workspace and machine.
    #[schemars(with = "Option<Vec<String>>", extend("x-hidden" = true))]
    needs: Option<Vec<Need>>,
    /// Run it in a terminal of its own, for programs that insist on one.
    #[schemars(extend("x-hidden" = true))]
    pty: Option<bool>,
}

/// As typed, or word by word (Codex: `["bash", "-lc", "ls"]`).
#[derive(Deserialize)]
#[serde(untagged, expecting = "`command` must be a string, or a list of words")]
enum CommandLine {
    Line(String),
    Words(Vec<String>),
}

impl CommandLine {
    fn text(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Words(words) => match words.as_slice() {
                [shell, flags, line]
                    if shell.ends_with("sh") && flags.starts_with('-') && flags.ends_with('c') =>
                {
                    line.clone()
                }
                words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            },
        }
    }
}

/// Runs it with `script` of util-linux, which gives a command a terminal and passes on its exit code.
fn in_a_terminal(command: &str) -> String {
    format!("script -qefc {} /dev/null", quoted(command))
}

/// Quotes the text as one word of a shell's line.
fn quoted(word: &str) -> Cow<'_, str> {
    let quoter = shlex::Quoter::new().allow_nul(true);
    quoter.quote(word).expect("only a NUL cannot be quoted, and those are allowed")
}

impl Tool for Bash {
    const NAME: &'static str = "bash";
    const ALIASES: Aliases = Aliases {
        names: &[
            "shell",
            "sh",
            "exec",
            "exec_command",
            "execute_command",
            "local_shell",
            "run_command",
            "run_shell_command",
            "run_terminal_cmd",
            "shell_command",
            "terminal",
        ],
        parameters: &[
            ("command", &["cmd", "script"]),
            ("timeout", &["timeout_seconds", "timeout_secs"]),
            ("working_dir", &["workdir", "cwd", "dir_path", "directory"]),
            ("background", &["run_in_background", "is_background"]),
            ("pty", &["tty"]),
        ],
    };
    const ENDS_ITSELF: bool = true;
    type Args = Args;

    fn effects(&self, args: &Args, _: &Path) -> Vec<Effect> {
        let effect = Effect::execute_in(args.command.text(), args.working_dir.clone().unwrap_or_default());
        let effect = if args.background == Some(true) { effect.lasting() } else { effect };
        need::effects(effect, args.needs.as_deref().unwrap_or_default())
    }

    fn outside(&self, mut args: Value) -> Value {
        let needs_something = args["needs"].as_array().is_some_and(|needs| !needs.is_empty());
        if let (false, Some(args)) = (needs_something, args.as_object_mut()) {
            args.insert("needs".to_owned(), json!(["live"]));
        }
        args
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut command = args.command.text();
        if let Some(why) = guard::refusal(&command) {
            let message = format!("cannot run the command: {why}");
            return Err(
                ToolError::new(ToolErrorKind::Security, message).hint("name what you mean more narrowly")
            );
        }
        let typed = command.clone();
        let title = args.description.unwrap_or_else(|| command.clone());
        let terminal = args.pty == Some(true);
        if terminal {
            command = in_a_terminal(&command);
        }
        let folder = args.working_dir.as_deref();
        if args.background == Some(true) {
            let shell =
                self.shell(command, ctx.workspace.join(folder.unwrap_or(Path::new(""))), args.timeout, ctx);
            return Ok(self.in_background(shell, title, terminal, ctx));
        }
        let folder = folder.map_or_else(|| ctx.workspace.clone(), |folder| ctx.path(folder));
        let limit = Limit::of(&self.0, args.timeout, terminal);
        match self.0.on_timeout {
            OnTimeout::Background if limit.said.is_none() => {
                let shell = self.shell(command, folder, None, ctx);
                self.handing_over(shell, (&typed, title), limit, ctx).await
            }
            OnTimeout::Background | OnTimeout::Kill => {
                let shell = self.shell(command, folder, Some(limit.seconds), ctx);
                ctx.view.finish_by(Instant::now() + Duration::from_secs(limit.seconds));
                let finished = Running::new(shell, Watch::new(ctx)).await.map_err(not_run)?;
                self.report(finished, ctx).of(&typed, ctx).result(&limit)
            }
        }
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// Bytes kept of each stream, unless a larger clip asks for more.
const MIN_CAPTURE: usize = 1_000_000;

impl Bash {
    fn shell(&self, command: String, folder: PathBuf, seconds: Option<u64>, ctx: &ToolContext) -> Shell {
        let environment = ctx.access.environment.clone();
        let timeout = seconds.map(Duration::from_secs);
        let capture = MIN_CAPTURE.max(self.0.clip.bytes.saturating_mul(2));
        let (spill, hidden) = (Some(ctx.artifacts.clone()), ctx.access.secrets.values());
        let confinement = ctx.access.confinement.clone();
        Shell { command, folder, environment, timeout, capture, spill, hidden, confinement }
    }

    fn report(&self, finished: Finished, ctx: &ToolContext) -> Report {
        Report::new(&self.0, finished, &ctx.artifacts)
    }

    /// Runs without a time limit, unless the call sets one.
    fn in_background(&self, shell: Shell, title: String, terminal: bool, ctx: &ToolContext) -> ToolOutput {
        let limit = Limit { terminal, seconds: shell.timeout.unwrap_or_default().as_secs(), said: None };
        let watch = Watch::silent();
        let output = watch.output();
        let work = self.rest_of(Running::new(shell, watch), limit, ctx);
        let started = ToolOutput::running(start(title, Box::pin(work), output, ctx));
        let for_model = match has_view(ctx) {
            true => format!("{} {VIEW_NOTE}", started.for_model),
            false => started.for_model,
        };
        ToolOutput { for_model, ..started }
    }

    /// Waits for the command; if it takes too long, or falls silent, it goes on as a job, and its view with it.
    async fn handing_over(
        &self,
        shell: Shell,
        (typed, title): (&str, String),
        limit: Limit,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let watch = Watch::new(ctx);
        let mut running = Running::new(shell, watch.clone());
        let (most, silence) = (Duration::from_secs(limit.seconds), Duration::from_secs(self.0.idle));
        let Some(why) = watch.outlasts(&mut running, most, silence).await else {
            let finished = running.await.map_err(not_run)?;
            return self.report(finished, ctx).of(typed, ctx).result(&limit);
        };
        let output = watch.hand_over();
        let so_far = output.take();
        let job = start(title, Box::pin(self.rest_of(running, limit, ctx)), output, ctx);
        let text = format!(
            "{}\n[{why}; it goes on as job {job}, and its end will be reported; `job` shows more or stops it]",
            self.0.clip.apply(so_far.text.trim_end_matches('\n'), "look at the job"),
        );
        Ok(ToolOutput { job: Some(job), ..ToolOutput::text(text.trim_start()) })
    }

    fn rest_of(
        &self,
        running: Running,
        limit: Limit,
        ctx: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send + use<> {
        let (settings, artifacts) = (self.0.clone(), ctx.artifacts.clone());
        async move {
            let finished = running.await.map_err(not_run)?;
            Report::new(&settings, finished, &artifacts).result(&limit)
        }
    }
}

/// What the model has to know about a command in the background that works in a view.
const VIEW_NOTE: &str = "It works on a copy: what it changes is real once it has ended, and nothing outside reaches it. \
    A server needs `needs: [\"live\", \"network\"]`.";

/// Whether the call works in a view of its own, which lasts as long as the call or a job holds it.
fn has_view(ctx: &ToolContext) -> bool {
    ctx.view.how() == Tracking::Staged
}

fn start(title: String, work: TaskWork, output: TaskOutput, ctx: &ToolContext) -> TaskId {
    match has_view(ctx) {
        true => ctx.jobs.start_in(ctx.view.clone(), title, work, output),
        false => ctx.jobs.start(title, work, output),
    }
}

/// How a command runs.
struct Limit {
    /// Whether it runs in a terminal.
    terminal: bool,
    /// How long it may take.
    seconds: u64,
    /// What the call asked for.
    said: Option<u64>,
}

impl Limit {
    /// The time limit of a command; `None` and 0 mean the default.
    fn of(settings: &BashSettings, asked: Option<u64>, terminal: bool) -> Self {
        let said = asked.filter(|seconds| *seconds > 0);
        let seconds = said.unwrap_or(settings.timeout_default).min(settings.timeout_max);
        Self { terminal, seconds, said }
    }

    /// Cuts a request above the maximum, and says so.
    fn note(&self) -> Option<String> {
        let asked = self.said.filter(|said| *said > self.seconds)?;
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

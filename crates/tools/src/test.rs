//! [`Test`] (`test`): runs a project's tests and says which failed, where and why.
use crate::examples::examples_for;
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use haft_process::{Exit, Finished, Program};
use report::Report;
use runner::{Command, Framework};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

mod answer;
mod cargo;
mod detect;
mod go;
mod javascript;
mod pytest;
mod report;
mod runner;
mod tap;

pub(crate) struct Test;

/// Run the project's tests; get counts, and the place and message of each failure.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Folder or test file.
    path: Option<PathBuf>,
    /// Part of the names of tests.
    filter: Option<String>,
    /// Found by the files there if left out.
    #[schemars(extend("x-hidden" = true))]
    framework: Option<Framework>,
    /// Seconds.
    timeout: Option<u64>,
}

impl Args {
    /// Where the tests are. Go writes `FOLDER/...` for a folder with all below it, which a folder is in any case.
    fn place(&self) -> &Path {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        path.parent().filter(|_| path.ends_with("...")).unwrap_or(path)
    }
}

impl Tool for Test {
    const NAME: &'static str = "test";
    const ENDS_ITSELF: bool = true;
    type Args = Args;
    const ALIASES: Aliases = Aliases {
        names: &["run_tests", "run_test", "test_runner", "tests"],
        parameters: &[
            ("path", &["file", "directory"]),
            ("filter", &["pattern", "test_name", "name"]),
            ("framework", &["runner"]),
        ],
    };

    /// The command depends on the project's files; without a `framework` the policy sees the tool's own name. It runs
    /// in the folder of the tests, or in one around it inside the workspace.
    fn effects(&self, args: &Args, _: &Path) -> Vec<Effect> {
        let words = args.framework.map_or("test", Framework::words).to_owned();
        let path = args.path.as_ref().map(|path| path.display().to_string());
        let words = [Some(words), path, args.filter.clone()].into_iter().flatten();
        let command = words.collect::<Vec<_>>().join(" ");
        vec![Effect::execute_in(command, args.place().to_owned()).confined()]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        refuse_options(&args)?;
        let start = ctx.path(args.place());
        let (root, framework, filter) = (ctx.workspace.clone(), args.framework, args.filter);
        let command =
            crate::files::blocking(move || detect::command(&root, &start, framework, filter.as_deref()))
                .await?;
        ctx.progress(format!("{} …\n", command.line()));
        let limit = args.timeout.filter(|seconds| *seconds > 0).unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
        let finished = run(&command, limit, ctx).await?;
        if finished.exit == Exit::TimedOut {
            return Err(timed_out(&command, &finished, limit));
        }
        let parsed = command.framework.parse(&finished.stdout.text, &finished.stderr.text);
        let report = parsed.map(|report: Report| report.seen_from(&command.folder));
        Ok(answer::output(&command, report, &finished))
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// Timeout in seconds, if the call sets none.
const DEFAULT_TIMEOUT: u64 = 300;

/// Maximum timeout in seconds.
const MAX_TIMEOUT: u64 = 1_800;

/// Maximum bytes of output: results of every single test take more than other output.
const MAX_CAPTURE: usize = 32 << 20;

fn refuse_options(args: &Args) -> Result<(), ToolError> {
    let path = args.path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let given = [("path", path.as_ref()), ("filter", args.filter.as_ref())];
    let options = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let problems: Vec<_> = options
        .filter(|(_, value)| value.starts_with('-'))
        .map(|(name, value)| format!("`{name}` cannot be `{value}`"))
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    let message = format!("cannot run the tests: {}", problems.join("; "));
    Err(ToolError::new(ToolErrorKind::Validation, message).hint("for options of the runner use `bash`"))
}

async fn run(command: &Command, seconds: u64, ctx: &ToolContext) -> Result<Finished, ToolError> {
    let program = Program {
        program: command.program.clone().into(),
        arguments: command.arguments.iter().map(Into::into).collect(),
        folder: command.folder.clone(),
        environment: environment(&ctx.access.environment),
        timeout: Some(Duration::from_secs(seconds)),
        capture: MAX_CAPTURE,
        confinement: ctx.access.confinement.clone(),
    };
    let words = command.framework.prints_words();
    let finished = program
        .run(|chunk| {
            if words {
                ctx.progress(chunk)
            }
        })
        .await;
    finished.map_err(|error| {
        let hint = format!("is `{}` installed? else run the tests with `bash`", command.program);
        ToolError::new(ToolErrorKind::System, error.to_string()).hint(hint).caused_by(error)
    })
}

/// No colors, no questions, no watching for changes.
fn environment(given: &[(String, String)]) -> Arc<[(String, String)]> {
    let fixed = [
        ("CI", "1"),
        ("NO_COLOR", "1"),
        ("CARGO_TERM_COLOR", "never"),
        ("RUST_BACKTRACE", "0"),
        ("PY_COLORS", "0"),
        ("COLUMNS", "120"),
        ("npm_config_update_notifier", "false"),
    ];
    let taken = |name: &str| name == "FORCE_COLOR" || fixed.iter().any(|(known, _)| *known == name);
    let kept = given.iter().filter(|(name, _)| !taken(name)).cloned();
    kept.chain(fixed.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
}

fn timed_out(command: &Command, finished: &Finished, seconds: u64) -> ToolError {
    let output = answer::raw(finished);
    let message =
        format!("timed out after {seconds} s: `{}` was killed. Its output so far:\n{output}", command.line());
    ToolError::new(ToolErrorKind::System, message)
        .hint("name a `path` or a `filter`, or give a longer `timeout`")
        .details(answer::unknown(command))
}

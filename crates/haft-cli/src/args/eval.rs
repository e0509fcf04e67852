//! [`EvalArgs`]: the options of `haft eval`.
use super::mode;
use clap::{Args, Subcommand};
use haft_app::eval::{Begin, Conditions, EvalSpec, Wanted};
use haft_core::Mode;
use std::path::PathBuf;

/// `haft eval`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct EvalArgs {
    /// Command; an evaluation if left out.
    #[command(subcommand)]
    pub(crate) command: Option<Eval>,
    /// Models to evaluate, as for `--model`
    #[arg(long, value_name = "A,B", value_delimiter = ',', required_unless_present = "resume")]
    models: Vec<String>,
    /// Take the tasks from the directories below DIR, each with `task.md` and `check.sh`
    #[arg(long, value_name = "DIR")]
    tasks: Option<PathBuf>,
    /// Take the newest N sessions of this directory as tasks [default: 20, without `--tasks`]
    #[arg(long, value_name = "N", conflicts_with = "tasks", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    last: Option<u32>,
    /// Command that checks the sessions [default: the last run of tests of each]
    #[arg(long, value_name = "COMMAND", conflicts_with = "tasks")]
    check: Option<String>,
    /// Go on with this evaluation
    #[arg(long, value_name = "ID", conflicts_with_all = ["models", "tasks", "last", "check", "repeat"])]
    resume: Option<String>,
    /// Maximum cost of all runs together in US dollars; what is not run then is listed, and the exit code is 3
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,
    /// How many runs are under way at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// How often each model tries each task
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    repeat: u16,
    /// What holds for each run.
    #[command(flatten)]
    conditions: ConditionArgs,
    /// Exit with 1 if a model is worse than in the last evaluation of the same tasks
    #[arg(long)]
    pub(crate) watch: bool,
    /// How the report is printed.
    #[command(flatten)]
    pub(crate) form: EvalForm,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

/// What holds for each run.
#[derive(Debug, Args)]
pub(crate) struct ConditionArgs {
    /// Profile to use
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    profile: Option<String>,
    /// What to do in the copy with an effect that no rule matches [default: accept-edits]
    #[arg(long, value_name = "MODE", value_parser = mode(), conflicts_with = "resume")]
    permission: Option<Mode>,
    /// Maximum model calls of a run
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    max_rounds: Option<u32>,
    /// Maximum seconds of a run, without its check
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, conflicts_with = "resume", value_parser = clap::value_parser!(u64).range(1..))]
    max_time: u64,
    /// Maximum seconds of a check
    #[arg(long, value_name = "SECONDS", default_value_t = 300, conflicts_with = "resume", value_parser = clap::value_parser!(u64).range(1..=600))]
    check_time: u64,
}

/// How a report is printed.
#[derive(Debug, Args)]
pub(crate) struct EvalForm {
    /// Print one JSON object per model
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the report as a page of its own
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// `haft eval …`
#[derive(Debug, Subcommand)]
pub(crate) enum Eval {
    /// List the evaluations
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show the report of an evaluation, and each of its runs
    Show {
        /// ID of the evaluation, or the beginning of it [default: the newest]
        id: Option<String>,
        /// How the report is printed.
        #[command(flatten)]
        form: EvalForm,
    },
}

impl EvalArgs {
    /// What these options ask for.
    pub(crate) fn spec(&self) -> EvalSpec {
        let tasks = match &self.tasks {
            Some(folder) => Wanted::Folder(folder.clone()),
            None => Wanted::Newest { count: self.last.unwrap_or(20) as usize, check: self.check.clone() },
        };
        let ConditionArgs { profile, permission, max_rounds, max_time, check_time } = &self.conditions;
        let conditions = Conditions {
            profile: profile.clone(),
            account: None,
            permission: *permission,
            max_rounds: *max_rounds,
            max_time: Some(*max_time),
            check_time: *check_time,
        };
        let (models, repeat) = (self.models.clone(), usize::from(self.repeat));
        let begin = Begin { tasks, models, repeat, conditions };
        EvalSpec {
            workspace: self.cwd.clone(),
            begin: self.resume.is_none().then_some(begin),
            resume: self.resume.clone(),
            jobs: usize::from(self.jobs),
            max_cost: self.max_cost,
        }
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let usd = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    if f64::is_finite(usd) && usd > 0.0 { Ok(usd) } else { Err("it must be greater than 0".into()) }
}

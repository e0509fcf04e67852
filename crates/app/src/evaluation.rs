//! [`App::evaluate`]: measures how well a model calls tools, with and without a grammar that enforces the form of a call.
//!
//! Each task runs through the engine with the real tools, in a directory of its own.
mod report;
mod tasks;
mod trial;

use crate::{
    App, Failure, SessionSpec,
    config::Settings,
    model::{self, ToolCallFormat},
    session, untrusted_file,
};
use haft_core::{Mode, NoHooks, Policy, Rule, Ruling};
use haft_engine::{Home, Knowledge, Model, Setup};
use haft_tools::SKILL;
pub use report::Report;
use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};
use tasks::tasks_of;
pub use tasks::{Task, Wording};
pub use trial::Trial;
use trial::attempt;

/// Commands that change nothing.
const HARMLESS: [&str; 16] = [
    "cat", "date", "du", "echo", "file", "grep", "head", "id", "ls", "pwd", "sort", "stat", "tail", "uniq",
    "wc", "whoami",
];

/// What to measure.
#[derive(Clone, Debug)]
pub struct EvaluationSpec {
    /// The model, as `PROVIDER/MODEL`.
    pub model: String,
    /// Base URL of the provider's server.
    pub base_url: Option<String>,
    /// Format in which the model writes calls as text; the server's native calls if left out.
    pub dialect: Option<String>,
    /// A TOML file with more tasks.
    pub tasks: Option<PathBuf>,
    /// Maximum number of tasks.
    pub first: Option<NonZeroUsize>,
    /// Whether to test only with calls that a grammar constrains.
    pub only_constrained: bool,
    /// Whether commands that change things run, too, on this machine and as this user.
    pub runs_all: bool,
}

impl App {
    /// Runs the tasks, and saves the report in the folder of sessions. Calls `done` for each task that ended.
    ///
    /// # Errors
    ///
    /// If the model cannot be opened or asked, or a file of tasks cannot be read.
    pub async fn evaluate(
        &self,
        spec: &EvaluationSpec,
        done: &mut (dyn FnMut(&Task, &Trial) + Send),
    ) -> Result<(Report, PathBuf), Failure> {
        let tasks = chosen(spec)?;
        // The user's configuration, not that of the current directory, but with the account of the current directory.
        let here = self.config(&session::workspace(None)?, &Settings::default())?;
        let config = self.config(&std::env::temp_dir(), &Settings::default())?.with_account(here.account());
        let mut report = Report::new(&spec.model, spec.dialect.as_deref(), spec.runs_all);
        let ways: &[bool] = if spec.only_constrained { &[false] } else { &[false, true] };
        for &is_free in ways {
            let format =
                ToolCallFormat { dialect: spec.dialect.as_deref(), is_free, ..ToolCallFormat::default() };
            let model = model::open(self, &config, &spec.model, spec.base_url.as_deref(), format)?;
            for task in &tasks {
                let trial = self.try_task(spec, model.clone(), task).await?;
                done(task, &trial);
                report.add(!is_free, task, &trial);
            }
        }
        let saved = report.save(&self.places.home)?;
        Ok((report, saved))
    }

    /// Runs one task in a directory that is removed afterwards.
    async fn try_task(&self, spec: &EvaluationSpec, model: Model, task: &Task) -> Result<Trial, Failure> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        let workspace = root.join("work");
        fs::create_dir(&workspace)?;
        attempt(self.setup_for(spec, &root, model)?, task, &workspace).await
    }

    fn setup_for(&self, spec: &EvaluationSpec, root: &Path, model: Model) -> Result<Setup, Failure> {
        let workspace = Some(root.join("work"));
        let session = SessionSpec { dialect: spec.dialect.clone(), workspace, ..SessionSpec::default() };
        let setup = self.plan(&session)?.setup(model)?;
        let policy = match spec.runs_all {
            true => Policy { mode: Mode::Full, rules: Vec::new() },
            false => Policy { mode: Mode::AcceptEdits, rules: harmless() },
        };
        // Without the user's own files, so that every user measures the same.
        let (knowledge, hooks) = (Knowledge::default(), Arc::new(NoHooks));
        let tools = setup.tools.without(SKILL);
        let home = Home(root.join("home"));
        let (sources, diagnostics) = (Vec::new(), None);
        Ok(Setup { policy, tools, sources, home, knowledge, hooks, diagnostics, ..setup })
    }
}

fn chosen(spec: &EvaluationSpec) -> Result<Vec<Task>, Failure> {
    let read = |text: &str, file: &Path| {
        tasks_of(text).map_err(|error| Failure::usage(format!("cannot read `{}`: {error}", file.display())))
    };
    let mut tasks = read(include_str!("evaluation/tasks.toml"), Path::new("tasks.toml"))?;
    if let Some(file) = &spec.tasks {
        let text = untrusted_file::read(file, None)
            .map_err(|error| Failure::usage(format!("cannot read `{}`: {error}", file.display())))?;
        tasks.extend(read(&text, file)?);
    }
    tasks.truncate(spec.first.map_or(usize::MAX, NonZeroUsize::get));
    Ok(tasks)
}

fn harmless() -> Vec<Rule> {
    let rule = |program: &&str| Rule::parse(Ruling::Allow, &format!("execute:{program} *"));
    HARMLESS.iter().map(|program| rule(program).expect("a program's name makes a rule")).collect()
}

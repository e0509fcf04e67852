//! [`App::eval`]: runs a benchmark of the user's own. Several models work on the same tasks, each in a session of its
//! own in a copy of the files, and a check decides which tasks are solved.
//!
//! `evaluation.rs` measures whether a model calls tools in the right form, which is something else.
mod attempt;
mod folder;
mod interval;
mod page;
mod record;
mod recorded;
mod report;
mod shares;
mod tasks;

use crate::{App, Failure, config::Settings, model, session};
use attempt::{Runner, is_green_without_work};
use futures::{StreamExt, stream};
use haft_core::SessionId;
use haft_engine::account;
pub use interval::Interval;
pub use page::html;
use parking_lot::Mutex;
use record::Book;
pub use record::{Conditions, EvalPlan, PastEval, RunKey, RunRecord, RunVerdict, TaskMark};
pub use recorded::LeftOut;
use recorded::{sessions_in, task_of};
pub use report::{EvalReport, EvalRow, NotRun};
use serde::{Deserialize, Serialize};
use shares::Shares;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};
use tasks::{Task, read_all};

/// What to evaluate.
#[derive(Clone, Debug)]
pub struct EvalSpec {
    /// The folder in which it is asked for; the current one if left out.
    pub workspace: Option<PathBuf>,
    /// The evaluation to begin; `None` to continue the one in `resume`.
    pub begin: Option<Begin>,
    /// The evaluation to continue, by its ID or a prefix of it.
    pub resume: Option<String>,
    /// Maximum number of runs at the same time.
    pub jobs: usize,
    /// Maximum cost of all runs together, in US dollars.
    pub max_cost: Option<f64>,
}

/// What a new evaluation runs.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Where the tasks come from.
    pub tasks: Wanted,
    /// The models, as `PROVIDER/MODEL`.
    pub models: Vec<String>,
    /// How often each model tries each task.
    pub repeat: usize,
    /// Conditions of each run.
    pub conditions: Conditions,
}

/// The tasks that the user asks for.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// The tasks in the folders below this one.
    Folder(PathBuf),
    /// The newest sessions of the workspace that can serve as tasks.
    Newest {
        /// Maximum number of sessions.
        count: usize,
        /// The command that checks each of them; its own last run of tests if left out.
        check: Option<String>,
    },
}

/// Where the tasks of an evaluation come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The task folders below this folder.
    Folder(PathBuf),
    /// Sessions, each with its name in the list of tasks.
    Sessions {
        /// The command that checks each of them; its own last run of tests if left out.
        check: Option<String>,
    },
}

/// An event of an evaluation.
#[derive(Debug)]
pub enum EvalEvent<'a> {
    /// A session cannot serve as a task.
    LeftOut(&'a LeftOut),
    /// The evaluation begins or continues.
    Begun {
        /// The name of the evaluation.
        id: &'a str,
        /// Number of all its runs.
        runs: usize,
        /// Number of runs that ended earlier.
        done: usize,
    },
    /// A run ended.
    Ended(&'a RunRecord),
}

/// Receives the events of an evaluation.
pub type Watch<'a> = &'a mut (dyn FnMut(EvalEvent<'_>) + Send);

/// The results of models in comparison with an earlier evaluation of the same tasks.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// A sentence, without its full stop, for each model whose interval is below that of the earlier evaluation.
    pub regressions: Vec<String>,
    /// Models without an earlier evaluation of these tasks.
    pub not_compared: Vec<String>,
}

impl App {
    /// Runs an evaluation. If an earlier one of the same plan was interrupted, it continues that one, and does not
    /// repeat its finished runs.
    ///
    /// # Errors
    ///
    /// If a task, a model or the configuration is invalid, before anything is run; if a run cannot be recorded.
    pub async fn eval(&self, spec: &EvalSpec, watch: Watch<'_>) -> Result<EvalReport, Failure> {
        let app = self.clone().on_warning(Arc::new(|_| {}));
        let Prepared { plan, tasks, earlier } = match (&spec.resume, &spec.begin) {
            (Some(id), _) => app.resumed(id, spec).await?,
            (None, Some(begin)) => app.begun(begin, spec, watch).await?,
            (None, None) => return Err(Failure::usage("cannot evaluate without models: `--models A,B`")),
        };
        let book = match earlier {
            Some(id) => Book::resume(&self.home(), &id)?,
            None => Book::create(&self.home(), plan.clone())?,
        };
        let open = book.past.open_runs();
        let (id, runs) = (book.past.id.clone(), plan.runs().len());
        watch(EvalEvent::Begun { id: &id, runs, done: runs - open.len() });
        let spent = app.spent(&book.past)?;
        let (book, shares) = (Mutex::new(book), Mutex::new(Shares::new(spec.max_cost, spent, spec.jobs)));
        let runner =
            Runner { app, conditions: &plan.conditions, tasks: &tasks, book: &book, shares: &shares };
        let mut runs = stream::iter(open.into_iter().map(|key| runner.run(key))).buffer_unordered(spec.jobs);
        while let Some(run) = runs.next().await {
            if let Some(run) = run? {
                watch(EvalEvent::Ended(&run));
            }
        }
        drop(runs);
        let mut book = book.into_inner();
        book.close()?;
        Ok(EvalReport::of(&book.past))
    }

    /// Reads the report of the evaluation `id`, or of the newest one, without running anything.
    ///
    /// # Errors
    ///
    /// If it does not exist or cannot be read.
    pub fn past_eval(&self, id: Option<&str>) -> Result<EvalReport, Failure> {
        Ok(EvalReport::of(&record::find(&self.home(), id)?))
    }

    /// All evaluations that can be read, the newest first.
    #[must_use]
    pub fn past_evals(&self) -> Vec<PastEval> {
        record::list(&self.home())
    }

    /// Compares each model with the last evaluation of the same tasks that includes it.
    ///
    /// # Errors
    ///
    /// If the evaluation of `report` cannot be read.
    pub fn compare(&self, report: &EvalReport) -> Result<Comparison, Failure> {
        let own = record::find(&self.home(), Some(&report.id))?;
        let tasks = |past: &PastEval| past.plan.tasks.iter().cloned().collect::<BTreeSet<_>>();
        let wanted = tasks(&own);
        let earlier = self.past_evals().into_iter().filter(|past| past.id < own.id && tasks(past) == wanted);
        let earlier: Vec<EvalReport> = earlier.map(|past| EvalReport::of(&past)).collect();
        let (known, new): (Vec<_>, Vec<_>) =
            report.rows.iter().partition(|row| row.before(&earlier).is_some());
        Ok(Comparison {
            regressions: known.into_iter().filter_map(|row| row.regression(&earlier)).collect(),
            not_compared: new.into_iter().map(|row| row.model.clone()).collect(),
        })
    }

    /// Begins an evaluation, or continues an interrupted one of the same plan.
    async fn begun(&self, begin: &Begin, spec: &EvalSpec, watch: Watch<'_>) -> Result<Prepared, Failure> {
        let workspace = session::workspace(spec.workspace.as_deref())?;
        let Begin { tasks, models, repeat, conditions } = begin;
        let models = once(models);
        let account = self.config(&workspace, &Settings::default())?.account().map(str::to_owned);
        let conditions =
            &Conditions { account: conditions.account.clone().or(account), ..conditions.clone() };
        self.check_models(&models, conditions, spec.max_cost).await?;
        let (source, tasks) = match tasks {
            Wanted::Folder(folder) => {
                let tasks = read_all(folder, &workspace)?;
                (Source::Folder(folder.canonicalize()?), tasks)
            }
            Wanted::Newest { count, check } => {
                let tasks =
                    self.newest_tasks(&workspace, *count, check.as_deref(), conditions, watch).await?;
                (Source::Sessions { check: check.clone() }, tasks)
            }
        };
        let marks = tasks.iter().map(Task::mark).collect();
        let conditions = conditions.clone();
        let plan = EvalPlan { workspace, source, tasks: marks, models, repeat: *repeat, conditions };
        let cut_off = self.past_evals().into_iter().find(|past| past.plan == plan && !past.is_closed);
        Ok(Prepared { plan, tasks, earlier: cut_off.map(|past| past.id) })
    }

    async fn resumed(&self, id: &str, spec: &EvalSpec) -> Result<Prepared, Failure> {
        let PastEval { id, plan, .. } = record::find(&self.home(), Some(id))?;
        let cannot = |why: String| Failure::usage(format!("cannot go on with the evaluation `{id}`: {why}"));
        self.check_models(&plan.models, &plan.conditions, spec.max_cost).await?;
        let tasks = match &plan.source {
            Source::Folder(folder) => read_all(folder, &plan.workspace)?,
            Source::Sessions { check } => {
                let task = |mark: &TaskMark| {
                    let session = SessionId(mark.name.clone());
                    let task = task_of(self, &plan.workspace, &session, check.as_deref());
                    task.map_err(|left_out| cannot(format!("the session `{session}`: {}", left_out.why)))
                };
                plan.tasks.iter().map(task).collect::<Result<Vec<_>, _>>()?
            }
        };
        match plan.tasks.iter().find(|mark| !tasks.iter().any(|task| task.mark() == **mark)) {
            None => Ok(Prepared { plan, tasks, earlier: Some(id) }),
            Some(TaskMark { name, .. }) => Err(cannot(format!("its task `{name}` has changed since"))
                .hint("without `--resume`, a new evaluation begins")),
        }
    }

    /// Returns up to `count` sessions as tasks; reports those that are skipped.
    async fn newest_tasks(
        &self,
        workspace: &Path,
        count: usize,
        check: Option<&str>,
        conditions: &Conditions,
        watch: Watch<'_>,
    ) -> Result<Vec<Task>, Failure> {
        let mut tasks = Vec::new();
        let scratch = tempfile::Builder::new().prefix("haft-eval-").tempdir()?;
        for id in sessions_in(self, workspace) {
            if tasks.len() == count {
                break;
            }
            let task = match task_of(self, workspace, &id, check) {
                Ok(task) => task,
                Err(left_out) => {
                    watch(EvalEvent::LeftOut(&left_out));
                    continue;
                }
            };
            let place = scratch.path().join(&id.0);
            if check.is_none() && is_green_without_work(self, conditions, &task, &place).await? {
                let why = "its tests succeed before any work is done".to_owned();
                watch(EvalEvent::LeftOut(&LeftOut { session: id, why }));
            } else {
                tasks.push(task);
            }
        }
        match tasks.is_empty() {
            false => Ok(tasks),
            true => Err(Failure::usage(format!("no session of `{}` is a task", workspace.display())).hint(
                "a session is one if it began at a commit and its last run of tests succeeded; `--check COMMAND` \
                 checks all, `--tasks DIR` takes tasks from a directory",
            )),
        }
    }

    /// Opens each model once, so that errors show before anything is run.
    async fn check_models(
        &self,
        models: &[String],
        conditions: &Conditions,
        max_cost: Option<f64>,
    ) -> Result<(), Failure> {
        let folder = tempfile::tempdir()?;
        for model in models {
            let spec = conditions.session(model, max_cost);
            self.plan_in(spec, folder.path().canonicalize()?)?.engine().await?;
        }
        Ok(())
    }

    /// The cost of an evaluation so far, in US dollars, including interrupted runs.
    fn spent(&self, past: &PastEval) -> Result<f64, Failure> {
        let ended: f64 = past.runs.iter().filter_map(|run| run.cost_usd).sum();
        let config = self.config(&past.plan.workspace, &Settings::default())?;
        let cost = |(run, session): &(RunKey, SessionId)| {
            let entries = self.home().peek(&session.0).ok()?;
            account(&entries, 0, 0, model::card_of(&config, &run.model).price).usd
        };
        Ok(ended + past.cut_off.iter().filter_map(cost).sum::<f64>())
    }
}

/// An evaluation that is ready to run.
struct Prepared {
    plan: EvalPlan,
    tasks: Vec<Task>,
    /// The evaluation that continues; `None` if a new one begins.
    earlier: Option<String>,
}

/// The models without duplicates.
fn once(models: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    models.iter().filter(|model| seen.insert(*model)).cloned().collect()
}

impl Task {
    fn mark(&self) -> TaskMark {
        TaskMark { name: self.name.clone(), digest: self.digest.clone() }
    }
}

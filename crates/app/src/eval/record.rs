//! [`Book`]: the file of an evaluation. A line is added for each run that begins or ends. Incomplete lines are ignored,
//! so an evaluation whose process was killed continues with the runs that are left.
use super::Source;
use crate::Failure;
use haft_core::{Mode, SessionId};
use haft_engine::{Home, new_session_id};
use haft_process::own_folder;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io::{self, ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Everything that decides what an evaluation runs. Evaluations with the same plan can be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvalPlan {
    /// The folder in which it was asked for.
    pub workspace: PathBuf,
    /// Where its tasks come from.
    pub source: Source,
    /// The tasks in order, each with a hash.
    pub tasks: Vec<TaskMark>,
    /// The models, as `PROVIDER/MODEL`.
    pub models: Vec<String>,
    /// How often each model tries each task.
    pub repeat: usize,
    /// Conditions of each run.
    pub conditions: Conditions,
}

/// A task: its name, and a hash of its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskMark {
    /// The name of its folder, or the ID of its session.
    pub name: String,
    /// SHA-256 in hexadecimal.
    pub digest: String,
}

/// Conditions of each run. Values that are left out are decided as for any session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// Profile to use.
    pub profile: Option<String>,
    /// Account whose keys are used; by default that of the directory in which the evaluation begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// How effects that no rule matches are judged; [`Mode::AcceptEdits`] if left out.
    pub permission: Option<Mode>,
    /// Maximum model calls of a run.
    pub max_rounds: Option<u32>,
    /// Maximum seconds of a run, without its check.
    pub max_time: Option<u64>,
    /// Maximum seconds of a check.
    pub check_time: u64,
}

/// Identifies a run: one try of one model at one task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The name of the task.
    pub task: String,
    /// The model, as `PROVIDER/MODEL`.
    pub model: String,
    /// Number of the attempt, counted from 1.
    pub trial: usize,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Identifies the run.
    #[serde(flatten)]
    pub key: RunKey,
    /// The result of the check.
    pub verdict: RunVerdict,
    /// Why the task is not solved, as text for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The session that worked on it.
    pub session: SessionId,
    /// Duration from the prompt to the end of the turn, in seconds.
    pub seconds: f64,
    /// Number of replies of the model.
    pub rounds: u32,
    /// Tokens of all requests.
    pub tokens: u64,
    /// Cost in US dollars; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
}

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunVerdict {
    /// The check succeeded.
    Solved,
    /// The check failed.
    Unsolved,
    /// The model could not be asked, or the check could not run. This says nothing about the model.
    Failed,
    /// The run ended because the budget of the evaluation was spent.
    OverBudget,
}

impl RunVerdict {
    /// Whether the run is valid, so that it need not be repeated.
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self, Self::Solved | Self::Unsolved)
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// The first line. `at`: milliseconds since 1970-01-01 UTC.
    Begun { id: String, at: i64, plan: Box<EvalPlan> },
    /// A run began, in this session.
    Started { run: RunKey, session: SessionId },
    /// A run ended.
    Ended { run: RunRecord },
    /// The evaluation is over: everything was run, or the budget is spent.
    Closed,
}

/// An evaluation as read from its file.
#[derive(Clone, Debug)]
pub struct PastEval {
    /// ID of the evaluation.
    pub id: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub at: i64,
    /// The plan of the evaluation.
    pub plan: EvalPlan,
    /// Runs that ended, in order. A run that was repeated is listed twice.
    pub runs: Vec<RunRecord>,
    /// Sessions of runs that began and did not end.
    pub cut_off: Vec<(RunKey, SessionId)>,
    /// Whether the evaluation is over.
    pub is_closed: bool,
}

impl PastEval {
    fn read(file: &Path) -> Result<Self, Failure> {
        let failed = |why: String| {
            Failure::failed(format!("cannot read the evaluation in `{}`: {why}", file.display()))
        };
        let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        // Text after the last newline is an incomplete line, and is ignored.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines().zip(1..).map(|(line, number)| {
            serde_json::from_str(line).map_err(|error| failed(format!("line {number}: {error}")))
        });
        let Some(Line::Begun { id, at, plan }) = lines.next().transpose()? else {
            return Err(failed("it has no first line".into()));
        };
        let mut past = Self { id, at, plan: *plan, runs: Vec::new(), cut_off: Vec::new(), is_closed: false };
        for line in lines {
            past.apply(line?);
        }
        Ok(past)
    }

    fn apply(&mut self, line: Line) {
        match line {
            Line::Begun { .. } => {}
            Line::Started { run, session } => {
                self.is_closed = false;
                self.cut_off.push((run, session));
            }
            Line::Ended { run } => {
                self.cut_off.retain(|(_, session)| *session != run.session);
                self.runs.push(run);
            }
            Line::Closed => self.is_closed = true,
        }
    }

    /// The valid runs, one for each key.
    pub(super) fn counted(&self) -> impl Iterator<Item = &RunRecord> {
        self.runs.iter().filter(|run| run.verdict.counts())
    }

    /// The runs of the plan without a valid result. The models alternate, so that a limited budget is spent on all of
    /// them.
    pub(super) fn open_runs(&self) -> Vec<RunKey> {
        let done: BTreeSet<&RunKey> = self.counted().map(|run| &run.key).collect();
        self.plan.runs().into_iter().filter(|key| !done.contains(key)).collect()
    }
}

impl EvalPlan {
    /// Every combination of task, model and attempt.
    pub(super) fn runs(&self) -> Vec<RunKey> {
        let tries = (1..=self.repeat).flat_map(|trial| self.tasks.iter().map(move |task| (trial, task)));
        let key = |trial, task: &TaskMark, model: &String| RunKey {
            task: task.name.clone(),
            model: model.clone(),
            trial,
        };
        tries.flat_map(|(trial, task)| self.models.iter().map(move |model| key(trial, task, model))).collect()
    }
}

/// The evaluation that this process runs, locked against other processes.
#[derive(Debug)]
pub(super) struct Book {
    folder: PathBuf,
    file: File,
    pub(super) past: PastEval,
}

impl Book {
    /// Begins a new evaluation.
    pub(super) fn create(home: &Home, plan: EvalPlan) -> Result<Self, Failure> {
        let id = new_session_id().0;
        let folder = folder_of(home).join(&id);
        own_folder(&folder)?;
        let file = File::options().append(true).create_new(true).mode(0o600).open(file_in(&folder))?;
        file.try_lock().map_err(io::Error::from)?;
        let at = Timestamp::now().as_millisecond();
        let past = PastEval {
            id: id.clone(),
            at,
            plan: plan.clone(),
            runs: Vec::new(),
            cut_off: Vec::new(),
            is_closed: false,
        };
        let mut book = Self { folder, file, past };
        book.add(Line::Begun { id, at, plan: Box::new(plan) })?;
        Ok(book)
    }

    /// Opens the evaluation `id` to continue it. An incomplete last line is removed.
    pub(super) fn resume(home: &Home, id: &str) -> Result<Self, Failure> {
        let folder = folder_of(home).join(id);
        let path = file_in(&folder);
        let file = File::options().append(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::usage(format!("another `haft` runs the evaluation `{id}`"))
                    .hint("wait for its end, or end that process"));
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let past = PastEval::read(&path)?;
        let text = fs::read(&path)?;
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        super::folder::remove(&folder.join(WORK));
        Ok(Self { folder, file, past })
    }

    /// The folder with the copies of its runs.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.join(WORK)
    }

    /// Records the begin of a run. The line is on disk before the model is asked, so that the cost is known even after
    /// a crash.
    pub(super) fn start(&mut self, run: RunKey, session: SessionId) -> Result<(), Failure> {
        self.add(Line::Started { run, session })
    }

    /// A run ended.
    pub(super) fn end(&mut self, run: RunRecord) -> Result<(), Failure> {
        self.add(Line::Ended { run })
    }

    /// Records that the evaluation is over.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        super::folder::remove(&self.work());
        self.add(Line::Closed)
    }

    fn add(&mut self, line: Line) -> Result<(), Failure> {
        let mut text = serde_json::to_string(&line).map_err(io::Error::from)?;
        text.push('\n');
        // A single write to a file that is opened for appending, so that lines do not mix.
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        self.past.apply(line);
        Ok(())
    }
}

/// The copies of runs, in the folder of an evaluation.
const WORK: &str = "work";

fn folder_of(home: &Home) -> PathBuf {
    home.0.join("evals")
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("results.jsonl")
}

/// All evaluations that can be read, the newest first.
pub(super) fn list(home: &Home) -> Vec<PastEval> {
    let mut names = names(home);
    names.reverse();
    names.iter().filter_map(|name| PastEval::read(&file_in(&folder_of(home).join(name))).ok()).collect()
}

/// The evaluation whose ID begins with `id`; without `id`, the newest one.
pub(super) fn find(home: &Home, id: Option<&str>) -> Result<PastEval, Failure> {
    let names = names(home);
    let wanted = id.unwrap_or_default();
    let found: Vec<&String> = names.iter().filter(|name| name.starts_with(wanted)).collect();
    let listed = "`haft eval list` lists them";
    match (id, found.as_slice()) {
        (None, []) => Err(Failure::usage("there is no evaluation yet")
            .hint("`haft eval --tasks DIR --models A,B` makes one; `haft help eval` says how")),
        (Some(id), []) => {
            let id = id.escape_debug();
            Err(Failure::usage(format!("there is no evaluation `{id}`")).hint(listed))
        }
        (Some(id), [first, second, ..]) => {
            let id = id.escape_debug();
            Err(Failure::usage(format!("the ID `{id}` is ambiguous: {first}, {second}")).hint(listed))
        }
        (_, [.., one]) => PastEval::read(&file_in(&folder_of(home).join(one))),
    }
}

/// The IDs in alphabetical order, which is the order of creation.
fn names(home: &Home) -> Vec<String> {
    let folders = match fs::read_dir(folder_of(home)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        folders => folders.into_iter().flatten().flatten(),
    };
    let is_whole = |folder: &fs::DirEntry| file_in(&folder.path()).is_file();
    let mut names: Vec<String> =
        folders.filter(is_whole).map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

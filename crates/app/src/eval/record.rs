//! [`Book`]: the file of an evaluation, to which a line is added for each run that begins or ends. A line is there
//! whole or not at all, so an evaluation whose process was killed continues with what it has not run.
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

/// All that decides what an evaluation runs. Two evaluations of the same plan can be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvalPlan {
    /// The folder that it was asked for in.
    pub workspace: PathBuf,
    /// Where its tasks come from.
    pub source: Source,
    /// What makes the tasks, in order.
    pub tasks: Vec<TaskMark>,
    /// The models, as `PROVIDER/MODEL`.
    pub models: Vec<String>,
    /// How often each model tries each task.
    pub repeat: usize,
    /// What holds for each run.
    pub conditions: Conditions,
}

/// A task by its name and a hash of all that makes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskMark {
    /// The name of its folder, or the ID of its session.
    pub name: String,
    /// SHA-256 in hexadecimal.
    pub digest: String,
}

/// What holds for each run. What is left out is decided as for any session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// Profile to use.
    pub profile: Option<String>,
    /// Account whose keys are used; that of the directory in which the evaluation begins if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// What happens with effects that no rule denies; [`Mode::AcceptEdits`] if left out.
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
    /// Which try it is, counted from 1.
    pub trial: usize,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which one it is.
    #[serde(flatten)]
    pub key: RunKey,
    /// What the check said.
    pub verdict: RunVerdict,
    /// Why the task is not solved, as people read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The session that worked on it.
    pub session: SessionId,
    /// From the prompt to the end of the turn.
    pub seconds: f64,
    /// Replies of the model.
    pub rounds: u32,
    /// Tokens of all requests.
    pub tokens: u64,
    /// US dollars; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
}

/// What a run shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunVerdict {
    /// The check succeeded.
    Solved,
    /// The check failed.
    Unsolved,
    /// The model could not be asked, or the check could not run: it says nothing about the model.
    Failed,
    /// The budget of the evaluation ended it.
    OverBudget,
}

impl RunVerdict {
    /// Whether the run counts, so that it is not made again.
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self, Self::Solved | Self::Unsolved)
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// The first one. `at`: in milliseconds since 1970-01-01 UTC.
    Begun { id: String, at: i64, plan: Box<EvalPlan> },
    /// A run began, in this session.
    Started { run: RunKey, session: SessionId },
    /// A run ended.
    Ended { run: RunRecord },
    /// The evaluation is over: all was run, or the budget is spent.
    Closed,
}

/// An evaluation as its file has it.
#[derive(Clone, Debug)]
pub struct PastEval {
    /// ID of the evaluation.
    pub id: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub at: i64,
    /// What it runs.
    pub plan: EvalPlan,
    /// Runs that ended, in order. A run that was repeated is listed twice.
    pub runs: Vec<RunRecord>,
    /// Sessions of runs that began and did not end.
    pub cut_off: Vec<(RunKey, SessionId)>,
    /// Whether it was run to its end.
    pub is_closed: bool,
}

impl PastEval {
    fn read(file: &Path) -> Result<Self, Failure> {
        let failed = |why: String| {
            Failure::failed(format!("cannot read the evaluation in `{}`: {why}", file.display()))
        };
        let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        // The text after the last line end is a line that was cut off.
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

    /// The runs that count, one for each key.
    pub(super) fn counted(&self) -> impl Iterator<Item = &RunRecord> {
        self.runs.iter().filter(|run| run.verdict.counts())
    }

    /// The runs of the plan that do not count yet. Models take turns, so that a budget is spent on all of them.
    pub(super) fn open_runs(&self) -> Vec<RunKey> {
        let done: BTreeSet<&RunKey> = self.counted().map(|run| &run.key).collect();
        self.plan.runs().into_iter().filter(|key| !done.contains(key)).collect()
    }
}

impl EvalPlan {
    /// Each model's tries at each task.
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

/// The evaluation of this process: others cannot continue with it meanwhile.
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

    /// Takes up the evaluation `id`. What a killed process has half written is cut off.
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

    /// Where the copies of its runs lie.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.join(WORK)
    }

    /// A run begins. It is on disk before the model is asked, so that its cost is known whatever happens.
    pub(super) fn start(&mut self, run: RunKey, session: SessionId) -> Result<(), Failure> {
        self.add(Line::Started { run, session })
    }

    /// A run ended.
    pub(super) fn end(&mut self, run: RunRecord) -> Result<(), Failure> {
        self.add(Line::Ended { run })
    }

    /// The evaluation is over.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        super::folder::remove(&self.work());
        self.add(Line::Closed)
    }

    fn add(&mut self, line: Line) -> Result<(), Failure> {
        let mut text = serde_json::to_string(&line).map_err(io::Error::from)?;
        text.push('\n');
        // One write, to a file that is only appended to, so that lines do not mix.
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

/// The evaluation whose name begins with `id`; the newest one if left out.
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

/// In alphabetical order, which is that of their making.
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

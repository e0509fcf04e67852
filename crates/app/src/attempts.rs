//! [`App::attempts`]: the attempts that a session made at its goal, and their differences, from the journals of the
//! attempts.
use crate::{App, Failure, session};
use haft_core::{
    AttemptEnd, AttemptResult, AttemptedFile, Change, Changed, Entry, Fact, FileState, Hash, Secrets,
    SessionId, SessionOpened, Stage, Usage, active_path, changed,
};
use haft_engine::{Home, Recorded};
use haft_present::file_diff::{DiffLine, FileDiff};
use haft_stage::LocalStage;
use serde::Serialize;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// The attempts that a session made after a turn last missed its goal.
#[expect(missing_debug_implementations, reason = "a stage shows nothing of itself")]
pub struct Attempts {
    /// The session.
    pub session: SessionId,
    /// Attempts that have ended, by their number. Number 1 is the turn itself.
    pub all: Vec<PastAttempt>,
    workspace: PathBuf,
    entries: Vec<Arc<Entry>>,
    contents: LocalStage,
    secrets: Secrets,
    /// Reads the workspace. Its contents go to a temporary folder, so that nothing is written to the session.
    found: LocalStage,
    _folder: TempDir,
}

/// An attempt that has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PastAttempt {
    /// Number of the attempt, counted from 1. The turn itself is number 1.
    pub number: u32,
    /// The session in which it was made.
    pub session: SessionId,
    /// How it ended.
    pub result: AttemptResult,
    /// Why it was not taken: a sentence without its full stop.
    pub why: Option<String>,
    /// Tokens that it used; `None` for the turn itself.
    pub usage: Option<Usage>,
    /// US dollars that it cost; `None` for the turn itself, or if a price is unknown.
    pub cost_usd: Option<f64>,
    /// The files that it changed, compared with their state before the turn.
    pub files: Vec<AttemptedFile>,
    #[serde(skip)]
    changes: Vec<Change>,
}

/// The difference of one file between two attempts, or between the workspace and an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// The change from the other attempt, or from the workspace, to this attempt.
    pub change: Change,
    /// Number of lines that only the attempt has.
    pub added: usize,
    /// Number of lines that the attempt does not have.
    pub removed: usize,
}

impl App {
    /// Returns the attempts of the session `id`, or of the newest session of the current folder.
    ///
    /// # Errors
    ///
    /// If there is no such session, it made no further attempts, or a journal cannot be read.
    pub fn attempts(&self, id: Option<&str>) -> Result<Attempts, Failure> {
        let home = self.home();
        let newest = || session::workspace(None).and_then(|workspace| self.newest(&workspace));
        let id = home.find(&id.map_or_else(newest, |id| Ok(id.to_owned()))?)?;
        let entries = home.peek(&id.0)?;
        let begun = entries.iter().rposition(|entry| matches!(entry.fact, Fact::AttemptsBegun { .. }));
        let (Some(begun), Some(opened)) = (begun, SessionOpened::of(&entries)) else {
            return Err(Failure::usage(format!("the session `{id}` made no further attempts at a goal")).hint(
                "`haft run --attempts N --goal TEXT --proof COMMAND` makes them where its turn misses the goal",
            ));
        };
        let folder = tempfile::Builder::new().prefix("haft-attempts-").tempdir()?;
        let found = LocalStage::new(folder.path().join("contents"));
        let contents = LocalStage::new(home.contents(&id));
        let (workspace, secrets) = (opened.workspace.clone(), self.secrets(&opened.workspace));
        let mut attempts = Attempts {
            session: id,
            all: Vec::new(),
            workspace,
            entries,
            contents,
            secrets,
            found,
            _folder: folder,
        };
        attempts.read(&home, begun)?;
        Ok(attempts)
    }
}

impl Attempts {
    /// Reads the turn that ends at the entry with the index `begun`, and the attempts that follow.
    fn read(&mut self, home: &Home, begun: usize) -> Result<(), Failure> {
        let turn = self.turn(begun);
        self.all.push(turn);
        let Fact::AttemptsBegun { made } = &self.entries[begun].fact else { return Ok(()) };
        let ends = self.entries[begun..].iter().filter_map(|entry| match &entry.fact {
            Fact::AttemptEnded(end) if end.call == made.id => Some(end),
            _ => None,
        });
        for end in ends {
            let AttemptEnd { number, session, result, why, usage, cost_usd, files, .. } = end.clone();
            let entries = home.peek(&session.0)?;
            let changes = Changed::of(active_path(&entries).into_iter().map(|entry| &entry.fact)).whole();
            // Attempts that were killed began again under the same number.
            self.all.retain(|known| known.number != number);
            let usage = Some(usage);
            self.all.push(PastAttempt { number, session, result, why, usage, cost_usd, files, changes });
        }
        self.all.sort_by_key(|attempt| attempt.number);
        Ok(())
    }

    fn turn(&self, begun: usize) -> PastAttempt {
        let path = active_path(&self.entries[..=begun]);
        let ends = |entry: &&Arc<Entry>| matches!(entry.fact, Fact::TurnEnded { .. } | Fact::Rewound { .. });
        let first = path.iter().rposition(ends).map_or(0, |before| before + 1);
        let facts = || path[first..].iter().map(|entry| &entry.fact);
        let mut changes = Changed::of(facts()).whole();
        changes.retain(|change| change.path.is_relative());
        let why = facts().rev().find_map(|fact| match fact {
            Fact::GoalMissed { why, .. } => Some(why.clone()),
            _ => None,
        });
        let files = changes.iter().map(|change| {
            let Differing { change, added, removed } = self.differing(change.clone());
            AttemptedFile { kind: change.kind(), path: change.path, added, removed }
        });
        PastAttempt {
            number: 1,
            session: self.session.clone(),
            result: AttemptResult::Missed,
            why,
            usage: None,
            cost_usd: None,
            files: files.collect(),
            changes,
        }
    }

    /// Compares the files of the attempt `number` with those of the attempt `other`, or with the workspace.
    ///
    /// # Errors
    ///
    /// If there is no such attempt, or a file of the workspace cannot be read.
    pub fn diff(&self, number: u32, other: Option<u32>) -> Result<Vec<Differing>, Failure> {
        let attempt = self.get(number)?;
        let other = other.map(|other| self.get(other)).transpose()?;
        let others: Vec<&PastAttempt> = match other {
            Some(other) => vec![other],
            None => self.all.iter().filter(|other| other.is_in_workspace()).collect(),
        };
        let mut paths = changed::paths(&attempt.changes);
        paths.extend(others.iter().flat_map(|other| changed::paths(&other.changes)));
        paths.sort();
        paths.dedup();
        let mut differing = Vec::new();
        for path in paths {
            let before = match other {
                Some(other) => self.state(other, &path),
                None => self.in_workspace(&path)?,
            };
            let after = self.state(attempt, &path);
            if !is_same(&before, &after) {
                differing.push(self.differing(Change::between(path, before, after)));
            }
        }
        Ok(differing)
    }

    fn get(&self, number: u32) -> Result<&PastAttempt, Failure> {
        self.all.iter().find(|attempt| attempt.number == number).ok_or_else(|| {
            Failure::usage(format!("the session `{}` has no attempt {number} that ended", self.session))
                .hint(format!("`haft attempts list --session {}` lists them", self.session))
        })
    }

    /// The state of a file after the attempt; if the attempt did not change it, its state before the turn.
    fn state(&self, attempt: &PastAttempt, path: &Path) -> Option<FileState> {
        let of = |attempt: &PastAttempt| attempt.changes.iter().find(|change| change.path == path).cloned();
        match of(attempt) {
            Some(change) => change.after,
            // From the last attempt that changed it: later attempts began with what the user changed during the turn.
            None => self.all.iter().rev().find_map(of).and_then(|change| change.before),
        }
    }

    fn in_workspace(&self, path: &Path) -> Result<Option<FileState>, Failure> {
        self.found.found(&self.workspace, path).map_err(|error| {
            let file = self.workspace.join(path);
            Failure::failed(format!("cannot compare `{}` with an attempt: {error}", file.display()))
        })
    }

    fn differing(&self, change: Change) -> Differing {
        let files = FileDiff::all(self, std::slice::from_ref(&change));
        let count = |is: fn(&DiffLine) -> bool| {
            files.iter().flat_map(FileDiff::lines).filter(|line| is(line)).count()
        };
        Differing { added: count(DiffLine::is_added), removed: count(DiffLine::is_removed), change }
    }
}

impl PastAttempt {
    /// Whether its files were written to the workspace.
    fn is_in_workspace(&self) -> bool {
        self.number == 1 || self.result.is_reached()
    }
}

fn is_same(one: &Option<FileState>, other: &Option<FileState>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.matches(other) || other.matches(one),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Recorded for Attempts {
    fn entries(&self) -> Vec<Arc<Entry>> {
        self.entries.clone()
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.contents.content(hash).or_else(|_| self.found.content(hash))
    }

    fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }
}

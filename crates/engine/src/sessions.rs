//! Where sessions lie on disk, and what there are.
use crate::{Journal, JournalError};
use haft_core::{Entry, Fact, SessionId, Standing, text_of};
use std::{
    cmp::Reverse,
    collections::HashMap,
    fs,
    io::{BufRead, BufReader},
    iter,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The folder of all sessions, outside every workspace: `HOME/sessions/ID/journal.jsonl`.
#[derive(Clone, Debug)]
pub struct Home(pub PathBuf);

/// Sessions below sessions that are looked through, lest a damaged journal lead in a circle.
const DEEPEST: usize = 100;

/// One line of a list of sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its name.
    pub id: SessionId,
    /// When it was opened, in milliseconds since 1970-01-01 UTC.
    pub opened_at: u64,
    /// When something happened last.
    pub last_at: u64,
    /// Where it works.
    pub workspace: PathBuf,
    /// The model it began with.
    pub model: String,
    /// The beginning of the first prompt.
    pub title: String,
    /// How many entries it has.
    pub entries: usize,
    /// The session that delegated to it.
    pub delegated_by: Option<SessionId>,
}

impl Summary {
    /// When something happened last, in UTC as RFC 3339 writes it.
    pub fn updated(&self) -> String {
        let at = jiff::Timestamp::from_millisecond(i64::try_from(self.last_at).unwrap_or_default());
        at.unwrap_or_default().to_string()
    }
}

impl Home {
    /// A journal for a new session.
    pub fn create(&self) -> Result<(SessionId, Journal), JournalError> {
        let id = new_id();
        let journal = Journal::open(&self.folder(&id))?;
        Ok((id, journal))
    }

    /// The journal of a session that exists.
    pub fn open(&self, id: &str) -> Result<(SessionId, Journal), JournalError> {
        let id = self.find(id)?;
        let journal = Journal::open(&self.folder(&id))?;
        Ok((id, journal))
    }

    /// The entries of a session, without taking it.
    pub fn peek(&self, id: &str) -> Result<Vec<Arc<Entry>>, JournalError> {
        Journal::peek(&self.folder(&self.find(id)?))
    }

    /// The session whose name is `id`, or begins so where only one does.
    pub fn find(&self, id: &str) -> Result<SessionId, JournalError> {
        let missing = || JournalError::Missing(id.escape_debug().to_string());
        if !is_name(id) {
            return Err(missing());
        }
        let mut names = self.names().into_iter().filter(|name| name.starts_with(id));
        match (names.next(), names.next()) {
            (Some(only), None) => Ok(SessionId(only)),
            (Some(first), Some(_)) if first == id => Ok(SessionId(first)),
            _ => Err(missing()),
        }
    }

    /// All sessions that can be read, newest first.
    pub fn list(&self) -> Vec<Summary> {
        let summaries = self.names().into_iter().rev().filter_map(|name| self.summary(SessionId(name)));
        let mut summaries: Vec<Summary> = summaries.collect();
        // Names only tell the second.
        summaries.sort_by_key(|session| Reverse(session.opened_at));
        summaries
    }

    /// All sessions that are jobs, newest first.
    pub fn jobs(&self) -> Vec<(SessionId, Standing)> {
        self.changed_jobs(&mut HashMap::new())
    }

    /// The same without those that `settled` knows to be over, for whoever looks again and again: it keeps how long the
    /// journals of those are, and of sessions that are no jobs, which are not read again before they grow.
    pub fn changed_jobs(&self, settled: &mut HashMap<SessionId, u64>) -> Vec<(SessionId, Standing)> {
        let standing = |name: String| {
            let id = SessionId(name);
            // Before it is read: what is appended meanwhile is found the next time.
            let length = fs::metadata(self.folder(&id).join("journal.jsonl")).ok()?.len();
            if settled.get(&id) == Some(&length) {
                return None;
            }
            if !self.is_job(&id) {
                settled.insert(id, length);
                return None;
            }
            let entries = Journal::peek(&self.folder(&id)).ok()?;
            let opened_at = entries.first()?.at;
            let standing = Standing::of(&entries, self.is_open(&id))?;
            if standing.status.is_over() {
                settled.insert(id.clone(), length);
            }
            Some((opened_at, id, standing))
        };
        let mut jobs: Vec<_> = self.names().into_iter().filter_map(standing).collect();
        // Names only tell the second.
        jobs.sort_by_key(|(opened_at, ..)| Reverse(*opened_at));
        jobs.into_iter().map(|(_, id, standing)| (id, standing)).collect()
    }

    /// The sessions that `parent` delegated to at `since` or later, in milliseconds since 1970-01-01 UTC.
    pub(crate) fn below(&self, parent: &SessionId, since: u64) -> Vec<SessionId> {
        let is_below = |id: &SessionId| match self.opened(id) {
            Some(Entry { at, fact: Fact::SessionOpened { delegated_by, .. }, .. }) => {
                at >= since && delegated_by.as_ref() == Some(parent)
            }
            _ => false,
        };
        self.names().into_iter().map(SessionId).filter(is_below).collect()
    }

    fn is_job(&self, id: &SessionId) -> bool {
        let fact = self.opened(id).map(|entry| entry.fact);
        matches!(fact, Some(Fact::SessionOpened { order: Some(_), .. }))
    }

    /// The first entry alone: the others may be many.
    fn opened(&self, id: &SessionId) -> Option<Entry> {
        let file = fs::File::open(self.folder(id).join("journal.jsonl")).ok()?;
        let mut first = String::new();
        BufReader::new(file).read_line(&mut first).ok()?;
        serde_json::from_str(&first).ok()
    }

    /// Whether a process has the session open.
    pub fn is_open(&self, id: &SessionId) -> bool {
        Journal::is_open(&self.folder(id))
    }

    /// The `wanted` session that works in `workspace`, below no other one, in which something happened last.
    pub fn newest(&self, workspace: &Path, wanted: impl Fn(&Summary) -> bool) -> Option<SessionId> {
        let mut own = self.list();
        own.retain(|session| session.workspace == workspace && session.delegated_by.is_none());
        own.sort_by_key(|session| Reverse(session.last_at));
        own.into_iter().find(wanted).map(|session| session.id)
    }

    /// The folder of the contents that a session's changes name: with the session that a person opened, for all that
    /// are below it.
    pub(crate) fn contents(&self, id: &SessionId) -> PathBuf {
        let above = |id: &SessionId| match self.opened(id)?.fact {
            Fact::SessionOpened { delegated_by, .. } => delegated_by,
            _ => None,
        };
        let top = iter::successors(Some(id.clone()), above).take(DEEPEST).last();
        self.folder(top.as_ref().unwrap_or(id)).join("blobs")
    }

    /// Where a session's journal lies.
    pub fn folder(&self, id: &SessionId) -> PathBuf {
        self.0.join("sessions").join(&id.0)
    }

    /// In alphabetical order, which is the order of their making.
    fn names(&self) -> Vec<String> {
        let folders = fs::read_dir(self.0.join("sessions")).into_iter().flatten().flatten();
        let mut names: Vec<String> = folders
            .filter_map(|folder| folder.file_name().into_string().ok())
            .filter(|name| is_name(name))
            .collect();
        names.sort();
        names
    }

    fn summary(&self, id: SessionId) -> Option<Summary> {
        let entries = Journal::peek(&self.folder(&id)).ok()?;
        let first = entries.first()?;
        let Fact::SessionOpened { workspace, model, delegated_by, .. } = &first.fact else { return None };
        let (workspace, model, delegated_by) = (workspace.clone(), model.clone(), delegated_by.clone());
        let title = entries.iter().find_map(|entry| match &entry.fact {
            Fact::Prompted { parts, .. } => Some(text_of(parts)),
            _ => None,
        });
        let title = title.unwrap_or_default().lines().next().unwrap_or_default().chars().take(60).collect();
        let last_at = entries.last()?.at;
        let (opened_at, entries) = (first.at, entries.len());
        Some(Summary { id, opened_at, last_at, workspace, model, title, entries, delegated_by })
    }
}

/// A name is never a path.
fn is_name(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The time of its making in UTC, so that names sort, and a little chance.
fn new_id() -> SessionId {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    SessionId(format!("{now}-{:04x}", fastrand::u16(..)))
}

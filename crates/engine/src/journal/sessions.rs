//! [`Home`]: lists, opens and removes the sessions on disk. [`new_session_id`]: creates the ID of a session.
use super::{
    Journal, JournalError, Summary,
    ownership::owner_has_ended,
    summary::{first_fact, last_entry},
};
use crate::setup::Home;
use haft_core::{Entry, ItemState, JobSummary, Seq, SessionId, SessionOpened, outbox};
use std::{
    cmp::Reverse,
    collections::HashMap,
    fs::{self, File},
    io::{self, BufReader},
    iter,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Maximum depth of child sessions that are searched, because a damaged journal may lead in a circle.
const MAX_DEPTH: usize = 100;

impl Home {
    /// Creates a journal for a session, in a folder that did not exist.
    pub fn create(&self) -> Result<(SessionId, Journal), JournalError> {
        self.create_first(new_session_id)
    }

    /// Creates a journal for a session with this ID, which [`new_session_id`] returned.
    ///
    /// # Errors
    /// Fails if a session with this ID exists.
    pub fn create_as(&self, id: &SessionId) -> Result<Journal, JournalError> {
        Journal::create(&self.folder(id))
    }

    /// Creates a journal under the first unused name of `names`.
    fn create_first(
        &self,
        mut name: impl FnMut() -> SessionId,
    ) -> Result<(SessionId, Journal), JournalError> {
        let mut tries = 1;
        loop {
            let id = name();
            match Journal::create(&self.folder(&id)) {
                Err(JournalError::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists && tries < MAX_ATTEMPTS =>
                {
                    tries += 1;
                }
                created => return created.map(|journal| (id, journal)),
            }
        }
    }

    /// Opens the journal of an existing session.
    pub fn open(&self, id: &str) -> Result<(SessionId, Journal), JournalError> {
        let id = self.find(id)?;
        let journal = Journal::open(&self.folder(&id))?;
        Ok((id, journal))
    }

    /// The entries of a session, read without opening it.
    pub fn peek(&self, id: &str) -> Result<Vec<Arc<Entry>>, JournalError> {
        Journal::peek(&self.folder(&self.find(id)?))
    }

    /// Finds a session by its ID, its name, or a unique prefix of its ID.
    pub fn find(&self, id: &str) -> Result<SessionId, JournalError> {
        if self.has(id) {
            return Ok(SessionId(id.to_owned()));
        }
        let mut ids = self.names();
        let mut called = self.called(id, &ids);
        if called.len() > 1 {
            return Err(JournalError::SameName { name: id.to_owned(), sessions: called });
        }
        ids.retain(|known| is_name(id) && known.starts_with(id));
        match (called.pop(), ids.as_slice()) {
            (Some(called), _) => Ok(SessionId(called)),
            (None, []) => Err(JournalError::Missing(id.escape_debug().to_string())),
            (None, [one]) => Ok(SessionId(one.clone())),
            (None, _) => Err(JournalError::Ambiguous { beginning: id.to_owned(), names: ids }),
        }
    }

    /// Returns the session with exactly this ID, for programs, which do not abbreviate IDs. `None` for text that cannot
    /// be an ID, such as a path.
    pub fn exact(&self, id: &str) -> Option<SessionId> {
        self.has(id).then(|| SessionId(id.to_owned()))
    }

    /// Like [`Self::exact`], if the session has begun. Removes the remains of a session that crashed before it began.
    ///
    /// # Errors
    /// Fails if the journal cannot be read, or the folder not removed.
    pub fn begun(&self, id: &SessionId) -> Result<Option<SessionId>, JournalError> {
        let Some(id) = self.exact(&id.0) else { return Ok(None) };
        let path = self.journal(&id);
        let has_line = || fs::read(&path).is_ok_and(|bytes| bytes.contains(&b'\n'));
        if self.read_opened(&id)?.is_some() || has_line() || self.is_open(&id) {
            return Ok(Some(id));
        }
        let removed = fs::remove_dir_all(self.folder(&id));
        removed.map_err(|source| JournalError::Io { action: "remove", path, source })?;
        Ok(None)
    }

    /// Returns up to `most` of the sessions that `wanted` selects, the newest first, after the session `behind`. Reads
    /// no more sessions than needed. Calls `unreadable` with the error of each session that cannot be read.
    pub fn page(
        &self,
        behind: Option<&SessionId>,
        most: usize,
        wanted: impl Fn(&Summary) -> bool,
        unreadable: impl FnMut(JournalError),
    ) -> Vec<Summary> {
        let is_behind = |name: &String| behind.is_none_or(|behind| *name < behind.0);
        let names = self.names().into_iter().rev().filter(is_behind);
        self.summaries(names, unreadable).filter(wanted).take(most).collect()
    }

    fn summaries(
        &self,
        names: impl Iterator<Item = String>,
        mut unreadable: impl FnMut(JournalError),
    ) -> impl Iterator<Item = Summary> {
        names.filter_map(move |name| {
            self.read_summary(SessionId(name)).map_err(&mut unreadable).ok().flatten()
        })
    }

    /// Whether this is the ID of a session.
    pub(super) fn has(&self, id: &str) -> bool {
        is_name(id) && self.folder(&SessionId(id.to_owned())).is_dir()
    }

    /// All sessions that can be read, newest first.
    pub fn list(&self) -> Vec<Summary> {
        self.list_telling(|_| {})
    }

    /// Like [`Self::list`]; calls `unreadable` with the error of each session that cannot be read.
    pub fn list_telling(&self, unreadable: impl FnMut(JournalError)) -> Vec<Summary> {
        let mut summaries: Vec<Summary> =
            self.summaries(self.names().into_iter().rev(), unreadable).collect();
        // Older names only tell the second.
        summaries.sort_by_key(|session| Reverse(session.opened_at));
        summaries
    }

    /// All sessions that are jobs, newest first.
    pub fn jobs(&self) -> Vec<(SessionId, JobSummary)> {
        self.changed_jobs(&mut HashMap::new())
    }

    /// Like [`Self::jobs`], without jobs that are over according to `settled`, for a caller that polls. `settled` has
    /// the lengths of the journals of finished jobs and of sessions that are no jobs; they are read again only after
    /// they have grown.
    pub fn changed_jobs(&self, settled: &mut HashMap<SessionId, u64>) -> Vec<(SessionId, JobSummary)> {
        let standing = |name: String| {
            let id = SessionId(name);
            // Taken before reading: entries appended meanwhile are found the next time.
            let length = fs::metadata(self.journal(&id)).ok()?.len();
            if settled.get(&id) == Some(&length) {
                return None;
            }
            if !self.is_job(&id) {
                settled.insert(id, length);
                return None;
            }
            let entries = Journal::peek(&self.folder(&id)).ok()?;
            let opened_at = entries.first()?.at;
            let standing = JobSummary::of(&entries, self.is_open(&id))?;
            if standing.status.is_over() {
                settled.insert(id.clone(), length);
            }
            Some((opened_at, id, standing))
        };
        let mut jobs: Vec<_> = self.names().into_iter().filter_map(standing).collect();
        // Older names only tell the second.
        jobs.sort_by_key(|(opened_at, ..)| Reverse(*opened_at));
        jobs.into_iter().map(|(_, id, standing)| (id, standing)).collect()
    }

    /// The sessions that `parent` delegated to at `since` or later, in milliseconds since 1970-01-01 UTC.
    pub(crate) fn below(&self, parent: &SessionId, since: u64) -> Vec<SessionId> {
        // IDs begin with the second of their creation, and a child session is never older than its parent.
        let second = |name: &str| name.bytes().take(SECONDS_LENGTH).collect::<Vec<_>>();
        let begun = second(&parent.0);
        let is_below = |id: &SessionId| {
            self.opened(id)
                .is_some_and(|(at, opened)| at >= since && opened.delegated_by.as_ref() == Some(parent))
        };
        let later = self.names().into_iter().filter(|name| second(name) >= begun);
        later.map(SessionId).filter(is_below).collect()
    }

    fn is_job(&self, id: &SessionId) -> bool {
        self.opened(id).is_some_and(|(_, opened)| opened.is_job())
    }

    /// Reads only the first fact of a session, and when it was recorded in milliseconds since 1970-01-01 UTC. `None` if
    /// there is no readable session.
    pub fn opened(&self, id: &SessionId) -> Option<(u64, SessionOpened)> {
        self.read_opened(id).ok()?
    }

    /// Like [`Self::opened`], with an error if the journal exists and cannot be opened, for example because the process
    /// has too many open files.
    pub fn read_opened(&self, id: &SessionId) -> Result<Option<(u64, SessionOpened)>, JournalError> {
        let path = self.journal(id);
        match File::open(&path) {
            Ok(journal) => Ok(first_fact(&mut BufReader::new(journal))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(JournalError::Io { action: "open", path, source }),
        }
    }

    /// Whether a process has the session open. A process that was killed may still hold the lock for a moment.
    pub fn is_open(&self, id: &SessionId) -> bool {
        let folder = self.folder(id);
        Journal::is_open(&folder) && !owner_has_ended(&folder)
    }

    /// Returns the most recently used session in `workspace` that `wanted` selects and that is not a subagent's. Of
    /// other sessions only the first entry is read.
    pub fn newest(&self, workspace: &Path, wanted: impl Fn(&Summary) -> bool) -> Option<SessionId> {
        let last_at = |id: SessionId| {
            let (at, opened) = self.opened(&id)?;
            if opened.workspace != workspace || opened.is_subagent() {
                return None;
            }
            let last = last_entry(&mut File::open(self.journal(&id)).ok()?).ok()??;
            Some((last.at.max(at), id))
        };
        let here = self.names().into_iter().rev().map(SessionId);
        let mut here: Vec<(u64, SessionId)> = here.filter_map(last_at).collect();
        here.sort_by_key(|(last_at, _)| Reverse(*last_at));
        let mut newest = here.into_iter().filter_map(|(_, id)| self.summary(id));
        newest.find(wanted).map(|session| session.id)
    }

    /// Length of the session's journal in bytes; it only grows. `None` if there is no journal.
    pub fn length(&self, id: &SessionId) -> Option<u64> {
        fs::metadata(self.journal(id)).ok().map(|file| file.len())
    }

    /// The number after the last entry of a session. `None` if its journal cannot be read.
    pub fn end(&self, id: &SessionId) -> Option<Seq> {
        let last = last_entry(&mut File::open(self.journal(id)).ok()?).ok()??;
        Some(Seq(last.seq.0 + 1))
    }

    /// The folder of the contents that a session's changes name. Child sessions share the folder of their topmost
    /// parent.
    pub fn contents(&self, id: &SessionId) -> PathBuf {
        let above = |id: &SessionId| self.opened(id)?.1.delegated_by;
        let top = iter::successors(Some(id.clone()), above).take(MAX_DEPTH).last();
        self.folder(top.as_ref().unwrap_or(id)).join("blobs")
    }

    /// The folder of a session's journal.
    pub fn folder(&self, id: &SessionId) -> PathBuf {
        self.0.join("sessions").join(&id.0)
    }

    /// All IDs in alphabetical order, which is the order of their creation.
    pub(super) fn names(&self) -> Vec<String> {
        let folders = fs::read_dir(self.0.join("sessions")).into_iter().flatten().flatten();
        let mut names: Vec<String> = folders
            .filter_map(|folder| folder.file_name().into_string().ok())
            .filter(|name| is_name(name))
            .collect();
        names.sort();
        names
    }

    /// The summary of a session, for a list. `None` if the session cannot be read.
    pub fn summary(&self, id: SessionId) -> Option<Summary> {
        self.read_summary(id).ok()?
    }

    /// Like [`Self::summary`], with an error if the journal was written by a newer Haft or cannot be opened.
    pub fn read_summary(&self, id: SessionId) -> Result<Option<Summary>, JournalError> {
        let journal = self.journal(&id);
        let name = self.name(&id);
        Ok(Summary::read(id, &journal)?.map(|known| match name {
            Some(name) => Summary { title: name.clone(), name: Some(name), ..known },
            None => known,
        }))
    }

    pub(super) fn journal(&self, id: &SessionId) -> PathBuf {
        Journal::file(&self.folder(id))
    }

    /// Deletes the session `id` and its child sessions, and returns their IDs, its own first.
    ///
    /// Fails if there is no such session, if it is a job or a process has one of them open, and if files cannot be
    /// removed.
    pub fn remove(&self, id: &str) -> Result<Vec<SessionId>, JournalError> {
        let id = self.find(id)?;
        let kept = |why| JournalError::NotRemoved { session: id.clone(), why };
        if self.is_job(&id) {
            return Err(kept("it is a job; `haft jobs rm` removes it with its work tree"));
        }
        self.remove_job(&id)
    }

    /// Like [`Self::remove`], also for jobs. Their work tree and branch stay.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::remove`], except for jobs.
    pub fn remove_job(&self, id: &SessionId) -> Result<Vec<SessionId>, JournalError> {
        let kept = |why| JournalError::NotRemoved { session: id.clone(), why };
        let mut all = vec![id.clone()];
        let sessions = self.list();
        let mut next = 0;
        while let Some(parent) = all.get(next).cloned() {
            let below = sessions.iter().filter(|session| session.delegated_by.as_ref() == Some(&parent));
            all.extend(below.map(|session| session.id.clone()));
            next += 1;
        }
        if all.iter().any(|id| self.is_open(id)) {
            return Err(kept("it is open in another process; end that process first"));
        }
        if all.iter().any(|id| self.has_open_items(id)) {
            return Err(kept(
                "items wait in its outbox; `haft outbox list` shows them, `send` and `drop` end them",
            ));
        }
        for id in all.iter().rev() {
            let folder = self.folder(id);
            fs::remove_dir_all(&folder).map_err(|source| {
                let path = Journal::file(&folder);
                JournalError::Io { action: "delete", path, source }
            })?;
        }
        Ok(all)
    }

    /// Whether the outbox of a session has items that wait, or that may have been sent.
    fn has_open_items(&self, id: &SessionId) -> bool {
        let items = outbox::outbox(&self.peek(&id.0).unwrap_or_default());
        let is_open = |state| matches!(state, ItemState::Queued | ItemState::Sending | ItemState::Unknown);
        items.iter().any(|item| is_open(item.state))
    }
}

/// Whether a file name in a folder of contents is a valid hash. Hashes come from journals, which may be untrusted, and
/// must not lead out of the folder.
pub(super) fn is_content(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether `id` can be a session ID, and thus is not a path.
fn is_name(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Length of the part of an ID with the time of its creation, to the second.
const SECONDS_LENGTH: usize = "20261231-235959".len();

/// Maximum attempts to find an unused ID. One is normally sufficient.
const MAX_ATTEMPTS: usize = 16;

/// Creates an ID: `20261231-235959-` and 16 characters, which are the time in UTC to 1/65,536 second and 64 random
/// bits. IDs sort by time.
pub fn new_session_id() -> SessionId {
    let now = jiff::Timestamp::now();
    let part = u128::from(now.subsec_nanosecond().unsigned_abs()) * 65_536 / 1_000_000_000;
    let bits = part << 64 | u128::from(fastrand::u64(..));
    SessionId(format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), signs(bits)))
}

/// The lowest 80 bits, five per character, in an encoding that preserves the sort order (RFC 4648, "base32hex").
fn signs(bits: u128) -> String {
    const SIGNS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let sign = |place: u32| char::from(SIGNS[(bits >> (place * 5) & 31) as usize]);
    (0..16).rev().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_somebody_has_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home(folder.path().to_owned());
        let mut names = ["taken", "taken", "free", "free"].into_iter();
        let mut create = || home.create_first(|| SessionId(names.next().unwrap().to_owned()));
        let (first, journal) = create().unwrap();
        journal.append(haft_core::Fact::Interrupted, None).unwrap();
        drop(journal);
        let (second, journal) = create().unwrap();
        assert_eq!((first.0.as_str(), second.0.as_str()), ("taken", "free"));
        assert!(journal.entries().is_empty());
        assert_eq!(home.peek("taken").unwrap().len(), 1);
    }

    #[test]
    fn where_every_name_is_taken_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home(folder.path().to_owned());
        let create = || home.create_first(|| SessionId("taken".into()));
        create().unwrap();
        let error = create().map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("cannot create the journal `") && error.contains("/taken/"), "{error}");
    }

    #[test]
    fn signs_keep_the_order_of_numbers() {
        assert_eq!(signs(0), "0".repeat(16));
        assert_eq!(signs((1 << 80) - 1), "v".repeat(16));
        let numbers = [0, 1, 31, 32, 1 << 64, (1 << 80) - 1];
        assert!(numbers.map(signs).is_sorted());
    }
}

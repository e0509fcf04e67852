//! [`Home::fork`]: creates a session that begins with the entries of another one.
use super::{
    Journal, JournalError, not_ours,
    sessions::{is_content, new_session_id},
};
use crate::setup::Home;
use haft_core::{
    Entry, Fact, Forked, Hash, Seq, SessionId, SessionOpened, chain, changed, event, fork, line,
};
use haft_process::own_folder;
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
    time::SystemTime,
};

impl Home {
    /// Creates a session that begins with the entries of the session `id` up to `at`, or with all of them, and with the
    /// contents that they name. The other session is only read, and may be open. The fork is independent: neither a job
    /// nor a child session.
    ///
    /// Fails if there is no such session or entry, if a call has no result there yet, and if nothing can be
    /// written.
    pub fn fork(&self, id: &str, at: Option<Seq>) -> Result<SessionId, JournalError> {
        self.fork_as(new_session_id(), id, at, None)
    }

    /// Like [`Self::fork`]; the fork gets the ID `forked`, which [`new_session_id`] returned, and belongs to this user
    /// of a server.
    ///
    /// # Errors
    /// Also fails if a session with this ID exists.
    pub fn fork_as(
        &self,
        forked: SessionId,
        id: &str,
        at: Option<Seq>,
        user: Option<String>,
    ) -> Result<SessionId, JournalError> {
        let session = self.find(id)?;
        let entries = Journal::peek(&self.folder(&session))?;
        let taken = fork::up_to(&entries, at)
            .map_err(|why| JournalError::NoFork { session: session.clone(), why })?;
        let journal = self.create_as(&forked)?;
        let folder = self.folder(&forked);
        let seq = taken.last().map_or(Seq(0), |last| last.seq);
        let chain = fs::read(self.journal(&session)).ok().and_then(|bytes| chain::at(&bytes, seq));
        let from = Forked { seq, session, chain: chain.map(|value| value.to_string()) };
        let filled = take_contents(taken, &self.contents(&from.session), &folder.join("blobs"))
            .map_err(|source| journal.io("write", source))
            .and_then(|()| journal.begin_with(&begun(taken, &forked, (&from, user))));
        if let Err(error) = filled {
            let _nobody_knows_it = fs::remove_dir_all(&folder);
            return Err(error);
        }
        Ok(forked)
    }
}

/// The entries at the same positions, except for the first one, which is the new session's own.
fn begun(
    taken: &[Arc<Entry>],
    forked: &SessionId,
    (from, user): (&Forked, Option<String>),
) -> Vec<Arc<Entry>> {
    let own = |entry: &Arc<Entry>| match entry.opened() {
        Some(opened) => Arc::new(Entry {
            at: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64,
            fact: Fact::SessionOpened(SessionOpened {
                version: event::JOURNAL_VERSION,
                session: forked.clone(),
                delegated_by: None,
                order: None,
                forked_from: Some(from.clone()),
                user: user.clone(),
                ..opened.clone()
            }),
            ..entry.as_ref().clone()
        }),
        None => entry.clone(),
    };
    taken.iter().map(own).collect()
}

/// Links the contents: a stored content never changes, so that both sessions can share one file.
fn take_contents(taken: &[Arc<Entry>], from: &Path, to: &Path) -> io::Result<()> {
    let changes = taken.iter().flat_map(|entry| changed::changes_in(&entry.fact));
    let states = changes.flat_map(|change| [&change.before, &change.after]).flatten();
    let hashes: BTreeSet<&Hash> =
        states.map(|state| &state.hash).filter(|hash| is_content(&hash.0)).collect();
    if hashes.is_empty() {
        return Ok(());
    }
    own_folder(to)?;
    for Hash(name) in hashes {
        let (kept, place) = (from.join(name), to.join(name));
        let taken = fs::hard_link(&kept, &place).or_else(|_| fs::copy(&kept, &place).map(|_| ()));
        // A content that the other session has lost is missing here, too.
        taken.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
    }
    File::open(to)?.sync_all()
}

impl Journal {
    /// Writes these entries into a journal that has none, synced. Their chain begins here.
    fn begin_with(&self, entries: &[Arc<Entry>]) -> Result<(), JournalError> {
        let lines: String = entries.iter().map(|entry| line::of_entry(entry) + "\n").collect();
        let lines = chain::rechained(&lines);
        let mut state = self.lock();
        let written =
            state.file.as_mut().map_or_else(|| Err(not_ours()), |held| held.write(lines.as_bytes()));
        written.map_err(|error| self.io("write", error))?;
        state.chain = chain::end(lines.as_bytes());
        for (entry, line) in entries.iter().zip(lines.lines()) {
            let chain = chain::ChainedLine::of(line.as_bytes()).value.map(|value| value.to_string());
            self.show(&mut state, Arc::new(Entry { chain, ..entry.as_ref().clone() }));
        }
        drop(state);
        self.held_file()?.sync_data().map_err(|error| self.io("sync", error))
    }
}

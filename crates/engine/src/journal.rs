//! [`Journal`]: the append-only record of a session, its single source of truth.
//!
//! The file has one [`Entry`] per line in JSON, first a `session_opened` with the format's version. A file lock ensures
//! a single writer; followers see the same entries. An incomplete last line is removed from the file; an invalid line
//! elsewhere is skipped and reported, so that a damaged journal never loses a session silently. The lines form a hash
//! chain ([`haft_core::chain`]): each contains a value that depends on all lines up to it, valid or not.
mod account;
mod contents;
mod error;
mod fork;
mod gc;
mod heard;
mod hidden;
pub(crate) mod local_time;
mod memory;
mod naming;
pub(crate) mod ownership;
mod sessions;
mod setup;
mod summary;
mod used;

use crate::setup::{Observer, Replica};
pub use account::{Account, Row, account};
use async_stream::stream;
use contents::{Contents, read};
pub use error::JournalError;
use futures::Stream;
pub use gc::{Garbage, Unnamed};
use haft_core::{
    Entry, Event, Fact, Secrets, Seq, SessionId, Update,
    chain::{ChainValue, chained},
    undo,
};
use heard::{Heard, Seen};
use hidden::Hidden;
pub use memory::WorkspaceMemory;
pub use sessions::new_session_id;
pub use setup::SetupReader;
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
    time::SystemTime,
};
pub use summary::Summary;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::broadcast,
};
use tokio_util::sync::CancellationToken;
pub use used::{Used, UsedRequest};

/// The file's name in the folder of its session.
const FILE_NAME: &str = "journal.jsonl";

/// Maximum updates that a slow follower may fall behind before it loses some.
const MAX_LIVE_UPDATES: usize = 256;

/// The journal of a session, shared by the session that writes it and by its followers.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

/// A weak reference to a journal, which does not keep the journal's lock.
pub(crate) struct WeakJournal(Weak<Inner>);

impl WeakJournal {
    pub(crate) fn upgrade(&self) -> Option<Journal> {
        self.0.upgrade().map(Journal)
    }
}

struct Inner {
    path: PathBuf,
    state: Mutex<State>,
    events: broadcast::Sender<Event>,
    damage: Vec<String>,
    interrupted: Option<Seq>,
    closed: CancellationToken,
    failure: OnceLock<String>,
    /// Whether an entry could not be written or synced.
    is_unwritten: AtomicBool,
    /// Secrets, which are neither recorded nor shown.
    secrets: Hidden,
    /// A second store for all entries.
    replica: OnceLock<Arc<dyn Replica>>,
    observer: OnceLock<(SessionId, Arc<dyn Observer>)>,
}

struct State {
    entries: Vec<Arc<Entry>>,
    /// The number of the next entry, after all entries including invalid ones.
    next: Seq,
    /// The chain value after the last line.
    chain: ChainValue,
    /// `None` if another process writes it.
    file: Option<Held>,
    /// Live updates of the current reply that were shown.
    heard: Heard,
}

/// A file that only this process may write.
struct Held {
    file: Arc<File>,
    /// Length of the complete entries in bytes.
    length: u64,
}

impl Held {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(error) = (&*self.file).write_all(line) {
            // An incomplete line must not precede the next one. If the truncation fails, reopening the journal removes
            // the line.
            let _best_effort = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

impl Journal {
    /// Creates `folder`, and a journal in it that only its owner can read. Fails with the kind `AlreadyExists` if the
    /// folder exists, and leaves it unchanged.
    pub(crate) fn create(folder: &Path) -> Result<Self, JournalError> {
        let builder = || {
            let mut builder = fs::DirBuilder::new();
            builder.mode(0o700);
            builder
        };
        let above = folder.parent().map_or(Ok(()), |above| builder().recursive(true).create(above));
        above.and_then(|()| builder().create(folder)).map_err(|source| {
            let path = folder.join(FILE_NAME);
            JournalError::Io { action: "create", path, source }
        })?;
        let made = Self::open_with(folder, File::options().create_new(true).mode(0o600));
        if made.is_err() {
            Self::discard(folder);
        }
        made
    }

    /// Removes the folder of a session that could not begin, and so has no entry.
    pub(crate) fn discard(folder: &Path) {
        let journal = folder.join(FILE_NAME);
        if fs::metadata(&journal).is_ok_and(|file| file.len() > 0) {
            return;
        }
        let _it_may_not_be_there = fs::remove_file(&journal);
        // Fails, and leaves the folder, if it has other files.
        let _it_may_be_left = fs::remove_dir(folder);
    }

    /// Opens `folder/journal.jsonl` for writing.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        Self::open_with(folder, &mut File::options())
    }

    fn open_with(folder: &Path, options: &mut fs::OpenOptions) -> Result<Self, JournalError> {
        let path = folder.join(FILE_NAME);
        let io = |action| {
            let path = path.clone();
            move |source| JournalError::Io { action, path, source }
        };
        let mut file = match options.read(true).append(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(JournalError::Missing(name_of(folder)));
            }
            opened => opened.map_err(io("open"))?,
        };
        lock(&file, folder, &path)?;
        let Contents { entries, next, length, damage, chain } = read(&mut file, &path)?;
        file.set_len(length).map_err(io("write"))?;
        let state = State {
            entries,
            next,
            chain,
            file: Some(Held { file: Arc::new(file), length }),
            heard: Heard::default(),
        };
        Ok(Self::of(path, state, damage))
    }

    /// Creates an empty mirror of `folder/journal.jsonl`, which another process writes and sends. Touches no file.
    pub(crate) fn mirror(folder: &Path) -> Self {
        let (entries, chain, heard) = (Vec::new(), ChainValue::default(), Heard::default());
        let state = State { entries, next: Seq(0), chain, file: None, heard };
        Self::of(folder.join(FILE_NAME), state, Vec::new())
    }

    fn of(path: PathBuf, state: State, damage: Vec<String>) -> Self {
        let (events, closed) = (broadcast::channel(MAX_LIVE_UPDATES).0, CancellationToken::new());
        let (failure, is_unwritten, secrets) = (OnceLock::new(), AtomicBool::new(false), Hidden::default());
        let (replica, observer) = (OnceLock::new(), OnceLock::new());
        let interrupted = undo::interrupted(&state.entries).map(|(seq, _)| seq);
        let state = Mutex::new(state);
        Self(Arc::new(Inner {
            path,
            state,
            events,
            damage,
            interrupted,
            closed,
            failure,
            is_unwritten,
            secrets,
            replica,
            observer,
        }))
    }

    /// Whether another process writes it.
    pub(crate) fn is_mirror(&self) -> bool {
        self.lock().file.is_none()
    }

    /// Whether a process has `folder/journal.jsonl` open for writing.
    pub fn is_open(folder: &Path) -> bool {
        let Ok(file) = File::open(folder.join(FILE_NAME)) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// The entries of `folder/journal.jsonl`, read without locking or changing it.
    pub fn peek(folder: &Path) -> Result<Vec<Arc<Entry>>, JournalError> {
        let path = folder.join(FILE_NAME);
        let missing = || JournalError::Missing(name_of(folder));
        let mut file = File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => missing(),
            _ => JournalError::Io { action: "open", path: path.clone(), source },
        })?;
        read(&mut file, &path).map(|contents| contents.entries)
    }

    /// The file of the session in `folder`.
    pub(crate) fn file(folder: &Path) -> PathBuf {
        folder.join(FILE_NAME)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The damage found when the journal was opened, one sentence each.
    pub fn damage(&self) -> &[String] {
        &self.0.damage
    }

    /// The entry of an undo or redo that was unfinished when the journal was opened.
    pub(crate) fn interrupted(&self) -> Option<Seq> {
        self.0.interrupted
    }

    /// Replaces these secrets by `[key]` in everything that is recorded or shown from now on.
    pub(crate) fn hide(&self, secrets: Secrets) {
        self.0.secrets.set(secrets);
    }

    /// Returns `value` without secrets, as it would be recorded.
    pub(crate) fn hidden(&self, value: serde_json::Value) -> serde_json::Value {
        self.0.secrets.hidden(value)
    }

    /// Secrets, which are neither recorded nor shown.
    pub(crate) fn secrets(&self) -> Secrets {
        self.0.secrets.all()
    }

    /// From now on, an entry only counts as recorded once it is also in `replica`.
    pub(crate) fn replicate(&self, replica: Arc<dyn Replica>) {
        let _replicated_already = self.0.replica.set(replica);
    }

    /// From now on, calls `observer` with each entry that this process writes for `session`.
    pub(crate) fn observe(&self, session: SessionId, observer: Arc<dyn Observer>) {
        let _observed_already = self.0.observer.set((session, observer));
    }

    /// Writes one entry, which follows `parent` or else the line before. The entry survives the end of this process;
    /// after [`Journal::sync`] also a power failure. After an error the file is unchanged.
    pub(crate) fn append(&self, fact: Fact, parent: Option<Seq>) -> Result<Arc<Entry>, JournalError> {
        let mut state = self.lock();
        let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
        let entry = Entry { seq: state.next, parent, at, fact, chain: None };
        let (mut entry, line) =
            self.0.secrets.line_of(entry).map_err(|error| self.io("write", error.into()))?;
        let (line, chain) = chained(&line, state.chain);
        entry.chain = Some(chain.to_string());
        let (entry, line) = (Arc::new(entry), line + "\n");
        let written = state.file.as_mut().map_or_else(|| Err(not_ours()), |held| held.write(line.as_bytes()));
        written.map_err(|error| self.unwritten("write", error))?;
        state.chain = chain;
        if let Some(replica) = self.0.replica.get() {
            replica.append(entry.seq, &line);
        }
        if let Some((session, observer)) = self.0.observer.get() {
            observer.recorded(session, &entry);
        }
        self.show(&mut state, entry.clone());
        Ok(entry)
    }

    /// Adds an entry that the writing process recorded. Ignores an entry that it already has.
    pub(crate) fn receive(&self, entry: Arc<Entry>) {
        let mut state = self.lock();
        if state.entries.last().is_none_or(|last| last.seq < entry.seq) {
            self.show(&mut state, entry);
        }
    }

    fn show(&self, state: &mut State, entry: Arc<Entry>) {
        state.next = Seq(entry.seq.0 + 1);
        state.entries.push(entry.clone());
        state.heard.recorded(&entry.fact);
        let _nobody_watches = self.0.events.send(Event::Recorded(entry));
    }

    /// Syncs all entries so far to disk, and to the replica if there is one.
    pub(crate) async fn sync(&self) -> Result<(), JournalError> {
        let file = self.held_file()?;
        sync_data(file).await.map_err(|error| self.unwritten("sync", error))?;
        match self.0.replica.get() {
            Some(replica) => replica.sync().await.map_err(|error| self.unwritten("sync", error)),
            None => Ok(()),
        }
    }

    fn held_file(&self) -> Result<Arc<File>, JournalError> {
        let file = self.lock().file.as_ref().map(|held| held.file.clone());
        file.ok_or_else(|| self.io("sync", not_ours()))
    }

    /// Sends a live update to followers, without recording it.
    pub(crate) fn live(&self, update: Update) {
        let update = self.0.secrets.update(update);
        let mut state = self.lock();
        state.heard.shown(&update);
        let _nobody_watches = self.0.events.send(Event::Live(update));
    }

    /// Live updates of the current reply that were shown.
    pub(crate) fn heard(&self) -> Vec<Update> {
        self.lock().heard.updates()
    }

    /// Returns all entries so far.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.lock().entries.clone()
    }

    /// Closes the journal; `failure` is the reason if the session failed. Followers receive the remaining entries and
    /// end. The session can be opened again, even while old handles exist.
    pub(crate) fn close(&self, failure: Option<String>) {
        if let Some(failure) = failure {
            let _closed_twice = self.0.failure.set(failure);
        }
        if let Some(held) = &self.lock().file {
            // If unlocking fails, the lock ends with the last handle.
            held.file.unlock().ok();
        }
        self.0.closed.cancel();
    }

    /// Waits until the journal is closed.
    pub(crate) async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    /// Why the session failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        self.0.failure.get().map(String::as_str)
    }

    pub(crate) fn downgrade(&self) -> WeakJournal {
        WeakJournal(Arc::downgrade(&self.0))
    }

    /// Streams all entries since `from`, then everything that happens, until the session closes. A follower that starts
    /// in the middle of a reply first gets the part that was shown. A follower that falls behind by more than 256
    /// updates gets the rest of the reply in a few pieces, or the recorded reply if it is complete, and misses some
    /// output of running calls. It never misses entries.
    pub fn follow(&self, from: Seq) -> impl Stream<Item = Event> + Send + 'static {
        let mut seen = Seen::default();
        let mut known = Some(self.caught_up(from, &mut seen));
        let journal = self.clone();
        stream! {
            let mut next = from;
            loop {
                let (mut happening, entries, heard) =
                    known.take().unwrap_or_else(|| journal.caught_up(next, &mut seen));
                for entry in entries {
                    next = Seq(entry.seq.0 + 1);
                    yield Event::Recorded(entry);
                }
                for update in heard {
                    yield Event::Live(update);
                }
                loop {
                    let event = tokio::select! {
                        biased;
                        event = happening.recv() => event,
                        () = journal.0.closed.cancelled() => Err(broadcast::error::RecvError::Closed),
                    };
                    match event {
                        Ok(Event::Recorded(entry)) if entry.seq < next => {}
                        Ok(Event::Recorded(entry)) => {
                            next = Seq(entry.seq.0 + 1);
                            seen.recorded(&entry.fact);
                            yield Event::Recorded(entry);
                        }
                        Ok(Event::Live(update)) => {
                            seen.shown(&update);
                            yield Event::Live(update);
                        }
                        Err(broadcast::error::RecvError::Lagged(_)) => break,
                        Err(broadcast::error::RecvError::Closed) => return,
                    }
                }
            }
        }
    }

    /// Returns the entries from `from` on, the live updates of the current reply since `seen`, and a receiver for later
    /// events.
    fn caught_up(
        &self,
        from: Seq,
        seen: &mut Seen,
    ) -> (broadcast::Receiver<Event>, Vec<Arc<Entry>>, Vec<Update>) {
        let state = self.lock();
        let place = state.entries.partition_point(|entry| entry.seq < from);
        let entries = state.entries[place..].to_vec();
        entries.iter().for_each(|entry| seen.recorded(&entry.fact));
        (self.0.events.subscribe(), entries, state.heard.rest(seen))
    }

    /// The entries from `from` on, and before `to`.
    pub(crate) fn between(&self, from: Seq, to: Seq) -> Vec<Arc<Entry>> {
        let state = self.lock();
        let place = |seq: Seq| state.entries.partition_point(|entry| entry.seq < seq);
        state.entries.get(place(from)..place(to)).unwrap_or_default().to_vec()
    }

    /// Whether the journal closed because an entry could not be written.
    pub fn could_not_write(&self) -> bool {
        self.0.is_unwritten.load(Ordering::Acquire)
    }

    fn unwritten(&self, action: &'static str, source: io::Error) -> JournalError {
        self.0.is_unwritten.store(true, Ordering::Release);
        self.io(action, source)
    }

    fn io(&self, action: &'static str, source: io::Error) -> JournalError {
        JournalError::Io { action, path: self.0.path.clone(), source }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no code panics while it holds the journal")
    }

    /// The number of the last entry with such a fact. Copies nothing, because it is called in each round.
    pub(crate) fn last(&self, is_wanted: impl Fn(&Fact) -> bool) -> Option<Seq> {
        self.lock().entries.iter().rfind(|entry| is_wanted(&entry.fact)).map(|entry| entry.seq)
    }

    /// The number after the last entry.
    pub(crate) fn end(&self) -> Seq {
        self.lock().entries.last().map_or(Seq(0), |last| Seq(last.seq.0 + 1))
    }

    /// The number of the next entry to be recorded, after all lines including invalid ones.
    pub fn next(&self) -> Seq {
        self.lock().next
    }

    /// Like [`Journal::close`] with a `failure`, unless it is closed already.
    pub(crate) fn close_if_open(&self, failure: &str) {
        if !self.0.closed.is_cancelled() {
            self.close(Some(failure.to_owned()));
        }
    }
}

/// Delay before a second attempt to open a journal: a check whether a journal is open locks it for a moment.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);

fn lock(file: &File, folder: &Path, path: &Path) -> Result<(), JournalError> {
    let locked = file.try_lock().or_else(|_| {
        std::thread::sleep(LOCK_RETRY_DELAY);
        file.try_lock()
    });
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::Locked(name_of(folder)),
        TryLockError::Error(source) => JournalError::Io { action: "open", path: path.to_owned(), source },
    })
}

fn not_ours() -> io::Error {
    io::Error::other("another process writes it")
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Syncs `file` to disk without blocking other sessions on the same runtime.
async fn sync_data(file: Arc<File>) -> io::Result<()> {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => file.sync_data(),
        _ => match tokio::task::spawn_blocking(move || file.sync_data()).await {
            // The runtime ends, and so does this task.
            Err(error) if error.is_cancelled() => std::future::pending().await,
            synced => synced?,
        },
    }
}

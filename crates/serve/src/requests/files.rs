//! [`Files`]: stores the keys of requests in a folder, one file each. The file is locked while its request runs,
//! against this server and others with the same home.
use super::{Found, KEY_LIFETIME, Keeper};
use crate::{
    api::body::blocking,
    error::{Answer, ApiError},
};
use haft_core::{Seq, SessionId};
use haft_engine::new_session_id;
use haft_fleet::RequestAnswer;
use haft_process::own_folder;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime},
};

/// How often to check whether the first request of a key has its response.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often expired files are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// All keys.
pub(super) struct Files {
    folder: PathBuf,
    swept: Mutex<Option<Instant>>,
}

/// A key that is locked for this request until it is dropped. Its file has a line for the request that began,
/// optionally one for the position in a journal after which its entries come, and one for the response. A line that a
/// crash cut off is ignored.
pub(super) struct Taken {
    file: Arc<File>,
    begun: Option<Kept>,
    position: Mutex<Option<Position>>,
    /// Whether this attempt has stored the position.
    has_begun: AtomicBool,
    answer: Option<Answered>,
}

/// The end of a session's journal before the request changed anything in it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Position {
    next: Seq,
}

/// A request that has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    request: String,
    /// The ID of the session that the request creates.
    session: SessionId,
}

/// The answer to the request.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answered {
    status: u16,
    kind: String,
    body: String,
}

impl From<Answered> for RequestAnswer {
    fn from(Answered { status, kind, body }: Answered) -> Self {
        Self { status, kind, body }
    }
}

impl Files {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, swept: Mutex::default() }
    }

    /// The state of the key with this name. Waits until no other request has locked it.
    pub(super) async fn find(&self, name: &str, request: String) -> Answer<Found> {
        let path = self.folder.join(name);
        self.sweep();
        let mut taken = loop {
            let path = path.clone();
            match blocking(move || take(&path).map_err(not_kept)).await? {
                Some(taken) => break taken,
                None => tokio::time::sleep(POLL_INTERVAL).await,
            }
        };
        match (&taken.begun, taken.answer.take()) {
            (Some(begun), _) if begun.request != request => Ok(Found::Other),
            (Some(_), Some(answer)) => Ok(Found::Answered(answer.into())),
            (Some(begun), None) => {
                let id = begun.session.clone();
                Ok(Found::Begun { id, is_repeated: true, keeper: Keeper::File(taken) })
            }
            (None, _) => {
                let id = taken.begin(request).await?;
                Ok(Found::Begun { id, is_repeated: false, keeper: Keeper::File(taken) })
            }
        }
    }

    fn sweep(&self) {
        let mut swept = self.swept.lock();
        if swept.is_none_or(|last| last.elapsed() > SWEEP_INTERVAL) {
            *swept = Some(Instant::now());
            let folder = self.folder.clone();
            tokio::task::spawn_blocking(move || remove_old(&folder));
        }
    }
}

/// Locks the key; `None` if another request has locked it.
fn take(path: &Path) -> io::Result<Option<Taken>> {
    own_folder(path.parent().unwrap_or(path))?;
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let about = file.metadata()?;
    // The file was removed between opening and locking.
    if about.nlink() == 0 {
        return Ok(None);
    }
    let mut text = String::new();
    if !is_old(&about) {
        file.read_to_string(&mut text)?;
    }
    let mut lines = text.lines();
    let begun = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let mut line = begun.as_ref().and(lines.next());
    let position = line.and_then(|line| serde_json::from_str(line).ok());
    if position.is_some() {
        line = lines.next();
    }
    let answer = line.and_then(|line| serde_json::from_str(line).ok());
    let (file, position) = (Arc::new(file), Mutex::new(position));
    Ok(Some(Taken { file, begun, position, has_begun: AtomicBool::new(false), answer }))
}

fn is_old(about: &fs::Metadata) -> bool {
    let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    modified.elapsed().is_ok_and(|passed| passed > KEY_LIFETIME)
}

fn remove_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_free = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if entry.metadata().is_ok_and(|about| is_old(&about)) && is_free() {
            let _next_time = fs::remove_file(entry.path());
        }
    }
}

impl Taken {
    /// Stores the request before it is executed. Returns the ID of what it creates.
    async fn begin(&mut self, request: String) -> Answer<SessionId> {
        let begun = Kept { request, session: new_session_id() };
        self.write(String::new(), &begun).await?;
        let session = begun.session.clone();
        self.begun = Some(begun);
        Ok(session)
    }

    /// The position that an attempt stored last.
    pub(super) fn position(&self) -> Option<Seq> {
        self.position.lock().map(|position| position.next)
    }

    pub(super) async fn begin_at(&self, next: Seq) -> Answer<()> {
        let position = Position { next };
        self.write(self.begun.as_ref().map(line).unwrap_or_default(), &position).await?;
        *self.position.lock() = Some(position);
        self.has_begun.store(true, Relaxed);
        Ok(())
    }

    /// Removes the position if this attempt has stored it: the attempt has ended without success.
    pub(super) async fn forget_position(&self) -> Answer<()> {
        if !self.has_begun.load(Relaxed) {
            return Ok(());
        }
        *self.position.lock() = None;
        let (file, length) = (self.file.clone(), self.lines().len() as u64);
        blocking(move || file.set_len(length).and_then(|()| file.sync_data()).map_err(not_kept)).await
    }

    pub(super) async fn keep(&self, answer: &RequestAnswer) -> Answer<()> {
        let RequestAnswer { status, kind, body } = answer.clone();
        self.write(self.lines(), &Answered { status, kind, body }).await
    }

    /// The lines of the file before the response.
    fn lines(&self) -> String {
        let begun = self.begun.as_ref().map(line).unwrap_or_default();
        begun + &self.position.lock().as_ref().map(line).unwrap_or_default()
    }

    /// Writes a line after the lines in `before`, and cuts off the rest.
    async fn write(&self, before: String, what: &impl Serialize) -> Answer<()> {
        let (file, line, length) = (self.file.clone(), line(what), before.len() as u64);
        let write = move || {
            let mut file = &*file;
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
            file.write_all(line.as_bytes())?;
            file.sync_data()
        };
        blocking(move || write().map_err(not_kept)).await
    }
}

fn line<T: Serialize>(what: &T) -> String {
    serde_json::to_string(what).unwrap_or_default() + "\n"
}

fn not_kept(error: io::Error) -> ApiError {
    ApiError::failed(format!("cannot keep the `Idempotency-Key`: {error}"))
}

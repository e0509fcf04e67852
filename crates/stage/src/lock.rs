//! [`Locks`]: the lock of a workspace, so that only one process of a user at a time settles its files.
use haft_core::Hash;
use haft_process::own_folder;
use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// Settling takes less time than this: a process that holds the lock for longer has been suspended.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// A folder of lock files, one for each workspace. `None`: processes do not wait for each other, and only atomic
/// operations of the file system are safe.
#[derive(Clone, Default)]
pub(crate) struct Locks(Option<PathBuf>);

impl Locks {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(Some(folder))
    }

    /// Locks a workspace for as long as the returned file is kept. Fails with the kind `WouldBlock` if another process
    /// holds the lock; returns `None` if locks are not used.
    pub(crate) fn take(&self, workspace: &Path) -> io::Result<Option<File>> {
        let Some(file) = self.0.as_ref().and_then(|folder| open(folder, workspace).ok()) else {
            return Ok(None);
        };
        let end = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(_)) => return Ok(None),
                Err(TryLockError::WouldBlock) if Instant::now() >= end => return Err(is_held(workspace)),
                Err(TryLockError::WouldBlock) => sleep(RETRY_INTERVAL),
            }
        }
    }
}

/// Opens the lock file. The workspace itself is not locked, because other programs may lock it.
fn open(folder: &Path, workspace: &Path) -> io::Result<File> {
    own_folder(folder)?;
    let Hash(name) = Hash::of(workspace.as_os_str().as_encoded_bytes())?;
    File::options().create(true).truncate(false).write(true).mode(0o600).open(folder.join(&name[..32]))
}

fn is_held(workspace: &Path) -> io::Error {
    let message = format!("another `haft` is writing files in `{}`", workspace.display());
    io::Error::new(io::ErrorKind::WouldBlock, message)
}

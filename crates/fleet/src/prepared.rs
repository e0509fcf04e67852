//! [`PreparedTree`]: a work tree in which the setup commands of a queue have run. A machine makes it once, and copies
//! it for each job that begins at the same commit.
use crate::error::FleetError;
use sha2::{Digest, Sha256};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

/// Folders that were not used for this time are removed.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The folder of a prepared work tree for one commit. It is locked while it is used.
#[derive(Clone, Debug)]
pub(crate) struct PreparedTree {
    folder: PathBuf,
}

impl PreparedTree {
    /// `above`: the folder for all prepared work trees. `commit`: with its repository, if any. Queues share no tree,
    /// because their commands get different secrets.
    pub(crate) fn new(above: &Path, queue: &str, commit: Option<(&str, &str)>, commands: &str) -> Self {
        let (repository, commit) = commit.unwrap_or_default();
        let mut hash = Sha256::new();
        for part in [queue, repository, commit, commands] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self { folder: above.join(hex::encode(&hash.finalize()[..12])) }
    }

    /// The path of the finished folder.
    fn made(&self) -> PathBuf {
        self.folder.join("made")
    }

    pub(crate) fn is_made(&self) -> bool {
        self.made().exists()
    }

    /// Makes an empty folder for preparing the tree, and removes what an earlier attempt left.
    pub(crate) fn begin(&self) -> Result<PathBuf, FleetError> {
        let new = self.folder.join("new");
        let emptied = match fs::remove_dir_all(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir(&new),
        };
        emptied.map(|()| new).map_err(|error| self.failed("empty", &error))
    }

    /// Puts the work tree that [`Self::begin`] was called for in its place: it is complete.
    pub(crate) fn finish(&self) -> Result<(), FleetError> {
        let new = self.folder.join("new");
        fs::rename(new.join("tree"), self.made()).map_err(|error| self.failed("finish", &error))?;
        let _the_next_one_empties_it = fs::remove_dir_all(new);
        Ok(())
    }

    /// Copies the tree to `tree`, which does not exist yet. Blocks.
    pub(crate) fn copy(&self, tree: &Path) -> Result<(), FleetError> {
        let made = self.made();
        let words = ["--archive", "--no-target-directory", "--reflink=auto", "--"].map(OsStr::new);
        let mut command = Command::new("cp");
        command.args(words).args([made.as_os_str(), tree.as_os_str()]).stdin(Stdio::null());
        let copied = command.output().map_err(|error| self.failed("copy", &error))?;
        match copied.status.success() {
            true => Ok(()),
            false => {
                let why = String::from_utf8_lossy(&copied.stderr).trim().to_owned();
                Err(self.failed("copy", &io::Error::other(why)))
            }
        }
    }

    /// Waits until no other attempt makes the tree, and, if not `shared`, until no other attempt copies it.
    pub(crate) fn hold(&self, shared: bool) -> Result<File, FleetError> {
        let held = || -> io::Result<File> {
            loop {
                fs::create_dir_all(&self.folder)?;
                let file = File::open(&self.folder)?;
                if shared { file.lock_shared() } else { file.lock() }?;
                // The lock file may have been removed while this waited.
                let is_there =
                    |there: fs::Metadata| there.ino() == file.metadata().map_or(0, |own| own.ino());
                if fs::metadata(&self.folder).is_ok_and(is_there) {
                    file.set_modified(SystemTime::now())?;
                    return Ok(file);
                }
            }
        };
        held().map_err(|error| self.failed("hold", &error))
    }

    fn failed(&self, action: &str, error: &io::Error) -> FleetError {
        let folder = self.folder.display();
        FleetError::Local {
            action: format!("{action} the prepared work tree `{folder}`"),
            why: error.to_string(),
        }
    }
}

/// Removes the trees that were not used for a week.
pub(crate) fn clear(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|metadata| metadata.modified()).map(|used| used.elapsed());
        let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age > KEPT_FOR));
        if is_old && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _next_start_tries_again = fs::remove_dir_all(entry.path());
        }
    }
}

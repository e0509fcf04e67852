//! The folder in which one view lies. It goes with the view.
use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

/// Begins the names of such folders.
const PREFIX: &str = ".overlay-";

/// A folder is made and locked in less.
const YOUNG: Duration = Duration::from_secs(60);

pub(crate) struct OverlayFolder {
    folder: TempDir,
    /// Locked for as long as it is open: the folder belongs to a process that lives. It was made when the view was.
    mark: File,
}

impl OverlayFolder {
    pub(super) fn new(folder: &Path, workspace: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)?;
        let mark = File::create_new(folder.path().join("mark"))?;
        mark.lock()?;
        for name in ["upper", "work"] {
            fs::DirBuilder::new().mode(0o755).create(folder.path().join(name))?;
        }
        // The root of the view is this folder.
        let (upper, root) = (folder.path().join("upper"), fs::metadata(workspace)?);
        fs::set_permissions(&upper, root.permissions())?;
        let _only_root_may = chown(&upper, Some(root.uid()), Some(root.gid()));
        Ok(Self { folder, mark })
    }

    pub(super) fn upper(&self) -> PathBuf {
        self.folder.path().join("upper")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// When the view was opened, in seconds and nanoseconds: as the system dates changes.
    pub(super) fn opened(&self) -> (i64, i64) {
        self.mark.metadata().map_or((i64::MAX, 0), |mark| (mark.ctime(), mark.ctime_nsec()))
    }
}

impl Drop for OverlayFolder {
    fn drop(&mut self) {
        let _it_is_tried_again_later = remove(self.folder.path());
    }
}

/// Removes what killed processes left in `folder`.
pub(super) fn remove_left_over(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let path = entry.path();
        // Somebody may be making it at this moment.
        let age = entry.metadata().and_then(|found| found.modified()).map(|made| made.elapsed());
        if !matches!(age, Ok(Ok(age)) if age > YOUNG) {
            continue;
        }
        let mark = File::open(path.join("mark"));
        let is_held =
            mark.as_ref().is_ok_and(|mark| matches!(mark.try_lock(), Err(TryLockError::WouldBlock)));
        if !is_held {
            let _somebody_else_did = remove(&path);
        }
    }
}

/// A command may leave folders that nobody may look into, and overlayfs does.
fn remove(folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder).or_else(|_| {
        open_up(folder)?;
        fs::remove_dir_all(folder)
    })
}

fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

//! [`Views`] and [`OverlayFolder`]: the folders of views. They are removed with the views.
use crate::attributes;
use haft_core::Overlay;
use parking_lot::Mutex;
use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tempfile::TempDir;

/// Prefix of the names of the processes' folders.
const PREFIX: &str = ".overlay-";

/// Folder below the views for the changes of commands in caches.
const CACHES: &str = "caches";

/// Younger folders may not be locked yet: a process creates and locks its folder in less time.
const YOUNG: Duration = Duration::from_secs(60);

/// The folder of all views of this process. A view has as few folders as possible: creating a folder takes longer than
/// all other system calls for a view together.
pub(super) struct Views {
    folder: TempDir,
    made: AtomicU64,
    /// The thread that removes the folder of the last dropped view, after those before it.
    removing: Mutex<Option<JoinHandle<()>>>,
    /// Locked for as long as it is open, which shows that the folder belongs to a living process.
    _mark: File,
}

impl Views {
    /// Creates a folder in `above`.
    pub(super) fn new(above: &Path) -> io::Result<Self> {
        remove_left_over(above);
        let own = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(PREFIX).permissions(own).tempdir_in(above)?;
        let mark =
            File::options().write(true).create_new(true).mode(0o600).open(folder.path().join("mark"))?;
        mark.lock()?;
        Ok(Self { folder, made: AtomicU64::new(0), removing: Mutex::default(), _mark: mark })
    }

    pub(super) fn view(self: &Arc<Self>, workspace: &Path) -> io::Result<OverlayFolder> {
        let upper = self.next();
        let work = upper.with_extension("work");
        let mut folder = OverlayFolder {
            overlay: Overlay { upper, work },
            keeps_upper: false,
            opened: (i64::MAX, 0),
            views: self.clone(),
        };
        fs::DirBuilder::new().mode(0o755).create(folder.upper())?;
        show_as(workspace, folder.upper())?;
        let made = fs::metadata(folder.upper())?;
        folder.opened = (made.ctime(), made.ctime_nsec());
        Ok(folder)
    }

    /// Creates a view of `place` in which each command sees what earlier ones wrote.
    pub(super) fn cache(self: &Arc<Self>, place: &Path) -> io::Result<OverlayFolder> {
        let upper = self.folder.path().join(CACHES).join(place.strip_prefix("/").unwrap_or(place));
        if !upper.is_dir() {
            fs::DirBuilder::new().mode(0o700).recursive(true).create(&upper)?;
            show_as(place, &upper)?;
        }
        let overlay = Overlay { upper, work: self.next().with_extension("work") };
        Ok(OverlayFolder { overlay, keeps_upper: true, opened: (i64::MAX, 0), views: self.clone() })
    }

    fn next(&self) -> PathBuf {
        self.folder.path().join(self.made.fetch_add(1, Relaxed).to_string())
    }

    /// Removes the folders of a view in the background. What cannot be removed is removed later with the parent folder.
    fn remove(&self, Overlay { upper, work }: Overlay, keeps_upper: bool) {
        let mut last = self.removing.lock();
        let before = last.take();
        let removing = move || {
            before.map(JoinHandle::join);
            if !keeps_upper {
                let _it_is_tried_again_later = remove(&upper);
            }
            let overlay = Overlay { upper, work };
            let works = (0..).map(|mount| overlay.work_of(mount));
            works.map(|work| remove(&work)).take_while(Result::is_ok).for_each(drop);
        };
        *last = thread::Builder::new().name("haft-views".into()).spawn(removing).ok();
    }
}

impl Drop for Views {
    fn drop(&mut self) {
        let last = self.removing.lock().take();
        last.map(JoinHandle::join);
        let _it_is_tried_again_later = remove(&self.folder.path().join(CACHES));
    }
}

/// Gives `upper`, which is the root of a view, the permissions and the owner of the viewed folder.
fn show_as(root: &Path, upper: &Path) -> io::Result<()> {
    let found = fs::metadata(root)?;
    // Copied because files created in the view may inherit an access list. Fails if the file system of `upper` does not
    // support them.
    let _best_effort = attributes::copy(root, upper);
    fs::set_permissions(upper, found.permissions())?;
    let _only_root_may = chown(upper, Some(found.uid()), Some(found.gid()));
    Ok(())
}

/// The folder of one view.
pub(crate) struct OverlayFolder {
    overlay: Overlay,
    /// Whether other views use the changes, too.
    keeps_upper: bool,
    opened: (i64, i64),
    views: Arc<Views>,
}

impl OverlayFolder {
    /// The folder with the changes of the view.
    pub(super) fn upper(&self) -> &Path {
        &self.overlay.upper
    }

    pub(super) fn overlay(&self) -> Overlay {
        self.overlay.clone()
    }

    /// When the view was opened, in seconds and nanoseconds: by the clock of the file system.
    pub(super) fn opened(&self) -> (i64, i64) {
        self.opened
    }
}

impl Drop for OverlayFolder {
    fn drop(&mut self) {
        self.views.remove(self.overlay.clone(), self.keeps_upper);
    }
}

/// Removes the folders that killed processes left in `folder`.
fn remove_left_over(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let path = entry.path();
        // Another process may just be creating it.
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

/// Removes a folder, even if it contains folders without permissions, which commands may leave and overlayfs does.
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

//! [`Caches`]: cache folders of build tools that commands see unchanged and may write to.
//!
//! Their changes are stored in the folder of the views and removed with it, so that the user's own cache stays
//! unchanged. If commands run at the same time, later commands see the changes of only one of them, because an overlay
//! has one writer.
use super::folder::{OverlayFolder, Views};
use haft_core::CacheMount;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

#[derive(Default)]
pub(super) struct Caches {
    /// Whether a view uses the kept changes.
    taken: Arc<AtomicBool>,
}

/// The caches of one view.
#[derive(Default)]
pub(super) struct ViewCaches {
    mounts: Vec<(PathBuf, OverlayFolder)>,
    /// Set to `false` when the view is dropped.
    taken: Option<Arc<AtomicBool>>,
}

impl Caches {
    /// Opens the `folders` that exist, lie outside the workspace, and are in no other one.
    pub(super) fn open(
        &self,
        views: &Arc<Views>,
        folders: &[PathBuf],
        workspace: &Path,
    ) -> io::Result<ViewCaches> {
        let places = outermost(folders, workspace);
        if places.is_empty() {
            return Ok(ViewCaches::default());
        }
        let is_kept = !self.taken.swap(true, Ordering::AcqRel);
        let mut caches = ViewCaches { mounts: Vec::new(), taken: is_kept.then(|| self.taken.clone()) };
        for place in places {
            let folder = if is_kept { views.cache(&place)? } else { views.view(&place)? };
            caches.mounts.push((place, folder));
        }
        Ok(caches)
    }
}

impl ViewCaches {
    pub(super) fn mounts(&self) -> Vec<CacheMount> {
        let mount = |(place, folder): &(PathBuf, OverlayFolder)| CacheMount {
            place: place.clone(),
            overlay: folder.overlay(),
        };
        self.mounts.iter().map(mount).collect()
    }
}

impl Drop for ViewCaches {
    fn drop(&mut self) {
        if let Some(taken) = &self.taken {
            taken.store(false, Ordering::Release);
        }
    }
}

fn outermost(folders: &[PathBuf], workspace: &Path) -> Vec<PathBuf> {
    let is_apart = |place: &PathBuf| !place.starts_with(workspace) && !workspace.starts_with(place);
    let real = folders.iter().filter_map(|folder| folder.canonicalize().ok());
    let mut places: Vec<PathBuf> = real.filter(|place| place.is_dir() && is_apart(place)).collect();
    places.sort_unstable();
    places.dedup_by(|later, earlier| later.starts_with(earlier));
    places
}

//! [`hidden_places`]: finds the real paths of hidden files and folders. A secret is hidden under every name: links to
//! it and out of it are followed, and its other mounts and hard links are found.
use super::table::MountTable;
use std::{
    collections::{BTreeSet, HashSet},
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Maximum entries below a hidden folder that are searched for links.
const MAX_ENTRIES: usize = 512;
/// Maximum depth of that search.
const MAX_DEPTH: usize = 3;
/// Maximum entries of the workspace that are searched for hard links of a hidden file.
const MAX_WORKSPACE_ENTRIES: usize = 100_000;

/// System folders: a link into one leads to no secret.
const SYSTEM_FOLDERS: [&str; 12] = [
    "/bin",
    "/boot",
    "/dev",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/opt",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
];

/// Returns the real paths of `hidden` files and folders: links to them and out of them are followed, and other mounts
/// and, in the workspace, hard links of them are added. No path is below another one.
pub fn hidden_places(hidden: &[PathBuf], workspace: &Path) -> Vec<PathBuf> {
    places(hidden, workspace, &MountTable::read())
}

/// Returns the real paths of `hidden`, none below another one. Leaves out a path that contains the workspace.
pub(super) fn places(hidden: &[PathBuf], workspace: &Path, mounts: &MountTable) -> Vec<PathBuf> {
    let mut found = Places { workspace, places: BTreeSet::new(), numbers: HashSet::new() };
    for path in hidden {
        if let Ok(place) = fs::canonicalize(path) {
            found.add(place);
        }
    }
    let aliases: Vec<PathBuf> = found.places.iter().flat_map(|place| mounts.aliases(place)).collect();
    aliases.into_iter().filter(|alias| alias.exists()).for_each(|alias| found.insert(alias));
    found.add_other_names();
    outermost(found.places)
}

struct Places<'a> {
    workspace: &'a Path,
    places: BTreeSet<PathBuf>,
    /// Device and inode number of hidden files that have more than one hard link.
    numbers: HashSet<(u64, u64)>,
}

impl Places<'_> {
    /// `place`: absolute, links followed.
    fn add(&mut self, place: PathBuf) {
        let Ok(found) = fs::symlink_metadata(&place) else { return };
        self.note(&found);
        if found.is_dir() && !self.workspace.starts_with(&place) {
            let mut left = MAX_ENTRIES;
            self.add_below(&place, MAX_DEPTH, &mut left);
        }
        self.insert(place);
    }

    /// Adds the targets of links in a hidden folder.
    fn add_below(&mut self, folder: &Path, depth: usize, left: &mut usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let path = entry.path();
            let Ok(found) = entry.metadata() else { continue };
            if found.is_symlink() {
                if let Ok(target) = fs::canonicalize(&path)
                    && !SYSTEM_FOLDERS.iter().any(|system| target.starts_with(system))
                {
                    fs::symlink_metadata(&target).iter().for_each(|found| self.note(found));
                    self.insert(target);
                }
            } else if found.is_dir() && depth > 1 {
                self.add_below(&path, depth - 1, left);
            } else {
                self.note(&found);
            }
        }
    }

    fn note(&mut self, found: &Metadata) {
        if found.is_file() && found.nlink() > 1 {
            self.numbers.insert((found.dev(), found.ino()));
        }
    }

    fn insert(&mut self, place: PathBuf) {
        if !self.workspace.starts_with(&place) {
            self.places.insert(place);
        }
    }

    /// Adds hard links in the workspace. Searching elsewhere would take time in proportion to the disk.
    fn add_other_names(&mut self) {
        if self.numbers.is_empty() {
            return;
        }
        let (mut ahead, mut left) = (vec![self.workspace.to_owned()], MAX_WORKSPACE_ENTRIES);
        while let Some(folder) = ahead.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                left = left.saturating_sub(1);
                let Ok(found) = entry.metadata() else { continue };
                if found.is_dir() && left > 0 {
                    ahead.push(entry.path());
                } else if found.nlink() > 1 && self.numbers.contains(&(found.dev(), found.ino())) {
                    self.places.insert(entry.path());
                }
            }
        }
    }
}

fn outermost(places: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut outermost: Vec<PathBuf> = Vec::new();
    for place in places {
        if !outermost.iter().any(|above| place.starts_with(above)) {
            outermost.push(place);
        }
    }
    outermost
}

//! What overlayfs keeps in the upper folder, and what it means.
use haft_sandbox::is_root_of_machine;
use rustix::{fs::lgetxattr, io::Errno};
use std::{
    ffi::OsStr,
    fs::{self, FileType, Metadata},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

/// What a command sees under a name.
pub(super) enum Seen {
    Absent,
    /// A file or a link, and where it lies.
    File(PathBuf),
    Folder(SeenFolder),
    /// A pipe, a socket, a device.
    Other,
}

/// A folder as a command sees it: the names in `upper`, and those in `lower` that are not in `upper`.
pub(super) struct SeenFolder {
    pub(super) upper: Option<PathBuf>,
    pub(super) lower: Option<PathBuf>,
}

impl SeenFolder {
    /// Where its permissions and attributes are found.
    pub(super) fn lies(&self) -> &Path {
        self.upper.as_ref().or(self.lower.as_ref()).expect("a folder lies somewhere")
    }

    /// What it shows under `name`. `root`: the workspace.
    pub(super) fn seen(&self, name: &OsStr, root: &Path) -> io::Result<Seen> {
        let below = self.lower.as_ref().map(|lower| lower.join(name));
        if let Some(upper) = self.upper.as_ref().map(|upper| upper.join(name))
            && let Some(found) = look(&upper)?
        {
            return match found.file_type() {
                kind if is_whiteout(kind, &found) => Ok(Seen::Absent),
                kind if kind.is_dir() => {
                    let lower = below_of(&upper, below, self.lower.as_deref(), root)?;
                    Ok(Seen::Folder(SeenFolder { upper: Some(upper), lower }))
                }
                kind if kind.is_file() || kind.is_symlink() => Ok(Seen::File(upper)),
                _ => Ok(Seen::Other),
            };
        }
        let Some(below) = below else { return Ok(Seen::Absent) };
        Ok(match look(&below)?.map(|found| found.file_type()) {
            None => Seen::Absent,
            Some(kind) if kind.is_dir() => Seen::Folder(SeenFolder { upper: None, lower: Some(below) }),
            Some(kind) if kind.is_file() || kind.is_symlink() => Seen::File(below),
            Some(_) => Seen::Other,
        })
    }
}

/// Links are not followed.
pub(super) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Stands for a name that was removed. A pipe is never kept, and what it is in the place of is gone as well.
fn is_whiteout(kind: FileType, found: &Metadata) -> bool {
    kind.is_fifo() || kind.is_char_device() && found.rdev() == 0
}

/// The folder of the workspace of which `upper` shows what it does not have itself. `below`: the one of its own name.
fn below_of(
    upper: &Path,
    below: Option<PathBuf>,
    above: Option<&Path>,
    root: &Path,
) -> io::Result<Option<PathBuf>> {
    if attribute(upper, "opaque")?.is_some_and(|value| value == b"y") {
        return Ok(None);
    }
    let below = match attribute(upper, "redirect")? {
        // The old path from the root of the view, or the old name in the same folder.
        Some(from) if from.starts_with(b"/") => Some(root.join(OsStr::from_bytes(&from[1..]))),
        Some(from) => above.map(|above| above.join(OsStr::from_bytes(&from))),
        None => below,
    };
    Ok(match below {
        Some(below) if look(&below)?.is_some_and(|found| found.is_dir()) => Some(below),
        _ => None,
    })
}

/// Reads something of a folder that a command left so that its owner may not look into it.
fn while_open<T>(folder: &Path, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let left = fs::symlink_metadata(folder)?.permissions();
    if left.mode() & 0o700 == 0o700 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(left.mode() | 0o700))?;
    let value = read();
    fs::set_permissions(folder, left)?;
    value
}

/// An attribute of overlayfs: `trusted.*` for root, which no other user can set, otherwise `user.*`.
fn attribute(folder: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let space = if is_root_of_machine() { "trusted" } else { "user" };
    let mut value = vec![0; 4096];
    match lgetxattr(folder, format!("{space}.overlay.{name}"), &mut value) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(Errno::ACCESS) => while_open(folder, || attribute(folder, name)),
        Err(error) => Err(error.into()),
    }
}

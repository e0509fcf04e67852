//! [`Seen`]: interprets the upper folder of an overlayfs.
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

/// A file system entry as a command sees it.
pub(super) enum Seen {
    Absent,
    /// A file or a link, with its real path.
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
    /// The real folder with its permissions and attributes.
    pub(super) fn lies(&self) -> &Path {
        self.upper.as_ref().or(self.lower.as_ref()).expect("a folder lies somewhere")
    }

    /// The entry `name` as the folder shows it. `root`: the workspace.
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

/// Returns the metadata of `path` without following links; `None` if it does not exist.
pub(super) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether the entry marks a removed name. A pipe counts, too: pipes are never kept, and the entry that it replaced is
/// removed as well.
fn is_whiteout(kind: FileType, found: &Metadata) -> bool {
    kind.is_fifo() || kind.is_char_device() && found.rdev() == 0
}

/// The folder of the workspace that `upper` overlays. `below`: the one with the same name.
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

/// Runs `read` on a folder, even if a command has made it unreadable for its owner.
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

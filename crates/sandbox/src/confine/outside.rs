//! [`pieces`]: the parts of the machine as a confined command sees it, through overlays of its file systems without an
//! upper layer.
//!
//! A socket or a named pipe that is seen through an overlay is not the one that its program has open: connections are
//! refused, whatever its name and whenever it was created. So sockets are unreachable without a list of them.
use super::table::MountTable;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Places that always get a file system of their own.
pub(super) const REPLACED: [&str; 5] = ["/proc", "/dev", "/run", "/tmp", "/var/tmp"];

/// Maximum entries of a folder that is rebuilt because something is mounted below it. A larger folder is bound
/// unchanged.
const MAX_ENTRIES: usize = 1_024;

/// A part of the new root. Parts are created in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// An overlay of the folder.
    Overlay(PathBuf),
    /// The file, folder or mount at this path, unchanged.
    Bound(PathBuf),
    /// A folder with these permissions.
    Folder(PathBuf, u32),
    /// An empty file as a mount point.
    File(PathBuf),
    Link(PathBuf, PathBuf),
}

/// The pieces of the new root. For root, an overlay may hide mounts below its folder, so there is one overlay for each
/// file system. Another user may not hide such mounts, so folders above mounts are rebuilt.
pub(super) fn pieces(mounts: &MountTable, is_root: bool) -> Vec<Piece> {
    if is_root { of_root(mounts) } else { of_user(mounts) }
}

fn is_replaced(place: &Path) -> bool {
    REPLACED.iter().any(|replaced| place.starts_with(replaced))
}

fn of_root(mounts: &MountTable) -> Vec<Piece> {
    let mut pieces = vec![Piece::Overlay("/".into())];
    let mut bound: Vec<&Path> = Vec::new();
    let mut seen: Vec<&Path> = Vec::new();
    for mount in &mounts.0 {
        let place = mount.place.as_path();
        let is_below_bound = bound.iter().any(|above| place.starts_with(above));
        if place == Path::new("/") || is_replaced(place) || is_below_bound || seen.contains(&place) {
            continue;
        }
        seen.push(place);
        match fs::metadata(place) {
            Ok(found) if found.is_dir() && mount.may_have_sockets => {
                pieces.push(Piece::Overlay(place.to_owned()));
            }
            Ok(_) => {
                bound.push(place);
                pieces.push(Piece::Bound(place.to_owned()));
            }
            // Another mount covers it.
            Err(_) => {}
        }
    }
    pieces
}

fn of_user(mounts: &MountTable) -> Vec<Piece> {
    let mut pieces = Vec::new();
    folder_anew(Path::new("/"), mounts, &mut pieces);
    pieces
}

fn folder_anew(folder: &Path, mounts: &MountTable, pieces: &mut Vec<Piece>) {
    let entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    if entries.len() > MAX_ENTRIES && folder != Path::new("/") {
        pieces.push(Piece::Bound(folder.to_owned()));
        return;
    }
    for entry in entries {
        let path = entry.path();
        let Ok(found) = entry.metadata() else { continue };
        let mode = found.permissions().mode() & 0o7_777;
        if found.is_symlink() {
            pieces.extend(fs::read_link(&path).map(|target| Piece::Link(path, target)));
        } else if found.is_dir() {
            pieces.push(Piece::Folder(path.clone(), mode));
            inside_of(&path, mounts, pieces);
        } else if found.is_file() {
            pieces.extend([Piece::File(path.clone()), Piece::Bound(path)]);
        }
    }
}

/// Adds the contents of a rebuilt folder.
fn inside_of(path: &Path, mounts: &MountTable, pieces: &mut Vec<Piece>) {
    let mount = mounts.0.iter().rev().find(|mount| mount.place == path);
    if is_replaced(path) || !may_enter(path) {
        return;
    }
    if mount.is_some_and(|mount| !mount.may_have_sockets) {
        pieces.push(Piece::Bound(path.to_owned()));
    } else if mounts.has_below(path) {
        folder_anew(path, mounts, pieces);
    } else {
        pieces.push(Piece::Overlay(path.to_owned()));
    }
}

fn may_enter(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether sockets at `path` can be connected to, because it is bound unchanged.
pub(super) fn is_bound(path: &Path, pieces: &[Piece]) -> bool {
    let shown = pieces.iter().rev().find_map(|piece| match piece {
        Piece::Overlay(place) if path.starts_with(place) => Some(false),
        Piece::Bound(place) if path.starts_with(place) => Some(true),
        _ => None,
    });
    shown.unwrap_or(false)
}

/// Joins `path` below the folder `root`.
pub(super) fn below(root: &str, path: &Path) -> PathBuf {
    match path.strip_prefix("/") {
        Ok(inside) if inside.as_os_str().is_empty() => root.into(),
        Ok(inside) => Path::new(root).join(inside),
        Err(_) => path.to_owned(),
    }
}

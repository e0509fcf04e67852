//! [`names`]: the temporary names beside a file while a change to it is made. They depend only on the change, so that
//! the next process finds the files of a killed one.
use crate::{
    blobs::Blobs,
    place::{Place, State},
};
use haft_core::{Change, FileKind, FileState, Hash};
use rustix::{fs::FileType, io::Errno};
use std::{
    ffi::{OsStr, OsString},
    fs::{File, TryLockError},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
};

/// Maximum temporary names for a change, and thus processes that make it at the same time.
const MAX_NAMES: usize = 100;

/// The temporary names for a change, in the order in which they are tried.
pub(crate) fn names(change: &Change) -> impl Iterator<Item = OsString> {
    let state = |state: &Option<FileState>| match state {
        Some(FileState { hash: Hash(hash), mode, .. }) => format!("{hash} {mode}"),
        None => String::new(),
    };
    let states = [state(&change.before), state(&change.after)].join("\n");
    let parts = change.path.as_os_str().as_bytes().chain(&b"\0"[..]).chain(states.as_bytes());
    let Hash(hash) = Hash::of(parts).expect("memory can be read");
    (0..MAX_NAMES).map(move |number| {
        let more = if number == 0 { String::new() } else { format!("-{number}") };
        format!(".haft-{}{more}", &hash[..16]).into()
    })
}

/// Returns an unused temporary name.
pub(crate) fn free(change: &Change, place: &Place) -> io::Result<OsString> {
    names(change).find(|name| place.inode_of(name).is_none()).ok_or_else(none_free)
}

/// Creates a file with an unused temporary name. It is locked for as long as it is open, which shows that it belongs to
/// a living process.
pub(crate) fn create(change: &Change, place: &Place) -> io::Result<(OsString, File)> {
    for name in names(change) {
        let file = match place.create(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created?,
        };
        let is_ours = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // Another process may have removed it between these calls.
        if is_ours && place.inode_of(&name) == Some(file.metadata()?.ino()) {
            return Ok((name, file));
        }
    }
    Err(none_free())
}

/// Creates a link with an unused temporary name.
pub(crate) fn create_link(change: &Change, place: &Place, target: &[u8]) -> io::Result<OsString> {
    for name in names(change) {
        match place.make_link(&name, target) {
            Err(Errno::EXIST) => continue,
            made => made?,
        }
        return Ok(name);
    }
    Err(none_free())
}

/// Creates a folder with an unused temporary name, open and locked like a file.
pub(crate) fn create_folder(change: &Change, place: &Place) -> io::Result<(OsString, File)> {
    for name in names(change) {
        match place.make_folder(&name) {
            Err(Errno::EXIST) => continue,
            made => made?,
        }
        // Another process may have removed it between these calls.
        if let Some(folder) = hold_folder(place, &name)? {
            return Ok((name, folder));
        }
    }
    Err(none_free())
}

/// Opens and locks a folder; `None` if it does not exist, or belongs to a living process.
pub(crate) fn hold_folder(place: &Place, name: &OsStr) -> io::Result<Option<File>> {
    let folder = match place.open_folder(name) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        opened => opened?,
    };
    let is_ours = !matches!(folder.try_lock(), Err(TryLockError::WouldBlock));
    Ok((is_ours && place.inode_of(name) == Some(folder.metadata()?.ino())).then_some(folder))
}

/// The temporary name under which a process that was killed during this change left the old content.
pub(crate) fn find_before(change: &Change, place: &Place) -> io::Result<Option<OsString>> {
    for name in names(change).take_while(|name| place.inode_of(name).is_some()) {
        if place.look_at(&name)?.0.is(&change.before) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The temporary name under which a process that was killed during this change left a folder that is, or may be, not
/// empty.
pub(crate) fn find_full_folder(change: &Change, place: &Place) -> io::Result<Option<OsString>> {
    for name in names(change).take_while(|name| place.inode_of(name).is_some()) {
        if is_folder(place, &name) && place.has_entries(&name)? != Some(false) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn none_free() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "all names beside it are taken")
}

/// Removes the temporary files of a process that was killed during this change.
pub(crate) fn tidy(blobs: &Blobs, change: &Change, place: &Place) {
    for name in names(change).take_while(|name| place.inode_of(name).is_some()) {
        if is_folder(place, &name) {
            let _in_use = is_about_folder(change).then(|| place.remove_folder(&name));
        } else if matches!(is_left_over(blobs, change, place, &name), Ok(true)) {
            let _another_process_did = place.unlink(&name);
        }
    }
}

fn is_folder(place: &Place, name: &OsStr) -> bool {
    place.stat(name).is_some_and(|found| FileType::from_raw_mode(found.st_mode).is_dir())
}

/// Whether the change may leave a folder under a temporary name. Such a folder stays if it is not empty.
fn is_about_folder(change: &Change) -> bool {
    let states = [&change.before, &change.after].into_iter().flatten();
    states.into_iter().any(|state| state.kind() == FileKind::Folder)
}

/// Whether the entry is a left-over: unlocked, and with the old content or a beginning of the new one. Anything else
/// may be a file of the user.
fn is_left_over(blobs: &Blobs, change: &Change, place: &Place, name: &OsStr) -> io::Result<bool> {
    let (State::Known(found), file) = place.look_at(name)? else { return Ok(false) };
    let Some(file) = file else {
        // A link cannot be locked, but it is complete as soon as it is created.
        return Ok(found.kind() == FileKind::Link && [&change.before, &change.after].contains(&&Some(found)));
    };
    if file.try_lock().is_err() {
        return Ok(false);
    }
    if change.before.as_ref().is_some_and(|before| before.hash == found.hash) {
        return Ok(true);
    }
    let Some(after) = &change.after else { return Ok(false) };
    let beginning = blobs.open(&after.hash)?.take(file.metadata()?.len());
    Ok(Hash::of(beginning)? == found.hash)
}

//! [`sync_one`] and [`sync_systems`]: sync files to disk, so that they survive a power failure.
//!
//! A single file is synced alone. For several files, the whole file system is synced, which takes about as long as a
//! single file.
use rustix::io::Errno;
use std::{
    collections::HashSet,
    fs::File,
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
};

/// Syncs a file or folder.
pub(crate) fn sync_one(file: impl AsFd) -> io::Result<()> {
    or_all(rustix::fs::fsync(file))
}

/// Everything on the file systems of these files and folders.
pub(crate) fn sync_systems<'a>(files: impl IntoIterator<Item = &'a File>) -> io::Result<()> {
    let mut synced = HashSet::new();
    for file in files {
        if synced.insert(file.metadata()?.dev()) {
            sync_system(file)?;
        }
    }
    Ok(())
}

/// Everything on the file system of this file.
pub(crate) fn sync_system(file: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return or_all(rustix::fs::syncfs(file));
    #[cfg(not(target_os = "linux"))]
    {
        rustix::fs::sync();
        Ok(())
    }
}

/// A folder that was opened without being read cannot be synced by itself.
fn or_all(synced: rustix::io::Result<()>) -> io::Result<()> {
    if synced == Err(Errno::BADF) {
        rustix::fs::sync();
        return Ok(());
    }
    Ok(synced?)
}

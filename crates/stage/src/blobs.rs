//! [`Blobs`]: stores contents of files, each once, under its SHA-256.
use crate::{
    place::open_file,
    sparse::{self, Stop},
    sync::sync_system,
};
use haft_core::{FileKind, FileState, Hash};
use haft_process::own_folder;
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// Maximum number of files that are open at the same time.
const MAX_OPEN: usize = 64;

/// A folder of contents.
#[derive(Clone)]
pub(crate) struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Creates the folder if it is missing, and returns it.
    pub(crate) fn folder(&self) -> io::Result<&Path> {
        own_folder(&self.folder)?;
        Ok(&self.folder)
    }

    /// The folder of the notes of [`crate::access`], which need not exist.
    pub(crate) fn notes(&self) -> PathBuf {
        self.folder.join(".opened")
    }

    /// Stores the contents of these files, whose states are known, synced. Contents that are already stored are not
    /// written again.
    pub(crate) fn keep(&self, files: &[(&Path, &FileState)], stop: &Stop) -> io::Result<()> {
        files.chunks(MAX_OPEN).try_for_each(|files| self.keep_some(files, stop))
    }

    fn keep_some(&self, files: &[(&Path, &FileState)], stop: &Stop) -> io::Result<()> {
        let mut copies = Vec::new();
        for (source, state) in files {
            copies.extend(self.copy(source, state, stop)?);
        }
        let Some((copy, _)) = copies.first() else { return Ok(()) };
        if copies.len() == 1 {
            copy.as_file().sync_all()?;
        } else {
            sync_system(copy.as_file())?;
        }
        for (copy, place) in copies {
            copy.persist(place).map_err(|error| error.error)?;
        }
        // A rename survives a power failure only after its folder is synced.
        File::open(&self.folder)?.sync_all()
    }

    /// Copies a content to a temporary file, without syncing it.
    fn copy(
        &self,
        source: &Path,
        state: &FileState,
        stop: &Stop,
    ) -> io::Result<Option<(NamedTempFile, PathBuf)>> {
        let place = self.place(&state.hash)?;
        if place.try_exists()? {
            return Ok(None);
        }
        let mut copy = NamedTempFile::with_prefix_in(".blob-", self.folder()?)?;
        match state.kind() {
            FileKind::File => {
                let file = open_file(source).map_err(|error| {
                    io::Error::new(error.kind(), format!("cannot read `{}`: {error}", source.display()))
                })?;
                sparse::copy(&file, copy.as_file_mut())?;
            }
            FileKind::Link => fs::write(copy.path(), fs::read_link(source)?.as_os_str().as_bytes())?,
            FileKind::Folder => {}
        }
        if sparse::hash(&File::open(copy.path())?, stop)? != state.hash {
            return Err(io::Error::other(format!("`{}` changed while it was recorded", source.display())));
        }
        Ok(Some((copy, place)))
    }

    /// Stores a content that is in memory, synced.
    pub(crate) fn keep_content(&self, content: &[u8]) -> io::Result<Hash> {
        let hash = Hash::of(content)?;
        let place = self.place(&hash)?;
        if !place.try_exists()? {
            let mut copy = NamedTempFile::with_prefix_in(".blob-", self.folder()?)?;
            copy.write_all(content)?;
            copy.as_file().sync_all()?;
            copy.persist(place).map_err(|error| error.error)?;
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(hash)
    }

    /// Opens a content for reading.
    pub(crate) fn open(&self, hash: &Hash) -> io::Result<File> {
        File::open(self.place(hash)?).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot read the recorded content {hash}: {error}"))
        })
    }

    /// The whole content.
    pub(crate) fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.open(hash)?.read_to_end(&mut content)?;
        match Hash::of(content.as_slice())? == *hash {
            true => Ok(content),
            false => Err(is_damaged(hash)),
        }
    }

    /// Copies the content to the empty file `to`.
    pub(crate) fn copy_to(&self, hash: &Hash, to: &mut File) -> io::Result<()> {
        let content = self.open(hash)?;
        sparse::copy(&content, to)?;
        match sparse::hash(to, &Stop::default())? == *hash {
            true => Ok(()),
            false => Err(is_damaged(hash)),
        }
    }

    /// The path of a content. A hash from a journal is untrusted and must not lead out of the folder.
    fn place(&self, hash: &Hash) -> io::Result<PathBuf> {
        let Hash(name) = hash;
        if name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Ok(self.folder.join(name));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` is not a SHA-256")))
    }
}

fn is_damaged(hash: &Hash) -> io::Error {
    let why = format!("the recorded content {hash} was changed since it was recorded");
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_stage::private_state;

    #[test]
    fn a_content_is_kept_once_and_found_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let (blobs, source) = (Blobs::new(folder.path().join("blobs")), folder.path().join("a"));
        fs::write(&source, "hello").unwrap();
        let state = private_state(&source).unwrap().recorded().flatten().unwrap();
        assert_eq!(state.hash.0, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        blobs.keep(&[(&source, &state)], &Stop::default()).unwrap();
        let written = |()| fs::metadata(blobs.place(&state.hash).unwrap()).unwrap().modified().unwrap();
        let first = written(());
        blobs.keep(&[(&source, &state)], &Stop::default()).unwrap();
        assert_eq!((blobs.content(&state.hash).unwrap(), written(())), (b"hello".to_vec(), first));
        assert_eq!(fs::read_dir(folder.path().join("blobs")).unwrap().count(), 1);
    }

    #[test]
    fn a_hash_that_is_none_leads_nowhere() {
        let blobs = Blobs::new("/".into());
        for name in ["../etc/passwd", "", &"A".repeat(64), &"/".repeat(64)] {
            assert_eq!(blobs.content(&Hash(name.into())).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}

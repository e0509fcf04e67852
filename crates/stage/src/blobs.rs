//! Contents of files, each kept once, under its SHA-256.
use haft_core::{FileState, Hash};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// A folder of contents.
#[derive(Clone)]
pub(crate) struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder, which exists from here on.
    pub(crate) fn folder(&self) -> io::Result<&Path> {
        fs::create_dir_all(&self.folder)?;
        Ok(&self.folder)
    }

    /// Keeps the content of the file `source`, whose state is known, synced. Nothing is written where it is kept
    /// already.
    pub(crate) fn keep(&self, source: &Path, state: &FileState) -> io::Result<()> {
        let place = self.place(&state.hash)?;
        if place.try_exists()? {
            return Ok(());
        }
        let folder = self.folder()?;
        let copy = NamedTempFile::with_prefix_in(".blob-", folder)?;
        // `fs::copy` and not `io::copy` in blocks: it shares the blocks where the file system can.
        fs::copy(source, copy.path())?;
        // The copy took over the mode of the file; what is kept is for its owner alone.
        fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o600))?;
        if hash_of(File::open(copy.path())?)? != state.hash {
            return Err(io::Error::other(format!("`{}` changed while it was recorded", source.display())));
        }
        copy.as_file().sync_all()?;
        copy.persist(place).map_err(|error| error.error)?;
        sync_folder(folder)
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
        Ok(content)
    }

    /// A hash comes out of a journal, which anyone may have written: it must not lead out of the folder.
    fn place(&self, hash: &Hash) -> io::Result<PathBuf> {
        let Hash(name) = hash;
        if name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Ok(self.folder.join(name));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` is no SHA-256")))
    }
}

/// SHA-256 of everything that `file` gives.
pub(crate) fn hash_of(mut file: impl Read) -> io::Result<Hash> {
    struct Hasher(Sha256);
    impl Write for Hasher {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hasher = Hasher(Sha256::new());
    io::copy(&mut file, &mut hasher)?;
    Ok(Hash(hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// A rename survives a loss of power only once its folder is synced.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settle::state_of;

    #[test]
    fn a_content_is_kept_once_and_found_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let (blobs, source) = (Blobs::new(folder.path().join("blobs")), folder.path().join("a"));
        fs::write(&source, "hello").unwrap();
        let state = state_of(&source).unwrap().file().unwrap();
        assert_eq!(state.hash.0, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        blobs.keep(&source, &state).unwrap();
        let written = |()| fs::metadata(blobs.place(&state.hash).unwrap()).unwrap().modified().unwrap();
        let first = written(());
        blobs.keep(&source, &state).unwrap();
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

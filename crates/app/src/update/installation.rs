//! [`Installation`]: the folder of the program while the program is replaced. Only one update runs at a time, and the
//! program exists at every moment.
use super::UNCHANGED;
use crate::Failure;
use flate2::read::GzDecoder;
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Permissions, TryLockError},
    io::{self, ErrorKind, Read},
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};
use tempfile::{NamedTempFile, TempPath};

/// The prefix of temporary files beside the program. An update removes those that a killed update left.
const PREFIX: &str = ".haft-update-";
/// Maximum size of a program.
const MAX_PROGRAM_BYTES: u64 = 1 << 30;

/// The folder of the program, locked: until this is dropped, another update of the same folder fails.
pub(super) struct Installation {
    program: PathBuf,
    folder: PathBuf,
    _lock: File,
}

impl Installation {
    /// Locks the folder of `program`, a path without links, and removes the temporary files of an earlier update.
    pub(super) fn open(program: &Path) -> Result<Self, Failure> {
        let folder = program.parent().unwrap_or(Path::new("/")).to_owned();
        let unusable = |error: &io::Error| unwritable(&folder, error);
        // Locks the folder itself, so that no lock file is left behind.
        let lock = File::open(&folder).map_err(|error| unusable(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::failed(format!("another update in `{}` is running", folder.display()))
                    .hint("wait until it has ended"));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&error)),
        }
        if !is_running(program) {
            let gone = format!("`{}` was replaced while it ran", program.display());
            return Err(Failure::failed(gone).hint("another update may have ended just now: start it again"));
        }
        let installation = Self { program: program.to_owned(), folder, _lock: lock };
        installation.clean();
        Ok(installation)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An empty file beside the program, removed on drop.
    pub(super) fn new_file(&self) -> Result<NamedTempFile, Failure> {
        let made = tempfile::Builder::new().prefix(PREFIX).tempfile_in(&self.folder);
        made.map_err(|error| unwritable(&self.folder, &error))
    }

    /// Unpacks the file `inside` of `package`, a `.tar.gz`, with the owner and the permissions of the program. On
    /// return, the file is on disk.
    pub(super) fn unpack(&self, package: &Path, inside: &str) -> Result<TempPath, Failure> {
        let damaged =
            |error: io::Error| Failure::failed(format!("cannot unpack the package: {error}")).hint(UNCHANGED);
        let package = File::open(package).map_err(damaged)?;
        let mut archive = tar::Archive::new(GzDecoder::new(package));
        for entry in archive.entries().map_err(damaged)? {
            let mut entry = entry.map_err(damaged)?;
            let is_it = entry.path().is_ok_and(|path| path == Path::new(inside));
            if is_it && entry.header().entry_type().is_file() {
                return self.keep(&mut entry);
            }
        }
        Err(Failure::failed(format!("the package has no file `{inside}`")).hint(UNCHANGED))
    }

    fn keep(&self, content: &mut impl Read) -> Result<TempPath, Failure> {
        let mut file = self.new_file()?;
        let kept = io::copy(&mut content.take(MAX_PROGRAM_BYTES), &mut file);
        kept.map_err(|error| unwritable(&self.folder, &error))?;
        let finish = || {
            let old = fs::metadata(&self.program)?;
            // Only root can keep the owner; for any other user, the new file belongs to that user, as with every
            // installer.
            let _stays_with_this_user = fchown(file.as_file(), Some(old.uid()), Some(old.gid()));
            file.as_file().set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
            file.as_file().sync_all()
        };
        finish().map_err(|error| unwritable(&self.folder, &error))?;
        Ok(file.into_temp_path())
    }

    /// A second name of the program that the last update replaced.
    pub(super) fn earlier(&self) -> Result<TempPath, Failure> {
        let previous = self.previous();
        if !previous.is_file() || is_same(&previous, &self.program) {
            return Err(Failure::usage(format!(
                "there is no earlier version: `{}` is missing",
                previous.display()
            ))
            .hint("an update keeps the version that it replaces there"));
        }
        self.second_name(&previous)
    }

    /// Replaces the program by `new`, and keeps the old one as `haft.previous`.
    pub(super) fn replace_by(&self, new: TempPath) -> Result<(), Failure> {
        let (old, previous) = (self.second_name(&self.program)?, self.previous());
        new.persist(&self.program).map_err(|failed| unwritable(&self.folder, &failed.error))?;
        old.persist(&previous).map_err(|failed| {
            let (previous, error) = (previous.display(), failed.error);
            Failure::failed(format!("the program was replaced, but not kept as `{previous}`: {error}"))
                .hint("`haft update --back` has nothing to go back to")
        })?;
        // After a power cut, either version may be there, but it is complete.
        let _some_systems_cannot = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    fn previous(&self) -> PathBuf {
        let mut name = self.program.file_name().map_or_else(|| OsString::from("haft"), OsStr::to_owned);
        name.push(".previous");
        self.folder.join(name)
    }

    /// Makes a second name for the file, or a copy if the file system has no hard links.
    fn second_name(&self, file: &Path) -> Result<TempPath, Failure> {
        let name = self.new_file()?.into_temp_path();
        let linked = fs::remove_file(&name).and_then(|()| fs::hard_link(file, &name));
        linked
            .or_else(|_| fs::copy(file, &name).map(|_| ()))
            .map_err(|error| unwritable(&self.folder, &error))?;
        Ok(name)
    }

    fn clean(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
            let _stays_for_the_next = fs::remove_file(entry.path());
        }
    }
}

/// Whether the file is the program of this process; also `true` if the system has no `/proc/self/exe`.
fn is_running(program: &Path) -> bool {
    let own = Path::new("/proc/self/exe");
    !own.exists() || is_same(own, program)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    id(one).is_some_and(|found| Some(found) == id(other))
}

/// The failure if `folder` cannot be written to.
pub(super) fn unwritable(folder: &Path, error: &io::Error) -> Failure {
    let (why, hint) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ("the disk is full".to_owned(), "free some space")
        }
        ErrorKind::FileTooLarge => {
            ("the limit on the size of a file is too low".to_owned(), "raise it: `ulimit -f unlimited`")
        }
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            "run it as the user that the directory belongs to, e.g., with `sudo`",
        ),
        ErrorKind::ReadOnlyFilesystem => {
            ("the file system is read-only".to_owned(), "update where it is made")
        }
        _ => (error.to_string(), "fix that and run it again"),
    };
    let folder = folder.display();
    Failure::failed(format!("cannot write to `{folder}`: {why}")).hint(format!("{UNCHANGED}; {hint}"))
}

//! A view made of private copies of the files that a call's effects name for writing.
use crate::{
    blobs::Blobs,
    paths::resolve,
    settle::{State, state_of},
};
use haft_core::{Change, Effect, FileState, How, View};
use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Bytes of a file that is copied at most. No tool edits a larger one, and what is replaced is kept.
const LARGEST: u64 = 64 << 20;

/// See the table at [`crate::Declared`].
pub(crate) fn how(effects: &[Effect]) -> How {
    let anything = |effect: &Effect| matches!(effect, Effect::Execute(_) | Effect::Network(_));
    if effects.is_empty() || effects.iter().any(anything) { How::Untracked } else { How::Declared }
}

/// See the table at [`crate::Declared`].
pub(crate) fn open(blobs: &Blobs, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
    let (how, written) = (how(effects), effects.iter().filter_map(written));
    let written: Vec<&Path> = written.filter(|_| how != How::Untracked).collect();
    if written.is_empty() {
        return Ok(Box::new(Real { workspace: workspace.to_owned(), how }));
    }
    let mut view = Copies::empty(blobs, workspace)?;
    written.into_iter().try_for_each(|path| view.add(path))?;
    Ok(Box::new(view))
}

fn written(effect: &Effect) -> Option<&Path> {
    match effect {
        Effect::Write(path) => Some(path),
        Effect::Read(_) | Effect::Execute(_) | Effect::Network(_) => None,
    }
}

/// The workspace itself.
struct Real {
    workspace: PathBuf,
    how: How,
}

impl View for Real {
    fn root(&self) -> &Path {
        &self.workspace
    }
    fn locate(&self, path: &Path) -> PathBuf {
        self.workspace.join(path)
    }
    fn changes(&self) -> io::Result<Vec<Change>> {
        Ok(Vec::new())
    }
    fn how(&self) -> How {
        self.how
    }
}

/// Private copies, in a folder that goes with the view.
struct Copies {
    blobs: Blobs,
    /// Links followed.
    workspace: PathBuf,
    folder: TempDir,
    root: PathBuf,
    copies: Vec<Copy>,
}

/// One file that the call may write.
struct Copy {
    /// The file it stands for, links followed.
    real: PathBuf,
    /// Where the call finds it.
    private: PathBuf,
    /// The content as it was when the view was opened, if there was any. The file itself may change meanwhile.
    pristine: PathBuf,
    before: Option<FileState>,
}

impl Copies {
    fn empty(blobs: &Blobs, workspace: &Path) -> io::Result<Self> {
        let own = fs::Permissions::from_mode(0o700);
        let folder =
            tempfile::Builder::new().prefix(".view-").permissions(own).tempdir_in(blobs.folder()?)?;
        let root = folder.path().join("workspace");
        fs::create_dir(&root)?;
        let workspace = resolve(workspace, Path::new(""));
        Ok(Self { blobs: blobs.clone(), workspace, folder, root, copies: Vec::new() })
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let real = resolve(&self.workspace, path);
        if self.copy_of(&real).is_some() {
            return Ok(());
        }
        let private = match real.strip_prefix(&self.workspace) {
            Ok(inside) => self.root.join(inside),
            Err(_) => self.folder.path().join("outside").join(real.strip_prefix("/").unwrap_or(&real)),
        };
        let pristine = self.folder.path().join(format!("pristine-{}", self.copies.len()));
        let before = copy_in(&real, &private, &pristine).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot prepare `{}` for writing: {error}", path.display()))
        })?;
        self.copies.push(Copy { real, private, pristine, before });
        Ok(())
    }

    fn copy_of(&self, real: &Path) -> Option<&Copy> {
        self.copies.iter().find(|copy| copy.real == real)
    }

    fn change(&self, copy: &Copy) -> io::Result<Option<Change>> {
        let after = state_of(&copy.private)?.recorded().ok_or_else(|| not_a_file(&copy.real))?;
        if after == copy.before {
            return Ok(None);
        }
        for (place, state) in [(&copy.pristine, &copy.before), (&copy.private, &after)] {
            state.iter().try_for_each(|state| self.blobs.keep(place, state))?;
        }
        let path = copy.real.strip_prefix(&self.workspace).unwrap_or(&copy.real).to_owned();
        Ok(Some(Change { path, before: copy.before.clone(), after }))
    }
}

impl View for Copies {
    fn root(&self) -> &Path {
        &self.root
    }

    fn locate(&self, path: &Path) -> PathBuf {
        // A tool may also name a file by where it lies in the view.
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        match self.copy_of(&resolve(&self.workspace, inside)) {
            Some(copy) => copy.private.clone(),
            None => self.workspace.join(inside),
        }
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        self.copies.iter().filter_map(|copy| self.change(copy).transpose()).collect()
    }

    fn how(&self) -> How {
        How::Declared
    }
}

/// Copies `real` twice: to work on, and to remember. The state recorded is that of the copy, so it is of one piece.
fn copy_in(real: &Path, private: &Path, pristine: &Path) -> io::Result<Option<FileState>> {
    if let Some(folder) = private.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::symlink_metadata(real) {
        Ok(found) if found.is_file() && found.len() > LARGEST => return Err(too_large(found.len())),
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(not_a_file(real)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    fs::copy(real, pristine)?;
    fs::copy(pristine, private)?;
    match state_of(pristine)? {
        State::File(state) => Ok(Some(state)),
        State::Absent | State::Other => Err(not_a_file(real)),
    }
}

fn too_large(bytes: u64) -> io::Error {
    let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let why = format!(
        "it has {:.1} MB, and files of more than {} MB are not copied; change it with a command",
        megabytes(bytes),
        LARGEST >> 20
    );
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn not_a_file(path: &Path) -> io::Error {
    let kind = if path.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    io::Error::new(kind, format!("`{}` is not a regular file", path.display()))
}

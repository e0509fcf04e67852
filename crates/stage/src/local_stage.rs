//! [`Copies`]: a view with private copies of the files that a call's effects name for writing.
use crate::{
    access::is_shut,
    attributes,
    blobs::Blobs,
    paths::resolve,
    place::{Lookup, Opened, Place, State, state_of},
    sparse::Stop,
};
use haft_core::{Change, Confinement, Effect, FileKind, FileState, Tracking, View};
use parking_lot::Mutex;
use rustix::io::Errno;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// Maximum bytes of a file that is copied. No tool edits larger files, and each content that a call replaces takes
/// space in the store.
const MAX_COPIED_BYTES: u64 = 64 << 20;

/// See the table at [`crate::LocalStage`].
pub(crate) fn how(effects: &[Effect]) -> Tracking {
    let anything = |effect: &Effect| matches!(effect, Effect::Execute(_) | Effect::Network(_));
    if effects.is_empty() || effects.iter().any(anything) { Tracking::Untracked } else { Tracking::Declared }
}

/// See the table at [`crate::LocalStage`].
pub(crate) fn open(blobs: &Blobs, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
    let (how, written) = (how(effects), effects.iter().filter_map(written));
    let written: Vec<&Path> = written.filter(|_| how != Tracking::Untracked).collect();
    if written.is_empty() {
        return Ok(Box::new(Real { workspace: workspace.to_owned(), how, confinement: None }));
    }
    let view = Copies::empty(blobs, workspace)?;
    written.into_iter().try_for_each(|path| view.prepare(path).map(|_| ()))?;
    Ok(Box::new(view))
}

/// Like [`open`], with `changes` shown as made, for files that the effects name, directly or by a folder above them.
pub(crate) fn open_with(
    blobs: &Blobs,
    workspace: &Path,
    effects: &[Effect],
    changes: &[Change],
) -> io::Result<Box<dyn View>> {
    if how(effects) == Tracking::Untracked {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "it would work in the workspace itself"));
    }
    let view = Copies { shown: changes.to_vec(), ..Copies::empty(blobs, workspace)? };
    for effect in effects {
        match effect {
            Effect::Write(path) => drop(view.prepare(path)?),
            Effect::Read(path) if view.shown_by(&workspace.join(path)).is_some() => drop(view.prepare(path)?),
            Effect::Read(path) => view.prepare_below(&workspace.join(path))?,
            Effect::Execute(_) | Effect::Network(_) => {}
        }
    }
    Ok(Box::new(view))
}

fn written(effect: &Effect) -> Option<&Path> {
    match effect {
        Effect::Write(path) => Some(path),
        Effect::Read(_) | Effect::Execute(_) | Effect::Network(_) => None,
    }
}

/// The workspace itself.
pub(crate) struct Real {
    workspace: PathBuf,
    how: Tracking,
    confinement: Option<Arc<Confinement>>,
}

impl Real {
    /// Creates a view for a command that works in the workspace and is confined in everything else.
    pub(crate) fn confined(confinement: Arc<Confinement>) -> Self {
        let workspace = confinement.workspace.clone();
        Self { workspace, how: Tracking::Untracked, confinement: Some(confinement) }
    }
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
    fn how(&self) -> Tracking {
        self.how
    }
    fn confinement(&self) -> Option<Arc<Confinement>> {
        self.confinement.clone()
    }
}

/// Private copies, in a folder that is removed with the view.
struct Copies {
    blobs: Blobs,
    workspace: PathBuf,
    folder: TempDir,
    root: PathBuf,
    copies: Mutex<Vec<Copy>>,
    /// Changes that the view shows as made.
    shown: Vec<Change>,
}

/// A file that the call may write, or that it reads with one of the `shown` changes.
#[derive(Clone)]
struct Copy {
    /// The original file, links followed.
    real: PathBuf,
    /// The private copy for the call.
    private: PathBuf,
    /// A copy of the original content, if there was any, made together with the private copy, because the original may
    /// change meanwhile.
    pristine: PathBuf,
    before: Option<FileState>,
}

impl Copy {
    /// Sets the private copy to this state; `None` removes it.
    fn show(&self, blobs: &Blobs, state: Option<&FileState>) -> io::Result<()> {
        match fs::remove_file(&self.private) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let Some(state) = state else { return Ok(()) };
        if state.kind() != FileKind::File {
            return Err(not_a_file(&self.real));
        }
        io::copy(&mut blobs.open(&state.hash)?, &mut File::create_new(&self.private)?)?;
        fs::set_permissions(&self.private, fs::Permissions::from_mode(state.permissions()))
    }
}

impl Copies {
    fn empty(blobs: &Blobs, workspace: &Path) -> io::Result<Self> {
        let own = fs::Permissions::from_mode(0o700);
        let folder =
            tempfile::Builder::new().prefix(".view-").permissions(own).tempdir_in(blobs.folder()?)?;
        let root = folder.path().join("workspace");
        fs::create_dir(&root)?;
        let (blobs, workspace) = (blobs.clone(), workspace.to_owned());
        Ok(Self { blobs, workspace, folder, root, copies: Mutex::default(), shown: Vec::new() })
    }

    /// Copies a file; returns the path of its private copy.
    fn prepare(&self, path: &Path) -> io::Result<PathBuf> {
        let real = self.workspace.join(path);
        let mut copies = self.copies.lock();
        if let Some(copy) = copies.iter().find(|copy| copy.real == real) {
            return Ok(copy.private.clone());
        }
        let private = match real.strip_prefix(&self.workspace) {
            Ok(inside) => self.root.join(inside),
            Err(_) => self.folder.path().join("outside").join(real.strip_prefix("/").unwrap_or(&real)),
        };
        let pristine = self.folder.path().join(format!("pristine-{}", copies.len()));
        let before = copy_in(&real, &private, &pristine).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot prepare `{}` for writing: {error}", path.display()))
        })?;
        let copy = Copy { real, private: private.clone(), pristine, before };
        if let Some(change) = self.shown_by(&copy.real) {
            copy.show(&self.blobs, change.after.as_ref())?;
        }
        copies.push(copy);
        Ok(private)
    }

    /// Copies the shown files below a folder that the call searches.
    fn prepare_below(&self, folder: &Path) -> io::Result<()> {
        let is_file =
            |state: &Option<FileState>| state.as_ref().is_none_or(|state| state.kind() == FileKind::File);
        let below = self.shown.iter().filter(|change| self.workspace.join(&change.path).starts_with(folder));
        let mut files = below.filter(|change| is_file(&change.before) && is_file(&change.after));
        files.try_for_each(|change| self.prepare(&change.path).map(drop))
    }

    fn shown_by(&self, real: &Path) -> Option<&Change> {
        self.shown.iter().find(|change| self.workspace.join(&change.path) == real)
    }

    fn copy_of(&self, real: &Path) -> Option<PathBuf> {
        self.copies.lock().iter().find(|copy| copy.real == real).map(|copy| copy.private.clone())
    }

    /// The state of a copy after the call.
    fn after(&self, copy: &Copy) -> io::Result<Option<FileState>> {
        private_state(&copy.private)?.recorded().ok_or_else(|| not_a_file(&copy.real))
    }
}

impl View for Copies {
    fn root(&self) -> &Path {
        &self.root
    }

    fn locate(&self, path: &Path) -> PathBuf {
        // A tool may also name a file by its path in the view.
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let real = self.workspace.join(inside);
        // Declared files are found by their name first: a link may have been changed since the call was judged.
        let copy = self.copy_of(&real).or_else(|| self.copy_of(&resolve(&self.workspace, inside)));
        copy.unwrap_or(real)
    }

    fn add(&self, path: &Path) -> io::Result<PathBuf> {
        let real = resolve(&self.workspace, path);
        match real == path && real.starts_with(&self.workspace) {
            true => self.prepare(path),
            false => {
                let why = "it lies outside the workspace, or a link leads there";
                Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
            }
        }
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        let (mut changes, mut contents) = (Vec::new(), Vec::new());
        let copies = self.copies.lock().clone();
        for copy in &copies {
            // The attributes of the private copy are not the file's.
            let after = self.after(copy)?.map(|after| after.with_attributes(None));
            let path = copy.real.strip_prefix(&self.workspace).unwrap_or(&copy.real).to_owned();
            let mut change = Change::between(path, copy.before.clone(), after);
            if change.before == change.after {
                continue;
            }
            if change.before.is_none() || change.after.is_none() {
                may_change_folder(&copy.real, &change.path)?;
            }
            if change.before.is_none() {
                let above = copy.real.ancestors().skip(1);
                change.new_folders = above.take_while(|folder| !folder.exists()).count() as u32;
            }
            contents.extend([&copy.pristine, &copy.private]);
            changes.push(change);
        }
        let states = changes.iter().flat_map(|change| [&change.before, &change.after]);
        let kept = contents.into_iter().zip(states);
        let kept: Vec<_> = kept.filter_map(|(file, state)| Some((file.as_path(), state.as_ref()?))).collect();
        self.blobs.keep(&kept, &Stop::default())?;
        Ok(changes)
    }

    fn how(&self) -> Tracking {
        Tracking::Declared
    }

    fn shown(&self) -> Vec<(PathBuf, PathBuf)> {
        let copies = self.copies.lock();
        let shown = copies.iter().filter(|copy| self.shown_by(&copy.real).is_some());
        shown.map(|copy| (copy.real.clone(), copy.private.clone())).collect()
    }
}

/// Copies `real` twice: to the private copy and to the pristine copy. The recorded state is that of the copy, so it is
/// consistent.
fn copy_in(real: &Path, private: &Path, pristine: &Path) -> io::Result<Option<FileState>> {
    if let Some(folder) = private.parent() {
        fs::create_dir_all(folder)?;
    }
    let place = match Place::find(real)? {
        Lookup::Open(place) => place,
        Lookup::Missing => return Ok(None),
        Lookup::Blocked => return Err(blocked(real)),
    };
    let mut file = match place.open(&place.name)? {
        Opened::File(file) => file,
        Opened::Absent => return Ok(None),
        Opened::Link(_) | Opened::Folder(_) | Opened::Other => return Err(not_a_file(real)),
    };
    let bytes = file.metadata()?.len();
    if bytes > MAX_COPIED_BYTES {
        return Err(too_large(bytes));
    }
    let mut copy = File::create_new(pristine)?;
    io::copy(&mut file, &mut copy)?;
    copy.set_permissions(file.metadata()?.permissions())?;
    fs::copy(pristine, private)?;
    let state = private_state(pristine)?.recorded().flatten();
    Ok(state.map(|state| state.with_attributes(attributes::of(&file))))
}

/// The state of a path that only the call writes to, links not followed.
pub(crate) fn private_state(path: &Path) -> io::Result<State> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Absent),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(State::Other),
        Err(error) => return Err(error),
    };
    if found.is_file() { state_of(&File::open(path)?) } else { Ok(State::Other) }
}

/// Fails if the mode of the folder does not permit creating or removing files. A tool, unlike a command, cannot change
/// the mode.
fn may_change_folder(path: &Path, name: &Path) -> io::Result<()> {
    match path.ancestors().skip(1).find(|folder| folder.exists()) {
        Some(folder) if is_shut(folder) => {
            let error = io::Error::from(Errno::ACCESS);
            Err(io::Error::new(error.kind(), format!("cannot write `{}`: {error}", name.display())))
        }
        _ => Ok(()),
    }
}

fn blocked(path: &Path) -> io::Error {
    let message = format!("a file or a link stands in the way to `{}`", path.display());
    io::Error::new(io::ErrorKind::NotADirectory, message)
}

fn too_large(bytes: u64) -> io::Error {
    let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let why = format!(
        "it has {:.1} MB, and files of more than {} MB are not copied; change it with a command",
        megabytes(bytes),
        MAX_COPIED_BYTES >> 20
    );
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn not_a_file(path: &Path) -> io::Error {
    let kind = if path.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    io::Error::new(kind, format!("`{}` is not a regular file", path.display()))
}

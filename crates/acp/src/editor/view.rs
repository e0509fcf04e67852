//! [`open`]: opens a view in which unsaved texts replace the files on disk.
use super::{EditorStage, buffers::Buffer};
use haft_core::{Bulk, Change, Confinement, Effect, Stage, Tracking, View};
use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Instant,
};

/// The inner stage's view, unless the call touches an unsaved file.
pub(super) fn open(stage: &EditorStage, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
    let unsaved = unsaved(stage, workspace, effects)?;
    if unsaved.is_empty() {
        return stage.inner.open(workspace, effects);
    }
    let written: Vec<&PathBuf> = effects.iter().filter_map(written).collect();
    written
        .iter()
        .filter_map(|file| Some((*file, unsaved.get(*file)?)))
        .try_for_each(|(file, text)| may_write(stage, file, text, effects))?;
    for (file, text) in &unsaved {
        stage.learn(file, text);
    }
    let scratch = Scratch::new(&stage.folder)?;
    let is_written_over = written.iter().any(|file| unsaved.contains_key(*file));
    let inner = match is_written_over {
        true => over(stage, workspace, effects, &unsaved, &scratch)?,
        false => stage.inner.open(workspace, effects)?,
    };
    let mut copies = HashMap::new();
    for (file, text) in unsaved.iter().filter(|(file, _)| !written.contains(file)) {
        let copy = scratch.place("read", workspace, file);
        put(&copy, text, file)?;
        copies.insert(file.clone(), copy);
    }
    let written = if is_written_over { written.into_iter().cloned().collect() } else { Vec::new() };
    let (inner_stage, workspace) = (stage.inner.clone(), workspace.to_owned());
    Ok(Box::new(EditorView { inner, inner_stage, workspace, scratch, copies, written }))
}

/// The texts that differ from the disk, of the files in the workspace that the call names. Commands see the disk. A
/// file that the editor does not provide is read from the disk, and not written.
fn unsaved(
    stage: &EditorStage,
    workspace: &Path,
    effects: &[Effect],
) -> io::Result<HashMap<PathBuf, String>> {
    let runs = |effect: &Effect| matches!(effect, Effect::Execute(_) | Effect::Network(_));
    if effects.iter().any(runs) {
        return Ok(HashMap::new());
    }
    let mut unsaved = HashMap::new();
    for effect in effects {
        let (Effect::Read(file) | Effect::Write(file)) = effect else { continue };
        if !file.starts_with(workspace) || unsaved.contains_key(file) {
            continue;
        }
        let is_written = effects.iter().filter_map(written).any(|other| other == file);
        match stage.buffers.look(file) {
            Ok(Buffer::Unsaved(text)) => {
                unsaved.insert(file.clone(), text);
            }
            Ok(Buffer::Saved | Buffer::Unknown) => {}
            Err(why) if is_written => return Err(why),
            Err(why) => stage.buffers.note(format!("what is on disk was read: {why}")),
        }
    }
    Ok(unsaved)
}

fn written(effect: &Effect) -> Option<&PathBuf> {
    match effect {
        Effect::Write(file) => Some(file),
        Effect::Read(_) | Effect::Execute(_) | Effect::Network(_) => None,
    }
}

/// Fails if the call would replace unsaved text that it has not read.
fn may_write(stage: &EditorStage, file: &Path, text: &str, effects: &[Effect]) -> io::Result<()> {
    let refused =
        |why: &str| Err(io::Error::other(format!("`{}` is not saved in the editor, {why}", file.display())));
    let is_read = effects.iter().any(|effect| matches!(effect, Effect::Read(read) if read == file));
    match (stage.buffers.can_write(), is_read || stage.knows(file, text)) {
        (false, _) => refused("which cannot write it; it has to be saved first"),
        (true, false) => refused("and what stands there was not read; read it, then decide anew"),
        (true, true) => Ok(()),
    }
}

/// The inner stage's view of a folder with copies of the files to write, with the editor's texts: its `before` is then
/// what the call saw.
fn over(
    stage: &EditorStage,
    workspace: &Path,
    effects: &[Effect],
    unsaved: &HashMap<PathBuf, String>,
    scratch: &Scratch,
) -> io::Result<Box<dyn View>> {
    let mut moved = Vec::new();
    for effect in effects {
        moved.push(match effect {
            Effect::Write(file) if file.starts_with(workspace) => {
                let copy = scratch.place(OVERLAY_FOLDER, workspace, file);
                match unsaved.get(file) {
                    Some(text) => put(&copy, text, file)?,
                    None => copy_in(stage, workspace, file, &copy)?,
                }
                Effect::Write(copy)
            }
            other => other.clone(),
        });
    }
    stage.inner.open(&scratch.folder.join(OVERLAY_FOLDER), &moved)
}

/// The folder of the copies of files to write.
const OVERLAY_FOLDER: &str = "over";

/// Writes `text` to the copy, with the mode of `file` if that exists.
fn put(copy: &Path, text: &str, file: &Path) -> io::Result<()> {
    fs::create_dir_all(copy.parent().unwrap_or(copy))?;
    fs::write(copy, text)?;
    fs::metadata(file).map_or(Ok(()), |found| fs::set_permissions(copy, found.permissions()))
}

/// Copies a file from the inner stage; does nothing if it does not exist.
fn copy_in(stage: &EditorStage, workspace: &Path, file: &Path, copy: &Path) -> io::Result<()> {
    fs::create_dir_all(copy.parent().unwrap_or(copy))?;
    let view = stage.inner.open(workspace, &[Effect::Write(file.to_owned())])?;
    match fs::copy(view.locate(file), copy) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map(|_| ()),
    }
}

struct EditorView {
    inner: Box<dyn View>,
    inner_stage: Arc<dyn Stage>,
    workspace: PathBuf,
    scratch: Scratch,
    /// Copies of unsaved files that are only read, by file.
    copies: HashMap<PathBuf, PathBuf>,
    /// Files that may be written; empty if the inner view uses the real workspace.
    written: Vec<PathBuf>,
}

impl View for EditorView {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn locate(&self, path: &Path) -> PathBuf {
        // A tool may also name a file by its path in the view.
        let inside = path.strip_prefix(self.inner.root()).unwrap_or(path);
        let mut file = self.workspace.join(inside);
        if !self.copies.contains_key(&file) && !self.written.contains(&file) {
            file = self.inner_stage.resolve(&self.workspace, inside);
        }
        if let Some(copy) = self.copies.get(&file) {
            return copy.clone();
        }
        match self.written.contains(&file) {
            true => self.inner.locate(&self.scratch.place(OVERLAY_FOLDER, &self.workspace, &file)),
            false if self.written.is_empty() => self.inner.locate(path),
            false => self.workspace.join(inside),
        }
    }

    fn add(&self, path: &Path) -> io::Result<PathBuf> {
        match self.copies.contains_key(path) {
            true => Err(io::Error::other("the editor has changes of it that are not saved")),
            false => self.inner.add(path),
        }
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        self.inner.changes()
    }

    fn own_changes(&self) -> io::Result<(Vec<Change>, Vec<PathBuf>)> {
        self.inner.own_changes()
    }

    fn stop(&self) {
        self.inner.stop();
    }

    fn finish_by(&self, deadline: Instant) {
        self.inner.finish_by(deadline);
    }

    fn how(&self) -> Tracking {
        self.inner.how()
    }

    fn bulk(&self) -> Arc<Bulk> {
        self.inner.bulk()
    }

    fn apply_bulk(&self) -> io::Result<()> {
        self.inner.apply_bulk()
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        self.inner.confinement()
    }
}

/// A temporary folder that is removed with the view.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Creates a folder below `folder` that only its owner may read.
    fn new(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(".view-editor-{}-{}", std::process::id(), COUNT.fetch_add(1, SeqCst));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        let scratch = Self { folder: folder.canonicalize()? };
        fs::create_dir(scratch.folder.join(OVERLAY_FOLDER))?;
        Ok(scratch)
    }

    /// The path of a file of the workspace below `part`; the path of any other file is unchanged.
    fn place(&self, part: &str, workspace: &Path, file: &Path) -> PathBuf {
        file.strip_prefix(workspace)
            .map_or_else(|_| file.to_owned(), |inside| self.folder.join(part).join(inside))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _somebody_else_did = fs::remove_dir_all(&self.folder);
    }
}

//! [`settle`]: settles changes through the editor.
use super::{EditorStage, buffers::Buffer};
use haft_core::{Change, Effect, FileState};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// See [`haft_core::Stage::settle`]: texts in the workspace are written by the editor, everything else by the inner stage.
pub(super) fn settle(stage: &EditorStage, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
    let mut conflicts = Vec::new();
    let (removed, written): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.after.is_none());
    for change in written.into_iter().chain(removed) {
        if change.after.is_none() && change.before.is_some() && !conflicts.is_empty() {
            // On a file system that ignores case, a conflicting file may be this one under another name: then it must
            // not be removed.
            conflicts.extend(still_there(stage, workspace, change)?);
            continue;
        }
        let settled = match Text::of(stage, workspace, change) {
            Some(text) => text.settle()?,
            None => on_disk(stage, workspace, change)?,
        };
        if !settled {
            conflicts.push(change.path.clone());
        }
    }
    Ok(conflicts)
}

/// The path of a file to remove, unless it does not exist anymore.
fn still_there(stage: &EditorStage, workspace: &Path, change: &Change) -> io::Result<Option<PathBuf>> {
    let gone = Change { path: change.path.clone(), before: None, after: None, new_folders: 0 };
    let is_gone = on_disk(stage, workspace, &gone)?;
    Ok((!is_gone).then(|| change.path.clone()))
}

fn on_disk(stage: &EditorStage, workspace: &Path, change: &Change) -> io::Result<bool> {
    Ok(stage.inner.settle(workspace, std::slice::from_ref(change))?.is_empty())
}

/// A change of a text.
struct Text<'a> {
    stage: &'a EditorStage,
    workspace: &'a Path,
    change: &'a Change,
    file: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl<'a> Text<'a> {
    /// `None` if the editor is not involved: the file is not text, outside of the workspace, or behind a link that was
    /// created meanwhile.
    fn of(stage: &'a EditorStage, workspace: &'a Path, change: &'a Change) -> Option<Self> {
        let workspace_is = stage.inner.resolve(workspace, Path::new(""));
        let file = workspace_is.join(&change.path);
        let is_inside =
            file.starts_with(&workspace_is) && stage.inner.resolve(workspace, &change.path) == file;
        if !is_inside || !stage.buffers.can_write() {
            return None;
        }
        let content = |state: &Option<FileState>| match state {
            None => Some(None),
            Some(state) => String::from_utf8(stage.inner.content(&state.hash).ok()?).ok().map(Some),
        };
        let (before, after) = (content(&change.before)?, content(&change.after)?);
        Some(Self { stage, workspace, change, file, before, after })
    }

    /// Settles the change; returns whether the file then has the new text, on disk and in the editor.
    fn settle(&self) -> io::Result<bool> {
        let settled = match self.stage.buffers.look(&self.file)? {
            Buffer::Unsaved(buffer) => self.over_unsaved(&buffer)?,
            Buffer::Saved => self.over_saved()?,
            Buffer::Unknown => on_disk(self.stage, self.workspace, self.change)?,
        };
        if let Some(after) = self.after.as_ref().filter(|_| settled) {
            self.stage.learn(&self.file, after);
        }
        Ok(settled)
    }

    /// Settles over an unsaved buffer: it is replaced only if it is what the call saw.
    fn over_unsaved(&self, buffer: &str) -> io::Result<bool> {
        let is = |text: &Option<String>| text.as_deref() == Some(buffer);
        if self.change.before == self.change.after {
            // A change without a new text only compares.
            return Ok(is(&self.before));
        }
        if !is(&self.before) && !is(&self.after) {
            return Ok(false);
        }
        let wanted = self.after.as_deref().unwrap_or(buffer);
        self.stage.buffers.write(&self.file, wanted).map_err(|why| {
            io::Error::other(format!(
                "it is not saved in the editor, and that did not write it: {why}; save it, then try again"
            ))
        })?;
        match self.after {
            Some(_) => self.exactly(wanted),
            // Saved first, so that the removed file is what the call saw.
            None => Ok(self.exactly(buffer)? && on_disk(self.stage, self.workspace, self.change)?),
        }
    }

    /// Settles if the buffer is the same as the disk, so that the disk decides.
    fn over_saved(&self) -> io::Result<bool> {
        let Some(after) = &self.after else { return on_disk(self.stage, self.workspace, self.change) };
        let before = self.before.as_ref().map(String::as_bytes);
        if self.disk()?.as_deref() != before || before == Some(after.as_bytes()) {
            return on_disk(self.stage, self.workspace, self.change);
        }
        match self.stage.buffers.write(&self.file, after) {
            Ok(()) => self.exactly(after),
            Err(why) => {
                let file = self.change.path.display();
                self.stage
                    .buffers
                    .note(format!("the editor did not write `{file}`, so it was written to the disk: {why}"));
                on_disk(self.stage, self.workspace, self.change)
            }
        }
    }

    /// Makes sure that the disk has `text`: an editor may change a text when it saves it, and one that only writes its
    /// buffer has not saved it.
    fn exactly(&self, text: &str) -> io::Result<bool> {
        let mode = self.change.after.as_ref().or(self.change.before.as_ref()).map(|state| state.mode);
        if self.disk()?.as_deref() == Some(text.as_bytes()) {
            set_mode(&self.file, mode)?;
            File::open(&self.file)?.sync_all()?;
            return Ok(true);
        }
        let file = self.change.path.display();
        self.stage.buffers.note(format!(
            "the editor did not save `{file}` as it was given (it may format what it saves); the file was put right on disk"
        ));
        let effect = Effect::Write(self.file.clone());
        let view = self.stage.inner.open(self.workspace, &[effect])?;
        let private = view.locate(&self.file);
        if let Some(folder) = private.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&private, text)?;
        set_mode(&private, mode)?;
        Ok(self.stage.inner.settle(self.workspace, &view.changes()?)?.is_empty())
    }

    fn disk(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn set_mode(file: &Path, mode: Option<u32>) -> io::Result<()> {
    let Some(mode) = mode else { return Ok(()) };
    match fs::metadata(file)?.permissions().mode() & 0o7777 == mode {
        true => Ok(()),
        false => fs::set_permissions(file, fs::Permissions::from_mode(mode)),
    }
}

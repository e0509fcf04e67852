//! [`ResolvedView`]: a view in which the paths of a call lead to the files that the policy judged.
//!
//! The effects of a call are resolved before they are judged. If another process replaces a folder by a symbolic link while
//! the call runs, the paths of the call still mean the files that were judged.
use haft_core::{Bulk, Change, Confinement, Effect, Execution, Stage, Tracking, View};
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// Absolute paths as the call spells them, and their resolved paths.
pub(crate) type Names = HashMap<PathBuf, PathBuf>;

/// Returns `effects` with resolved paths, of which none leads through a symbolic link, and the paths as the call spells
/// them. The folder of a command is relative to the workspace if it is inside.
pub(crate) fn resolved(effects: Vec<Effect>, stage: &dyn Stage, workspace: &Path) -> (Vec<Effect>, Names) {
    let mut names = Names::new();
    let mut named = |path: &Path| {
        let found = stage.resolve(workspace, path);
        names.insert(workspace.join(path), found.clone());
        found
    };
    let effects = effects.into_iter().map(|effect| match effect {
        Effect::Execute(execution) => {
            let folder = folder_as_found(&execution.folder, stage, workspace);
            Effect::Execute(Execution { folder, ..execution })
        }
        other => other.placed(&mut named),
    });
    (effects.collect(), names)
}

fn folder_as_found(folder: &Path, stage: &dyn Stage, workspace: &Path) -> PathBuf {
    let found = stage.resolve(workspace, folder);
    let folder = match (found.is_file(), found.parent()) {
        (true, Some(parent)) => parent.to_owned(),
        _ => found,
    };
    let root = stage.resolve(workspace, Path::new(""));
    folder.strip_prefix(&root).map(Path::to_owned).unwrap_or(folder)
}

/// Returns `effects` with resolved paths, as the policy judges them.
pub fn as_found(effects: Vec<Effect>, stage: &dyn Stage, workspace: &Path) -> Vec<Effect> {
    resolved(effects, stage, workspace).0
}

/// A view, with the paths as its call spells them.
pub(crate) struct ResolvedView {
    pub(crate) view: Box<dyn View>,
    pub(crate) workspace: PathBuf,
    pub(crate) names: Names,
}

impl View for ResolvedView {
    fn root(&self) -> &Path {
        self.view.root()
    }

    fn locate(&self, path: &Path) -> PathBuf {
        // A tool may also name a file by its path in the view.
        let inside = path.strip_prefix(self.view.root()).unwrap_or(path);
        self.view.locate(self.names.get(&self.workspace.join(inside)).map_or(path, PathBuf::as_path))
    }

    fn add(&self, path: &Path) -> io::Result<PathBuf> {
        self.view.add(path)
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        self.view.changes()
    }

    fn own_changes(&self) -> io::Result<(Vec<Change>, Vec<PathBuf>)> {
        self.view.own_changes()
    }

    fn stop(&self) {
        self.view.stop();
    }

    fn finish_by(&self, deadline: Instant) {
        self.view.finish_by(deadline);
    }

    fn how(&self) -> Tracking {
        self.view.how()
    }

    fn bulk(&self) -> Arc<Bulk> {
        self.view.bulk()
    }

    fn apply_bulk(&self) -> io::Result<()> {
        self.view.apply_bulk()
    }

    fn shown(&self) -> Vec<(PathBuf, PathBuf)> {
        self.view.shown()
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        self.view.confinement()
    }
}

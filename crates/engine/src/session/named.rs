//! A view in which files are found where they were judged to lie.
//!
//! A call's effects are resolved before they are judged. While the call runs, somebody may put a link in the place of a
//! folder: what the call then names as before is still what was judged, and nothing else.
use haft_core::{Bulk, Change, Confinement, Effect, Execution, How, Stage, View};
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// Paths as the call names them, absolute, and where they were found to lie.
pub(crate) type Names = HashMap<PathBuf, PathBuf>;

/// Effects whose paths are as they really are, so that none leads through a link; and what their files were called.
/// The folder of a command that lies in the workspace is relative to it.
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

/// Returns effects with their paths as they really are, as a session judges them: no path leads through a link, and the
/// folder of a command that lies in the workspace is relative to it.
pub fn as_found(effects: Vec<Effect>, stage: &dyn Stage, workspace: &Path) -> Vec<Effect> {
    resolved(effects, stage, workspace).0
}

/// A view whose call names files so.
pub(crate) struct Named {
    pub(crate) view: Box<dyn View>,
    pub(crate) workspace: PathBuf,
    pub(crate) names: Names,
}

impl View for Named {
    fn root(&self) -> &Path {
        self.view.root()
    }

    fn locate(&self, path: &Path) -> PathBuf {
        // A tool may also name a file by where it lies in the view.
        let inside = path.strip_prefix(self.view.root()).unwrap_or(path);
        self.view.locate(self.names.get(&self.workspace.join(inside)).map_or(path, PathBuf::as_path))
    }

    fn changes(&self) -> io::Result<Vec<Change>> {
        self.view.changes()
    }

    fn changes_of_its_own(&self) -> io::Result<(Vec<Change>, Vec<PathBuf>)> {
        self.view.changes_of_its_own()
    }

    fn stop(&self) {
        self.view.stop();
    }

    fn finish_by(&self, deadline: Instant) {
        self.view.finish_by(deadline);
    }

    fn how(&self) -> How {
        self.view.how()
    }

    fn bulk(&self) -> Arc<Bulk> {
        self.view.bulk()
    }

    fn apply_bulk(&self) -> io::Result<()> {
        self.view.apply_bulk()
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        self.view.confinement()
    }
}

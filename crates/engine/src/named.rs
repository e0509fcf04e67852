//! A view in which files are found where they were judged to lie.
//!
//! A call's effects are resolved before they are judged. While the call runs, somebody may put a link in the place of a
//! folder: what the call then names as before is still what was judged, and nothing else.
use haft_core::{Change, Effect, How, Stage, View};
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

/// Paths as the call names them, absolute, and where they were found to lie.
pub(crate) type Names = HashMap<PathBuf, PathBuf>;

/// Effects whose paths are as they really are, so that none leads through a link; and what they were called.
pub(crate) fn resolved(effects: Vec<Effect>, stage: &dyn Stage, workspace: &Path) -> (Vec<Effect>, Names) {
    let mut names = Names::new();
    let mut resolve = |path: &Path| {
        let found = stage.resolve(workspace, path);
        names.insert(workspace.join(path), found.clone());
        found
    };
    let effects = effects.into_iter().map(|effect| effect.placed(&mut resolve)).collect();
    (effects, names)
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

    fn how(&self) -> How {
        self.view.how()
    }
}

//! [`Ignored`]: decides which files git ignores. These are usually the output of builds.
use haft_core::is_gits_own;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// What Git ignores, by the `.gitignore` files of a workspace and the exclude list of its repository.
pub(super) struct Ignored {
    root: PathBuf,
    by_folder: HashMap<PathBuf, Gitignore>,
}

impl Ignored {
    pub(super) fn in_workspace(root: &Path) -> Self {
        Self { root: root.to_owned(), by_folder: HashMap::new() }
    }

    /// Whether git ignores `path`, which is relative to the workspace; nothing above it is ignored. Whatever the rules say,
    /// git never ignores its own files.
    pub(super) fn holds(&mut self, path: &Path, is_folder: bool) -> bool {
        if is_gits_own(path) {
            return false;
        }
        let mut above = path.ancestors().skip(1);
        let root = self.root.clone();
        let said = above.find_map(|folder| {
            let rules = self.by_folder.entry(folder.to_owned()).or_insert_with(|| rules(&root, folder));
            let said = rules.matched(root.join(path), is_folder);
            (!said.is_none()).then_some(said.is_ignore())
        });
        said.unwrap_or(false)
    }
}

fn rules(root: &Path, folder: &Path) -> Gitignore {
    let place = root.join(folder);
    let mut rules = GitignoreBuilder::new(&place);
    // A file that cannot be read has no rules.
    let _not_there = rules.add(place.join(".gitignore"));
    if folder.as_os_str().is_empty() {
        let _not_there = rules.add(place.join(".git/info/exclude"));
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

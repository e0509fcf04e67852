//! [`Programs`]: the files that a command runs, in their state when the user is asked to approve the command.
use haft_core::Effect;
use std::{
    collections::HashSet,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Programs that run files named in their arguments.
const INTERPRETERS: [&str; 16] = [
    ".", "source", "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "deno", "bun",
    "ruby", "perl", "php",
];

/// Files with commands that other programs run by the name of a task.
const TASK_FILES: [&str; 8] = [
    "package.json",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "Rakefile",
    "Taskfile.yml",
];

/// Maximum folders, besides the command's own, that are searched for its programs.
const MAX_FOLDERS: usize = 16;

/// Maximum words of a command that are checked: no command that a user can review has more.
const MAX_WORDS: usize = 1_000;

/// The files that commands run: the path and the state of each. A replaced or changed file has another state.
pub(crate) struct Programs(Vec<(PathBuf, Option<State>)>);

type State = (u64, u64, u64, [(i64, i64); 2]);

impl Programs {
    /// Returns the files of the commands among `effects`.
    pub(crate) fn of(effects: &[Effect], workspace: &Path) -> Self {
        let commands = effects.iter().filter_map(|effect| match effect {
            Effect::Execute(execution) => Some(execution),
            Effect::Read(_) | Effect::Write(_) | Effect::Network(_) => None,
        });
        let found = commands.flat_map(|execution| {
            let folder = workspace.join(&execution.folder);
            let words: Vec<&str> = words(&execution.command).take(MAX_WORDS).collect();
            // The folder itself, and the folders that the line names, because it may change to them.
            let is_folder = |path: &PathBuf| path.is_dir() && *path != folder;
            let below = words.iter().map(|word| folder.join(word)).filter(is_folder).take(MAX_FOLDERS);
            let folders: Vec<PathBuf> = [folder.clone()].into_iter().chain(below).collect();
            let has_interpreter = words.iter().any(|word| INTERPRETERS.contains(&name(word)));
            let is_run =
                move |path: &PathBuf, word: &str| has_interpreter || word.contains('/') || is_program(path);
            let named = folders.iter().flat_map(|folder| {
                let names =
                    words.iter().flat_map(|word| [*word, name(word)].map(|name| (folder.join(name), *word)));
                names.chain(TASK_FILES.map(|recipe| (folder.join(recipe), "./")))
            });
            let named: HashSet<PathBuf> =
                named.filter(|(path, word)| is_run(path, word)).map(|(path, _)| path).collect();
            named
        });
        Self(
            found
                .map(|path| {
                    let state = state(&path);
                    (path, state)
                })
                .collect(),
        )
    }

    /// Returns a file that has changed.
    pub(crate) fn changed(&self) -> Option<&Path> {
        self.0.iter().find(|(path, before)| state(path) != *before).map(|(path, _)| path.as_path())
    }
}

/// Splits roughly like a shell: an extra word only costs an additional check.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| letter.is_whitespace() || ";&|<>()`\"'=:".contains(letter))
        .filter(|word| !word.is_empty())
}

fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

fn state(path: &Path) -> Option<State> {
    let found = path.metadata().ok().filter(|found| found.is_file())?;
    let times = [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())];
    Some((found.dev(), found.ino(), found.size(), times))
}

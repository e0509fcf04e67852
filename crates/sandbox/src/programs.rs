//! The files that a command runs, as they are when a person is asked about it.
use haft_core::Effect;
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Programs that run files which are named to them.
const INTERPRETERS: [&str; 16] = [
    ".", "source", "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "deno", "bun",
    "ruby", "perl", "php",
];

/// Files whose lines are run by programs that are told no more than the name of a task.
const RECIPES: [&str; 8] = [
    "package.json",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "Rakefile",
    "Taskfile.yml",
];

/// No command that a person reads names more.
const MOST_WORDS: usize = 1_000;

/// The files that commands run: where each lies, and what tells it from another one in its place.
pub struct Programs(Vec<(PathBuf, Option<State>)>);

type State = (u64, u64, u64, [(i64, i64); 2]);

impl Programs {
    /// Returns those of the commands among `effects`.
    pub fn of(effects: &[Effect], workspace: &Path) -> Self {
        let commands = effects.iter().filter_map(|effect| match effect {
            Effect::Execute(execution) => Some(execution),
            Effect::Read(_) | Effect::Write(_) | Effect::Network(_) => None,
        });
        let found = commands.flat_map(|execution| {
            let folder = workspace.join(&execution.folder);
            let words: Vec<&str> = words(&execution.command).take(MOST_WORDS).collect();
            let has_interpreter = words.iter().any(|word| INTERPRETERS.contains(&name(word)));
            let is_run =
                move |path: &PathBuf, word: &str| has_interpreter || word.contains('/') || is_program(path);
            let named = words.into_iter().map(|word| (folder.join(word), word));
            let named: Vec<PathBuf> =
                named.filter(|(path, word)| is_run(path, word)).map(|(path, _)| path).collect();
            named.into_iter().chain(RECIPES.map(|recipe| folder.join(recipe)))
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

    /// Returns one that is not what it was.
    pub fn changed(&self) -> Option<&Path> {
        self.0.iter().find(|(path, before)| state(path) != *before).map(|(path, _)| path.as_path())
    }
}

/// Near enough to what a shell makes of it: a word too many costs a look.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| letter.is_whitespace() || ";&|<>()`\"'".contains(letter))
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

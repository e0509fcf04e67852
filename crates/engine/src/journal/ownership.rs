//! [`Ownership`]: ends processes that an earlier owner of a session left running, before the session continues.
//!
//! The file `owner` in the folder of a session names the process that has the session open. The next process that opens
//! the session finds this file only if the owner was killed, or ended while commands were still cleaning up.
use crate::setup::Home;
use haft_core::{Access, SessionId};
use haft_process::{Owner, VARIABLE, end_previous_run, is_cleaned_up, write_own_file};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

const FILE_NAME: &str = "owner";

/// The file with the process that has a session open in its first line, and below it earlier owners whose processes
/// have not all been ended yet.
pub(crate) struct Ownership {
    file: PathBuf,
    earlier: Vec<Owner>,
}

impl Ownership {
    /// Records that this process has the session in `folder` open. This process must already hold the journal's lock.
    pub(crate) fn take(folder: &Path) -> Self {
        let taken = Self { file: folder.join(FILE_NAME), earlier: owners(folder) };
        taken.write();
        taken
    }

    /// Ends running processes of earlier owners of the session `id` and its child sessions. Returns the number of
    /// processes that could not be ended.
    pub(crate) async fn end_earlier(&mut self, home: &Home, id: &SessionId) -> usize {
        if self.earlier.is_empty() {
            return 0;
        }
        let (home, id, earlier) = (home.clone(), id.clone(), self.earlier.clone());
        let end = move || {
            let names: Vec<String> =
                with_those_below(&home, id).into_iter().map(|session| session.0).collect();
            earlier.iter().map(|owner| end_previous_run(&names, Some(owner))).sum()
        };
        let left = tokio::task::spawn_blocking(end).await.unwrap_or_default();
        if left == 0 {
            self.earlier.clear();
            self.write();
        }
        left
    }

    /// Records that the session has stopped, unless a command still cleans up: it may be killed together with this process.
    pub(crate) fn give_up(&self) {
        if self.earlier.is_empty() && is_cleaned_up() {
            let _already_gone = fs::remove_file(&self.file);
        }
    }

    /// Writes the file. If that fails, leftover processes are still found by the ID of the session.
    fn write(&self) {
        let this = Owner::this();
        let lines: Vec<&str> = std::iter::once(&this).chain(&self.earlier).map(Owner::text).collect();
        let _without_it = write_own_file(&self.file, lines.join("\n"));
    }
}

/// Whether the owner of the session in `folder` has ended, or is about to, without closing the session.
pub(crate) fn owner_has_ended(folder: &Path) -> bool {
    owners(folder).first().is_some_and(Owner::has_ended)
}

fn owners(folder: &Path) -> Vec<Owner> {
    let text = fs::read_to_string(folder.join(FILE_NAME)).unwrap_or_default();
    text.lines().map(Owner::read).collect()
}

/// A session and its child sessions, except those that are open on their own.
fn with_those_below(home: &Home, id: SessionId) -> Vec<SessionId> {
    let (mut sessions, mut next) = (vec![id], 0);
    while let Some(above) = sessions.get(next).cloned() {
        sessions.extend(home.below(&above, 0).into_iter().filter(|below| !home.is_open(below)));
        next += 1;
    }
    sessions
}

/// The access of the processes of the session `id`. Adds the ID to the environment variable by which these processes
/// are found.
pub(crate) fn access(of: &Access, id: &SessionId) -> Access {
    let (given, others): (Vec<_>, Vec<_>) =
        of.environment.iter().cloned().partition(|(name, _)| name == VARIABLE);
    let words: Vec<&str> = given.iter().map(|(_, words)| words.as_str()).chain([id.0.as_str()]).collect();
    let environment: Arc<[_]> = others.into_iter().chain([(VARIABLE.to_owned(), words.join(" "))]).collect();
    Access { environment, ..of.clone() }
}

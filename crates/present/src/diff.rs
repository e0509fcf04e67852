//! What changes would do to files, as people read it.
use crate::safe;
use haft_core::{Change, ChangeKind, FileKind, FileState, policy::is_git_data};
use haft_engine::Session;
use similar::TextDiff;

/// A diff of more lines than this is cut.
const MAX_LINES: usize = 200;

/// A unified diff of all `changes`, with contents from the session's blobs.
pub fn of_changes(session: &Session, changes: &[Change]) -> String {
    let Shown { changes, git } = Shown::of(changes);
    changes.into_iter().map(|change| clipped(&whole(session, change))).chain(git.map(git_line)).collect()
}

/// The same, however long it is.
pub fn of_all(session: &Session, changes: &[Change]) -> String {
    let Shown { changes, git } = Shown::of(changes);
    changes.into_iter().map(|change| whole(session, change)).chain(git.map(git_line)).collect()
}

/// What people look at of changes.
pub struct Shown<'a> {
    /// What is taken away first: nothing that follows may hide it.
    pub changes: Vec<&'a Change>,
    /// What git wrote as its own data, in one line.
    pub git: Option<String>,
}

impl<'a> Shown<'a> {
    /// Of these.
    pub fn of(changes: &'a [Change]) -> Self {
        let (data, mut changes): (Vec<_>, Vec<_>) = changes.iter().partition(|change| is_git_data(change));
        changes.sort_by_key(|change| !takes_away(change));
        let git = match data.len() {
            0 => None,
            1 => Some("1 file of git's own data".into()),
            count => Some(format!("{count} files of git's own data")),
        };
        Self { changes, git }
    }
}

fn git_line(what: String) -> String {
    format!("~ .git ({what})\n")
}

/// Whether something is gone afterwards, be it that a file stands where a folder was.
fn takes_away(change: &Change) -> bool {
    let kind = |state: &Option<FileState>| state.as_ref().map(FileState::kind);
    change.kind() == ChangeKind::Deleted
        || change.before.is_some() && kind(&change.before) != kind(&change.after)
}

/// What becomes of a folder or a link, in a few words; nothing for files.
pub(crate) fn in_words(session: &Session, change: &Change) -> Option<String> {
    let what = |state: &Option<FileState>| {
        let state = state.as_ref()?;
        Some(match state.kind() {
            FileKind::File => "file".to_owned(),
            FileKind::Folder => "folder".to_owned(),
            FileKind::Link => {
                let target = session.content(&state.hash).unwrap_or_default();
                format!("link to {}", safe::visible_line(&String::from_utf8_lossy(&target)))
            }
        })
    };
    let is_file =
        |state: &Option<FileState>| state.as_ref().is_none_or(|state| state.kind() == FileKind::File);
    if is_file(&change.before) && is_file(&change.after) {
        return None;
    }
    match (what(&change.before), what(&change.after)) {
        (Some(before), Some(after)) if before == after => mode(change),
        (Some(before), Some(after)) => Some(format!("{before} becomes {after}")),
        (before, after) => before.or(after),
    }
}

/// Nothing of it is hidden: see [`safe::visible_lines`].
fn whole(session: &Session, change: &Change) -> String {
    let path = safe::visible_line(&change.path.to_string_lossy());
    if let Some(what) = in_words(session, change) {
        return format!("{} {path} ({what})\n", sign(change.kind()));
    }
    let mode = mode(change).map_or(String::new(), |mode| format!("{path}: {mode}\n"));
    let Some((before, after)) = contents(session, change) else {
        return format!("{mode}{} {path} ({})\n", sign(change.kind()), not_text(session, change));
    };
    if before == after && mode.is_empty() {
        return format!("{} {path} (empty)\n", sign(change.kind()));
    }
    let diff = TextDiff::from_lines(&before, &after);
    let unified = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    mode + &safe::visible_lines(&unified)
}

/// How the permission bits of a file change that was there before, or what a new one may do that others may not.
pub(crate) fn mode(change: &Change) -> Option<String> {
    let mode = |state: &Option<FileState>| state.as_ref().map(FileState::permissions);
    match (mode(&change.before), mode(&change.after)) {
        (Some(before), Some(after)) if before != after => Some(format!("mode {before:o} becomes {after:o}")),
        (None, Some(after)) if after & 0o7111 != 0 => Some(format!("mode {after:o}")),
        _ => None,
    }
}

/// Before and after; nothing where one of them is not text.
pub(crate) fn contents(session: &Session, change: &Change) -> Option<(String, String)> {
    Some((content(session, &change.before)?, content(session, &change.after)?))
}

/// Instead of lines.
pub(crate) fn not_text(session: &Session, change: &Change) -> String {
    let size = change.after.as_ref().and_then(|state| session.content(&state.hash).ok());
    let size = size.map_or(String::new(), |bytes| format!(", {} bytes", bytes.len()));
    format!("not text{size}")
}

fn content(session: &Session, state: &Option<FileState>) -> Option<String> {
    match state {
        None => Some(String::new()),
        Some(state) => String::from_utf8(session.content(&state.hash).ok()?).ok(),
    }
}

fn clipped(diff: &str) -> String {
    let mut lines = diff.split_inclusive('\n');
    let shown: String = lines.by_ref().take(MAX_LINES).collect();
    match lines.count() {
        0 => shown,
        more => format!("{shown}… {more} more lines\n"),
    }
}

/// In one character: `+` created, `~` modified, `-` deleted.
pub fn sign(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Created => '+',
        ChangeKind::Modified => '~',
        ChangeKind::Deleted => '-',
    }
}

//! What changes would do to files, as people read it.
use crate::safe;
use haft_core::{Change, ChangeKind, FileState};
use haft_engine::Session;
use similar::TextDiff;

/// A diff of more lines than this is cut.
const MAX_LINES: usize = 200;

/// A unified diff of all `changes`, with contents from the session's blobs.
pub fn of_changes(session: &Session, changes: &[Change]) -> String {
    changes.iter().map(|change| clipped(&whole(session, change))).collect()
}

/// The same, however long it is.
pub fn of_all(session: &Session, changes: &[Change]) -> String {
    changes.iter().map(|change| whole(session, change)).collect()
}

/// Nothing of it is hidden: see [`safe::visible_lines`].
fn whole(session: &Session, change: &Change) -> String {
    let path = safe::visible_line(&change.path.to_string_lossy());
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
    let mode = |state: &Option<FileState>| state.as_ref().map(|state| state.mode);
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

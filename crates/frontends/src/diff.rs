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

fn whole(session: &Session, change: &Change) -> String {
    let path = safe::text(&change.path.to_string_lossy()).into_owned();
    let (Some(before), Some(after)) = (content(session, &change.before), content(session, &change.after))
    else {
        return format!("{} {path} (not text)\n", sign(change.kind()));
    };
    let diff = TextDiff::from_lines(&before, &after);
    let unified = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    safe::text(&unified).into_owned()
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

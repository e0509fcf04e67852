//! [`of_changes`]: formats what changes would do to files, as text for users.
use crate::safe;
use haft_core::{Attributes, Change, ChangeKind, FileKind, FileState, policy::is_git_data};
use haft_engine::Recorded;
use similar::TextDiff;
use std::{
    collections::{HashMap, VecDeque},
    path::Path,
};

/// Maximum lines of a diff; a longer one is cut.
const MAX_DIFF_LINES: usize = 200;
/// Maximum size of a content in bytes; the lines of a longer one are not shown.
const MAX_BYTES: usize = 8 << 20;
/// Shown in place of a content that is not text.
pub(crate) const NO_TEXT: &str = "not text";
/// Maximum size in bytes of a text with zero bytes; a longer content with one is not text.
const MAX_BYTES_WITH_ZEROS: usize = 8_000;

/// A unified diff of all `changes`, with contents from the session's blobs.
pub fn of_changes(session: &dyn Recorded, changes: &[Change]) -> String {
    let shown = Shown::of(changes);
    let files = shown.changes.iter().map(|change| clipped(&whole(session, change, &shown)));
    files.chain(shown.git.as_deref().map(git_line)).collect()
}

/// Like [`of_changes`], without a limit on the length.
pub fn of_all(session: &dyn Recorded, changes: &[Change]) -> String {
    let shown = Shown::of(changes);
    let files = shown.changes.iter().map(|change| whole(session, change, &shown));
    files.chain(shown.git.as_deref().map(git_line)).collect()
}

/// For a front-end that shows texts itself: the output of [`of_all`] without the texts, and the changes whose texts the
/// front-end shows, before and after.
pub fn in_words_and_texts<'a>(
    session: &dyn Recorded,
    changes: &'a [Change],
) -> (String, Vec<(&'a Change, String, String)>) {
    let shown = Shown::of(changes);
    let (mut words, mut texts) = (String::new(), Vec::new());
    for &change in &shown.changes {
        let (said, both) = in_parts(session, change, &shown);
        words += &session.secrets().hide_in_diff(&said);
        texts.extend(both.map(|(before, after)| (change, before, after)));
    }
    words.extend(shown.git.as_deref().map(git_line));
    (words, texts)
}

/// What is shown of changes.
pub struct Shown<'a> {
    /// The changes, deletions first, so that they are not overlooked.
    pub changes: Vec<&'a Change>,
    /// A summary of changes to Git's own data, in one line.
    pub git: Option<String>,
    /// The other path of each file that was moved without a change of its content.
    moves: HashMap<&'a Path, &'a Path>,
}

impl<'a> Shown<'a> {
    /// Finds the moved files among these changes.
    pub fn of(changes: &'a [Change]) -> Self {
        let (data, mut changes): (Vec<_>, Vec<_>) = changes.iter().partition(|change| is_git_data(change));
        changes.sort_by_key(|change| !takes_away(change));
        let git = match data.len() {
            0 => None,
            1 => Some("1 file of git's own data".into()),
            count => Some(format!("{count} files of git's own data")),
        };
        let moves = moves(&changes);
        Self { changes, git, moves }
    }

    /// The destination or origin of a file in a few words, if it is moved with the same content.
    pub(crate) fn moved(&self, change: &Change) -> Option<String> {
        let other = safe::visible_line(&self.moves.get(change.path.as_path())?.to_string_lossy());
        Some(match change.kind() {
            ChangeKind::Deleted => format!("moved to {other}"),
            ChangeKind::Created | ChangeKind::Modified => format!("moved from {other}"),
        })
    }
}

/// Pairs each removed file with a created one that has the same content.
fn moves<'a>(changes: &[&'a Change]) -> HashMap<&'a Path, &'a Path> {
    let empty = FileState::folder(0).hash;
    let content = |state: &'a Option<FileState>| {
        let file = state.as_ref().filter(|state| state.kind() == FileKind::File && state.hash != empty);
        file.map(|state| &state.hash)
    };
    let of_kind = |kind| changes.iter().copied().filter(move |change| change.kind() == kind);
    let mut created: HashMap<_, VecDeque<&Path>> = HashMap::new();
    for change in of_kind(ChangeKind::Created) {
        if let Some(hash) = content(&change.after) {
            created.entry(hash).or_default().push_back(&change.path);
        }
    }
    let pairs = of_kind(ChangeKind::Deleted).filter_map(|change| {
        let to = created.get_mut(content(&change.before)?)?.pop_front()?;
        Some((change.path.as_path(), to))
    });
    pairs.flat_map(|(from, to)| [(from, to), (to, from)]).collect()
}

fn git_line(what: &str) -> String {
    format!("~ .git ({what})\n")
}

/// Whether the change removes something, for example because a file replaces a folder.
fn takes_away(change: &Change) -> bool {
    let kind = |state: &Option<FileState>| state.as_ref().map(FileState::kind);
    change.kind() == ChangeKind::Deleted
        || change.before.is_some() && kind(&change.before) != kind(&change.after)
}

/// The change of a folder or a link, in a few words; `None` for files.
pub(crate) fn in_words(session: &dyn Recorded, change: &Change) -> Option<String> {
    let what = |state: &Option<FileState>| {
        let state = state.as_ref()?;
        Some(match state.kind() {
            FileKind::File => "file".to_owned(),
            FileKind::Folder => folder(state),
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
    let kind = |state: &Option<FileState>| state.as_ref().map(FileState::kind);
    if kind(&change.before) == kind(&change.after) && kind(&change.after) == Some(FileKind::Folder) {
        return properties(change);
    }
    match (what(&change.before), what(&change.after)) {
        (Some(before), Some(after)) if before == after => properties(change),
        (Some(before), Some(after)) => Some(format!("{before} becomes {after}")),
        (before, after) => before.or(after),
    }
}

/// Describes a folder, with its permission bits if others may write to it or it is setuid, setgid or sticky.
fn folder(state: &FileState) -> String {
    match state.permissions() {
        mode if mode & 0o7002 == 0 => "folder".to_owned(),
        mode => format!("folder, mode {mode:o}"),
    }
}

/// The whole diff of a change, with secrets hidden. Otherwise nothing is hidden (see [`safe::visible_lines`]).
fn whole(session: &dyn Recorded, change: &Change, shown: &Shown<'_>) -> String {
    session.secrets().hide_in_diff(&exact(session, change, shown))
}

fn exact(session: &dyn Recorded, change: &Change, shown: &Shown<'_>) -> String {
    let (words, texts) = in_parts(session, change, shown);
    let Some((before, after)) = texts else { return words };
    let path = safe::visible_line(&change.path.to_string_lossy());
    let diff = TextDiff::from_lines(&before, &after);
    let unified = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    words + &safe::visible_lines(&unified)
}

/// A change in words, and its texts before and after if their diff shows the rest.
fn in_parts(
    session: &dyn Recorded,
    change: &Change,
    shown: &Shown<'_>,
) -> (String, Option<(String, String)>) {
    let path = safe::visible_line(&change.path.to_string_lossy());
    let line = |what: &str| format!("{} {path} ({what})\n", sign(change.kind()));
    if let Some(what) = in_words(session, change) {
        return (line(&what), None);
    }
    let properties = properties(change).map_or(String::new(), |what| format!("{path}: {what}\n"));
    if let Some(what) = shown.moved(change) {
        return (properties + &line(&what), None);
    }
    match contents(session, change) {
        None => (properties + &line(&not_text(session, change)), None),
        Some((before, after)) if before == after && properties.is_empty() => (line("empty"), None),
        Some((before, after)) if before == after => (properties, None),
        texts => (properties, texts),
    }
}

/// Changed properties apart from the content: the permission bits, for a new file only if they are more than read and
/// write, and the attributes. `None` for a removed file.
pub(crate) fn properties(change: &Change) -> Option<String> {
    let after = change.after.as_ref()?;
    let mode = match change.before.as_ref().map(FileState::permissions) {
        Some(before) if before != after.permissions() => {
            Some(format!("mode {before:o} becomes {:o}", after.permissions()))
        }
        None if after.permissions() & 0o7111 != 0 => Some(format!("mode {:o}", after.permissions())),
        _ => None,
    };
    let all: Vec<_> = mode.into_iter().chain(attributes(change.before.as_ref(), after)).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Attributes that are set, then attributes that are removed.
fn attributes(before: Option<&FileState>, after: &FileState) -> Vec<String> {
    let none = Attributes::new();
    let Some(is) = &after.attributes else { return Vec::new() };
    let was = before.and_then(|before| before.attributes.as_ref()).unwrap_or(&none);
    let set = is.iter().filter(|(name, value)| was.get(*name) != Some(*value));
    let removed = was.keys().filter(|name| !is.contains_key(*name));
    let set = set.map(|(name, _)| format!("attribute {} set", safe::visible_line(name)));
    set.chain(removed.map(|name| format!("attribute {} removed", safe::visible_line(name)))).collect()
}

/// The contents before and after; `None` if one of them is not text, or too long to read.
pub(crate) fn contents(session: &dyn Recorded, change: &Change) -> Option<(String, String)> {
    Some((content(session, &change.before)?, content(session, &change.after)?))
}

/// The line that replaces the diff if a content is not text.
pub(crate) fn not_text(session: &dyn Recorded, change: &Change) -> String {
    let shown = change.after.as_ref().or(change.before.as_ref());
    let size = shown.and_then(|state| session.content(&state.hash).ok());
    match size.map(|content| content.len()) {
        Some(size) if size > MAX_BYTES => format!("too long to show, {size} bytes"),
        Some(size) => format!("{NO_TEXT}, {size} bytes"),
        None => NO_TEXT.to_owned(),
    }
}

fn content(session: &dyn Recorded, state: &Option<FileState>) -> Option<String> {
    match state {
        None => Some(String::new()),
        Some(state) => text(session.content(&state.hash).ok()?),
    }
}

/// The content as text; `None` for other contents.
pub(crate) fn text(content: Vec<u8>) -> Option<String> {
    // Zero bytes are valid UTF-8, and a disk image has millions of them. A script may contain a few.
    let is_binary = content.len() > MAX_BYTES_WITH_ZEROS && content.contains(&0);
    (content.len() <= MAX_BYTES && !is_binary).then(|| String::from_utf8(content).ok())?
}

fn clipped(diff: &str) -> String {
    let mut lines = diff.split_inclusive('\n');
    let shown: String = lines.by_ref().take(MAX_DIFF_LINES).collect();
    match lines.count() {
        0 => shown,
        more => format!("{shown}… {more} more lines\n"),
    }
}

/// The kind as one character: `+` created, `~` modified, `-` deleted.
pub fn sign(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Created => '+',
        ChangeKind::Modified => '~',
        ChangeKind::Deleted => '-',
    }
}

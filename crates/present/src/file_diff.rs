//! [`FileDiff`]: the diff of one file, line by line, for a front-end that draws it itself.
use crate::{
    diff::{self, Shown},
    safe,
};
use haft_core::{Change, ChangeKind, Secrets, accepted::CONTEXT_LINES};
use haft_engine::Recorded;
use similar::{ChangeTag, InlineChange, TextDiff};

/// The diff of one file. In its texts, only secrets are hidden (see [`safe::visible_lines`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Path, relative to the workspace if the file is inside it.
    pub path: String,
    /// Whether the file is created, modified or deleted.
    pub kind: ChangeKind,
    /// Changes of its permission bits and its attributes that are worth showing.
    pub properties: Option<String>,
    /// The reason if there are no lines.
    pub note: Option<String>,
    /// Groups of adjacent lines.
    pub hunks: Vec<Vec<DiffLine>>,
}

/// A line of a file, before the change, after it, or both. Without a number, it is a note about the line above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffLine {
    /// Number of the line before the change, counted from 1.
    pub old: Option<usize>,
    /// Number of the line after the change.
    pub new: Option<usize>,
    /// Parts of the line's text; `true` for a part that differs from the line that it replaces.
    pub parts: Vec<(bool, String)>,
}

impl FileDiff {
    /// The diff of each change, with contents from the session's blobs.
    pub fn all(session: &dyn Recorded, changes: &[Change]) -> Vec<Self> {
        let shown = Shown::of(changes);
        let data = shown.git.clone().map(|what| Self {
            path: ".git".into(),
            kind: ChangeKind::Modified,
            properties: None,
            note: Some(what),
            hunks: Vec::new(),
        });
        let secrets = session.secrets();
        let files = shown.changes.iter().map(|change| Self::of(session, change, &shown)).chain(data);
        files.map(|file| if secrets.is_empty() { file } else { file.without(&secrets) }).collect()
    }

    /// The name of the file of `change` in [`Self::path`].
    pub fn name_of(change: &Change) -> String {
        safe::visible_line(&change.path.to_string_lossy())
    }

    fn of(session: &dyn Recorded, change: &Change, shown: &Shown<'_>) -> Self {
        let (path, kind) = (Self::name_of(change), change.kind());
        if let note @ Some(_) = diff::in_words(session, change) {
            return Self { path, kind, properties: None, note, hunks: Vec::new() };
        }
        let properties = diff::properties(change);
        if let note @ Some(_) = shown.moved(change) {
            return Self { path, kind, properties, note, hunks: Vec::new() };
        }
        let contents = diff::contents(session, change);
        let (note, hunks) = match contents {
            None => (Some(diff::not_text(session, change)), Vec::new()),
            Some((before, after)) if before == after && properties.is_none() => {
                (Some("empty".into()), Vec::new())
            }
            Some((before, after)) => (None, hunks(&before, &after)),
        };
        Self { path, kind, properties, note, hunks }
    }

    /// Hides secrets. Lines that contain one are kept.
    fn without(self, secrets: &Secrets) -> Self {
        let hide = |text: String| secrets.hide(&text).into_owned();
        let line = |line: DiffLine| match line.text() {
            text if secrets.hide_in_diff(&text) == text => line,
            text => DiffLine { parts: vec![(false, secrets.hide_in_diff(&text))], ..line },
        };
        let hunks = self.hunks.into_iter().map(|hunk| hunk.into_iter().map(line).collect()).collect();
        Self { path: hide(self.path), note: self.note.map(hide), hunks, ..self }
    }

    /// All lines.
    pub fn lines(&self) -> impl Iterator<Item = &DiffLine> {
        self.hunks.iter().flatten()
    }
}

impl DiffLine {
    /// Whether the line exists only after the change.
    pub fn is_added(&self) -> bool {
        self.old.is_none() && self.new.is_some()
    }

    /// Whether the line existed only before the change.
    pub fn is_removed(&self) -> bool {
        self.old.is_some() && self.new.is_none()
    }

    /// The text in the line.
    pub fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// The differences of two texts, in groups of adjacent lines.
pub fn hunks(before: &str, after: &str) -> Vec<Vec<DiffLine>> {
    let diff = TextDiff::from_lines(before, after);
    let lines = |ops: &Vec<similar::DiffOp>| {
        ops.iter().flat_map(|op| diff.iter_inline_changes(op)).flat_map(|change| line(&change)).collect()
    };
    diff.grouped_ops(CONTEXT_LINES).iter().map(lines).collect()
}

/// The line, followed by a note if the line break at the end of its file is missing.
fn line(change: &InlineChange<'_, str>) -> Vec<DiffLine> {
    let number = |index: Option<usize>| index.map(|index| index + 1);
    let (old, new) = match change.tag() {
        ChangeTag::Equal => (number(change.old_index()), number(change.new_index())),
        ChangeTag::Delete => (number(change.old_index()), None),
        ChangeTag::Insert => (None, number(change.new_index())),
    };
    let parts = change
        .iter_strings_lossy()
        .map(|(is_other, text)| (is_other, safe::visible_lines(text.strip_suffix('\n').unwrap_or(&text))));
    let parts: Vec<_> = parts.filter(|(_, text)| !text.is_empty()).collect();
    // If the whole line differs, no part of it is marked.
    let is_other = parts.iter().all(|(is_other, _)| *is_other);
    let parts = parts.into_iter().map(|(other, text)| (other && !is_other, text)).collect();
    let mut lines = vec![DiffLine { old, new, parts }];
    if change.missing_newline() {
        let text = "\\ no line break at the end of the file".to_owned();
        lines.push(DiffLine { parts: vec![(false, text)], ..DiffLine::default() });
    }
    lines
}

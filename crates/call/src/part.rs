//! [`Part`]: what is left of the changes of a call of which a person accepts only some.
use haft_core::{
    Accepted, AcceptedFile, Change, ChangeKind, FileKind, FileState, Stage, ToolError, ToolErrorKind,
    accepted::{hunk_count, unified_diff, with_hunks},
};
use std::io;

/// Lines of a diff that the model reads of what was not accepted.
const MAX_DIFF_LINES: usize = 200;

/// The accepted changes, and a note for the model about the others.
pub(crate) struct Part {
    pub(crate) changes: Vec<Change>,
    pub(crate) note: String,
}

/// Takes the accepted parts out of `changes`.
///
/// # Errors
/// Fails if a part is named that is not there, or a content cannot be read or kept.
pub(crate) fn take(stage: &dyn Stage, changes: &[Change], accepted: &Accepted) -> Result<Part, ToolError> {
    if let Some(file) =
        accepted.files.iter().find(|file| !changes.iter().any(|change| change.path == file.path))
    {
        return Err(invalid(format!("the call does not change `{}`", file.path.display())));
    }
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for change in changes {
        match accepted.of(change).map(|file| file.hunks.as_deref()) {
            None if is_new_folder_of(change, accepted) => kept.push(change.clone()),
            None | Some(Some([])) => left_out.push(change.clone()),
            Some(None) => kept.push(change.clone()),
            Some(Some(hunks)) => {
                let (part, rest) = split(stage, change, hunks)?;
                kept.push(part);
                left_out.extend(rest);
            }
        }
    }
    let note = note(stage, &kept, &left_out);
    Ok(Part { changes: kept, note })
}

/// Whether `change` makes a folder that an accepted file lies in: without it an undo would leave the folder.
fn is_new_folder_of(change: &Change, accepted: &Accepted) -> bool {
    let is_in_it = |file: &AcceptedFile| {
        file.path != change.path && file.path.starts_with(&change.path) && file.hunks.as_deref() != Some(&[])
    };
    let is_folder = change.after.as_ref().is_some_and(|after| after.kind() == FileKind::Folder);
    change.before.is_none() && is_folder && accepted.files.iter().any(is_in_it)
}

/// A change with these hunks alone, and the change from there to what was proposed; `None` if that is nothing.
fn split(stage: &dyn Stage, change: &Change, hunks: &[usize]) -> Result<(Change, Option<Change>), ToolError> {
    let path = change.path.display();
    let Some((before, after)) = texts(stage, change) else {
        return Err(invalid(format!("`{path}` is not text, and can only be accepted whole")));
    };
    let count = hunk_count(&before, &after);
    if let Some(hunk) = hunks.iter().find(|hunk| **hunk >= count) {
        return Err(invalid(format!("there is no hunk {hunk} in the change of `{path}`")));
    }
    if (0..count).all(|hunk| hunks.contains(&hunk)) {
        return Ok((change.clone(), None));
    }
    let text = with_hunks(&before, &after, hunks);
    let hash = stage.keep(text.as_bytes()).map_err(not_kept)?;
    let state = |state: &FileState| FileState { hash: hash.clone(), ..state.clone() };
    let middle = change.after.as_ref().or(change.before.as_ref()).map(state);
    let part = Change { after: middle.clone(), ..change.clone() };
    Ok((part, Some(Change { before: middle, ..change.clone() })))
}

/// What stands behind the result: the files that were changed, and a diff of what was not.
fn note(stage: &dyn Stage, kept: &[Change], left_out: &[Change]) -> String {
    let names = |changes: &[Change]| match changes {
        [] => "nothing".to_owned(),
        changes => {
            changes.iter().map(|change| change.path.display().to_string()).collect::<Vec<_>>().join(", ")
        }
    };
    let diff: String = left_out.iter().map(|change| shown(stage, change)).collect();
    let mut lines: Vec<&str> = diff.lines().take(MAX_DIFF_LINES).collect();
    let more = format!("… {} more lines", diff.lines().count().saturating_sub(MAX_DIFF_LINES));
    if diff.lines().count() > MAX_DIFF_LINES {
        lines.push(&more);
    }
    format!(
        "\n[The person accepted only a part of what this call does to files, and the rest did not happen. Changed: {}. Not \
         accepted:]\n{}",
        names(kept),
        lines.join("\n")
    )
}

fn shown(stage: &dyn Stage, change: &Change) -> String {
    let path = change.path.display();
    let what = match change.kind() {
        ChangeKind::Created => "new",
        ChangeKind::Modified => "changed",
        ChangeKind::Deleted => "deleted",
    };
    match texts(stage, change) {
        Some((before, after)) if before != after => unified_diff(&change.path, &before, &after),
        _ => format!("{path} ({what})\n"),
    }
}

/// Before and after; `None` where one of them is no file or not text.
fn texts(stage: &dyn Stage, change: &Change) -> Option<(String, String)> {
    let text = |state: &Option<FileState>| match state {
        None => Some(String::new()),
        Some(state) if state.kind() == FileKind::File => {
            String::from_utf8(stage.content(&state.hash).ok()?).ok()
        }
        Some(_) => None,
    };
    Some((text(&change.before)?, text(&change.after)?))
}

fn invalid(what: String) -> ToolError {
    ToolError::new(
        ToolErrorKind::Permission,
        format!("nothing was changed, since the answer is invalid: {what}"),
    )
}

fn not_kept(error: io::Error) -> ToolError {
    ToolError::new(ToolErrorKind::System, format!("nothing was changed: {error}")).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Effect, Hash, Tracking, View};
    use parking_lot::Mutex;
    use std::{
        collections::HashMap,
        path::{Path, PathBuf},
    };

    /// Keeps contents, and nothing else.
    #[derive(Default)]
    struct Contents(Mutex<HashMap<String, Vec<u8>>>);

    impl Stage for Contents {
        fn how(&self, _workspace: &Path, _effects: &[Effect]) -> Tracking {
            Tracking::Staged
        }

        fn open(&self, _workspace: &Path, _effects: &[Effect]) -> io::Result<Box<dyn View>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn settle(&self, _workspace: &Path, _changes: &[Change]) -> io::Result<Vec<PathBuf>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
            self.0.lock().get(&hash.0).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
        }

        fn keep(&self, content: &[u8]) -> io::Result<Hash> {
            let hash = Hash::of(content)?;
            self.0.lock().insert(hash.0.clone(), content.to_vec());
            Ok(hash)
        }

        fn resolve(&self, _workspace: &Path, path: &Path) -> PathBuf {
            path.to_owned()
        }
    }

    impl Contents {
        fn state(&self, content: &[u8], mode: u32) -> Option<FileState> {
            Some(FileState { hash: self.keep(content).unwrap(), mode, attributes: None })
        }

        fn read(&self, state: &Option<FileState>) -> Option<(String, u32)> {
            let state = state.as_ref()?;
            Some((String::from_utf8_lossy(&self.content(&state.hash).unwrap()).into_owned(), state.mode))
        }
    }

    fn lines(first: &str, last: &str, end: &str) -> String {
        let middle: String = (2..20).map(|number| format!("line {number}{end}")).collect();
        format!("{first}{end}{middle}{last}")
    }

    /// Paths with the hunks that are accepted; `None` for the whole file.
    type Parts<'a> = &'a [(&'a str, Option<&'a [usize]>)];

    fn accept(parts: Parts<'_>) -> Accepted {
        let file = |(path, hunks): &(&str, Option<&[usize]>)| AcceptedFile {
            path: path.into(),
            hunks: hunks.map(<[usize]>::to_vec),
        };
        Accepted { files: parts.iter().map(file).collect() }
    }

    #[test]
    fn only_what_is_accepted_is_left_of_the_changes() {
        let stage = Contents::default();
        let change = |path: &str, before: Option<FileState>, after: Option<FileState>| Change {
            path: path.into(),
            before,
            after,
        };
        let (old, new) = (lines("a", "b", "\r\n"), lines("A", "B", "\r\n"));
        let changes = [
            change("text", stage.state(old.as_bytes(), 0o644), stage.state(new.as_bytes(), 0o755)),
            change("new", None, stage.state(b"n", 0o644)),
            change("gone", stage.state(b"g", 0o600), None),
            change("picture", stage.state(b"\xff", 0o644), stage.state(b"\xfe", 0o644)),
        ];
        type Kept<'a> = &'a [(&'a str, Option<(String, u32)>)];
        let text = |first: &str, last: &str| Some((lines(first, last, "\r\n"), 0o755));
        let table: [(Parts<'_>, Kept<'_>); 7] = [
            (&[], &[]),
            (&[("text", Some(&[]))], &[]),
            (&[("text", Some(&[0]))], &[("text", text("A", "b"))]),
            (&[("text", Some(&[1]))], &[("text", text("a", "B"))]),
            (&[("text", Some(&[0, 1]))], &[("text", text("A", "B"))]),
            (&[("new", Some(&[0])), ("gone", None)], &[("new", Some(("n".into(), 0o644))), ("gone", None)]),
            (&[("picture", None)], &[("picture", Some(("\u{fffd}".into(), 0o644)))]),
        ];
        for (accepted, expected) in table {
            let part = take(&stage, &changes, &accept(accepted)).unwrap();
            let kept: Vec<_> = part
                .changes
                .iter()
                .map(|change| (change.path.to_str().unwrap(), stage.read(&change.after)))
                .collect();
            assert_eq!(kept, expected, "{accepted:?}");
        }
        let part = take(&stage, &changes, &accept(&[("text", Some(&[0])), ("new", None)])).unwrap();
        assert!(part.note.contains("Changed: text, new. Not accepted:]\n--- a/text\n"), "{}", part.note);
        assert!(part.note.contains("-b\n") && part.note.contains("+B\n"), "{}", part.note);
        assert!(!part.note.contains("+A") && part.note.contains("picture (changed)"), "{}", part.note);
    }

    #[test]
    fn a_part_that_is_not_there_is_an_error() {
        let stage = Contents::default();
        let change = |path: &str, before: &[u8], after: &[u8]| Change {
            path: path.into(),
            before: stage.state(before, 0o644),
            after: stage.state(after, 0o644),
        };
        let changes = [change("text", b"a\n", b"b\n"), change("picture", b"\xff", b"\xfe")];
        let table: [(&str, Option<&[usize]>, &str); 3] = [
            ("other", None, "the call does not change `other`"),
            ("text", Some(&[1]), "there is no hunk 1"),
            ("picture", Some(&[0]), "`picture` is not text"),
        ];
        for (path, hunks, expected) in table {
            let error = take(&stage, &changes, &accept(&[(path, hunks)])).err().unwrap();
            assert!(error.message.contains(expected), "{}", error.message);
        }
    }
}

//! [`Part`]: the accepted part of a call's changes.
use haft_core::{
    Accepted, AcceptedFile, Change, ChangeKind, FileKind, FileState, Stage, ToolError, ToolErrorKind,
    accepted::{hunk_count, unified_diff, with_hunks},
};
use std::io;

/// Maximum lines of the diff of rejected changes that the model reads.
const MAX_DIFF_LINES: usize = 200;

/// The accepted changes, and a note for the model about the differences from its proposal.
pub(crate) struct Part {
    pub(crate) changes: Vec<Change>,
    pub(crate) note: String,
    /// A diff from the proposal to the user's edited version; empty if the user edited nothing.
    pub(crate) edits: String,
}

/// Selects the accepted parts of `changes`.
///
/// # Errors
/// Fails if `accepted` names a part that does not exist, or a content cannot be read or stored.
pub(crate) fn take(stage: &dyn Stage, changes: &[Change], accepted: &Accepted) -> Result<Part, ToolError> {
    if let Some(file) =
        accepted.files.iter().find(|file| !changes.iter().any(|change| change.path == file.path))
    {
        return Err(invalid(format!("the call does not change `{}`", file.path.display())));
    }
    let (mut kept, mut left_out, mut edited) = (Vec::new(), Vec::new(), Vec::new());
    for change in changes {
        let file = accepted.of(change);
        if let Some(text) = file.and_then(|file| file.text.as_deref()) {
            let (part, edit) = replace(stage, change, text)?;
            kept.extend(part);
            edited.extend(edit);
            continue;
        }
        match file.map(|file| file.hunks.as_deref()) {
            None if is_new_folder_of(change, accepted) => kept.push(change.clone()),
            None | Some(Some([])) => left_out.push(change.clone()),
            Some(_) if !is_possible(change, changes, accepted) => left_out.push(change.clone()),
            Some(None) => kept.push(change.clone()),
            Some(Some(hunks)) => {
                let (part, rest) = split(stage, change, hunks)?;
                kept.push(part);
                left_out.extend(rest);
            }
        }
    }
    let edits = if edited.is_empty() { String::new() } else { diffs(stage, &edited) };
    let note = edit_note(&edits) + &part_note(stage, &kept, &left_out, edited.is_empty());
    Ok(Part { changes: kept, note, edits })
}

/// Whether `change` creates a folder that contains an accepted file: without this change, an undo would not remove the
/// folder.
fn is_new_folder_of(change: &Change, accepted: &Accepted) -> bool {
    let is_in_it = |file: &AcceptedFile| {
        let is_nothing = file.text.is_none() && file.hunks.as_deref() == Some(&[]);
        file.path != change.path && file.path.starts_with(&change.path) && !is_nothing
    };
    let is_folder = change.after.as_ref().is_some_and(|after| after.kind() == FileKind::Folder);
    change.before.is_none() && is_folder && accepted.files.iter().any(is_in_it)
}

/// Whether `change` is possible without the rejected changes: no file can be below a file that stays, and no folder can
/// be removed while something in it stays.
fn is_possible(change: &Change, changes: &[Change], accepted: &Accepted) -> bool {
    let is_folder =
        |state: &Option<FileState>| state.as_ref().is_some_and(|state| state.kind() == FileKind::Folder);
    let is_accepted = |other: &Change| {
        accepted.of(other).is_some_and(|file| file.text.is_some() || file.hunks.as_deref() != Some(&[]))
    };
    let needs = |other: &&Change| {
        let is_above = change.path != other.path && change.path.starts_with(&other.path);
        let is_below = change.path != other.path && other.path.starts_with(&change.path);
        let makes_room = other.before.is_some() && !is_folder(&other.before) && is_folder(&other.after);
        let is_emptied = is_folder(&change.before) && !is_folder(&change.after) && other.after.is_none();
        (is_above && makes_room) || (is_below && is_emptied)
    };
    changes.iter().filter(needs).all(is_accepted)
}

/// Splits `change` into a change with only these hunks, and the remaining change from there to the proposal; `None` if
/// nothing remains.
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

/// The change to `text`, and the user's edit, which is the change from the proposal to `text`. `None` for a change that
/// changes nothing.
fn replace(
    stage: &dyn Stage,
    change: &Change,
    text: &str,
) -> Result<(Option<Change>, Option<Change>), ToolError> {
    let path = change.path.display();
    let Some(after) = &change.after else {
        return Err(invalid(format!("`{path}` is deleted, so that there is no text to edit")));
    };
    if texts(stage, change).is_none() {
        return Err(invalid(format!("`{path}` is not text, and cannot be edited")));
    }
    let hash = stage.keep(text.as_bytes()).map_err(not_kept)?;
    let written = Some(FileState { hash, ..after.clone() });
    let part = Change { after: written.clone(), ..change.clone() };
    let edit = Change { before: change.after.clone(), after: written, ..change.clone() };
    let differs = |change: &Change| change.before != change.after;
    Ok((Some(part).filter(differs), Some(edit).filter(differs)))
}

/// The note after the result if the user edited files: a diff from the proposal to the written files.
fn edit_note(edits: &str) -> String {
    if edits.is_empty() {
        return String::new();
    }
    format!(
        "\n[The person edited what this call does to files before accepting it. The files now hold the person's text. From \
         what you proposed to what was written:]\n{edits}"
    )
}

/// The note after the error if the files could not be written: the model can propose the user's text again.
pub(crate) fn unwritten_edits(edits: &str) -> String {
    if edits.is_empty() {
        return String::new();
    }
    format!(
        "\n[The person had edited what this call does to files. From what you proposed to the person's text:]\n{edits}"
    )
}

/// The note after the result if something was rejected: the changed files, and a diff of the rejected changes.
/// `is_part`: the note is written even if the whole proposal was accepted.
fn part_note(stage: &dyn Stage, kept: &[Change], left_out: &[Change], is_part: bool) -> String {
    if left_out.is_empty() && !is_part {
        return String::new();
    }
    let names = |changes: &[Change]| match changes {
        [] => "nothing".to_owned(),
        changes => {
            changes.iter().map(|change| change.path.display().to_string()).collect::<Vec<_>>().join(", ")
        }
    };
    format!(
        "\n[The person accepted only a part of what this call does to files, and the rest did not happen. Changed: {}. Not \
         accepted:]\n{}",
        names(kept),
        diffs(stage, left_out)
    )
}

fn diffs(stage: &dyn Stage, changes: &[Change]) -> String {
    let diff: String = changes.iter().map(|change| shown(stage, change)).collect();
    let mut lines: Vec<&str> = diff.lines().take(MAX_DIFF_LINES).collect();
    let more = format!("… {} more lines", diff.lines().count().saturating_sub(MAX_DIFF_LINES));
    if diff.lines().count() > MAX_DIFF_LINES {
        lines.push(&more);
    }
    lines.join("\n")
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

/// The texts before and after; `None` if one of them is not a file or not text.
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

    /// A stage that only keeps contents.
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
            text: None,
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
            new_folders: 0,
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

    /// The rest is written, and the model reads what did not happen.
    #[test]
    fn what_cannot_be_made_without_another_part_is_left_out() {
        let stage = Contents::default();
        let (file, folder) = (stage.state(b"x", 0o644), Some(FileState::folder(0o755)));
        let change = |path: &str, before: &Option<FileState>, after: &Option<FileState>| Change {
            path: path.into(),
            before: before.clone(),
            after: after.clone(),
            new_folders: 0,
        };
        let changes = [
            change("cfg", &file, &folder),
            change("cfg/f", &None, &file),
            change("gone", &file, &None),
            change("lib", &folder, &file),
            change("lib/a", &file, &None),
        ];
        let table: [(&[&str], &[&str]); 6] = [
            (&["cfg/f", "gone"], &["gone"]),
            (&["cfg", "cfg/f"], &["cfg", "cfg/f"]),
            (&["cfg"], &["cfg"]),
            (&["lib", "gone"], &["gone"]),
            (&["lib/a"], &["lib/a"]),
            (&["lib", "lib/a"], &["lib", "lib/a"]),
        ];
        for (accepted, expected) in table {
            let parts: Vec<_> = accepted.iter().map(|path| (*path, None)).collect();
            let part = take(&stage, &changes, &accept(&parts)).unwrap();
            let kept: Vec<_> = part.changes.iter().map(|change| change.path.to_str().unwrap()).collect();
            assert_eq!(kept, expected, "{accepted:?}");
        }
    }

    #[test]
    fn an_edited_file_gets_the_persons_text_and_the_model_reads_the_edit() {
        let stage = Contents::default();
        let change = |path: &str, before: Option<&str>, after: Option<&str>| {
            let state = |text: Option<&str>| text.and_then(|text| stage.state(text.as_bytes(), 0o755));
            Change { path: path.into(), before: state(before), after: state(after), new_folders: 0 }
        };
        let changes = [change("text", Some("a\n"), Some("b\n")), change("new", None, Some("n\n"))];
        let edit = |path: &str, text: &str| Accepted {
            files: vec![AcceptedFile { path: path.into(), hunks: None, text: Some(text.into()) }],
        };
        let edited = "[The person edited";
        let part = "[The person accepted only a part";
        type Row<'a> = (&'a str, &'a str, Option<&'a str>, &'a [&'a str], &'a [&'a str]);
        let table: [Row<'_>; 5] = [
            ("text", "c\r\n", Some("c\r\n"), &[edited, "-b\n+c", part, "+n"], &["-a"]),
            ("text", "b\n", Some("b\n"), &[part, "+n"], &[edited]),
            ("text", "a\n", None, &[edited, "-b\n+a", "Changed: nothing"], &[]),
            ("text", "", Some(""), &[edited, "-b"], &[]),
            ("new", "m\n", Some("m\n"), &[edited, "-n\n+m", part, "-a\n+b"], &[]),
        ];
        for (path, text, written, said, unsaid) in table {
            let taken = take(&stage, &changes, &edit(path, text)).unwrap();
            let kept: Vec<_> = taken.changes.iter().map(|change| stage.read(&change.after)).collect();
            let expected: Vec<_> = written.iter().map(|text| Some(((*text).to_owned(), 0o755))).collect();
            assert_eq!(kept, expected, "{path} {text:?}");
            assert!(said.iter().all(|said| taken.note.contains(said)), "{text:?}: {}", taken.note);
            assert!(!unsaid.iter().any(|said| taken.note.contains(said)), "{text:?}: {}", taken.note);
        }
        let only = take(&stage, &changes[..1], &edit("text", "c\n")).unwrap();
        assert!(only.note.contains(edited) && !only.note.contains(part), "{}", only.note);
        let gone = take(&stage, &[change("text", Some("a\n"), None)], &edit("text", "c\n")).err().unwrap();
        assert!(gone.message.contains("no text to edit"), "{}", gone.message);
        let picture = Change { after: stage.state(b"\xff", 0o644), ..changes[0].clone() };
        let binary = take(&stage, &[picture], &edit("text", "c\n")).err().unwrap();
        assert!(binary.message.contains("is not text, and cannot be edited"), "{}", binary.message);
    }

    #[test]
    fn a_part_that_is_not_there_is_an_error() {
        let stage = Contents::default();
        let change = |path: &str, before: &[u8], after: &[u8]| Change {
            path: path.into(),
            before: stage.state(before, 0o644),
            after: stage.state(after, 0o644),
            new_folders: 0,
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

//! [`Accepted`]: the parts of a proposal that the user accepts. Also applies single hunks of a change to a file.
use crate::Change;
use serde::{Deserialize, Serialize};
use similar::TextDiff;
use std::path::{Path, PathBuf};

/// Lines around a change that belong to its hunk.
pub const CONTEXT_LINES: usize = 3;

/// The accepted parts of what a call would do to files. Other files stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Accepted files; each file at most once.
    pub files: Vec<AcceptedFile>,
}

/// The accepted parts of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedFile {
    /// Path of the file, as in [`Change::path`].
    pub path: PathBuf,
    /// Accepted hunks of the file's diff with [`CONTEXT_LINES`] lines around each change, counted from 0; `None` for
    /// the whole file. With any hunk, the permission bits and attributes are accepted, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<usize>>,
    /// The whole text of the file as edited by the user. It replaces the proposed text, and `hunks` is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Accepted {
    /// Returns what is accepted of the file of `change`; `None` for nothing.
    pub fn of(&self, change: &Change) -> Option<&AcceptedFile> {
        self.files.iter().find(|file| file.path == change.path)
    }
}

/// Returns how many hunks the change from `before` to `after` has.
pub fn hunk_count(before: &str, after: &str) -> usize {
    TextDiff::from_lines(before, after).grouped_ops(CONTEXT_LINES).len()
}

/// Returns `before` with only these hunks of the change to `after`. Each line keeps its line end.
pub fn with_hunks(before: &str, after: &str, hunks: &[usize]) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = String::new();
    let mut next = 0;
    for (place, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        text.extend((next..old.start).filter_map(|line| diff.old_slice(line)));
        match hunks.contains(&place) {
            true => text.extend(new.filter_map(|line| diff.new_slice(line))),
            false => text.extend(old.clone().filter_map(|line| diff.old_slice(line))),
        }
        next = old.end;
    }
    text.extend((next..diff.old_len()).filter_map(|line| diff.old_slice(line)));
    text
}

/// Returns a unified diff of one file.
pub fn unified_diff(path: &Path, before: &str, after: &str) -> String {
    let path = path.display();
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty lines, with those of `changed` written in capitals.
    fn lines(end: &str, changed: &[usize]) -> String {
        let line = |number: usize| match changed.contains(&number) {
            true => format!("LINE {number}{end}"),
            false => format!("line {number}{end}"),
        };
        (1..=20).map(line).collect()
    }

    #[test]
    fn a_file_gets_the_chosen_hunks_and_no_others() {
        for end in ["\n", "\r\n"] {
            let (before, after) = (lines(end, &[]), lines(end, &[2, 11, 19]));
            assert_eq!(hunk_count(&before, &after), 3);
            let table: [(&[usize], &[usize]); 6] = [
                (&[], &[]),
                (&[0], &[2]),
                (&[1], &[11]),
                (&[2], &[19]),
                (&[0, 2], &[2, 19]),
                (&[0, 1, 2], &[2, 11, 19]),
            ];
            for (hunks, changed) in table {
                assert_eq!(with_hunks(&before, &after, hunks), lines(end, changed), "{hunks:?} {end:?}");
            }
        }
    }

    #[test]
    fn ends_of_files_stay_as_they_are() {
        let body = lines("\n", &[]);
        let cut = body.trim_end().to_owned();
        let changed = |text: &str| text.replacen("line 1\n", "LINE 1\n", 1);
        let table: [(&str, String, String, &[usize], String); 7] = [
            ("a line end is added", cut.clone(), changed(&body), &[0], changed(&cut)),
            ("only the line end", cut.clone(), changed(&body), &[1], body.clone()),
            ("a line end is removed", body.clone(), changed(&cut), &[0], changed(&body)),
            (
                "lines are added behind",
                cut.clone(),
                format!("{}\nmore\n", changed(&cut)),
                &[1],
                format!("{cut}\nmore\n"),
            ),
            ("a new file", String::new(), "a\nb".into(), &[0], "a\nb".into()),
            ("a file that is emptied", "a\nb".into(), String::new(), &[0], String::new()),
            ("nothing of it", "a\nb".into(), String::new(), &[], "a\nb".into()),
        ];
        for (what, before, after, hunks, expected) in table {
            assert_eq!(with_hunks(&before, &after, hunks), expected, "{what}");
        }
    }
}

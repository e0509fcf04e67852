//! [`names`] and [`files`]: find other files that a change may break. They are opened as well, because most servers
//! check only open files.
use crate::{settings::LanguageServer, symbols::Symbol, taken::text_of};
use ignore::WalkBuilder;
use similar::{ChangeTag, TextDiff};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Maximum files that are searched for names.
const MAX_SEARCHED: usize = 5_000;
/// Maximum lines after the name of a symbol that belong to its head, such as parameters on lines of their own.
const HEAD_LINES: u32 = 8;
/// Minimum length of a name: shorter names occur everywhere.
const MIN_NAME: usize = 3;

/// The lines that differ, counted from 0: those of `before`, and those of `after`.
pub(crate) fn changed_lines(before: &str, after: &str) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let diff = TextDiff::from_lines(before, after);
    let lines = |tag: ChangeTag| {
        let changes = diff.iter_all_changes().filter(move |change| change.tag() == tag);
        changes
            .filter_map(move |change| {
                let index = if tag == ChangeTag::Delete { change.old_index() } else { change.new_index() };
                index?.try_into().ok()
            })
            .collect()
    };
    (lines(ChangeTag::Delete), lines(ChangeTag::Insert))
}

/// Maps the lines of `before` that remain to their line in `after`, each counted from 1.
pub(crate) fn kept_lines(before: &str, after: &str) -> BTreeMap<usize, usize> {
    let diff = TextDiff::from_lines(before, after);
    let kept =
        diff.iter_all_changes().filter_map(|change| Some((change.old_index()? + 1, change.new_index()? + 1)));
    kept.collect()
}

/// The names of the symbols whose heads are among `lines`: changes of a body do not affect other files.
pub(crate) fn names(symbols: &[Symbol], lines: &BTreeSet<u32>) -> BTreeSet<String> {
    let is_touched = |symbol: &&Symbol| {
        let last = symbol.range.end.line.min(symbol.line + HEAD_LINES);
        lines.range(symbol.range.start.line.min(last)..=last).next().is_some()
    };
    let names = symbols.iter().filter(is_touched).map(|symbol| own_name(&symbol.name));
    names.filter(|name| name.len() >= MIN_NAME).map(str::to_owned).collect()
}

/// `area` of `Shape::area` or `area(int)`.
fn own_name(name: &str) -> &str {
    let name = name.split(['(', '<', ' ']).next().unwrap_or(name);
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// Returns up to `most` files of `workspace` that the server handles and that have one of `names` as a word; first
/// those with most of them.
pub(crate) fn files(
    server: &LanguageServer,
    workspace: &Path,
    names: &BTreeSet<String>,
    known: &[PathBuf],
    most: usize,
) -> Vec<PathBuf> {
    if names.is_empty() {
        return Vec::new();
    }
    let walk = WalkBuilder::new(workspace).require_git(false).build().filter_map(Result::ok);
    let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let paths = files.map(ignore::DirEntry::into_path);
    let paths = paths.filter(|path| server.language_of(path).is_some() && !known.contains(path));
    let counted = paths.take(MAX_SEARCHED).filter_map(|path| {
        let text = text_of(&path)?;
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let count = names.iter().filter(|name| words.contains(name.as_str())).count();
        (count > 0).then_some((std::cmp::Reverse(count), path))
    });
    let mut counted: Vec<_> = counted.collect();
    counted.sort();
    counted.into_iter().take(most).map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::{Position, Range};

    fn symbol(name: &str, first: u32, line: u32, last: u32) -> Symbol {
        let range = Range::new(Position::new(first, 0), Position::new(last, 0));
        Symbol { name: name.into(), depth: 0, range, line }
    }

    #[test]
    fn a_change_of_a_head_is_about_the_name() {
        let symbols =
            [symbol("first", 0, 1, 3), symbol("Shape::second(int)", 5, 5, 40), symbol("x", 41, 41, 42)];
        let table: [(&[u32], &[&str]); 6] = [
            (&[], &[]),
            (&[0], &["first"]),
            (&[4], &[]),
            (&[13], &["second"]),
            (&[14, 30], &[]),
            (&[1, 41], &["first"]),
        ];
        for (lines, expected) in table {
            let found = names(&symbols, &lines.iter().copied().collect());
            assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{lines:?}");
        }
    }

    #[test]
    fn lines_that_differ_are_those_of_either_side() {
        let (old, new) = changed_lines("a\nb\nc\n", "a\nB\nc\nd\n");
        assert_eq!(
            (old.into_iter().collect::<Vec<_>>(), new.into_iter().collect::<Vec<_>>()),
            (vec![1], vec![1, 3])
        );
    }
}

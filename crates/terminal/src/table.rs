//! [`Table`] and [`List`]: show rows in columns under headings.
//!
//! Not `comfy-table`, which breaks long cells into lines: a row stays one line here, which is easier to `grep` and to
//! read.
use crate::Exit;
use haft_present::safe;
use serde_json::Value;
use std::{
    collections::HashSet,
    io::{self, Write, stdout},
};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Minimum columns of a cell. On a terminal, rows are cut to its width: first the columns between the first and the
/// last one, down to this minimum, then the last one.
const MIN_COLUMN: usize = 10;
/// Prefix of an ID that belongs to the row above.
pub const BELOW: &str = "└ ";
/// Minimum length of a shortened ID: the time of creation to the second, and two letters.
const SHORTEST_ID: usize = 18;
/// Blanks between two columns.
const GAP: usize = 2;

/// Rows in columns, as wide as they need or as the terminal allows.
#[derive(Debug)]
pub struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
    /// Whether the first column holds IDs. If there is little room, each is cut to a prefix that is still unique.
    has_ids: bool,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table without rows.
    pub fn new(headings: [&str; COLUMNS]) -> Self {
        Self { rows: vec![headings.map(str::to_owned)], has_ids: false }
    }

    /// A table with IDs in the first column, which are shortened if there is little room.
    pub fn of_ids(headings: [&str; COLUMNS]) -> Self {
        Self { has_ids: true, ..Self::new(headings) }
    }

    /// Adds a row. Control characters in its cells are made visible, and each cell becomes one line.
    pub fn row(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row.map(|cell| safe::name(&cell).into_owned()));
    }

    /// Prints the table to standard output, or `nothing` if it has no rows.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print(&self, nothing: &str) -> io::Result<()> {
        if self.rows.len() == 1 {
            return writeln!(stdout(), "{nothing}");
        }
        let terminal = rustix::termios::tcgetwinsize(stdout()).ok().map(|size| usize::from(size.ws_col));
        let terminal = terminal.filter(|columns| *columns > 0);
        let mut rows = self.rows.clone();
        if self.has_ids && over(&widths_of(&rows), terminal) > 0 {
            shorten_ids(&mut rows[1..]);
        }
        let widths = fitting(widths_of(&rows), terminal);
        for row in &rows {
            let padded = row.iter().zip(widths).enumerate().map(|(place, (cell, width))| {
                let cell = if place + 1 == COLUMNS { beginning_of(cell, width) } else { end_of(cell, width) };
                format!("{cell}{}", " ".repeat(width - cell.width()))
            });
            let line = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
            writeln!(stdout(), "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn widths_of<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> [usize; COLUMNS] {
    std::array::from_fn(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or_default())
}

/// By how many cells `widths` exceed `columns`.
fn over(widths: &[usize], columns: Option<usize>) -> usize {
    let all = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    columns.map_or(0, |columns| all.saturating_sub(columns))
}

/// Cuts each ID to a prefix that distinguishes it from the others; commands accept such a prefix, too.
fn shorten_ids<const COLUMNS: usize>(rows: &mut [[String; COLUMNS]]) {
    let split = |row: &[String; COLUMNS]| {
        let end = row[0].find(BELOW).map_or(0, |at| at + BELOW.len());
        (row[0][..end].to_owned(), row[0][end..].to_owned())
    };
    let id = |row: &[String; COLUMNS]| split(row).1;
    let ids: HashSet<String> = rows.iter().map(id).collect();
    let prefix = |id: &str, length: usize| id.chars().take(length).collect::<String>();
    let is_enough =
        |length: &usize| ids.iter().map(|id| prefix(id, *length)).collect::<HashSet<_>>().len() == ids.len();
    let length = (SHORTEST_ID..).find(is_enough).unwrap_or(SHORTEST_ID);
    for row in rows {
        let (below, id) = split(row);
        row[0] = format!("{below}{}", prefix(&id, length));
    }
}

/// Reduces `widths` to fit into `columns`, as far as possible.
fn fitting<const COLUMNS: usize>(mut widths: [usize; COLUMNS], columns: Option<usize>) -> [usize; COLUMNS] {
    while over(&widths, columns) > 0 {
        let between = widths.iter_mut().take(COLUMNS.saturating_sub(1)).skip(1);
        match between.filter(|width| **width > MIN_COLUMN).max() {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    let over = over(&widths, columns);
    if let Some(last) = widths.last_mut() {
        *last = last.saturating_sub(over).max(MIN_COLUMN.min(*last));
    }
    widths
}

/// The end of `text`, no wider than `columns`.
pub fn end_of(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let end: Vec<char> = as_many(text.chars().rev(), columns);
    std::iter::once('…').chain(end.into_iter().rev()).collect()
}

/// The beginning of `text`, no wider than `columns`.
fn beginning_of(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    as_many(text.chars(), columns).into_iter().chain(['…']).collect()
}

/// As many of the characters as leave room for an ellipsis.
fn as_many(signs: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut width = 1;
    let fits = |sign: &char| {
        width += sign.width().unwrap_or_default();
        width <= columns
    };
    signs.take_while(fits).collect()
}

/// A list, printed as a table or as one JSON object per line.
#[derive(Debug)]
pub struct List<const COLUMNS: usize> {
    table: Table<COLUMNS>,
    lines: Option<Vec<Value>>,
}

impl<const COLUMNS: usize> List<COLUMNS> {
    /// `is_json`: whether the list is printed as JSON.
    pub fn new(headings: [&str; COLUMNS], is_json: bool) -> Self {
        Self { table: Table::new(headings), lines: is_json.then(Vec::new) }
    }

    /// Adds a row. `object` is only called for JSON.
    pub fn row(&mut self, cells: [&str; COLUMNS], object: impl FnOnce() -> Value) {
        match &mut self.lines {
            Some(lines) => lines.push(object()),
            None => self.table.row(cells.map(str::to_owned)),
        }
    }

    /// Prints the list to standard output; a table without rows is printed as `nothing`.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print(self, nothing: &str) -> io::Result<Exit> {
        match self.lines {
            None => self.table.print(nothing)?,
            Some(lines) => {
                for line in lines {
                    writeln!(stdout(), "{}", safe::json(&line.to_string()))?;
                }
            }
        }
        Ok(Exit::Success)
    }
}

/// Abbreviates a folder: the user's home becomes `~`.
pub fn short(folder: &std::path::Path, home: Option<&str>) -> String {
    let inside = home.filter(|home| !home.is_empty()).and_then(|home| folder.strip_prefix(home).ok());
    inside.map_or_else(|| folder.display().to_string(), |rest| format!("~/{}", rest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shortened_as_far_as_they_differ() {
        let rows = |ids: [&str; 3]| ids.map(|id| [id.to_owned(), "x".to_owned()]);
        let mut long =
            rows(["20261123-101500-aaaa-x", "  └ 20261123-101500-aabb-y", "20261123-101501-cccc-z"]);
        shorten_ids(&mut long);
        assert_eq!(long, rows(["20261123-101500-aaa", "  └ 20261123-101500-aab", "20261123-101501-ccc"]));
        let mut short = rows(["one", "two", "two"]);
        shorten_ids(&mut short);
        assert_eq!(short, rows(["one", "two", "two"]));
    }

    #[test]
    fn columns_give_way_from_the_middle_on() {
        let table = [
            (None, [32, 9, 50, 14, 60]),
            (Some(200), [32, 9, 50, 14, 60]),
            (Some(140), [32, 9, 17, 14, 60]),
            (Some(100), [32, 9, 10, 10, 31]),
            (Some(40), [32, 9, 10, 10, 10]),
        ];
        for (columns, expected) in table {
            assert_eq!(fitting([32, 9, 50, 14, 60], columns), expected, "{columns:?}");
        }
        assert_eq!(
            (end_of("/home/me/project", 9), beginning_of("one two", 5)),
            ("…/project".into(), "one …".into())
        );
        assert_eq!((end_of("長い名前", 5), beginning_of("長い名前", 5)), ("…名前".into(), "長い…".into()));
    }

    #[test]
    fn a_folder_of_the_persons_begins_with_a_tilde() {
        let folder = std::path::Path::new("/home/a/work");
        assert_eq!(
            (short(folder, Some("/home/a")), short(folder, None)),
            ("~/work".into(), "/home/a/work".into())
        );
    }
}

//! Lists for people: columns under headings.
use haft::{present::safe, terminal::Exit};
use serde_json::Value;
use std::io::{self, Write, stdout};
use unicode_width::UnicodeWidthStr;

/// Rows under headings. The last column is as wide as it likes.
pub(super) struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(super) fn new(headings: [&str; COLUMNS]) -> Self {
        Self { rows: vec![headings.map(str::to_owned)] }
    }

    pub(super) fn row(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row);
    }

    /// Prints it, or `nothing` where it has no rows.
    pub(super) fn print(&self, nothing: &str) -> io::Result<()> {
        if self.rows.len() == 1 {
            return writeln!(stdout(), "{nothing}");
        }
        let width = |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or_default();
        let widths: [usize; COLUMNS] = std::array::from_fn(width);
        for row in &self.rows {
            let padded = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
            let line = padded.collect::<Vec<_>>().join("  ");
            writeln!(stdout(), "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A list as a table, or as one JSON object a line.
pub(super) struct List<const COLUMNS: usize> {
    table: Table<COLUMNS>,
    lines: Option<Vec<Value>>,
}

impl<const COLUMNS: usize> List<COLUMNS> {
    /// `is_json`: as JSON.
    pub(super) fn new(headings: [&str; COLUMNS], is_json: bool) -> Self {
        Self { table: Table::new(headings), lines: is_json.then(Vec::new) }
    }

    pub(super) fn row(&mut self, cells: [&str; COLUMNS], object: impl FnOnce() -> Value) {
        match &mut self.lines {
            Some(lines) => lines.push(object()),
            None => self.table.row(cells.map(|cell| safe::text(cell).replace('\n', " "))),
        }
    }

    /// Prints it; `nothing` where it has no rows and is a table.
    pub(super) fn print(self, nothing: &str) -> io::Result<Exit> {
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

/// A folder as people write it: what lies in theirs begins with `~`.
pub(super) fn short(folder: &std::path::Path, home: Option<&str>) -> String {
    let inside = home.filter(|home| !home.is_empty()).and_then(|home| folder.strip_prefix(home).ok());
    inside.map_or_else(|| folder.display().to_string(), |rest| format!("~/{}", rest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_persons_begins_with_a_tilde() {
        let folder = std::path::Path::new("/home/a/work");
        assert_eq!(
            (short(folder, Some("/home/a")), short(folder, None)),
            ("~/work".into(), "/home/a/work".into())
        );
    }
}

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

/// How long ago that was, in one unit. `then` and `now`: milliseconds since 1970-01-01 UTC.
pub(super) fn age(then: u64, now: u64) -> String {
    let minutes = now.saturating_sub(then) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

/// Milliseconds since 1970-01-01 UTC.
pub(super) fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
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
    fn an_age_has_one_unit() {
        const MINUTE: u64 = 60_000;
        let table = [
            (0, "now"),
            (59_999, "now"),
            (MINUTE, "1 min"),
            (59 * MINUTE, "59 min"),
            (60 * MINUTE, "1 h"),
            (1_439 * MINUTE, "23 h"),
            (1_440 * MINUTE, "1 d"),
            (90 * 1_440 * MINUTE, "90 d"),
        ];
        for (passed, expected) in table {
            assert_eq!(age(1_000, 1_000 + passed), expected);
        }
        assert_eq!(age(5, 0), "now");
        let folder = std::path::Path::new("/home/a/work");
        assert_eq!(
            (short(folder, Some("/home/a")), short(folder, None)),
            ("~/work".into(), "/home/a/work".into())
        );
    }
}

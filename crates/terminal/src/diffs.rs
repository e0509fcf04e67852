//! [`Diffs`]: prints diffs line by line: in colors on a terminal, otherwise as plain text.
use crate::paint::{
    diff::{DiffPainter, Room},
    look::Look,
    wrap::laid_out,
};
use haft_core::Change;
use haft_engine::Session;
use haft_present::{diff, file_diff::FileDiff};
use ratatui::style::Style;

/// The format of diffs: drawn with a [`Look`] if there is a terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diffs(pub Option<Look>);

/// A formatted diff.
pub(crate) struct Shown {
    pub(crate) shown: String,
    /// The diff as text, for searches.
    pub(crate) plain: String,
    /// Whether part of the diff is left out.
    pub(crate) is_cut: bool,
}

/// Columns if the width of the terminal is unknown.
const DEFAULT_COLUMNS: usize = 80;

impl Diffs {
    /// Formats a diff, and cuts long ones; the note about it says `how` to see the rest.
    pub(crate) fn cut(self, session: &Session, changes: &[Change], how: Option<&str>) -> Shown {
        self.of(session, changes, diff::of_changes(session, changes), (Room::SCROLLS, how))
    }

    /// Formats the whole diff, whatever its length.
    pub(crate) fn whole(self, session: &Session, changes: &[Change]) -> Shown {
        self.of(session, changes, diff::of_all(session, changes), (Room::WHOLE, None))
    }

    /// Wraps `text` between words if there is a terminal, which would break rows anywhere.
    pub(crate) fn in_rows(self, text: &str) -> String {
        if self.0.is_none() {
            return text.to_owned();
        }
        let rows = laid_out(text, Style::new(), columns()).into_iter();
        rows.map(|row| format!("{row}\n")).collect()
    }

    fn of(
        self,
        session: &Session,
        changes: &[Change],
        plain: String,
        (room, how): (Room, Option<&str>),
    ) -> Shown {
        let Some(look) = self.0 else { return Shown { shown: plain.clone(), plain, is_cut: false } };
        let columns = columns();
        let files = FileDiff::all(session, changes);
        let painter = DiffPainter { columns, look: &look, how };
        let is_cut = files.iter().flat_map(FileDiff::lines).count() > room.most();
        Shown { shown: painter.text(&files, room), plain, is_cut }
    }
}

fn columns() -> usize {
    crossterm::terminal::size().map_or(DEFAULT_COLUMNS, |(columns, _)| columns.max(20).into())
}

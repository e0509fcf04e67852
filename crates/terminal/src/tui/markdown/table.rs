//! [`Table`]: a table with its columns side by side.
use super::super::{look::Look, wrap::wrap};
use ratatui::text::{Line, Span};

type Cell = Vec<Span<'static>>;

/// Cells as they come.
#[derive(Default)]
pub(super) struct Table(Vec<Vec<Cell>>);

/// Between two columns.
const COLUMN_BAR: &str = " │ ";

impl Table {
    pub(super) fn row(&mut self) {
        self.0.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        if let Some(row) = self.0.last_mut() {
            row.push(cell);
        }
    }

    /// The rows of the screen: a line below the head, long cells in several.
    pub(super) fn rows(self, columns: usize, look: &Look) -> Vec<Cell> {
        let widths = self.widths(columns);
        let mut rows = Vec::new();
        for (place, row) in self.0.into_iter().enumerate() {
            rows.extend(laid_out(&row, &widths, look));
            if place == 0 {
                let line = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("─┼─");
                rows.push(vec![Span::styled(line, look.dim())]);
            }
        }
        rows
    }

    /// As wide as their longest cell, if there is room; else the widest give way first.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.0.iter().map(Vec::len).max().unwrap_or_default();
        let of = |place: usize| {
            self.0.iter().filter_map(|row| row.get(place)).map(length).max().unwrap_or_default()
        };
        let mut widths: Vec<usize> = (0..count).map(|place| of(place).max(1)).collect();
        let bars = COLUMN_BAR.chars().count() * count.saturating_sub(1);
        let room = columns.saturating_sub(bars).max(count);
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > 1 => *widest -= 1,
                _ => break,
            }
        }
        widths
    }
}

fn length(cell: &Cell) -> usize {
    cell.iter().map(Span::width).sum()
}

fn laid_out(row: &[Cell], widths: &[usize], look: &Look) -> Vec<Cell> {
    let cells: Vec<Vec<Cell>> = widths
        .iter()
        .enumerate()
        .map(|(place, width)| row.get(place).map_or(vec![Vec::new()], |cell| wrap(cell, *width)))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let last = widths.len().saturating_sub(1);
    let at = |line: usize| {
        let parts = cells.iter().zip(widths).enumerate().flat_map(move |(place, (cell, width))| {
            let mut spans = cell.get(line).cloned().unwrap_or_default();
            if place < last {
                let spare = width.saturating_sub(Line::from(spans.clone()).width());
                spans.push(Span::raw(" ".repeat(spare)));
                spans.push(Span::styled(COLUMN_BAR, look.dim()));
            }
            spans
        });
        parts.collect::<Cell>()
    };
    (0..height).map(at).collect()
}

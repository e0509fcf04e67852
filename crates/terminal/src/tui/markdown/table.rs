//! [`Table`]: lays out a table with its columns side by side.
use super::super::{
    look::Look,
    wrap::{hanging, wrap},
};
use ratatui::text::{Line, Span};

type Cell = Vec<Span<'static>>;

/// The rows so far.
#[derive(Default)]
pub(super) struct Table(Vec<Vec<Cell>>);

/// Separator of two columns.
const COLUMN_BAR: &str = " │ ";
/// Indentation of the fields of a record.
const RECORD_INDENT: &str = "  ";
/// Minimum width of a column of prose on a page, since narrower ones are hard to read.
const MIN_PROSE_COLUMNS: usize = 20;

impl Table {
    pub(super) fn row(&mut self) {
        self.0.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        if let Some(row) = self.0.last_mut() {
            row.push(cell);
        }
    }

    /// The rows of the screen: a line below the head, long cells wrapped.
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

    /// Whether columns would be so narrow that records are easier to read.
    pub(super) fn is_cramped(&self, columns: usize) -> bool {
        let widths = self.widths(columns);
        (0..widths.len()).any(|place| widths[place] < self.width(place).min(MIN_PROSE_COLUMNS))
    }

    /// The rows as records below each other: the first cell, and below it the others after their column's heading.
    pub(super) fn records(self, columns: usize, look: &Look) -> Vec<Cell> {
        let mut rows = self.0.into_iter();
        let heads = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for row in rows {
            for (place, (head, cell)) in
                heads.iter().zip(row).enumerate().filter(|(_, (_, cell))| length(cell) > 0)
            {
                let bold = |span: Span<'static>| Span { style: span.style.patch(look.bold()), ..span };
                match place {
                    0 => lines.extend(wrap(&cell.into_iter().map(bold).collect::<Cell>(), columns)),
                    _ => {
                        let head = Span::styled(format!("{}: ", Line::from(head.clone())), look.dim());
                        let text: Cell = std::iter::once(head).chain(cell).collect();
                        let rows = hanging(Span::raw(RECORD_INDENT), &text, columns);
                        lines.extend(rows.into_iter().map(|line| line.spans));
                    }
                }
            }
        }
        lines
    }

    fn width(&self, place: usize) -> usize {
        self.0.iter().filter_map(|row| row.get(place)).map(length).max().unwrap_or_default()
    }

    /// Column widths: those of the longest cells if there is room; otherwise the widest columns shrink first.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.0.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths: Vec<usize> = (0..count).map(|place| self.width(place).max(1)).collect();
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

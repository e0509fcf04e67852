//! [`wrap`]: lays out styled text in rows of a given width.
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The width of a text on the screen. A tab takes four columns.
pub(crate) fn width(text: &str) -> usize {
    text.graphemes(true).map(columns).sum()
}

fn columns(grapheme: &str) -> usize {
    if grapheme == "\t" { 4 } else { grapheme.width() }
}

struct Cell<'a> {
    text: &'a str,
    style: Style,
    columns: usize,
}

impl Cell<'_> {
    fn is_blank(&self) -> bool {
        matches!(self.text, " " | "\t")
    }
}

/// Wraps `spans` into rows, at least one. A row ends between words, or inside a word that is longer than a row.
pub(crate) fn wrap(spans: &[Span<'_>], width: usize) -> Vec<Vec<Span<'static>>> {
    let cells: Vec<Cell<'_>> = spans.iter().flat_map(cells).collect();
    let mut rows = Vec::new();
    let mut rest = &cells[..];
    while !rest.is_empty() {
        let (row, after) = rest.split_at(row_length(rest, width.max(1)));
        let row = if after.is_empty() { row } else { trimmed(row) };
        if !row.is_empty() {
            rows.push(joined(row));
        }
        rest = after;
    }
    if rows.is_empty() { vec![Vec::new()] } else { rows }
}

/// `width` columns of `spans` from the column `from` on, with `…` where something is missing.
pub(crate) fn window(spans: &[Span<'_>], from: usize, width: usize) -> Vec<Span<'static>> {
    let cells: Vec<Cell<'_>> = spans.iter().flat_map(cells).collect();
    let mut column = 0;
    let first = cells.iter().position(|cell| {
        column += cell.columns;
        column > from
    });
    let rest = &cells[first.unwrap_or(cells.len())..];
    let lead = (from > 0).then(|| Span::raw("…"));
    let room = width.saturating_sub(lead.iter().len());
    let is_cut = rest.iter().map(|cell| cell.columns).sum::<usize>() > room;
    let room = room.saturating_sub(usize::from(is_cut));
    let mut used = 0;
    let fits = rest.iter().take_while(|cell| {
        used += cell.columns;
        used <= room
    });
    let shown = joined(&rest[..fits.count()]);
    lead.into_iter().chain(shown).chain(is_cut.then(|| Span::raw("…"))).collect()
}

fn cells<'a>(span: &'a Span<'_>) -> impl Iterator<Item = Cell<'a>> {
    let style = span.style;
    span.content.graphemes(true).map(move |text| Cell { text, style, columns: columns(text) })
}

/// The number of cells in the next row, at least one.
fn row_length(cells: &[Cell<'_>], width: usize) -> usize {
    let mut used = 0;
    let mut last_break = None;
    for (place, cell) in cells.iter().enumerate() {
        if used + cell.columns > width && place > 0 {
            if cell.is_blank() {
                return place + 1;
            }
            // A word that is longer than a row is broken anyway, and stays where it begins.
            let fits = |start: &usize| word(&cells[*start..]) <= width;
            return last_break.filter(fits).unwrap_or(place);
        }
        used += cell.columns;
        if cell.is_blank() || cell.columns > 1 {
            last_break = Some(place + 1);
        }
    }
    cells.len()
}

/// Columns of the word at the beginning of `cells`. A wide character counts as a word.
fn word(cells: &[Cell<'_>]) -> usize {
    let rest = cells.iter().skip(1).take_while(|cell| !cell.is_blank() && cell.columns < 2);
    cells.iter().take(1).chain(rest).map(|cell| cell.columns).sum()
}

fn trimmed<'a, 'b>(row: &'a [Cell<'b>]) -> &'a [Cell<'b>] {
    let kept = row.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1);
    &row[..kept]
}

fn joined(row: &[Cell<'_>]) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for cell in row {
        let text = if cell.text == "\t" { "    " } else { cell.text };
        match spans.last_mut() {
            Some(last) if last.style == cell.style => last.content.to_mut().push_str(text),
            _ => spans.push(Span::styled(text.to_owned(), cell.style)),
        }
    }
    spans
}

/// Wraps `spans` with a hanging indent: the first row after `first`, the others after as many blanks.
pub(crate) fn hanging(first: Span<'static>, spans: &[Span<'_>], columns: usize) -> Vec<Line<'static>> {
    let indent = width(&first.content);
    let rows = wrap(spans, columns.saturating_sub(indent)).into_iter().enumerate();
    let lines = rows.map(|(place, row)| {
        let lead = if place == 0 { first.clone() } else { Span::raw(" ".repeat(indent)) };
        Line::from_iter(std::iter::once(lead).chain(row))
    });
    lines.collect()
}

/// Wraps a text whose indentation counts: the rows of a line are indented like the line.
pub(crate) fn laid_out(text: &str, style: Style, columns: usize) -> Vec<Line<'static>> {
    let rows = text.lines().flat_map(|line| {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let (lead, rest) = line.split_at(blanks.min(columns / 2));
        hanging(Span::raw(lead.to_owned()), &[Span::styled(rest.to_owned(), style)], columns)
    });
    rows.collect()
}

/// Cuts `line` to one row, with `…` where something is missing.
pub(crate) fn one_row(line: Line<'static>, columns: usize) -> Line<'static> {
    if line.width() <= columns {
        return line;
    }
    Line::from(window(&line.spans, 0, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: usize) -> Vec<String> {
        let rows = wrap(&[Span::raw(text.to_owned())], width).into_iter();
        rows.map(|row| row.iter().map(|span| span.content.as_ref()).collect()).collect()
    }

    #[test]
    fn rows_end_between_words_and_never_in_a_character() {
        let table: [(&str, usize, &[&str]); 15] = [
            ("", 5, &[""]),
            ("one two", 7, &["one two"]),
            ("one two", 6, &["one", "two"]),
            ("one two", 3, &["one", "two"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("a bcdefgh", 5, &["a bcd", "efgh"]),
            ("  a b", 4, &["  a", "b"]),
            ("  abcd", 4, &["abcd"]),
            ("  abcdef", 4, &["  ab", "cdef"]),
            ("    ", 6, &["    "]),
            ("curl https://a.b/c", 16, &["curl", "https://a.b/c"]),
            ("漢字漢字", 5, &["漢字", "漢字"]),
            ("漢字word漢字", 6, &["漢字", "word漢", "字"]),
            ("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]),
            ("漢", 1, &["漢"]),
        ];
        for (text, width, expected) in table {
            assert_eq!(rows(text, width), expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn a_window_says_where_something_is_missing() {
        let shown = |text: &str, from, width| {
            Line::from(window(&[Span::raw(text.to_owned())], from, width)).to_string()
        };
        let table = [
            ("abcdef", 0, 6, "abcdef"),
            ("abcdef", 0, 4, "abc…"),
            ("abcdef", 2, 5, "…cdef"),
            ("abcdef", 2, 4, "…cd…"),
            ("漢字漢字", 0, 4, "漢…"),
        ];
        for (text, from, width, expected) in table {
            assert_eq!(shown(text, from, width), expected, "{text:?} from {from} in {width}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_for_a_row_says_so() {
        let row = |text: &str, width| one_row(Line::raw(text.to_owned()), width).to_string();
        assert_eq!((row("abc", 3), row("abcd", 3)), ("abc".to_owned(), "ab…".to_owned()));
    }
}

//! Styled text laid out in rows of a given width.
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How wide a text is on the screen. A tab is four columns.
pub(crate) fn width(text: &str) -> usize {
    text.graphemes(true).map(columns).sum()
}

fn columns(grapheme: &str) -> usize {
    if grapheme == "\t" { 4 } else { grapheme.width() }
}

/// Where a row ends that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// Between words, or within one that is longer than a row.
    Words,
    /// Anywhere: code means its blanks.
    Anywhere,
}

struct Cell<'a> {
    text: &'a str,
    style: Style,
    columns: usize,
}

/// The rows of `spans`; at least one.
pub(crate) fn wrap(spans: &[Span<'_>], width: usize, at: Break) -> Vec<Vec<Span<'static>>> {
    let cells: Vec<Cell<'_>> = spans.iter().flat_map(cells).collect();
    let mut rows = Vec::new();
    let mut rest = &cells[..];
    while !rest.is_empty() {
        let (row, after) = rest.split_at(row_length(rest, width.max(1), at));
        let row = if after.is_empty() || at == Break::Anywhere { row } else { trimmed(row) };
        rows.push(joined(row));
        rest = after;
    }
    if rows.is_empty() { vec![Vec::new()] } else { rows }
}

fn cells<'a>(span: &'a Span<'_>) -> impl Iterator<Item = Cell<'a>> {
    let style = span.style;
    span.content.graphemes(true).map(move |text| Cell { text, style, columns: columns(text) })
}

/// How many cells make the next row; always one at least.
fn row_length(cells: &[Cell<'_>], width: usize, at: Break) -> usize {
    let mut used = 0;
    let mut last_break = None;
    for (place, cell) in cells.iter().enumerate() {
        if used + cell.columns > width && place > 0 {
            let is_blank = cell.text == " ";
            return match at {
                Break::Words if is_blank => place + 1,
                Break::Words => last_break.unwrap_or(place),
                Break::Anywhere => place,
            };
        }
        used += cell.columns;
        if cell.text == " " || cell.columns > 1 {
            last_break = Some(place + 1);
        }
    }
    cells.len()
}

fn trimmed<'a, 'b>(row: &'a [Cell<'b>]) -> &'a [Cell<'b>] {
    let kept = row.iter().rposition(|cell| cell.text != " ").map_or(0, |last| last + 1);
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

/// Rows behind `first`, and behind as many blanks as it is wide.
pub(crate) fn hanging(
    first: Span<'static>,
    spans: &[Span<'_>],
    columns: usize,
    at: Break,
) -> Vec<Line<'static>> {
    let indent = width(&first.content);
    let rows = wrap(spans, columns.saturating_sub(indent), at).into_iter().enumerate();
    let lines = rows.map(|(place, row)| {
        let lead = if place == 0 { first.clone() } else { Span::raw(" ".repeat(indent)) };
        Line::from_iter(std::iter::once(lead).chain(row))
    });
    lines.collect()
}

/// Cut to one row, with `…` where something is missing.
pub(crate) fn one_row(line: Line<'static>, columns: usize) -> Line<'static> {
    if line.width() <= columns {
        return line;
    }
    let mut rows = wrap(&line.spans, columns.saturating_sub(1), Break::Anywhere).into_iter();
    let mut row = rows.next().unwrap_or_default();
    row.push(Span::raw("…"));
    Line::from(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: usize, at: Break) -> Vec<String> {
        let rows = wrap(&[Span::raw(text.to_owned())], width, at).into_iter();
        rows.map(|row| row.iter().map(|span| span.content.as_ref()).collect()).collect()
    }

    #[test]
    fn rows_end_between_words_and_never_in_a_character() {
        let table: [(&str, usize, Break, &[&str]); 9] = [
            ("", 5, Break::Words, &[""]),
            ("one two", 7, Break::Words, &["one two"]),
            ("one two", 6, Break::Words, &["one", "two"]),
            ("one two", 3, Break::Words, &["one", "two"]),
            ("abcdefgh", 3, Break::Words, &["abc", "def", "gh"]),
            ("  a b", 4, Break::Anywhere, &["  a ", "b"]),
            ("漢字漢字", 5, Break::Words, &["漢字", "漢字"]),
            ("e\u{301}e\u{301}e\u{301}", 2, Break::Words, &["e\u{301}e\u{301}", "e\u{301}"]),
            ("漢", 1, Break::Anywhere, &["漢"]),
        ];
        for (text, width, at, expected) in table {
            assert_eq!(rows(text, width, at), expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_for_a_row_says_so() {
        let row = |text: &str, width| one_row(Line::raw(text.to_owned()), width).to_string();
        assert_eq!((row("abc", 3), row("abcd", 3)), ("abc".to_owned(), "ab…".to_owned()));
    }
}

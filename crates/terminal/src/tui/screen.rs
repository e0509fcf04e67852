//! [`Screen`]: the lower end of the terminal: finished lines go above it and belong to the terminal's own scrollback, a
//! few live lines stay and are redrawn where they changed.
//!
//! The cursor moves only relative to its position, so the terminal need not be asked for the position.
use super::{ansi, wrap::one_row};
use crate::Links;
use crossterm::{
    Command,
    cursor::{Hide, MoveRight, MoveTo, MoveUp, Show},
    terminal::{
        BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
    },
};
use haft_present::safe;
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use std::io::{self, Write};

/// Minimum rows to show more than the essential lines.
pub(super) const ROOMY_ROWS: usize = 16;

/// The output, and the lines that it shows.
pub(super) struct Screen<Out> {
    out: Out,
    pub(super) columns: usize,
    pub(super) rows: usize,
    shown: Vec<Line<'static>>,
    /// The row of the cursor, counted from the first live line.
    row: usize,
    column: usize,
    /// Whether the screen shows something else than `shown`.
    is_stale: bool,
    /// After the terminal has wrapped its lines for another width: how many rows above the cursor the live lines begin.
    up: Option<usize>,
    links: Links,
}

impl<Out: Write> Screen<Out> {
    /// The cursor must be at the beginning of an empty line.
    pub(super) fn new(out: Out, (columns, rows): (u16, u16)) -> Self {
        let (columns, rows) = (columns.max(1).into(), rows.max(1).into());
        Self {
            out,
            columns,
            rows,
            shown: Vec::new(),
            row: 0,
            column: 0,
            is_stale: true,
            up: None,
            links: Links::default(),
        }
    }

    /// Adds links to what is drawn.
    pub(super) fn with_links(self, links: Links) -> Self {
        Self { links, ..self }
    }

    pub(super) fn out(&mut self) -> &mut Out {
        &mut self.out
    }

    /// Writes `above` to the scrollback and `live` below it, with the cursor at a row and a column of `live`.
    pub(super) fn draw(
        &mut self,
        above: &[Line<'static>],
        live: Vec<Line<'static>>,
        cursor: Option<(usize, usize)>,
    ) -> io::Result<()> {
        let above: Vec<_> = above.iter().map(|line| self.fitting(line)).collect();
        let live: Vec<_> = live.iter().map(|line| self.fitting(line)).collect();
        if above.is_empty() && !self.is_stale && live == self.shown && cursor == Some((self.row, self.column))
        {
            return Ok(());
        }
        let mut text = begun();
        up(&mut text, self.up.take().unwrap_or(self.row));
        match above.is_empty() && !self.is_stale {
            true => self.changed_rows(&mut text, &live),
            false => self.all_rows(&mut text, &above, &live),
        }
        let (row, column) = cursor.unwrap_or((live.len().saturating_sub(1), 0));
        up(&mut text, live.len().saturating_sub(1).saturating_sub(row));
        right(&mut text, column);
        if cursor.is_some() {
            put(&mut text, Show);
        }
        end(&mut text);
        (self.shown, self.row, self.column, self.is_stale) = (live, row, column, false);
        self.raw(&text)
    }

    fn all_rows(&self, text: &mut String, above: &[Line<'static>], live: &[Line<'static>]) {
        text.push('\r');
        put(text, Clear(ClearType::FromCursorDown));
        for line in above {
            self.paint(text, line);
            text.push_str("\r\n");
        }
        for (row, line) in live.iter().enumerate() {
            if row > 0 {
                text.push_str("\r\n");
            }
            self.paint(text, line);
        }
    }

    /// A line with its colors and links.
    fn paint(&self, text: &mut String, line: &Line<'_>) {
        let mut painted = String::new();
        ansi::paint(&mut painted, line, self.columns);
        // A line counts as full if only its last column is free, since a wide character does not fit there.
        *text += &self.links.linked(&painted, line.width() + 1 >= self.columns);
    }

    fn changed_rows(&self, text: &mut String, live: &[Line<'static>]) {
        for (row, line) in live.iter().enumerate() {
            if row > 0 {
                text.push_str("\r\n");
            }
            if self.shown.get(row) != Some(line) {
                text.push('\r');
                put(text, Clear(ClearType::UntilNewLine));
                self.paint(text, line);
            }
        }
        if self.shown.len() > live.len() {
            text.push_str("\r\n");
            put(text, Clear(ClearType::FromCursorDown));
            up(text, 1);
        }
    }

    /// Notes a new size. The terminal has wrapped its lines: those that do not fit take more rows.
    pub(super) fn resized(&mut self, columns: u16, rows: u16) {
        (self.columns, self.rows) = (columns.max(1).into(), rows.max(1).into());
        let rows_of = |line: &Line<'_>| line.width().div_ceil(self.columns).max(1);
        let above: usize = self.shown.iter().take(self.row).map(rows_of).sum();
        self.up = Some((above + self.column / self.columns).min(self.rows - 1));
        self.is_stale = true;
    }

    /// The line in one row, without characters that move the cursor.
    fn fitting(&self, line: &Line<'_>) -> Line<'static> {
        let harmless = |span: &Span<'_>| {
            let text = safe::text(&span.content).replace('\t', "    ").replace('\n', " ");
            Span::styled(text, line.style.patch(span.style))
        };
        let ground = Style { bg: line.style.bg, ..Style::new() };
        one_row(line.spans.iter().map(harmless).collect(), self.columns).style(ground)
    }

    /// Notes that another program wrote below the live lines, which are redrawn at the cursor.
    pub(super) fn lost(&mut self) {
        self.shown.clear();
        (self.row, self.column, self.is_stale, self.up) = (0, 0, true, None);
    }

    /// Erases the live lines; the cursor is then where they began.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let mut text = String::new();
        up(&mut text, self.up.take().unwrap_or(self.row));
        text.push('\r');
        put(&mut text, Clear(ClearType::FromCursorDown));
        put(&mut text, Show);
        (self.row, self.column, self.is_stale) = (0, 0, true);
        self.shown.clear();
        self.raw(&text)
    }

    /// Writes the sequence of a picture in place of the live lines; the next lines are drawn below it.
    pub(super) fn picture(&mut self, sequence: &str) -> io::Result<()> {
        self.clear()?;
        self.raw(&format!("{sequence}\r\n"))
    }

    /// Writes a sequence that is not a line: a bell, a title, the switch to another screen.
    pub(super) fn raw(&mut self, sequence: &str) -> io::Result<()> {
        self.out.write_all(sequence.as_bytes())?;
        self.out.flush()
    }

    /// Draws all rows of the alternate screen, from its upper left corner on.
    pub(super) fn fill(&mut self, lines: &[Line<'static>]) -> io::Result<()> {
        let mut text = begun();
        put(&mut text, MoveTo(0, 0));
        for row in 0..self.rows {
            text.push_str(if row == 0 { "\r" } else { "\r\n" });
            put(&mut text, Clear(ClearType::UntilNewLine));
            lines.get(row).into_iter().for_each(|line| self.paint(&mut text, &self.fitting(line)));
        }
        end(&mut text);
        self.raw(&text)
    }
}

/// The beginning of an update that the terminal shows at once, in which rows do not wrap.
fn begun() -> String {
    let mut text = String::new();
    put(&mut text, BeginSynchronizedUpdate);
    put(&mut text, Hide);
    put(&mut text, DisableLineWrap);
    text
}

fn end(text: &mut String) {
    put(text, EnableLineWrap);
    put(text, EndSynchronizedUpdate);
}

fn put(text: &mut String, command: impl Command) {
    command.write_ansi(text).expect("a `String` takes everything");
}

fn up(text: &mut String, rows: usize) {
    if rows > 0 {
        put(text, MoveUp(rows.try_into().unwrap_or(u16::MAX)));
    }
}

fn right(text: &mut String, columns: usize) {
    text.push('\r');
    if columns > 0 {
        put(text, MoveRight(columns.try_into().unwrap_or(u16::MAX)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(screen: &mut Screen<Vec<u8>>) -> String {
        String::from_utf8(std::mem::take(&mut screen.out)).unwrap().replace('\x1b', "^")
    }

    fn lines(texts: &[&str]) -> Vec<Line<'static>> {
        texts.iter().map(|text| Line::raw((*text).to_owned())).collect()
    }

    #[test]
    fn only_what_changed_is_drawn() {
        let mut screen = Screen::new(Vec::new(), (20, 5));
        screen.draw(&lines(&["done"]), lines(&["a", "b"]), Some((1, 1))).unwrap();
        assert_eq!(drawn(&mut screen), "^[?2026h^[?25l^[?7l\r^[Jdone\r\na\r\nb\r^[1C^[?25h^[?7h^[?2026l");
        screen.draw(&[], lines(&["a", "b"]), Some((1, 1))).unwrap();
        assert_eq!(drawn(&mut screen), "");
        screen.draw(&[], lines(&["a", "c"]), Some((1, 1))).unwrap();
        assert_eq!(drawn(&mut screen), "^[?2026h^[?25l^[?7l^[1A\r\n\r^[Kc\r^[1C^[?25h^[?7h^[?2026l");
        screen.draw(&[], lines(&["a"]), Some((0, 0))).unwrap();
        assert_eq!(drawn(&mut screen), "^[?2026h^[?25l^[?7l^[1A\r\n^[J^[1A\r^[?25h^[?7h^[?2026l");
    }

    #[test]
    fn after_a_resize_everything_is_drawn_from_where_it_now_begins() {
        let mut screen = Screen::new(Vec::new(), (20, 9));
        screen.draw(&[], lines(&["0123456789", "x"]), Some((1, 0))).unwrap();
        drawn(&mut screen);
        screen.resized(4, 9);
        screen.draw(&[], lines(&["0123", "x"]), Some((1, 0))).unwrap();
        assert!(drawn(&mut screen).starts_with("^[?2026h^[?25l^[?7l^[3A\r^[J"));
    }

    #[test]
    fn below_what_somebody_else_wrote_everything_is_drawn_again() {
        let mut screen = Screen::new(Vec::new(), (20, 9));
        screen.draw(&[], lines(&["a", "b"]), Some((1, 1))).unwrap();
        drawn(&mut screen);
        screen.lost();
        screen.draw(&[], lines(&["a", "b"]), Some((1, 1))).unwrap();
        assert_eq!(drawn(&mut screen), "^[?2026h^[?25l^[?7l\r^[Ja\r\nb\r^[1C^[?25h^[?7h^[?2026l");
    }

    /// D15: entities of Markdown, names and errors are drawn unchanged.
    #[test]
    fn nothing_that_is_drawn_moves_the_cursor() {
        let mut screen = Screen::new(Vec::new(), (20, 5));
        let evil = lines(&["a\u{1b}]0;title\u{7}b\nc\td\u{9b}2J\re", &"wide ".repeat(9)]);
        screen.draw(&evil, evil.clone(), None).unwrap();
        let text = drawn(&mut screen);
        let (_, text) = text.split_once("^[J").unwrap();
        let rows: Vec<&str> =
            text.trim_end_matches("^[?7h^[?2026l").trim_end_matches('\r').split("\r\n").collect();
        assert_eq!(
            rows,
            ["a]0;titlebc    d2Je", "wide wide wide wide…", "a]0;titlebc    d2Je", "wide wide wide wide…"]
        );
    }

    #[test]
    fn two_resizes_are_counted_from_what_was_drawn() {
        let mut screen = Screen::new(Vec::new(), (20, 99));
        screen.draw(&[], lines(&["0123456789", "x"]), Some((1, 0))).unwrap();
        drawn(&mut screen);
        for columns in [2, 1, 5] {
            screen.resized(columns, 99);
        }
        screen.draw(&[], lines(&["x"]), Some((0, 0))).unwrap();
        assert!(drawn(&mut screen).starts_with("^[?2026h^[?25l^[?7l^[2A\r^[J"));
    }
}

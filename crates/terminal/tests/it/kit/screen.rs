//! [`Screen`]: a terminal as a `Buffer` of ratatui: what a conversation writes is carried out as terminals do (ECMA-48).
use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
    style::{Color, Modifier, Style},
};
use std::io::{self, Write};
use unicode_width::UnicodeWidthChar;

/// Rows of cells, a cursor, and what was scrolled away.
pub(crate) struct Screen {
    buffer: Buffer,
    row: u16,
    column: u16,
    style: Style,
    scrolled: Vec<String>,
    /// What a page covers, with its cursor.
    covered: Option<(Buffer, u16, u16)>,
    unread: Vec<u8>,
    /// The titles, notifications and contents of the clipboard that were written.
    pub(crate) commands: Vec<String>,
}

impl Screen {
    pub(crate) fn new((columns, rows): (u16, u16)) -> Self {
        Self {
            buffer: Buffer::empty(Rect::new(0, 0, columns, rows)),
            row: 0,
            column: 0,
            style: Style::default(),
            scrolled: Vec::new(),
            covered: None,
            unread: Vec::new(),
            commands: Vec::new(),
        }
    }

    pub(crate) fn size(&self) -> (u16, u16) {
        (self.buffer.area.width, self.buffer.area.height)
    }

    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.row.into(), self.column.into())
    }

    /// What is seen, without blanks at the ends of rows and without empty rows at the end.
    pub(crate) fn text(&self) -> String {
        let rows = (0..self.buffer.area.height).map(|row| self.text_of(row)).collect::<Vec<_>>();
        rows.join("\n").trim_end().to_owned() + "\n"
    }

    pub(crate) fn all(&self) -> String {
        self.scrolled.iter().map(|row| format!("{row}\n")).collect::<String>() + &self.text()
    }

    fn cells_of(&self, row: u16) -> &[Cell] {
        let width = usize::from(self.buffer.area.width);
        &self.buffer.content[usize::from(row) * width..][..width]
    }

    fn text_of(&self, row: u16) -> String {
        let text: String = self.cells_of(row).iter().map(Cell::symbol).collect();
        text.trim_end().to_owned()
    }

    /// Lays out the rows anew, as most terminals do: one that no longer fits takes several.
    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        let wide = usize::from(columns);
        let (mut laid_out, mut cursor) = (Vec::new(), (0, 0));
        for row in 0..=self.row {
            let cells = self.cells_of(row);
            let used = cells.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |last| last + 1);
            if row == self.row {
                let at = usize::from(self.column);
                cursor = (laid_out.len() + at / wide, at % wide);
            }
            match used {
                0 => laid_out.push(Vec::new()),
                used => laid_out.extend(cells[..used].chunks(wide).map(<[Cell]>::to_vec)),
            }
        }
        let skipped = (cursor.0 + 1).saturating_sub(rows.into());
        let text = |row: &Vec<Cell>| row.iter().map(Cell::symbol).collect::<String>();
        self.scrolled.extend(laid_out.iter().take(skipped).map(text));
        self.buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        for (row, cells) in laid_out.into_iter().skip(skipped).take(rows.into()).enumerate() {
            for (column, cell) in cells.into_iter().enumerate() {
                self.buffer.content[row * wide + column] = cell;
            }
        }
        (self.row, self.column) = ((cursor.0 - skipped) as u16, cursor.1 as u16);
    }

    fn interpret(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            rest = match c {
                '\u{1b}' => self.escape(rest),
                '\r' => {
                    self.column = 0;
                    rest
                }
                '\n' => {
                    self.feed();
                    rest
                }
                '\u{7}' => rest,
                c => {
                    self.print(c);
                    rest
                }
            };
        }
    }

    /// What stands behind the sequence.
    fn escape<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some(control) = text.strip_prefix('[') {
            let end = control.find(|c: char| ('@'..='~').contains(&c)).unwrap();
            self.control(&control[..end], control.as_bytes()[end]);
            return &control[end + 1..];
        }
        let command = text.strip_prefix(']').expect("a conversation writes no other sequences");
        let (command, rest) = command.split_once('\u{7}').unwrap();
        self.commands.push(command.to_owned());
        rest
    }

    fn control(&mut self, numbers: &str, what: u8) {
        let count = numbers.parse().unwrap_or(1);
        match (what, numbers) {
            (b'A', _) => self.row = self.row.saturating_sub(count),
            (b'C', _) => self.column = (self.column + count).min(self.buffer.area.width - 1),
            (b'G', _) => self.column = count - 1,
            (b'H', "" | "1;1") => (self.row, self.column) = (0, 0),
            (b'J', "" | "0") => self.erase(usize::MAX),
            (b'K', "" | "0") => self.erase(usize::from(self.buffer.area.width - self.column)),
            (b'm', _) => self.style = styled(self.style, numbers),
            (b'h', "?1049") => {
                let empty = Buffer::empty(self.buffer.area);
                self.covered = Some((std::mem::replace(&mut self.buffer, empty), self.row, self.column));
            }
            (b'l', "?1049") => {
                let covered = self.covered.take().expect("a page was shown");
                (self.buffer, self.row, self.column) = covered;
            }
            (b'h' | b'l', "?25" | "?7" | "?2026") => {}
            (what, numbers) => panic!("unknown sequence {numbers} {}", char::from(what)),
        }
    }

    fn erase(&mut self, most: usize) {
        let from = usize::from(self.row) * usize::from(self.buffer.area.width) + usize::from(self.column);
        let mut blank = Cell::default();
        blank.set_style(Style { bg: self.style.bg, ..Style::default() });
        self.buffer.content.iter_mut().skip(from).take(most).for_each(|cell| *cell = blank.clone());
    }

    fn feed(&mut self) {
        if self.row + 1 < self.buffer.area.height {
            self.row += 1;
            return;
        }
        self.scrolled.push(self.text_of(0));
        let wide = usize::from(self.buffer.area.width);
        self.buffer.content.rotate_left(wide);
        let last = self.buffer.content.len() - wide;
        self.buffer.content[last..].fill(Cell::default());
    }

    fn print(&mut self, c: char) {
        let (width, columns) = (c.width().unwrap_or(0) as u16, self.buffer.area.width);
        if width == 0 {
            let before = &mut self.buffer[(self.column.saturating_sub(1), self.row)];
            let symbol = format!("{}{c}", before.symbol());
            before.set_symbol(&symbol);
            return;
        }
        assert!(self.column + width <= columns, "{c:?} does not fit at {} of {columns}", self.column);
        self.buffer[(self.column, self.row)].set_char(c).set_style(self.style);
        if width == 2 {
            self.buffer[(self.column + 1, self.row)].set_symbol("");
        }
        self.column += width;
    }
}

/// Bytes are carried out when they are flushed, so that no character is cut.
impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unread.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = String::from_utf8(std::mem::take(&mut self.unread)).unwrap();
        self.interpret(&text);
        Ok(())
    }
}

/// The attributes and colors of `SGR`.
fn styled(style: Style, numbers: &str) -> Style {
    let mut numbers = numbers.split(';').map(|number| number.parse::<u8>().unwrap_or(0));
    let mut style = style;
    while let Some(number) = numbers.next() {
        style = match number {
            0 => Style::default(),
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            color @ 30..=37 => style.fg(Color::Indexed(color - 30)),
            color @ 90..=97 => style.fg(Color::Indexed(color - 82)),
            color @ 40..=47 => style.bg(Color::Indexed(color - 40)),
            color @ 100..=107 => style.bg(Color::Indexed(color - 92)),
            ground @ (38 | 48) => {
                let color = match numbers.next() {
                    Some(5) => Color::Indexed(numbers.next().unwrap()),
                    _ => {
                        let mut part = || numbers.next().unwrap();
                        Color::Rgb(part(), part(), part())
                    }
                };
                if ground == 38 { style.fg(color) } else { style.bg(color) }
            }
            39 => Style { fg: None, ..style },
            49 => Style { bg: None, ..style },
            other => panic!("unknown attribute {other}"),
        };
    }
    style
}

//! [`Input`]: the text that the user is typing: several lines, folded pastes, attached pictures.
use super::{
    look::Look,
    vim::{Pressed, Vim},
    wrap::one_row,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_core::Image;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::Widget,
};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr;
use url::Url;

/// A paste with more lines or more bytes is folded into a mark.
const LONG_PASTE_SIZE: (usize, usize) = (10, 1_000);
/// Maximum rows of the field.
const MAX_ROWS: usize = 10;

/// The typed text, its history, and the content of its marks.
pub(super) struct Input {
    area: TextArea<'static>,
    history: Vec<String>,
    /// Index of the shown history entry, and the text that was typed before.
    at: Option<(usize, Draft)>,
    pastes: Vec<(String, String)>,
    pictures: Vec<(String, Attached)>,
    /// State of the keys of vi, if they are enabled.
    vim: Option<Vim>,
}

/// A picture or a PDF that is attached to a prompt.
pub(super) enum Attached {
    File(PathBuf),
    Document(PathBuf),
    /// A picture from the clipboard.
    Image(Image),
}

/// Typed text that was put aside, with the content of its marks.
pub(super) struct Draft {
    text: String,
    pastes: Vec<(String, String)>,
    pictures: Vec<(String, Attached)>,
}

impl Input {
    pub(super) fn new(history: Vec<String>, is_vim: bool) -> Self {
        let (pastes, pictures, vim) = (Vec::new(), Vec::new(), is_vim.then(Vim::default));
        Self { area: area(&[String::new()]), history, at: None, pastes, pictures, vim }
    }

    /// The mode of vi, if its keys are enabled.
    pub(super) fn vim_mode(&self) -> Option<&'static str> {
        self.vim.as_ref().map(|vim| if vim.is_normal() { "NORMAL" } else { "INSERT" })
    }

    /// Whether letters are commands.
    pub(super) fn is_in_normal_mode(&self) -> bool {
        self.vim.as_ref().is_some_and(Vim::is_normal)
    }

    /// Handles a key of vi; returns whether it was one.
    pub(super) fn vim_key(&mut self, key: KeyEvent) -> bool {
        match self.vim.as_mut().map(|vim| vim.press(&mut self.area, key)) {
            Some(Pressed::Done) => {}
            Some(Pressed::Earlier) => self.up(),
            Some(Pressed::Later) => self.down(),
            Some(Pressed::Other) | None => return false,
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// The text in the field.
    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Clears the field and returns its content, to be [restored](Self::restore).
    pub(super) fn put_aside(&mut self) -> Draft {
        let (text, pastes) = (self.text(), std::mem::take(&mut self.pastes));
        let draft = Draft { text, pastes, pictures: std::mem::take(&mut self.pictures) };
        self.clear();
        draft
    }

    pub(super) fn restore(&mut self, draft: Draft) {
        self.clear();
        self.set(&draft.text);
        (self.pastes, self.pictures) = (draft.pastes, draft.pictures);
    }

    /// The text with its marks replaced by the pasted text.
    pub(super) fn whole(&self) -> String {
        unfolded(&self.text(), &self.pastes)
    }

    /// Replaces the [whole](Self::whole) text; pictures that the new text still names stay attached.
    pub(super) fn rewrite(&mut self, text: &str) {
        self.set(text);
        self.pastes.clear();
    }

    pub(super) fn set(&mut self, text: &str) {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        self.area = area(&lines);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    pub(super) fn clear(&mut self) {
        self.set("");
        (self.at, self.pastes, self.pictures) = (None, Vec::new(), Vec::new());
    }

    /// Takes the text, with marks replaced by the pasted text, and the attachments; clears the field.
    pub(super) fn take(&mut self) -> (String, Vec<Attached>) {
        let text = self.text();
        let pictures = self.pictures.drain(..).filter(|(mark, _)| text.contains(mark.as_str()));
        let pictures = pictures.map(|(_, picture)| picture).collect();
        let text = unfolded(&text, &self.pastes);
        self.push(&text);
        self.clear();
        if let Some(vim) = &mut self.vim {
            vim.insert();
        }
        (text, pictures)
    }

    /// Adds a draft to the history.
    pub(super) fn remember(&mut self, draft: Draft) {
        self.push(&unfolded(&draft.text, &draft.pastes));
    }

    fn push(&mut self, text: &str) {
        if self.history.last().is_none_or(|last| last != text) && !text.trim().is_empty() {
            self.history.push(text.to_owned());
        }
    }

    /// Puts an earlier prompt into the field; a long one is folded again.
    pub(super) fn recall(&mut self, text: &str) {
        self.clear();
        match is_long(text) {
            true => self.paste(text),
            false => self.set(text),
        }
    }

    /// Like [`Self::recall`], with pictures, whose marks the text may hold. If a mark is inside folded text, it is
    /// appended again.
    pub(super) fn recall_with(&mut self, text: &str, pictures: impl Iterator<Item = Image>) {
        self.recall(text);
        for (place, picture) in pictures.enumerate() {
            let (mark, picture) = (format!("[picture {}]", place + 1), Attached::Image(picture));
            match self.text().contains(&mark) {
                true => self.pictures.push((mark, picture)),
                false => self.attach(picture),
            }
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(paths) = pictures(&text) {
            return paths.into_iter().for_each(|path| self.attach(Attached::File(path)));
        }
        if !is_long(&text) {
            self.area.insert_str(text);
            return;
        }
        let lines = text.lines().count();
        let s = if lines == 1 { "" } else { "s" };
        let mark = format!("[paste {}: {lines} line{s}]", self.pastes.len() + 1);
        self.area.insert_str(&mark);
        self.pastes.push((mark, text));
    }

    /// Attaches a picture or a document.
    pub(super) fn attach(&mut self, picture: Attached) {
        let kind = if matches!(picture, Attached::Document(_)) { "document" } else { "picture" };
        let mark = format!("[{kind} {}]", self.pictures.len() + 1);
        self.area.insert_str(&mark);
        self.pictures.push((mark, picture));
    }

    /// Handles a key of the text field; returns whether it was one.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Char(_) if self.is_in_normal_mode() && self.vim_key(key) => {}
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.area.delete_line_by_head();
            }
            KeyCode::Tab | KeyCode::Esc => return false,
            KeyCode::Backspace if key.modifiers.is_empty() && self.erase_mark() => {}
            _ => return self.area.input(key),
        }
        true
    }

    /// Deletes the mark that ends at the cursor as if it were one character, since half of a mark has no meaning. Its
    /// paste stays stored, so that no other paste gets its number.
    fn erase_mark(&mut self) -> bool {
        let before = self.before_cursor();
        let marks =
            self.pastes.iter().map(|(mark, _)| mark).chain(self.pictures.iter().map(|(mark, _)| mark));
        let Some(length) =
            marks.filter(|mark| before.ends_with(*mark)).map(|mark| mark.chars().count()).next()
        else {
            return false;
        };
        for _ in 0..length {
            self.area.delete_char();
        }
        true
    }

    pub(super) fn new_line(&mut self) {
        self.area.insert_newline();
    }

    /// Moves one line up; from the first line, to the previous prompt.
    pub(super) fn up(&mut self) {
        match self.area.cursor().0 {
            0 => self.earlier(),
            _ => self.area.move_cursor(CursorMove::Up),
        }
    }

    /// Moves one line down; from the last line, to the next prompt.
    pub(super) fn down(&mut self) {
        match self.area.cursor().0 + 1 < self.area.lines().len() {
            true => self.area.move_cursor(CursorMove::Down),
            false => self.later(),
        }
    }

    fn earlier(&mut self) {
        let place = self.at.as_ref().map_or(self.history.len(), |(place, _)| *place).saturating_sub(1);
        let Some(text) = self.history.get(place).cloned() else { return };
        let draft = self.at.take().map(|(_, draft)| draft).unwrap_or_else(|| self.put_aside());
        self.recall(&text);
        self.at = Some((place, draft));
    }

    fn later(&mut self) {
        let Some((place, draft)) = self.at.take() else { return };
        match self.history.get(place + 1).cloned() {
            Some(text) => {
                self.recall(&text);
                self.at = Some((place + 1, draft));
            }
            None => self.restore(draft),
        }
    }

    pub(super) fn history(&self) -> &[String] {
        &self.history
    }

    /// Whether the cursor is in the last line and that ends with a `\`, which is then replaced by a line break.
    pub(super) fn goes_on(&mut self) -> bool {
        let cursor = self.area.cursor();
        let goes_on = self.area.lines()[cursor.0].ends_with('\\') && cursor.0 + 1 == self.area.lines().len();
        if goes_on {
            self.area.move_cursor(CursorMove::End);
            self.area.delete_char();
            self.area.insert_newline();
        }
        goes_on
    }

    /// The word that ends at the cursor.
    pub(super) fn word(&self) -> String {
        let cursor = self.area.cursor();
        let before: String = self.area.lines()[cursor.0].chars().take(cursor.1).collect();
        before.rsplit(char::is_whitespace).next().unwrap_or_default().to_owned()
    }

    /// Replaces that word by `text`, or by an attachment.
    pub(super) fn replace_word(&mut self, text: &str, attached: Option<Attached>) {
        for _ in 0..self.word().chars().count() {
            self.area.delete_char();
        }
        match attached {
            Some(attached) => self.attach(attached),
            None => {
                self.area.insert_str(text);
            }
        }
        self.area.insert_char(' ');
    }

    /// The text in front of the cursor.
    pub(super) fn before_cursor(&self) -> String {
        let cursor = self.area.cursor();
        let lines = self.area.lines();
        let line: String = lines[cursor.0].chars().take(cursor.1).collect();
        lines[..cursor.0].iter().map(|line| format!("{line}\n")).collect::<String>() + &line
    }

    /// Replaces the text between byte `start` and the cursor by `text`.
    pub(super) fn replace_from(&mut self, start: usize, text: &str) {
        for _ in self.before_cursor().get(start..).unwrap_or_default().chars() {
            self.area.delete_char();
        }
        self.area.insert_str(text);
        self.area.insert_char(' ');
    }

    /// The rows of the field after the prompt's mark, and the position of the cursor in them.
    pub(super) fn rows(&mut self, columns: usize, look: &Look) -> (Vec<Line<'static>>, (usize, usize)) {
        self.rows_for(PLACEHOLDER, columns, look)
    }

    /// Like [`Self::rows`], after the colored mark of a command that the user runs.
    pub(super) fn command_rows(
        &mut self,
        columns: usize,
        look: &Look,
    ) -> (Vec<Line<'static>>, (usize, usize)) {
        let (rows, cursor) = self.rows(columns, look);
        let colored = |span: Span<'static>| Span::styled(span.content, span.style.patch(look.warn()));
        let row = |(place, row): (usize, Line<'static>)| {
            let mut spans: Vec<Span<'static>> = row.spans.into_iter().map(colored).collect();
            if let Some(mark) = spans.first_mut().filter(|_| place == 0) {
                mark.content = COMMAND_MARK.into();
            }
            Line::from(spans)
        };
        (rows.into_iter().enumerate().map(row).collect(), cursor)
    }

    /// Whether the typed text is a command that the user runs, not a prompt.
    pub(super) fn is_command(&self) -> bool {
        self.text().trim_start().starts_with('!')
    }

    /// Like [`Self::rows`], with another placeholder while nothing is typed.
    pub(super) fn rows_for(
        &mut self,
        placeholder: &'static str,
        columns: usize,
        look: &Look,
    ) -> (Vec<Line<'static>>, (usize, usize)) {
        if self.is_empty() {
            let mark = Span::styled(MARK, look.accent());
            let row = Line::from_iter([mark, Span::styled(placeholder, look.dim())]);
            return (vec![one_row(row, columns)], (0, MARK.len()));
        }
        let width = columns.saturating_sub(MARK.len()).max(1) as u16;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, MAX_ROWS as u16));
        (&self.area).render(buffer.area, &mut buffer);
        let height = self.height().min(MAX_ROWS);
        let cursor = self.area.screen_cursor();
        let top = usize::from(self.area.scroll_offset().0);
        let rows = (0..height).map(|row| {
            let mark = if row == 0 { MARK } else { "  " };
            Line::from_iter(
                std::iter::once(Span::styled(mark, look.accent())).chain(spans(&buffer, row as u16)),
            )
        });
        (rows.collect(), (cursor.row.saturating_sub(top), (cursor.col + MARK.len()).min(columns - 1)))
    }

    /// The number of all rows, visible or not.
    fn height(&self) -> usize {
        let mut end = self.area.clone();
        end.move_cursor(CursorMove::Bottom);
        end.move_cursor(CursorMove::End);
        end.screen_cursor().row + 1
    }
}

/// The mark in front of the first row.
const MARK: &str = "> ";
/// The mark before a command, as wide as that of a prompt.
const COMMAND_MARK: &str = "$ ";
/// Placeholder of an empty field.
const PLACEHOLDER: &str = "what to do?  / for commands, @ for files, ? for keys";

/// The text with each mark replaced by its paste. Pasted text is not searched for marks: it may contain one of its own.
fn unfolded(text: &str, pastes: &[(String, String)]) -> String {
    let place = |(mark, paste): &(String, String)| Some((text.find(mark)?, mark.len(), paste.clone()));
    let mut found: Vec<(usize, usize, String)> = pastes.iter().filter_map(place).collect();
    found.sort_by_key(|(at, ..)| *at);
    let (mut whole, mut end) = (String::new(), 0);
    for (at, length, paste) in found {
        whole += &text[end..at];
        whole += &paste;
        end = at + length;
    }
    whole + &text[end..]
}

fn is_long(text: &str) -> bool {
    text.lines().count() > LONG_PASTE_SIZE.0 || text.len() > LONG_PASTE_SIZE.1
}

fn area(lines: &[String]) -> TextArea<'static> {
    let mut area = TextArea::new(lines.to_vec());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::default());
    area.set_cursor_style(Style::default());
    area
}

/// Converts a row of cells to text; a wide character takes two cells.
fn spans(buffer: &Buffer, row: u16) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut column = 0;
    while column < buffer.area.width {
        let cell = &buffer[(column, row)];
        match spans.last_mut() {
            Some(last) if last.style == shown(cell.style()) => last.content.to_mut().push_str(cell.symbol()),
            _ => spans.push(Span::styled(cell.symbol().to_owned(), shown(cell.style()))),
        }
        column += cell.symbol().width().max(1) as u16;
    }
    if let Some(last) = spans.last_mut() {
        let kept = last.content.trim_end().len();
        last.content.to_mut().truncate(kept);
    }
    spans
}

fn shown(style: Style) -> Style {
    use ratatui::style::Color::Reset;
    Style { bg: None, underline_color: None, fg: style.fg.filter(|color| *color != Reset), ..style }
}

/// The files that were dropped onto the terminal, if models can read all of them: one plain path, or shell-quoted paths
/// and addresses.
fn pictures(text: &str) -> Option<Vec<PathBuf>> {
    let text = text.trim();
    if let Some(path) = picture(Path::new(text)) {
        return Some(vec![path]);
    }
    let path = |word: &String| match Url::parse(word).ok().filter(|url| url.scheme() == "file") {
        Some(url) => picture(&url.to_file_path().ok()?),
        None => picture(Path::new(word)),
    };
    let paths = shlex::split(text)?.iter().map(path).collect::<Option<Vec<_>>>()?;
    (!paths.is_empty()).then_some(paths)
}

/// Returns `path` if it is a file that models can read.
pub(super) fn picture(path: &Path) -> Option<PathBuf> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    (["png", "jpg", "jpeg", "gif", "webp"].contains(&ending.as_str()) && path.is_file())
        .then(|| path.to_owned())
}

//! [`choose`], [`session`] and [`secret`]: ask questions before a conversation starts: the choice of a line, the choice
//! of a session, and a hidden line.
use super::{
    list::{Item, List},
    look::Look,
    screen::{ROOMY_ROWS, Screen},
    sessions::Ahead,
    terminal::Terminal,
    wrap::laid_out,
};
use crate::bindings::{Keys, Place};
use crate::signals::Interrupts;
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::StreamExt;
use haft_engine::Home;
use ratatui::text::{Line, Span};
use std::{
    cell::RefCell,
    io::{self, Stdout, stdout},
    path::Path,
};

/// Rows in addition to the list and the text below it: the title, the typed text, the count of hidden items, and the
/// shell's own line.
const ROWS_AROUND_LIST: usize = 4;
/// Maximum marks for a hidden line, so that they do not reveal its length.
const MAX_MARKS: usize = 8;

/// Lets the user choose one of `lines`, each a label and its details, with a `note` below them. Returns its index;
/// `None` if the user leaves.
///
/// # Errors
///
/// Where the terminal cannot be read or drawn on.
pub async fn choose(
    title: &str,
    lines: &[(String, String)],
    note: Option<&str>,
    look: Look,
) -> io::Result<Option<usize>> {
    let item = |(place, (label, detail)): (usize, &(String, String))| Item {
        value: place.to_string(),
        label: label.clone(),
        detail: detail.clone(),
    };
    let list = List::tall(lines.iter().enumerate().map(item).collect());
    let menu = ask(Menu { title, list, note, typed: String::new(), look }).await?;
    Ok(menu.and_then(|menu| menu.list.chosen()?.value.parse().ok()))
}

/// Lets the user choose one of the sessions in `workspace`, and shows the last prompt and reply of the one at the
/// cursor. Returns its ID; `None` if the user leaves. A single session is returned without asking; if no session has a
/// prompt, `newest` is returned.
///
/// # Errors
///
/// Where the terminal cannot be read or drawn on.
pub async fn session(
    home: &Home,
    workspace: &Path,
    newest: String,
    look: Look,
) -> io::Result<Option<String>> {
    let ahead = Ahead::of(home, workspace);
    let list = ahead.list();
    if !list.is_choice() {
        return Ok(Some(list.chosen().map_or(newest, |item| item.value.clone())));
    }
    let menu = Menu { title: "Which session?", list, note: None, typed: String::new(), look };
    let asked = ask(Browsed { menu, ahead: RefCell::new(ahead) }).await?;
    Ok(asked.and_then(|asked| Some(asked.menu.list.chosen()?.value.clone())))
}

/// The answer to a question for a hidden line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The line that the user typed.
    Typed(String),
    /// The user returns to the previous question.
    Back,
    /// The user leaves the program.
    Left,
}

/// Asks for a hidden line, such as an API key. `escape`: what Esc does, as text.
///
/// # Errors
///
/// Where the terminal cannot be read or drawn on.
pub async fn secret(title: &str, escape: &str, look: Look) -> io::Result<Secret> {
    let hidden = ask(Hidden { title, escape, typed: String::new(), goes_back: false, look }).await?;
    Ok(match hidden {
        Some(hidden) if hidden.goes_back => Secret::Back,
        Some(hidden) => Secret::Typed(hidden.typed),
        None => Secret::Left,
    })
}

/// The effect of a key on a question.
enum Step {
    Stay,
    Answer,
    Leave,
}

trait Question {
    /// The lines, and the row and column of the cursor.
    fn lines(&self, columns: usize, rows: usize) -> (Vec<Line<'static>>, (usize, usize));
    fn press(&mut self, key: KeyEvent) -> Step;
    fn typed(&mut self, text: &str);
}

/// Asks the question, and returns it with its answer; `None` if the user leaves, or a signal ends the program.
async fn ask<Q: Question>(mut question: Q) -> io::Result<Option<Q>> {
    let _given_back_when_dropped = Terminal::take()?;
    let (mut interrupts, mut keys) = (Interrupts::listen()?, EventStream::new());
    let mut screen = Screen::new(stdout(), crossterm::terminal::size()?);
    let answered = loop {
        draw(&mut screen, &question)?;
        let event = tokio::select! {
            event = keys.next() => event,
            () = interrupts.next() => None,
        };
        match event {
            None => break false,
            Some(Err(error)) => return Err(error),
            Some(Ok(Event::Paste(text))) => question.typed(text.trim()),
            Some(Ok(Event::Resize(columns, rows))) => screen.resized(columns, rows),
            Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                match step(&mut question, key) {
                    Step::Stay => {}
                    Step::Answer => break true,
                    Step::Leave => break false,
                }
            }
            Some(Ok(_)) => {}
        }
    };
    screen.clear()?;
    Ok(answered.then_some(question))
}

fn draw(screen: &mut Screen<Stdout>, question: &impl Question) -> io::Result<()> {
    let (lines, cursor) = question.lines(screen.columns, screen.rows);
    screen.draw(&[], lines, Some(cursor))
}

fn step(question: &mut impl Question, key: KeyEvent) -> Step {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if is_control => Step::Leave,
        KeyCode::Char(letter) if !is_control => {
            question.typed(letter.encode_utf8(&mut [0; 4]));
            Step::Stay
        }
        _ => question.press(key),
    }
}

struct Menu<'a> {
    title: &'a str,
    list: List,
    note: Option<&'a str>,
    typed: String,
    look: Look,
}

impl Question for Menu<'_> {
    fn lines(&self, columns: usize, rows: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let mut lines = vec![Line::from(vec![
            Span::styled(format!("{} ", self.title), self.look.bold()),
            Span::raw(self.typed.clone()),
        ])];
        let column = lines[0].width().min(columns.saturating_sub(1));
        let keys = format!("{} · type to search", Keys::default().foot(&[Place::List]));
        let notes = [self.list.cut_detail(columns), self.note, Some(&keys)].into_iter().flatten();
        let below: Vec<_> = notes.flat_map(|note| laid_out(note, self.look.dim(), columns)).collect();
        lines.extend(self.list.rows(
            columns,
            rows.saturating_sub(ROWS_AROUND_LIST + below.len()),
            &self.look,
        ));
        lines.extend(below);
        (lines, (0, column))
    }

    fn press(&mut self, key: KeyEvent) -> Step {
        match key.code {
            KeyCode::Up | KeyCode::BackTab => self.list.up(),
            KeyCode::Down | KeyCode::Tab => self.list.down(),
            KeyCode::Char('p') => self.list.up(),
            KeyCode::Char('n') => self.list.down(),
            KeyCode::Enter if self.list.chosen().is_some() => return Step::Answer,
            KeyCode::Backspace => {
                self.typed.pop();
                self.list.narrow(&self.typed);
            }
            KeyCode::Esc if self.typed.is_empty() => return Step::Leave,
            KeyCode::Esc => {
                self.typed.clear();
                self.list.narrow("");
            }
            _ => {}
        }
        Step::Stay
    }

    fn typed(&mut self, text: &str) {
        self.typed += text;
        self.list.narrow(&self.typed);
    }
}

/// A menu of sessions with a preview of the one at the cursor.
struct Browsed<'a> {
    menu: Menu<'a>,
    ahead: RefCell<Ahead<'a>>,
}

impl Question for Browsed<'_> {
    fn lines(&self, columns: usize, rows: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let chosen = self.menu.list.chosen().map(|item| item.value.clone()).filter(|_| rows >= ROOMY_ROWS);
        let preview = chosen.map(|id| self.ahead.borrow_mut().preview(&id, columns, &self.menu.look));
        let preview = preview.unwrap_or_default();
        let (mut lines, cursor) = self.menu.lines(columns, rows.saturating_sub(preview.len()));
        lines.extend(preview);
        (lines, cursor)
    }

    fn press(&mut self, key: KeyEvent) -> Step {
        self.menu.press(key)
    }

    fn typed(&mut self, text: &str) {
        self.menu.typed(text);
    }
}

struct Hidden<'a> {
    title: &'a str,
    escape: &'a str,
    typed: String,
    goes_back: bool,
    look: Look,
}

impl Question for Hidden<'_> {
    fn lines(&self, columns: usize, _: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let marks = "•".repeat(self.typed.chars().count().min(MAX_MARKS));
        let line = Line::raw(format!("{}: {marks}", self.title));
        let column = line.width().min(columns.saturating_sub(1));
        let keys = format!("Enter confirms · Esc {} · Ctrl+C quits", self.escape);
        let keys = laid_out(&keys, self.look.dim(), columns);
        (std::iter::once(line).chain(keys).collect(), (0, column))
    }

    fn press(&mut self, key: KeyEvent) -> Step {
        match key.code {
            KeyCode::Enter if !self.typed.is_empty() => return Step::Answer,
            KeyCode::Backspace => {
                self.typed.pop();
            }
            KeyCode::Char('u') => self.typed.clear(),
            KeyCode::Esc => {
                self.goes_back = true;
                return Step::Answer;
            }
            _ => {}
        }
        Step::Stay
    }

    fn typed(&mut self, text: &str) {
        self.typed += text;
    }
}

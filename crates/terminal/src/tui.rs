//! [`run`] and [`Tui`]: the conversation in a terminal: finished items belong to the terminal's scrollback, running
//! ones are drawn below.
//!
//! Changes are drawn at most sixty times per second, and nothing is drawn while nothing happens.
mod accepting;
mod account;
mod app;
mod approval;
mod attributes;
mod background;
mod blocks;
mod draw;
mod editing;
mod input;
mod keys;
mod list;
pub(crate) mod markdown;
pub mod menu;
mod mode;
mod offered;
mod page;
mod panels;
mod parts;
mod picks;
mod remote;
mod said;
mod screen;
mod sessions;
mod showing;
mod status_line;
mod terminal;
mod vim;

use crate::{
    Exit, Pictures,
    chat::how_to_resume,
    host::Surroundings,
    paint::{ansi, highlight, look, wrap},
    signals::Interrupts,
};
pub use crate::{
    bindings::{Keys, WrongKeys},
    notifications::Notifications,
    paint::look::{Depth, Look, OwnTheme, Palette, SyntaxTheme, Theme, Themes, is_light, syntax_themes},
};
use app::App;
pub use app::Request;
use crossterm::{
    event::{Event as Key, EventStream, KeyEventKind},
    execute,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen},
};
use futures::{FutureExt, StreamExt, future::LocalBoxFuture};
use haft_core::{Command, Event};
use haft_present::host::Conversation;
use mode::Mode;
pub use ratatui::style::Color;
use ratatui::text::Line;
use screen::Screen;
use std::{
    io::{self, Stdout, Write, stderr, stdout},
    time::{Duration, Instant},
};
use terminal::Terminal;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::UnboundedReceiver,
};

/// Minimum interval between two draws (60 per second).
const FRAME_INTERVAL: Duration = Duration::from_millis(16);
/// Interval between two frames of the spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum events that are applied before keys are read again.
const MAX_EVENTS_PER_PASS: usize = 256;

/// Runs the conversation until the user leaves. `first` is sent immediately. `warnings` receives problems beside the
/// conversation as texts for the user; `None` if these are shown elsewhere.
pub async fn run(
    around: Surroundings,
    opened: Conversation,
    look: Look,
    first: Option<Command>,
    warnings: Option<UnboundedReceiver<String>>,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let terminal = Terminal::take()?;
    let mut tui = Tui::new(around, opened, look, first, crossterm::terminal::size()?, stdout());
    tui.warnings = warnings;
    let exit = talk(&mut tui, &terminal, interrupts).await;
    let _the_terminal_may_be_gone = tui.leave();
    // Restored before the slow steps, so that the terminal does not seem frozen meanwhile.
    drop(terminal);
    if let Some(left) = tui.app.session.as_ref().and_then(how_to_resume) {
        let _the_terminal_may_be_gone = writeln!(stderr(), "{left}");
    }
    if let Some(engine) = tui.app.engine.take() {
        interrupts.or_leave(engine.shut_down()).await;
    }
    exit
}

async fn talk(
    tui: &mut Tui<Stdout>,
    terminal: &Terminal,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let mut keys = EventStream::new();
    // Also if the parent process ignores the signal: without a terminal, the screen is useless.
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        if tui.app.around.pictures == Pictures::Asked && !tui.app.pictures.is_empty() {
            drop(keys);
            tui.app.around.pictures = attributes::pictures()?;
            keys = EventStream::new();
        }
        let (due, is_due) = (tui.due, tui.is_due());
        tokio::select! {
            () = tui.next() => {}
            key = keys.next() => match key {
                Some(key) => tui.take(key?),
                // The terminal is gone.
                None => return Ok(Exit::Interrupted),
            },
            () = tokio::time::sleep_until(due.into()), if is_due => {
                // The size is queried each time: crossterm 0.29 loses the event of a resize if a key arrives with it.
                tui.draw(crossterm::terminal::size()?)?;
                continue;
            }
            entered = terminal.given_back() => {
                entered?;
                tui.lost();
            }
            () = interrupts.next() => return Ok(Exit::Interrupted),
            _ = hangup.recv() => return Ok(Exit::Interrupted),
        }
        match tui.request() {
            Some(Request::Leave) => return Ok(Exit::Success),
            Some(request @ (Request::Edit | Request::LogIn)) => {
                // The reader of keys would take them from the program that gets the terminal.
                drop(keys);
                lend(tui, terminal, request).await?;
                keys = EventStream::new();
            }
            Some(Request::Suspend) => {
                tui.leave()?;
                terminal.suspend()?;
            }
            None => {}
        }
        tui.changed();
    }
}

async fn next_warning(warnings: &mut Option<UnboundedReceiver<String>>) -> Option<String> {
    warnings.as_mut()?.recv().await
}

/// Lends the terminal to an editor or to the question for an API key, and applies the result.
async fn lend(tui: &mut Tui<Stdout>, terminal: &Terminal, request: Request) -> anyhow::Result<()> {
    tui.leave()?;
    if request == Request::Edit {
        let edited = editing::edit(tui.app.around.editor.clone(), tui.app.editing.as_ref());
        let edited = terminal.lend(edited).await?;
        tui.app.edited(edited);
    } else {
        let saved = terminal.lend(tui.log_in()).await?;
        tui.app.logged_in(saved);
    }
    Ok(())
}

/// A conversation that is drawn on `Out`: keys and events go in, terminal output comes out. [`run`] connects it to the
/// terminal of the process.
pub struct Tui<Out> {
    app: App,
    screen: Screen<Out>,
    is_changed: bool,
    due: Instant,
    drawn: Instant,
    /// Whether a page is shown on the alternate screen.
    is_page: bool,
    warnings: Option<UnboundedReceiver<String>>,
}

impl<Out: Write> Tui<Out> {
    /// `size`: columns and rows. `first` is sent immediately.
    pub fn new(
        around: Surroundings,
        opened: Conversation,
        look: Look,
        first: Option<Command>,
        size: (u16, u16),
        out: Out,
    ) -> Self {
        let mut app = App::new(around, look, size);
        app.show(opened, matches!(first, Some(Command::Continue)));
        if let Some(command) = first {
            app.send(command);
        }
        let now = Instant::now();
        let screen = Screen::new(out, size).with_links(app.around.links.clone());
        Self { app, screen, is_changed: true, due: now, drawn: now, is_page: false, warnings: None }
    }

    /// Handles a key, pasted text, or a change of the focus.
    pub fn take(&mut self, event: Key) {
        match event {
            Key::Key(key) if key.kind != KeyEventKind::Release => self.app.key(key),
            Key::Paste(text) => self.app.paste(&text),
            Key::FocusGained => self.app.is_watched = true,
            Key::FocusLost => self.app.is_watched = false,
            // Each draw gets the size.
            Key::Resize(..) | Key::Key(_) | Key::Mouse(_) => {}
        }
    }

    /// Takes the last key's request to the terminal.
    pub fn request(&mut self) -> Option<Request> {
        self.app.request.take()
    }

    /// Asks for a provider's API key, while the terminal is lent.
    fn log_in(&mut self) -> LocalBoxFuture<'static, Result<bool, String>> {
        let provider = self.app.provider.take();
        match &self.app.around.login {
            Some(login) => login(provider),
            None => async { Ok(false) }.boxed_local(),
        }
    }

    /// Waits for the next event of the session or the host, and applies it. Cancel safe.
    pub async fn next(&mut self) {
        tokio::select! {
            event = self.app.events.next() => match event {
                Some(event) => self.apply(&event),
                None => self.app.closed(),
            },
            Some(done) = self.app.waiting.next(), if !self.app.waiting.is_empty() => self.app.done(done),
            Some(warning) = next_warning(&mut self.warnings) => self.app.note(&warning),
        }
    }

    /// Applies this event, and those that are available already.
    fn apply(&mut self, event: &Event) {
        self.app.event(event);
        for _ in 0..MAX_EVENTS_PER_PASS {
            match self.app.events.next().now_or_never() {
                Some(Some(event)) => self.app.event(&event),
                Some(None) => return self.app.closed(),
                None => return,
            }
        }
    }

    /// Draws the changes, on a terminal of this size.
    ///
    /// # Errors
    ///
    /// If `Out` cannot be written to.
    pub fn draw(&mut self, (columns, rows): (u16, u16)) -> io::Result<()> {
        let app = &mut self.app;
        if (self.screen.columns, self.screen.rows) != (columns.max(1).into(), rows.max(1).into()) {
            self.screen.resized(columns, rows);
            (app.columns, app.rows) = (self.screen.columns, self.screen.rows);
        }
        self.drawn = Instant::now();
        (self.is_changed, self.due) = (false, self.drawn + SPINNER_INTERVAL);
        if !app.raw.is_empty() {
            self.screen.raw(&std::mem::take(&mut app.raw))?;
        }
        self.app.refresh_page();
        self.turn_page(matches!(self.app.mode, Mode::Read(..)))?;
        let app = &mut self.app;
        if let Mode::Read(page, _) = &app.mode {
            return self.screen.fill(&page.rows((app.columns, app.rows), &app.look));
        }
        app.refresh_status_line();
        app.refresh_background();
        let spins = (app.busy_since().map_or(0, |since| since.elapsed().as_millis())
            / SPINNER_INTERVAL.as_millis()) as usize;
        let (live, cursor) = app.picture(spins);
        let above = self.with_pictures()?;
        self.screen.draw(&above, live, cursor)
    }

    /// The writer on which the conversation is drawn.
    pub fn out(&mut self) -> &mut Out {
        self.screen.out()
    }

    fn changed(&mut self) {
        self.is_changed = true;
        self.due = self.drawn + FRAME_INTERVAL;
    }

    /// Whether to draw again. The process does not wake up while nothing happens and nothing moves.
    fn is_due(&self) -> bool {
        self.is_changed || self.app.is_moving() || self.app.mode.page().is_some_and(page::Page::grows)
    }

    /// Draws the finished lines up to the last picture among them, with the pictures; returns the rest.
    fn with_pictures(&mut self) -> io::Result<Vec<Line<'static>>> {
        let app = &mut self.app;
        let (mut above, mut drawn) = (std::mem::take(&mut app.above), 0);
        for (place, picture) in std::mem::take(&mut app.pictures) {
            let rest = above.split_off(place.saturating_sub(drawn).min(above.len()));
            drawn += above.len();
            self.screen.draw(&above, Vec::new(), Some((0, 0)))?;
            if let Some(picture) = app.around.pictures.sequence(&picture, app.columns) {
                self.screen.picture(&picture)?;
            }
            above = rest;
        }
        Ok(above)
    }

    fn turn_page(&mut self, is_page: bool) -> io::Result<()> {
        terminal::is_page(is_page);
        match (std::mem::replace(&mut self.is_page, is_page), is_page) {
            (false, true) => execute!(self.screen.out(), EnterAlternateScreen),
            (true, false) => execute!(self.screen.out(), LeaveAlternateScreen),
            _ => Ok(()),
        }
    }

    /// Notes that the terminal was given back, possibly from a page, and another program wrote to it.
    fn lost(&mut self) {
        self.is_page = false;
        self.screen.lost();
    }

    /// Leaves only the finished lines on the screen.
    fn leave(&mut self) -> io::Result<()> {
        self.turn_page(false)?;
        let above = self.with_pictures()?;
        self.screen.draw(&above, Vec::new(), Some((0, 0)))?;
        self.screen.clear()
    }
}

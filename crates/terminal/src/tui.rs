//! [`run`]: the conversation in a terminal: finished parts belong to the terminal's scrollback, running ones are drawn
//! below.
//!
//! It draws what changed, at most sixty times a second, and nothing while nothing happens.
mod app;
mod approval;
mod attributes;
mod bindings;
mod blocks;
mod draw;
mod editor;
mod files;
mod input;
mod keys;
mod list;
mod markdown;
pub mod menu;
mod mode;
mod page;
mod panels;
mod picks;
mod queued;
mod said;
mod screen;
mod showing;
mod terminal;

pub use crate::paint::look::{Depth, Look, Theme, is_light};
use crate::{
    Exit, Pictures,
    chat::how_to_resume,
    host::Surroundings,
    paint::{ansi, highlight, look, wrap},
    signals::Interrupts,
};
use app::{App, Request};
use crossterm::event::{Event as Key, EventStream, KeyEventKind};
use futures::{FutureExt, StreamExt};
use haft_core::{Command, Event};
use haft_present::host::Conversation;
use mode::Mode;
use ratatui::text::Line;
use screen::Screen;
use std::{
    io::{Stdout, Write, stderr, stdout},
    time::{Duration, Instant},
};
use terminal::Terminal;
use tokio::signal::unix::{SignalKind, signal};

/// Between two frames (60 a second).
const FRAME_INTERVAL: Duration = Duration::from_millis(16);
/// Between two pictures of the spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);
/// Events taken in before keys are looked at again.
const MAX_EVENTS_PER_PASS: usize = 256;
/// To its own screen and back (private mode 1049).
const OTHER_SCREEN: (&str, &str) = ("\x1b[?1049h", "\x1b[?1049l");

/// Talks until the person leaves. `first` is sent before anything is typed.
pub async fn run(
    host: Surroundings,
    opened: Conversation,
    look: Look,
    first: Option<Command>,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let terminal = Terminal::take()?;
    let size = crossterm::terminal::size()?;
    let mut app = App::new(host, look, size);
    app.show(opened, matches!(first, Some(Command::Continue)));
    if let Some(command) = first {
        app.send(command);
    }
    let mut shown = Shown::new(Screen::new(stdout(), size));
    let exit = talk(&mut app, &mut shown, &terminal, interrupts).await;
    let _the_terminal_may_be_gone = shown.leave(&mut app);
    // Before the slow steps, so that the screen is not dead meanwhile.
    drop(terminal);
    if let Some(left) = app.session.as_ref().and_then(how_to_resume) {
        let _the_terminal_may_be_gone = writeln!(stderr(), "{left}");
    }
    if let Some(engine) = app.engine.take() {
        interrupts.or_leave(engine.shut_down()).await;
    }
    exit
}

async fn talk(
    app: &mut App,
    shown: &mut Shown,
    terminal: &Terminal,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let mut keys = EventStream::new();
    // Also if the parent process ignores it: without a terminal there is no person to talk to.
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        if app.host.pictures == Pictures::Asked && !app.pictures.is_empty() {
            drop(keys);
            app.host.pictures = attributes::pictures()?;
            keys = EventStream::new();
        }
        tokio::select! {
            event = app.events.next() => match event {
                Some(event) => apply(app, event),
                None => app.closed(),
            },
            key = keys.next() => match key {
                Some(key) => take_key(app, key?),
                // The terminal is gone.
                None => return Ok(Exit::Interrupted),
            },
            Some(done) = app.waiting.next(), if !app.waiting.is_empty() => app.done(done),
            () = tokio::time::sleep_until(shown.due.into()), if shown.is_due(app) => {
                shown.draw(app)?;
                continue;
            }
            entered = terminal.given_back() => {
                entered?;
                shown.lost();
            }
            () = interrupts.next() => return Ok(Exit::Interrupted),
            _ = hangup.recv() => return Ok(Exit::Interrupted),
        }
        match app.request.take() {
            Some(Request::Leave) => return Ok(Exit::Success),
            Some(Request::Edit) => {
                // What reads keys would take them from the editor.
                drop(keys);
                shown.leave(app)?;
                app.edited(terminal.lend(editor::edit(&app.host, app.input.whole())).await?);
                keys = EventStream::new();
            }
            Some(Request::Suspend) => {
                shown.leave(app)?;
                terminal.suspend()?;
            }
            None => {}
        }
        shown.changed();
    }
}

/// This event, and those that are there already.
fn apply(app: &mut App, event: Event) {
    app.event(&event);
    for _ in 0..MAX_EVENTS_PER_PASS {
        match app.events.next().now_or_never() {
            Some(Some(event)) => app.event(&event),
            Some(None) => return app.closed(),
            None => return,
        }
    }
}

fn take_key(app: &mut App, key: Key) {
    match key {
        Key::Key(key) if key.kind != KeyEventKind::Release => app.key(key),
        Key::Paste(text) => app.paste(&text),
        Key::FocusGained => app.is_watched = true,
        Key::FocusLost => app.is_watched = false,
        // Each frame looks at the size.
        Key::Resize(..) | Key::Key(_) | Key::Mouse(_) => {}
    }
}

/// What stands on the terminal, and when it is drawn next.
struct Shown {
    screen: Screen<Stdout>,
    is_changed: bool,
    due: Instant,
    drawn: Instant,
    /// A page fills a screen of its own.
    is_page: bool,
}

impl Shown {
    fn new(screen: Screen<Stdout>) -> Self {
        let now = Instant::now();
        Self { screen, is_changed: true, due: now, drawn: now, is_page: false }
    }

    fn changed(&mut self) {
        self.is_changed = true;
        self.due = self.drawn + FRAME_INTERVAL;
    }

    /// The process does not wake up while nothing happens and nothing moves.
    fn is_due(&self, app: &App) -> bool {
        self.is_changed || app.is_moving()
    }

    fn draw(&mut self, app: &mut App) -> std::io::Result<()> {
        self.fit(app)?;
        self.drawn = Instant::now();
        (self.is_changed, self.due) = (false, self.drawn + SPINNER_INTERVAL);
        if !app.raw.is_empty() {
            self.screen.raw(&std::mem::take(&mut app.raw))?;
        }
        self.turn_page(matches!(app.mode, Mode::Read(..)))?;
        if let Mode::Read(page, _) = &app.mode {
            return self.screen.fill(&page.rows((app.columns, app.rows), &app.look));
        }
        let spins = (app.busy_since().map_or(0, |since| since.elapsed().as_millis())
            / SPINNER_INTERVAL.as_millis()) as usize;
        let (live, cursor) = app.picture(spins);
        let above = self.with_pictures(app)?;
        self.screen.draw(&above, live, cursor)
    }

    /// Draws finished lines up to the last picture among them, with the pictures; returns the rest.
    fn with_pictures(&mut self, app: &mut App) -> std::io::Result<Vec<Line<'static>>> {
        let (mut above, mut drawn) = (std::mem::take(&mut app.above), 0);
        for (place, picture) in std::mem::take(&mut app.pictures) {
            let rest = above.split_off(place.saturating_sub(drawn).min(above.len()));
            drawn += above.len();
            self.screen.draw(&above, Vec::new(), Some((0, 0)))?;
            if let Some(picture) = app.host.pictures.sequence(&picture, app.columns) {
                self.screen.picture(&picture)?;
            }
            above = rest;
        }
        Ok(above)
    }

    /// A key that comes with a change of the size takes its event away (crossterm 0.29), so the terminal is asked.
    fn fit(&mut self, app: &mut App) -> std::io::Result<()> {
        let (columns, rows) = crossterm::terminal::size()?;
        if (self.screen.columns, self.screen.rows) != (columns.max(1).into(), rows.max(1).into()) {
            self.screen.resized(columns, rows);
            (app.columns, app.rows) = (self.screen.columns, self.screen.rows);
        }
        Ok(())
    }

    fn turn_page(&mut self, is_page: bool) -> std::io::Result<()> {
        terminal::is_page(is_page);
        match (std::mem::replace(&mut self.is_page, is_page), is_page) {
            (false, true) => self.screen.raw(OTHER_SCREEN.0),
            (true, false) => self.screen.raw(OTHER_SCREEN.1),
            _ => Ok(()),
        }
    }

    /// The terminal was given back, from a page, too, and another program wrote on it.
    fn lost(&mut self) {
        self.is_page = false;
        self.screen.lost();
    }

    /// Leaves what is finished, and nothing else.
    fn leave(&mut self, app: &mut App) -> std::io::Result<()> {
        self.turn_page(false)?;
        let above = self.with_pictures(app)?;
        self.screen.draw(&above, Vec::new(), Some((0, 0)))?;
        self.screen.clear()
    }
}

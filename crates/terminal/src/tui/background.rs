//! Background work, as a list and as pages: commands, and the child sessions.
use super::{
    app::App,
    list::Item,
    markdown::plain,
    mode::{Change, Mode, What},
    page::{Page, Shown},
};
use crate::status_line::clean;
use haft_core::{Command, Event, TaskState};
use haft_engine::{ATTEMPT_MARK, Recorded, Session};
use haft_present::timeline::{self, Timeline};
use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// Prefix of a background command's number in the value of its item.
const TASK_PREFIX: &str = "task ";
const ELSEWHERE: &str = "what it prints is shown where the session is open";

/// Work that runs, or has ended since the session was opened.
enum Work {
    Task(TaskState),
    Below(Session),
}

impl App {
    pub(super) fn pick_job(&mut self) {
        let items = self.background();
        self.offer(What::Job, "background", items, None);
    }

    /// Updates an open list of background work, and closes it when no work is left.
    pub(super) fn refresh_background(&mut self) {
        if self.mode.pick().is_none_or(|pick| pick.what != What::Job) {
            return;
        }
        let items = self.background();
        match self.mode.pick() {
            Some(_) if items.is_empty() => drop(self.mode.close()),
            Some(pick) => pick.list.replace(items, &pick.typed),
            None => {}
        }
    }

    /// Running background commands and child sessions.
    fn background(&self) -> Vec<Item> {
        let tasks =
            self.view.jobs.iter().map(|(id, title)| Item::new(format!("{TASK_PREFIX}{id}"), title.clone()));
        let below = self.below();
        let below = below.iter().map(|session| Item::new(session.id().0.clone(), described(session)));
        tasks.chain(below).collect()
    }

    /// The running sessions that this one delegated to, and those below them.
    fn below(&self) -> Vec<Session> {
        let Some(engine) = &self.engine else { return Vec::new() };
        engine.sessions().into_iter().filter(|session| session.delegated_by().is_some()).collect()
    }

    /// The work of the item with this value, if it is known in this process.
    fn work(&self, name: &str) -> Option<Work> {
        match name.strip_prefix(TASK_PREFIX) {
            Some(id) => {
                let tasks = self.session.as_ref()?.tasks();
                tasks.into_iter().find(|task| task.id.0 == id).map(Work::Task)
            }
            None => self.below().into_iter().find(|session| session.id().0 == name).map(Work::Below),
        }
    }

    /// Shows the output of the work on a page.
    pub(super) fn open_job(&mut self, name: &str) {
        let Some(work) = self.work(name) else {
            let is_elsewhere = self.session.as_ref().is_some_and(Session::is_joined);
            return self.note(if is_elsewhere { ELSEWHERE } else { "it has ended" });
        };
        let shown = work.shown();
        let (title, lines) = self.told_of(&work);
        self.mode.read(Page::new(title, lines, true).of_work(name.to_owned(), shown));
    }

    /// Updates an open page of background work.
    pub(super) fn refresh_page(&mut self) {
        let Some((name, before)) = self.mode.page().and_then(|page| page.work.as_ref()) else { return };
        let Some(work) = self.work(name) else { return };
        let shown = work.shown();
        if shown == *before {
            return;
        }
        let (title, lines) = self.told_of(&work);
        let rows = self.rows;
        if let Mode::Read(page, _) = &mut self.mode {
            page.grow(title, lines, rows);
            page.work = page.work.take().map(|(name, _)| (name, shown));
        }
    }

    /// The title and the lines of the work's page.
    fn told_of(&self, work: &Work) -> (String, Vec<Line<'static>>) {
        match work {
            Work::Task(task) => {
                let state = if task.running { "" } else { " (ended)" };
                let title = format!("{TASK_PREFIX}{}{state}: {}", task.id, one_line(&task.title));
                (title, self.printed(&task.output.newest()))
            }
            Work::Below(session) => (format!("subagent {}", session.id()), self.said_below(session)),
        }
    }

    /// The text as a terminal shows it, without colors.
    fn printed(&self, text: &str) -> Vec<Line<'static>> {
        let hidden = self.session.as_ref().map(Session::secrets).unwrap_or_default();
        let text = hidden.hide(text);
        let lines = text.lines().map(|line| {
            let line = line.trim_end_matches('\r');
            // Text after a carriage return overwrites the line.
            clean(line.rsplit('\r').next().unwrap_or(line))
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        match text.is_empty() {
            true => vec![Line::styled("it has printed nothing yet", self.look.dim())],
            false => plain(&text, Span::raw(""), self.columns, Style::new()),
        }
    }

    fn said_below(&self, session: &Session) -> Vec<Line<'static>> {
        let mut view = Timeline::default();
        let said = session.entries().into_iter().flat_map(|entry| view.apply(&Event::Recorded(entry)));
        let blocks: Vec<_> = said.collect();
        self.painted(|painter| {
            let said = blocks.iter().flat_map(|block| painter.block(block));
            said.chain(view.calls.iter().flat_map(|call| painter.call(call))).collect()
        })
    }

    /// Asks whether the work at the cursor is stopped.
    pub(super) fn ask_to_stop(&mut self) {
        if let Some(pick) = self.mode.pick() {
            pick.change = pick.list.chosen().map(|item| Change::Stop(item.value.clone()));
        }
    }

    /// Ends a background command, or interrupts the turn of a child session.
    pub(super) fn stop_work(&mut self, name: &str) {
        let is_stopped = match self.work(name) {
            Some(Work::Task(task)) => {
                self.session.as_ref().is_some_and(|session| session.stop_task(&task.id))
            }
            Some(Work::Below(session)) => session.send(Command::Interrupt).is_ok(),
            None => false,
        };
        if !is_stopped {
            let is_elsewhere = self.session.as_ref().is_some_and(Session::is_joined);
            self.note(if is_elsewhere { "it is stopped where the session is open" } else { "it has ended" });
        }
    }
}

impl Work {
    fn shown(&self) -> Shown {
        match self {
            Self::Task(task) => Shown::Task { printed: task.output.newest(), running: task.running },
            Self::Below(session) => Shown::Below(session.journal().next()),
        }
    }
}

/// The first line, with control characters made visible.
fn one_line(text: &str) -> String {
    haft_present::safe::name(text.lines().next().unwrap_or_default()).into_owned()
}

/// Describes a child session: `subagent` or `attempt 2 of 3`, and the first line of its task.
fn described(session: &Session) -> String {
    let prompts = timeline::prompts(&session.entries());
    let told = prompts.first().map(|(_, text)| text.as_str()).unwrap_or_default();
    let marked = told.rfind(ATTEMPT_MARK).and_then(|at| told[at..].strip_prefix('[')?.split_once(']'));
    let kind = marked.map_or_else(|| "subagent".to_owned(), |(name, _)| name.to_lowercase());
    format!("{kind}: {}", told.lines().next().unwrap_or_default())
}

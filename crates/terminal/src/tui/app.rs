//! [`App`]: the state of the screen, and its reaction to events and keys.
use super::{
    blocks::Painter,
    input::{Draft, Input},
    list,
    look::Look,
    mode::{Mode, Offered},
    sessions::Sessions,
};
use crate::{history, host::Surroundings, offers::Proposed, paint::diff::Room, status_line::StatusOutput};
use crossterm::event::KeyCode;
use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{BoxStream, FuturesUnordered},
};
use haft_core::{
    Answer, CallId, Change, Command, Completions, Event, Fact, Image, Part, Seq, Update, text_of,
};
use haft_engine::{Engine, Session, Summary};
use haft_present::host::{Conversation, OpenRequest, Problem, TriedServer};
use haft_present::{
    file_diff::FileDiff,
    safe,
    timeline::{Asked, Item, Recap, Timeline},
};
use ratatui::text::Line;
use std::time::{Duration, Instant};

/// Minimum length of a turn whose end the user is notified of.
const LONG_TURN_TIME: Duration = Duration::from_secs(10);

/// Everything that the screen shows.
pub(super) struct App {
    pub(super) around: Surroundings,
    pub(super) look: Look,
    pub(super) engine: Option<Engine>,
    pub(super) session: Option<Session>,
    pub(super) events: BoxStream<'static, Event>,
    /// Requests to the host without an answer yet.
    pub(super) waiting: FuturesUnordered<BoxFuture<'static, Done>>,
    /// A prompt that was submitted while its session is still opening.
    pub(super) submitted_early: Option<Draft>,
    pub(super) view: Timeline,
    pub(super) input: Input,
    pub(super) mode: Mode,
    /// Prompts with folded pastes: the whole text, and the text as it was typed.
    pub(super) folded: Vec<(String, String)>,
    /// Lines for the scrollback.
    pub(super) above: Vec<Line<'static>>,
    /// Pictures, each with the index of the line in `above` before which it is drawn.
    pub(super) pictures: Vec<(usize, Image)>,
    /// A hint about the last key.
    pub(super) hint: Option<Hint>,
    pub(super) files: Option<Vec<list::Item>>,
    /// Completions of an MCP server for the typed text.
    pub(super) offered: Option<Offered>,
    pub(super) sessions: Sessions,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) is_watched: bool,
    /// Bytes that are written unchanged: a bell, the clipboard.
    pub(super) raw: String,
    pub(super) request: Option<Request>,
    /// The text of [`Request::Edit`].
    pub(super) editing: Option<Editing>,
    /// The text of a question, as the user edited it.
    pub(super) edited_draft: Option<(CallId, String)>,
    /// The provider of [`Request::LogIn`], if it is known.
    pub(super) provider: Option<String>,
    pub(super) shows_thinking: bool,
    /// When Esc or Ctrl+C was pressed; a second press does more.
    pub(super) escaped: Option<(KeyCode, Instant)>,
    /// The text that was being typed when a question came.
    pub(super) draft: Option<Draft>,
    /// When the last key of a text was pressed.
    pub(super) typed: Option<Instant>,
    /// When the question on the screen appeared.
    pub(super) asked_since: Option<Instant>,
    /// Whether the question appeared below a list or a page, and has not been seen.
    pub(super) is_asked_below: bool,
    /// When the last early key was pressed: one that came with the question, or without a pause after such a key.
    pub(super) early: Option<Instant>,
    /// Whether the user takes back a waiting prompt.
    pub(super) is_withdrawing: bool,
    pub(super) open_request: OpenRequest,
    /// What the user asked for that ends background work; it waits for the user's choice.
    pub(super) ending: Option<Ending>,
    /// The reasoning effort, if it was chosen.
    pub(super) effort: Option<String>,
    /// The session on the screen.
    pub(super) shown: Option<String>,
    /// The input of the status line's command, and its output.
    pub(super) status_output: StatusOutput,
}

/// What closes the session, and so ends its background work.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    /// Opens another session, or this one with another model or agent.
    Open(OpenRequest),
    /// Continues in a copy of the session.
    Fork,
    /// Leaves the program.
    Quit,
}

/// A key's request to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Leaves the conversation.
    Leave,
    /// Stops the process, as a shell's Ctrl+Z does.
    Suspend,
    /// Asks for a provider's API key.
    LogIn,
    /// Opens the typed text, or the text that a call would write, in an editor.
    Edit,
}

/// The text for the editor, and where the result goes.
pub(super) enum Editing {
    Prompt(String),
    /// The file that a call would write.
    Proposal(CallId, Proposed),
    /// The text that a question asks about.
    Draft(CallId, String),
}

/// A hint in the last line.
pub(super) enum Hint {
    /// A hint that disappears with the next key.
    Brief(String),
    /// A hint that stays until the work it names is done.
    Lasting(&'static str),
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Self {
        Self::Brief(text.into())
    }
}

/// The result of a request that takes time.
pub(super) enum Done {
    /// A conversation was opened, as the request asked.
    Opened(Conversation, OpenRequest),
    /// Opening a conversation failed; holds the conversation that was open before, if it could be opened again.
    NotOpened(Result<(Conversation, OpenRequest), String>),
    Files(Vec<list::Item>),
    /// Completions of MCP servers for this text.
    Offered(String, Option<Completions>),
    /// Models that vendors and servers list.
    Models(Vec<(String, String)>),
    Servers(Vec<TriedServer>),
    /// Servers for the page of the status.
    Status(Vec<TriedServer>),
    /// The last prompt and reply of sessions, by their IDs.
    Sessions(Vec<(String, Recap)>),
    /// The first line of output of the status line's command, or why it failed.
    StatusLine(Result<String, String>),
    /// The picture in the clipboard.
    Picture(Result<Image, String>),
    /// A prompt whose documents have been read.
    Read(Result<Vec<Part>, Problem>),
    /// A result about sessions on another machine.
    Remote(RemoteDone),
}

/// The result of a request to another machine.
pub(super) enum RemoteDone {
    Listed(Result<Vec<Summary>, Problem>),
    Forked(Result<String, Problem>),
    /// The session was renamed.
    Renamed(Result<String, Problem>),
}

impl App {
    pub(super) fn new(around: Surroundings, look: Look, (columns, rows): (u16, u16)) -> Self {
        let typed = around.history.as_deref().map(history::load).unwrap_or_default();
        let is_vim = around.is_vim;
        Self {
            around,
            look,
            engine: None,
            session: None,
            events: futures::stream::pending().boxed(),
            waiting: FuturesUnordered::new(),
            submitted_early: None,
            view: Timeline::default(),
            input: Input::new(typed, is_vim),
            mode: Mode::default(),
            folded: Vec::new(),
            above: Vec::new(),
            pictures: Vec::new(),
            hint: None,
            files: None,
            offered: None,
            sessions: Sessions::default(),
            columns: columns.max(1).into(),
            rows: rows.max(1).into(),
            is_watched: true,
            raw: String::new(),
            request: None,
            editing: None,
            edited_draft: None,
            provider: None,
            shows_thinking: true,
            escaped: None,
            typed: None,
            asked_since: None,
            is_asked_below: false,
            early: None,
            is_withdrawing: false,
            draft: None,
            open_request: OpenRequest::default(),
            ending: None,
            effort: None,
            shown: None,
            status_output: StatusOutput::default(),
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        let asked = self.asked();
        let blocks = self.view.apply(event);
        blocks.into_iter().for_each(|block| self.finished(block));
        if self.asked() != asked {
            self.follow_asked();
            if self.asked().is_some() && !self.is_watched {
                self.raw += &self.around.notifications.sequence("a question waits for you");
            }
        }
        match event {
            Event::Recorded(entry) if matches!(entry.fact, Fact::TurnEnded { .. }) => self.ask_to_go_on(),
            Event::Recorded(entry) if matches!(entry.fact, Fact::Rewound { .. }) => self.hint = None,
            Event::Recorded(entry) if matches!(entry.fact, Fact::PromptWithdrawn) => {
                self.withdrawn(entry.seq)
            }
            Event::Live(
                Update::UndoRefused { .. } | Update::Refused { .. } | Update::Disconnected { .. },
            ) => {
                (self.hint, self.is_withdrawing) = (None, false);
            }
            Event::Live(Update::Connected { is_at_rest: true }) => self.note_cut_off(),
            _ => {}
        }
    }

    pub(super) fn asked(&self) -> Option<CallId> {
        self.view.asked.front().map(|asked| asked.call().clone())
    }

    /// Directs the keys to the open question; if there is none, restores the text that was being typed.
    pub(super) fn follow_asked(&mut self) {
        (self.asked_since, self.early) = (Some(Instant::now()), None);
        self.is_asked_below = self.is_covered();
        let lowest = match self.view.asked.front() {
            Some(Asked::Approval { .. }) => Mode::Approve(0),
            Some(Asked::Question { .. }) => Mode::Answer(None, None),
            None => Mode::Compose(None),
        };
        if let Mode::Refuse(draft) = std::mem::replace(self.mode.lowest(), lowest) {
            self.input.restore(draft);
        }
        let is_typing = !self.input.is_empty();
        self.put_draft_aside();
        if let Mode::Answer(_, marked) = self.mode.lowest() {
            *marked = (!is_typing).then_some(0);
        }
        self.complete();
    }

    /// Puts the typed text aside when a question appears, since it is not an answer to it.
    fn put_draft_aside(&mut self) {
        let is_question = matches!(self.view.asked.front(), Some(Asked::Question { .. }));
        match (is_question, self.draft.take()) {
            (true, None) if !self.input.is_empty() => {
                self.draft = Some(self.input.put_aside());
                self.hint = Some("your draft comes back after your answer".into());
            }
            (false, Some(draft)) if self.input.is_empty() => self.input.restore(draft),
            (_, draft) => self.draft = draft,
        }
    }

    /// Handles the end of the session, which sends no more events.
    pub(super) fn closed(&mut self) {
        self.events = futures::stream::pending().boxed();
        self.view.rest();
        self.follow_asked();
        let failure =
            self.session.as_ref().and_then(|session| session.journal().failure().map(str::to_owned));
        let message = failure.unwrap_or_else(|| "the session closed".into());
        self.fail(message, Some("`/sessions` opens it or another one, and `/new` starts one".into()));
    }

    pub(super) fn finished(&mut self, mut block: Item) {
        if let Item::Prompt { text, .. } = &mut block
            && let Some(typed) = self.as_it_was_typed(text)
        {
            *text = typed;
        }
        if let Item::Ended { took, .. } = &block {
            self.hint = None;
            if *took >= LONG_TURN_TIME && !self.is_watched {
                self.raw += &self.around.notifications.sequence(&format!("done after {} s", took.as_secs()));
            }
        }
        if matches!(block, Item::Thinking(_)) && !self.shows_thinking {
            return;
        }
        let lines = self.painted(|painter| painter.block(&block));
        self.above.extend(lines);
        let place = self.above.len();
        self.pictures.extend(block.images().iter().map(|image| (place, image.clone())));
    }

    /// Calls `draw` with a painter for this session's diffs.
    pub(super) fn painted<T>(&self, draw: impl FnOnce(&Painter<'_>) -> T) -> T {
        self.painted_in(Room::SCROLLS, draw)
    }

    /// Like [`Self::painted`], with `room` for each diff.
    pub(super) fn painted_in<T>(&self, room: Room, draw: impl FnOnce(&Painter<'_>) -> T) -> T {
        let session = self.session.clone();
        let files_of = move |changes: &[Change]| {
            session.as_ref().map(|session| FileDiff::all(session, changes)).unwrap_or_default()
        };
        draw(&Painter { columns: self.columns, look: self.look, files_of: &files_of, room })
    }

    /// Whether something is animated: nothing is while the user is asked or reads a page.
    pub(super) fn is_moving(&self) -> bool {
        self.busy_since().is_some() && self.view.asked.is_empty() && !matches!(self.mode, Mode::Read(..))
    }

    /// When the current work began.
    pub(super) fn busy_since(&self) -> Option<Instant> {
        let view = &self.view;
        view.since.filter(|_| view.working).or(view.summarizing_since).or(view.undoing_since)
    }

    pub(super) fn note(&mut self, text: &str) {
        self.finished(Item::Note(safe::text(text).into_owned()));
    }

    pub(super) fn fail(&mut self, message: String, hint: Option<String>) {
        self.finished(Item::Failure { message, hint });
    }

    pub(super) fn send(&mut self, command: Command) {
        let typed = match &command {
            Command::Prompt { parts, .. } => text_of(parts),
            _ => String::new(),
        };
        let sent = self.session.as_ref().map(|session| session.send(command));
        if !matches!(sent, Some(Ok(()))) {
            self.fail("no session is open".into(), Some("start one with `/new`".into()));
            if self.input.is_empty() {
                self.input.set(&typed);
            }
        }
    }

    pub(super) fn entries(&self) -> Option<Vec<std::sync::Arc<haft_core::Entry>>> {
        self.session.as_ref().map(Session::entries)
    }

    pub(super) fn rewind(&mut self, to: Seq) {
        self.send(Command::Rewind { to });
    }

    /// Closes the current session and opens another; if that fails, opens the current one again.
    pub(super) fn open(&mut self, request: OpenRequest) {
        if self.must_wait() {
            return;
        }
        let is_here = self.session.as_ref().is_some_and(|session| {
            session.is_joined() && request.session.as_deref() == Some(session.id().0.as_str())
        });
        if is_here {
            return self.note("this session is open in another process; change its model or agent there");
        }
        if !self.asks_to_end(Ending::Open(request.clone())) {
            self.open_now(request);
        }
    }

    pub(super) fn open_now(&mut self, request: OpenRequest) {
        self.events = futures::stream::pending().boxed();
        self.session = None;
        let (engine, around) = (self.engine.take(), self.around.clone());
        self.hint = Some(Hint::Lasting("opening …"));
        let before = self.open_request.clone();
        self.waiting.push(Box::pin(async move {
            if let Some(engine) = engine {
                engine.shut_down().await;
            }
            let why = match around.open(request.clone()).await {
                Ok(opened) => return Done::Opened(opened, request),
                Err(why) => why,
            };
            let mut again = around.open(before.clone()).await.map(|opened| (opened, before));
            if let Ok((opened, _)) = &mut again {
                opened
                    .notices
                    .push(format!("{}; the session continues as before", why.replace("\nhint: ", "; ")));
            }
            Done::NotOpened(again)
        }));
    }

    fn opened(&mut self, opened: Conversation, request: OpenRequest) -> bool {
        (self.hint, self.open_request) = (None, OpenRequest { is_kept: false, ..request });
        self.show(opened, false)
    }

    pub(super) fn done(&mut self, done: Done) {
        match done {
            Done::Opened(opened, request) => {
                if self.opened(opened, request) {
                    self.note_model();
                }
                self.submit_early();
            }
            Done::NotOpened(before) => {
                match before {
                    Ok((opened, request)) => {
                        self.opened(opened, request);
                    }
                    Err(why) => {
                        self.hint = None;
                        self.fail(why, Some("open another one with `/new` or `/sessions`".into()));
                    }
                }
                self.give_back_early();
            }
            Done::Models(models) => self.models(models),
            Done::Servers(servers) => self.servers(servers),
            Done::Status(servers) => self.status_of(&servers),
            Done::Sessions(recaps) => self.sessions_read(recaps),
            Done::StatusLine(said) => self.status_said(said),
            Done::Picture(picture) => self.picture_read(picture),
            Done::Read(parts) => self.documents_read(parts),
            Done::Offered(typed, found) => self.offered(&typed, found),
            Done::Remote(done) => self.remote_done(done),
            Done::Files(files) => {
                self.files = Some(files);
                self.complete();
            }
        }
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        if matches!(answer, Answer::Once | Answer::Always) && !self.may_allow() {
            return;
        }
        self.answer_with(|call| Command::answer(call, answer));
    }

    pub(super) fn answer_with(&mut self, command: impl FnOnce(CallId) -> Command) {
        if let Some(Asked::Approval { call, .. }) = self.view.asked.pop_front() {
            self.send(command(call));
            self.follow_asked();
        }
    }

    pub(super) fn reply(&mut self, answer: Option<String>) {
        if answer.is_some() && !self.may_allow() {
            return;
        }
        if let Some(Asked::Question { call, .. }) = self.view.asked.pop_front() {
            self.send(Command::reply(call, answer));
        }
        if self.draft.is_some() {
            // A partial text for the answer is useless.
            self.input.clear();
        }
        self.follow_asked();
    }

    /// Whether an answer from this process counts. If not, shows a hint.
    pub(super) fn may_allow(&mut self) -> bool {
        let may = self.session.as_ref().is_none_or(Session::may_allow);
        if !may {
            self.hint = Some("only the process that opened this session can answer".into());
        }
        may
    }

    pub(super) fn interrupt(&mut self) {
        self.hint = Some(Hint::Lasting("interrupting …"));
        self.send(Command::Interrupt);
    }
}

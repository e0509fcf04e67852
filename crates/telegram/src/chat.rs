//! [`Chat`]: one chat: sends its messages to its session, and shows the session's events in it.
use super::{
    Bot,
    asking::{self, Ask, UndoChoices},
    files::Prepared,
    outbox::{Job, Outbox},
    store::ChatState,
    turn_renderer::TurnRenderer,
    updates::{Message, Press},
};
use futures::{Stream, StreamExt, future::BoxFuture};
use haft_core::{Command, Entry, Event, Fact, LastTurn, SessionId, UndoCalls, Update, waiting_prompts};
use haft_engine::Session;
use haft_present::undo::{self, Refusal};
use serde_json::json;
use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout},
};

/// Interval of the "typing" status, which Telegram shows for five seconds (Bot API, `sendChatAction`).
const TYPING_INTERVAL: Duration = Duration::from_secs(4);
/// Timeout of the "typing" status, so that prompts do not wait for it.
const TYPING_TIMEOUT: Duration = Duration::from_secs(1);
/// Minimum time between two notes that edited messages are not read.
const EDIT_INTERVAL: Duration = Duration::from_secs(60);

/// A message for a chat's task.
pub(super) enum Mail {
    /// The bot has started, and the chat existed before. These earlier messages seem to be in no journal.
    Started(Vec<Message>),
    Said(Box<Message>),
    Edited,
    Pressed(Press),
    /// The chat has another ID from here on.
    Moved(i64),
}

/// A chat and its session.
pub(super) struct Chat {
    pub(super) bot: Arc<Bot>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) open: Option<Open>,
    pub(super) asks: Vec<Ask>,
    /// The choices of the last list of `/undo`.
    pub(super) choices: Option<UndoChoices>,
    /// The calls that are being undone, which may take a while.
    pub(super) undoing: Option<UndoCalls>,
    /// Prompts whose files were not downloaded yet.
    pub(super) waiting: VecDeque<Vec<Message>>,
    /// Messages of the prompts that were sent to the session and not recorded yet.
    pub(super) sent: VecDeque<Vec<i64>>,
    pub(super) preparing: Option<Preparing>,
    pub(super) album: Option<(Vec<Message>, Instant)>,
    edited_at: Option<Instant>,
    /// Whether the bot is shutting down, so that nothing is begun.
    is_closing: bool,
}

/// A prompt whose files are being downloaded.
pub(super) struct Preparing {
    pub(super) messages: Vec<i64>,
    pub(super) prepared: BoxFuture<'static, Prepared>,
}

/// An open session.
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) events: Pin<Box<dyn Stream<Item = Event> + Send>>,
    /// Entries before this one existed when the session was opened: their questions are over.
    pub(super) fresh: u64,
    /// Exceptions: questions that are still open, asked again after the history was sent.
    pub(super) asked: Vec<Arc<Entry>>,
}

impl Chat {
    pub(super) fn new(id: i64, bot: Arc<Bot>) -> Self {
        let renderer = TurnRenderer::new(bot.engine.setup().profile.chat.clone());
        let outbox = Arc::new(Outbox::new(id, renderer));
        Self {
            bot,
            outbox,
            open: None,
            asks: Vec::new(),
            choices: None,
            undoing: None,
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            preparing: None,
            album: None,
            edited_at: None,
            is_closing: false,
        }
    }

    /// Runs until no more messages arrive and all are sent.
    pub(super) async fn live(mut self, mut inbox: mpsc::UnboundedReceiver<Mail>) {
        let writer = self.bot.writer(self.outbox.clone());
        let typing = typing(self.bot.clone(), self.outbox.clone());
        tokio::select! {
            () = self.listen(&mut inbox) => {}
            () = writer.write() => {}
            () = typing => {}
        }
    }

    async fn listen(&mut self, inbox: &mut mpsc::UnboundedReceiver<Mail>) {
        loop {
            if self.is_closing && self.open.is_none() {
                return self.outbox.settled().await;
            }
            tokio::select! {
                mail = inbox.recv(), if !self.is_closing => match mail {
                    Some(mail) => self.handle(mail).await,
                    None => self.is_closing = true,
                },
                event = next(&mut self.open) => self.event(event).await,
                prepared = ready(&mut self.preparing), if !self.is_closing => self.prompt(prepared).await,
                () = due(&self.album), if !self.is_closing => self.end_album().await,
            }
        }
    }

    async fn handle(&mut self, mail: Mail) {
        match mail {
            Mail::Started(unsent) => self.take_up(unsent).await,
            Mail::Said(message) => self.said(*message).await,
            Mail::Edited => self.edited(),
            Mail::Pressed(press) => self.pressed(press).await,
            Mail::Moved(to) => self.moved(to),
        }
    }

    /// Handles a new ID of the chat. Earlier buttons are invalid.
    fn moved(&mut self, to: i64) {
        self.choices = None;
        self.outbox.move_to(to);
        self.repeat_asks();
    }

    /// After a restart: removes earlier buttons, continues a turn that was cut off, and sends what was not sent.
    async fn take_up(&mut self, unsent: Vec<Message>) {
        let state = self.state();
        state.asked.iter().for_each(|message| self.outbox.push(Job::Unbutton { message: *message }));
        self.keep(|chat| chat.asked.clear());
        if let Some(id) = &state.session {
            self.go_on(id, state.next).await;
        }
        for message in self.unrecorded(unsent) {
            self.said(message).await;
        }
    }

    /// The messages that are not in the session's journal; the others are done.
    fn unrecorded(&self, unsent: Vec<Message>) -> Vec<Message> {
        let entries = self.state().session.and_then(|id| self.bot.engine.setup().home.peek(&id).ok());
        let recorded: Vec<i64> =
            entries.iter().flatten().flat_map(|entry| self.said_in(&entry.fact)).collect();
        let (done, left): (Vec<_>, _) =
            unsent.into_iter().partition(|message| recorded.contains(&message.id));
        self.forget(&done.iter().map(|message| message.id).collect::<Vec<_>>());
        left
    }

    /// Whether the journal has a prompt of this chat that no turn has used.
    fn waits_in(&self, id: &SessionId) -> bool {
        let entries = self.bot.engine.setup().home.peek(&id.0).unwrap_or_default();
        let waiting = waiting_prompts(entries.iter().map(Arc::as_ref));
        waiting.iter().any(|prompt| !self.said_in(prompt).is_empty())
    }

    async fn go_on(&mut self, id: &str, next: u64) {
        let Ok(entries) = self.bot.engine.setup().home.peek(id) else { return };
        let is_cut_off = is_cut_off(&entries);
        let is_told = entries.last().is_none_or(|last| last.seq.0 < next);
        if is_told && !is_cut_off {
            return;
        }
        match self.session().await {
            Ok(session) if is_cut_off && !session.is_joined() && self.is_first_in(id) => {
                self.bot.type_in(self.id()).await;
                self.send(Command::Continue);
            }
            Ok(_) => {}
            Err(why) => self.outbox.say(why),
        }
    }

    /// Whether this chat continues the turn that the process of the session left: of several chats in one session, one
    /// does.
    fn is_first_in(&self, session: &str) -> bool {
        let is_before = |(id, chat): (&i64, &ChatState)| {
            *id < self.id() && chat.session.as_ref().is_some_and(|other| other == session)
        };
        !self.bot.store.read(|state| state.chats.iter().any(is_before))
    }

    fn edited(&mut self) {
        if self.edited_at.is_none_or(|at| at.elapsed() > EDIT_INTERVAL) {
            self.edited_at = Some(Instant::now());
            self.outbox.say("What is edited is not read again: please send it anew.");
        }
    }

    async fn event(&mut self, event: Option<Event>) {
        let fresh = self.open.as_ref().map_or(0, |open| open.fresh);
        match event {
            Some(Event::Live(update)) => self.shown(&update),
            Some(Event::Recorded(entry)) if entry.seq.0 < fresh => {
                self.recorded(&entry);
                if entry.seq.0 + 1 == fresh {
                    self.ask_again();
                }
            }
            Some(Event::Recorded(entry)) => self.recorded(&entry),
            None => self.closed().await,
        }
    }

    fn shown(&mut self, update: &Update) {
        let refusal = Refusal::of(update);
        let undo = self.undoing.take_if(|_| refusal.is_some());
        match undo.zip(refusal) {
            Some((undo, refusal)) => self.undo_refused(undo, refusal),
            None => self.outbox.tell(|renderer| renderer.update(update)),
        }
    }

    async fn closed(&mut self) {
        self.outbox.set_running(false);
        self.end_asks(None, "No longer asked.");
        self.undoing = None;
        let sent: Vec<i64> = self.sent.drain(..).flatten().collect();
        let Some(open) = self.open.take() else { return };
        if let Some(failure) = open.session.journal().failure() {
            self.outbox.say(format!("The conversation was closed: {failure}."));
        }
        // When the bot shuts down, they are kept for the next start.
        if self.is_closing {
            return;
        }
        let (id, was_joined, fresh) = (open.session.id().clone(), open.session.is_joined(), open.fresh);
        // While a handle exists, the closed session counts as open.
        drop(open);
        // The session's process ended before it used the messages of this chat.
        if was_joined && self.waits_in(&id) {
            self.go_on(&id.0, fresh).await;
        }
        if sent.is_empty() {
            return;
        }
        let mut unsent = self.state().unsent;
        unsent.retain(|message| sent.contains(&message.id));
        let unheard = self.unrecorded(unsent);
        match was_joined {
            true => self.say_again(unheard).await,
            false if unheard.is_empty() => {}
            false => {
                self.forget(&sent);
                self.outbox.say("What you said last was not taken: please say it again.");
            }
        }
    }

    /// Sends messages again that a session's ended process did not record: the session continues here, or in the
    /// process that has it open by then.
    async fn say_again(&mut self, unheard: Vec<Message>) {
        let same = |a: &Message, b: &Message| a.album.is_some() && a.album == b.album;
        let prompts: Vec<Vec<Message>> = unheard.chunk_by(same).map(<[Message]>::to_vec).collect();
        prompts.into_iter().rev().for_each(|messages| self.waiting.push_front(messages));
        self.prepare().await;
    }

    fn recorded(&mut self, entry: &Entry) {
        let Some(open) = &self.open else { return };
        let (session, is_over) = (open.session.clone(), entry.seq.0 < open.fresh);
        let next = entry.seq.0 + 1;
        let close = || self.outbox.close(session.id().0.clone(), next);
        match &entry.fact {
            Fact::Prompted { channel, .. } => {
                // The text so far is shown above the user's message.
                close();
                self.heard(channel);
                self.outbox.set_running(true);
            }
            Fact::PromptDenied { channel, .. } => {
                self.outbox.tell(|renderer| renderer.fact(&entry.fact));
                self.heard(channel);
            }
            Fact::PromptQueued { channel, .. } => self.heard(channel),
            Fact::Continued | Fact::Called { .. } | Fact::TaskEnded { .. } => {
                self.outbox.set_running(true);
                self.outbox.tell(|renderer| renderer.fact(&entry.fact));
            }
            Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } => {
                self.outbox.tell(|renderer| renderer.fact(&entry.fact));
                close();
                if !is_over {
                    self.ask_of(&session, &entry.fact);
                }
            }
            Fact::ApprovalAnswered { call, answer, .. } => {
                self.outbox.tell(|renderer| renderer.fact(&entry.fact));
                self.end_asks(Some(call), asking::said(*answer));
            }
            Fact::QuestionAnswered { call, answer, .. } => {
                let ended = answer.as_ref().map(|answer| format!("Answered: {answer}"));
                self.end_asks(Some(call), ended.as_deref().unwrap_or("Not answered."));
            }
            Fact::ToolEnded { call, .. } => {
                self.outbox.tell(|renderer| renderer.fact(&entry.fact));
                self.end_asks(Some(call), "No longer asked.");
            }
            Fact::TurnEnded { .. } => {
                self.outbox.tell(|renderer| renderer.fact(&entry.fact));
                close();
                self.end_asks(None, "No longer asked.");
                self.outbox.set_running(false);
            }
            fact @ Fact::Rewound { .. } => {
                self.outbox.say(undo::told(fact).unwrap_or_default());
                close();
                self.undoing = None;
            }
            other => self.outbox.tell(|renderer| renderer.fact(other)),
        }
    }

    /// Sends a command to the open session; returns whether that succeeded.
    pub(super) fn send(&self, command: Command) -> bool {
        self.open.as_ref().is_some_and(|open| open.session.send(command).is_ok())
    }

    /// The ID of the chat.
    pub(super) fn id(&self) -> i64 {
        self.outbox.chat()
    }

    pub(super) fn state(&self) -> ChatState {
        self.bot.store.chat(self.id())
    }

    pub(super) fn keep(&self, change: impl FnOnce(&mut ChatState)) {
        self.bot.keep(self.id(), change);
    }
}

/// Whether the last turn was cut off.
pub(super) fn is_cut_off(entries: &[Arc<Entry>]) -> bool {
    LastTurn::of(entries) == LastTurn::CutOff
}

/// The next event; waits forever if no session is open.
async fn next(open: &mut Option<Open>) -> Option<Event> {
    match open {
        Some(open) => open.events.next().await,
        None => std::future::pending().await,
    }
}

async fn ready(preparing: &mut Option<Preparing>) -> Prepared {
    match preparing {
        Some(preparing) => (&mut preparing.prepared).await,
        None => std::future::pending().await,
    }
}

async fn due(album: &Option<(Vec<Message>, Instant)>) {
    match album {
        Some((_, due)) => sleep_until(*due).await,
        None => std::future::pending().await,
    }
}

/// Shows the "typing" status repeatedly while the session is working.
async fn typing(bot: Arc<Bot>, outbox: Arc<Outbox>) {
    loop {
        sleep(TYPING_INTERVAL).await;
        if outbox.is_at_it() {
            bot.type_in(outbox.chat()).await;
        }
    }
}

impl Bot {
    /// Ignores errors: a server in place of Telegram may not support this method.
    pub(super) async fn type_in(&self, chat: i64) {
        let parameters = json!({"chat_id": chat, "action": "typing"});
        let _best_effort = timeout(TYPING_TIMEOUT, self.api.call("sendChatAction", &parameters)).await;
    }
}

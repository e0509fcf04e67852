//! [`Turn`]: the handle of one command: the events of its turn, and a report at the end.
use super::{
    Closed, Session,
    mailbox::SessionMessage,
    mailbox::{CommandStatus, CommandStatuses, CommandTicket},
    responder::{Listener, Reader, open_questions, refusal},
    turn_report::{ReportBuilder, TurnError, TurnReport},
};
use futures::{
    FutureExt, Stream, StreamExt,
    future::{BoxFuture, poll_fn},
    stream::BoxStream,
};
use haft_core::{Answer, CallId, Command, Event, Fact, Part, Seq, answer};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::sync::mpsc;

impl Session {
    /// Gives `command`. The handle follows the command, whether it opens a turn, joins the running one, waits for that
    /// one's end or opens none.
    pub fn start(&self, command: Command) -> Turn {
        self.start_at(command, self.journal.next(), false)
    }

    /// Like [`Self::start`], but the handle yields all events from the entry `from` on, including those of other
    /// commands, until the command is done.
    pub fn start_from(&self, command: Command, from: Seq) -> Turn {
        self.start_at(command, from, true)
    }

    fn start_at(&self, command: Command, from: Seq, yields_all: bool) -> Turn {
        let (sender, progress) = mpsc::unbounded_channel();
        let events = self.journal.follow(from).boxed();
        // Before the command is given, which may ask at once.
        let listener = Some(self.responder.listen());
        // A closed session drops the ticket, and its events end.
        let _session_is_closed =
            self.mailbox.send(SessionMessage::Command(command, CommandTicket::of(0, sender)));
        Turn {
            session: self.clone(),
            events,
            yields_all,
            progress,
            place: Place::Waits,
            is_queued: false,
            seen: Seq(0),
            account: ReportBuilder::default(),
            reader: None,
            listener,
            first: None,
            unread: None,
            refuses_unanswered: false,
        }
    }

    /// Takes up a turn that did not end: after a crash, or after the model failed.
    pub fn resume(&self) -> Turn {
        self.start(Command::Continue)
    }

    /// Says `text`: opens a turn, or joins the one that runs.
    ///
    /// ```no_run
    /// # async fn example(session: haft_engine::Session) -> Result<(), haft_engine::TurnError> {
    /// let report = session.prompt("What is twice 21?").await?;
    /// println!("{}", report.text);
    /// # Ok(())
    /// # }
    /// ```
    pub fn prompt(&self, text: impl Into<String>) -> Turn {
        self.start(Command::Prompt { parts: vec![Part::text(text)], channel: None })
    }

    /// Says `text` in a turn of its own, and returns its last reply as a `T`. The model is asked again where a reply does
    /// not match the schema of `T`. Fails if none does, or the turn ends before.
    ///
    /// ```no_run
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Answer {
    ///     number: i64,
    /// }
    ///
    /// # async fn example(session: haft_engine::Session) -> Result<(), haft_engine::TurnError> {
    /// let answer: Answer = session.ask_as("What is twice 21?").await?;
    /// println!("{}", answer.number);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn ask_as<T: DeserializeOwned + JsonSchema>(
        &self,
        text: impl Into<String>,
    ) -> Result<T, TurnError> {
        let (parts, schema) = (vec![Part::text(text)], answer::schema_of::<T>());
        self.start(Command::PromptWithSchema { parts, schema }).await?.into_answer()
    }
}

/// A handle of one command of a session: a stream of events, then a report.
///
/// What calls ask meanwhile is answered as the handle's session says ([`Session::answered_by`]). Code that reads it as a
/// [`Stream`] may answer with [`Turn::answer`] and [`Turn::reply`]: the turn waits for that, until the handle is dropped.
/// Then it is refused, unless code has another such handle or a stream of [`Session::events`]. In a session without
/// [`Session::answered_by`] only an awaited turn refuses, since people may answer from elsewhere.
///
/// As a [`Stream`] it yields the events from the first entry of the command to the last one, as [`Session::events`]
/// does. It ends when the turn has ended that the command opened or joined; at once where the command opens none, such
/// as [`Command::Interrupt`]; and when the session closes.
///
/// `.await` gives the [`TurnReport`] of a turn that ended, or a [`TurnError`]; [`Turn::report`] gives the report in each
/// case. A handle that is dropped stops nothing: [`Command::Interrupt`] does.
#[must_use = "the command is given, but what comes of it is not waited for"]
pub struct Turn {
    session: Session,
    events: BoxStream<'static, Event>,
    /// Whether events of other commands are yielded, too.
    yields_all: bool,
    progress: CommandStatuses,
    place: Place,
    is_queued: bool,
    seen: Seq,
    account: ReportBuilder,
    /// Since code has read it as a stream, which may answer.
    reader: Option<Reader>,
    /// Until it is awaited or has ended.
    listener: Option<Listener>,
    /// The first entry that was seen to come of the command.
    first: Option<Seq>,
    /// The event that [`Turn::recorded`] waited for, until it is yielded.
    unread: Option<Event>,
    /// Whether what the session's [`Responder`](super::responder::Responder) does not answer is refused, unless code that
    /// reads another handle may answer it.
    refuses_unanswered: bool,
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, place, .. } = self;
        f.debug_struct("Turn").field("session", session).field("place", place).finish_non_exhaustive()
    }
}

/// Up to where a handle has come.
#[derive(Debug)]
enum Place {
    /// The command is not carried out yet: what happens belongs to others.
    Waits,
    /// The entries from `from` on belong to the command; none was seen yet.
    Begins { from: Seq },
    /// All before `next` was seen. Where `to` is known, nothing more follows it.
    Runs { next: Seq, to: Option<Seq> },
    /// The handle has ended; `why` says why the command was not done.
    Ended { why: Option<String> },
}

impl Turn {
    /// The session, to answer questions in or to interrupt.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The place behind the last entry that was seen to come of the command. If the handle has ended, all that came of
    /// it is before.
    pub fn seen(&self) -> Seq {
        self.seen
    }

    /// Gives another command to the session, such as an answer to a call that asks.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn send(&self, command: Command) -> Result<(), Closed> {
        self.session.send(command)
    }

    /// Answers a call that asks for an approval.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn answer(&self, call: CallId, answer: Answer) -> Result<(), Closed> {
        self.send(Command::answer(call, answer))
    }

    /// Answers the question of a call; `None` if there is no person to ask.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn reply(&self, call: CallId, answer: Option<String>) -> Result<(), Closed> {
        self.send(Command::reply(call, answer))
    }

    /// Stops the running turn. It still reports its end.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn interrupt(&self) -> Result<(), Closed> {
        self.send(Command::Interrupt)
    }

    /// Waits until the command is recorded: it begins, it is in the journal as a prompt that waits, or it is done. What
    /// was given before a crash is not lost then.
    pub async fn recorded(&mut self) {
        while matches!(self.place, Place::Waits) && !self.is_queued {
            match self.progress.recv().await {
                Some((_, progress)) => self.hear(progress),
                None => self.close(),
            }
        }
        if matches!(self.place, Place::Begins { .. }) {
            self.unread = poll_fn(|cx| self.poll_event(cx)).await;
        }
    }

    /// Why the command is not carried out, as a sentence for people: the session closed or failed, or refused it.
    pub fn refusal(&self) -> Option<&str> {
        match &self.place {
            Place::Ended { why } => why.as_deref(),
            Place::Waits | Place::Begins { .. } | Place::Runs { .. } => None,
        }
    }

    /// Waits for the end and returns what came of the command. If the session closed before, or refused the command,
    /// the report has no outcome and its `error` says why.
    pub async fn report(mut self) -> TurnReport {
        let is_answered = self.session.responder.by.borrow().is_some();
        self.finish(is_answered).await;
        self.into_report().0
    }

    async fn finish(&mut self, refuses_unanswered: bool) {
        (self.refuses_unanswered, self.reader) = (refuses_unanswered, None);
        self.listener = self.listener.take().filter(|_| !refuses_unanswered);
        let mut readers = self.session.responder.readers();
        loop {
            // What a handle that is gone left open would keep the turn from going on.
            if refuses_unanswered && *readers.borrow_and_update() == 0 {
                let asked = open_questions(&self.session.entries());
                asked
                    .iter()
                    .filter(|asked| self.may_refuse(asked.seq))
                    .for_each(|asked| self.respond(&asked.fact));
            }
            loop {
                tokio::select! {
                    event = poll_fn(|cx| self.poll_event(cx)) => if event.is_none() { return },
                    Ok(()) = readers.changed() => break,
                }
            }
        }
    }

    /// Where another process has the session open, only what the turns of this handle ask.
    fn may_refuse(&self, asked: Seq) -> bool {
        !self.session.is_joined() || self.first.is_some_and(|first| (first..self.seen).contains(&asked))
    }

    fn respond(&self, asked: &Fact) {
        let responder = self.session.responder.by.borrow().as_ref().map(|(responder, _)| responder.clone());
        let responder = responder.unwrap_or_default();
        let command = match responder.answers(asked) {
            // The session's own task asks the responder.
            true if !self.session.is_joined() => None,
            true => responder.answer(&self.session.journal, asked),
            false if self.refuses_unanswered && *self.session.responder.readers().borrow() == 0 => {
                refusal(asked)
            }
            false => None,
        };
        if let Some(command) = command {
            let _session_is_closed = self.send(command);
        }
    }

    /// The report of the events that were seen, and why the command was not carried out.
    fn into_report(self) -> (TurnReport, Option<String>) {
        let why = match self.place {
            Place::Ended { why } => why,
            Place::Waits | Place::Begins { .. } | Place::Runs { .. } => None,
        };
        (self.account.report(why.as_deref()), why)
    }

    fn hear(&mut self, progress: CommandStatus) {
        self.place = match (progress, std::mem::replace(&mut self.place, Place::Waits)) {
            (CommandStatus::Queued, place) => {
                self.is_queued = true;
                place
            }
            (CommandStatus::Begun { from }, _) => Place::Begins { from },
            (CommandStatus::Done { to }, Place::Runs { next, .. }) => Place::Runs { next, to: Some(to) },
            (CommandStatus::Done { to }, Place::Begins { from }) => Place::Runs { next: from, to: Some(to) },
            // It left nothing to see.
            (CommandStatus::Done { to }, Place::Waits) => Place::Runs { next: to, to: Some(to) },
            (CommandStatus::Refused { why }, _) => Place::Ended { why: Some(why) },
            (CommandStatus::Done { .. }, ended @ Place::Ended { .. }) => ended,
        };
    }

    /// Whether `event` belongs to the command.
    fn is_own(&mut self, event: &Event) -> bool {
        let recorded = match event {
            Event::Recorded(entry) => Some(entry.seq),
            Event::Live(_) => None,
        };
        match (&mut self.place, recorded) {
            (Place::Begins { from }, Some(seq)) if seq >= *from => {
                self.place = Place::Runs { next: Seq(seq.0 + 1), to: None };
                true
            }
            (Place::Runs { next, to }, Some(seq)) => {
                let is_own = seq >= *next && to.is_none_or(|to| seq < to);
                *next = Seq(seq.0 + 1).max(*next);
                is_own
            }
            // Live updates of an earlier turn may still be on their way when this one begins.
            (Place::Runs { .. }, None) => true,
            (Place::Waits | Place::Begins { .. } | Place::Ended { .. }, _) => false,
        }
    }

    fn end_where_reached(&mut self) {
        if matches!(self.place, Place::Runs { next, to: Some(to) } if next >= to) {
            self.place = Place::Ended { why: None };
        }
    }

    fn close(&mut self) {
        let why = self.session.journal.failure().unwrap_or("the session was closed").to_owned();
        self.place = Place::Ended { why: Some(why) };
    }
}

impl Stream for Turn {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.reader.is_none() {
            self.reader = Some(Reader::new(self.session.responder.clone()));
        }
        self.poll_event(cx)
    }
}

impl Turn {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.unread.take() {
            return Poll::Ready(Some(event));
        }
        loop {
            while let Poll::Ready(Some((_, progress))) = self.progress.poll_recv(cx) {
                self.hear(progress);
            }
            self.end_where_reached();
            if matches!(self.place, Place::Ended { .. }) {
                (self.reader, self.listener) = (None, None);
                return Poll::Ready(None);
            }
            let Some(event) = ready!(self.events.poll_next_unpin(cx)) else {
                self.close();
                continue;
            };
            // A command begins before its first entry is recorded, so what is known now decides.
            while let Ok((_, progress)) = self.progress.try_recv() {
                self.hear(progress);
            }
            if self.is_own(&event) {
                if let Event::Recorded(entry) = &event {
                    self.first.get_or_insert(entry.seq);
                    self.seen = Seq(entry.seq.0 + 1);
                    self.account.apply(entry);
                    self.respond(&entry.fact);
                }
                return Poll::Ready(Some(event));
            }
            // The turn that this command waits for continues.
            if let Event::Recorded(entry) = &event
                && !self.session.is_joined()
            {
                self.respond(&entry.fact);
            }
            if self.yields_all {
                return Poll::Ready(Some(event));
            }
        }
    }
}

impl IntoFuture for Turn {
    type Output = Result<TurnReport, TurnError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        async move {
            self.finish(true).await;
            match self.into_report() {
                (report, Some(why)) => Err(TurnError::Ended { why, report: Box::new(report) }),
                (report, None) => report.checked(),
            }
        }
        .boxed()
    }
}

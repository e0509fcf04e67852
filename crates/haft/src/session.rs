//! [`Session`] and [`Turn`]: one conversation, and one turn of it, as a program holds them.
use crate::{Error, Result, person::Person};
use futures::{Stream, StreamExt, future::BoxFuture};
use haft_core::{Answer, CallId, Command, Entry, Event, Part, Seq, SessionId};
use haft_engine::{Closed, TurnReport};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// One conversation with one journal. Cheap to clone; when the last clone is gone, it ends after its turn.
#[derive(Clone)]
pub struct Session {
    inner: haft_engine::Session,
    person: Person,
}

impl Session {
    pub(crate) fn new(inner: haft_engine::Session, person: Person) -> Self {
        Self { inner, person }
    }

    /// Returns its name, for [`crate::Haft::resume`].
    pub fn id(&self) -> &SessionId {
        self.inner.id()
    }

    /// Says `text`: opens a turn, or joins the one that runs.
    pub fn prompt(&self, text: impl Into<String>) -> Turn {
        self.start(Command::Prompt { parts: vec![Part::text(text)], channel: None })
    }

    /// Takes up a turn that did not end: after a crash, or after the model failed.
    pub fn go_on(&self) -> Turn {
        self.start(Command::Continue)
    }

    /// Gives any command. The handle ends for each of them: with the turn that it opens or joins, else when it is done.
    pub fn start(&self, command: Command) -> Turn {
        Turn { inner: self.inner.start(command), person: self.person.clone() }
    }

    /// Gives a command and waits for nothing.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn send(&self, command: Command) -> Result<()> {
        self.inner.send(command).map_err(closed)
    }

    /// Forgets which calls were made in this turn: the next one is made again, also where it can bring nothing new.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn clear_current_turn(&self) -> Result<()> {
        self.inner.clear_current_turn().map_err(closed)
    }

    /// Forgets as [`Session::clear_current_turn`] does, and also which files the model has read, until the session is
    /// resumed. The conversation stays.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn clear_state(&self) -> Result<()> {
        self.inner.clear_state().map_err(closed)
    }

    /// Returns everything recorded since `from`, then everything that happens, also on behalf of other clients, until
    /// the session closes.
    pub fn events(&self, from: Seq) -> impl Stream<Item = Event> + Send + 'static {
        self.inner.events(from)
    }

    /// Returns everything recorded so far.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.inner.entries()
    }

    /// Returns the engine's handle of it, with what a front-end needs.
    pub fn engine(&self) -> &haft_engine::Session {
        &self.inner
    }
}

/// What comes of one command: a stream of its events, then a report.
///
/// `.await` gives the [`TurnReport`], or an error if the session closed before or the model could not be asked;
/// [`TurnReport::outcome`] tells other ends apart. What is asked meanwhile is answered as [`crate::Builder::approve`]
/// says, and refused without such an answer.
///
/// Code that reads it as a [`Stream`] answers with [`Turn::answer`] and [`Turn::reply`]: the turn waits for them. A
/// handle that is dropped stops nothing; [`Turn::interrupt`] does.
#[must_use = "the command is given, but nobody waits for what comes of it"]
pub struct Turn {
    inner: haft_engine::Turn,
    person: Person,
}

impl Turn {
    /// Answers a call that asks for an approval.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn answer(&self, call: CallId, answer: Answer) -> Result<()> {
        self.inner.send(Command::Answer { call, answer }).map_err(closed)
    }

    /// Answers the question of a call; `None` if there is no person to ask.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn reply(&self, call: CallId, answer: Option<String>) -> Result<()> {
        self.inner.send(Command::Reply { call, answer }).map_err(closed)
    }

    /// Stops the turn that runs. Its report comes all the same.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn interrupt(&self) -> Result<()> {
        self.inner.send(Command::Interrupt).map_err(closed)
    }

    /// Waits for the end and returns what came of the command, also where the session closed before or the model could
    /// not be asked: the report's `error` says so.
    pub async fn report(mut self) -> TurnReport {
        self.finish().await;
        self.inner.report().await
    }

    async fn finish(&mut self) {
        while let Some(event) = self.inner.next().await {
            self.heard(&event, true);
        }
    }

    fn heard(&self, event: &Event, or_nobody: bool) {
        if let Some(command) = self.person.answer(self.inner.session(), event, or_nobody) {
            let _session_is_closed = self.inner.send(command);
        }
    }
}

impl Stream for Turn {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let event = ready!(self.inner.poll_next_unpin(cx));
        if let Some(event) = &event {
            self.heard(event, false);
        }
        Poll::Ready(event)
    }
}

impl IntoFuture for Turn {
    type Output = Result<TurnReport>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            self.finish().await;
            Ok(self.inner.await?)
        })
    }
}

fn closed(closed: Closed) -> Error {
    Error::new(format!("cannot give the command: {closed}"))
        .with_hint("`Haft::resume` opens the session again")
}

//! The session of a chat: opens it on demand, leaves it, or replaces it by another one.
use super::{
    answers::still_asked,
    chat::{Chat, Open, is_cut_off},
    outbox::Job,
    store::ChatState,
};
use haft_core::{Command, Entry, Seq, SessionOpened};
use haft_engine::{Engine, EngineError, JournalError, Session};
use std::{mem, sync::Arc};

/// An existing session.
struct Found {
    session: Session,
    /// Whether the session is open already, so that its questions can still be answered.
    goes_on: bool,
}

impl Chat {
    /// The session, if there is one and it is idle; otherwise tells the user what prevents that.
    pub(super) async fn quiet_session(&mut self) -> Option<Session> {
        if self.outbox.is_running() || self.undoing.is_some() {
            self.outbox.say("Something is going on: /stop it first, or wait.");
            return None;
        }
        self.session_if_any().await
    }

    /// The session, if the chat has one that can be used; otherwise tells the user why not.
    pub(super) async fn session_if_any(&mut self) -> Option<Session> {
        if self.state().session.is_none() {
            self.outbox.say("Nothing has been said yet.");
            return None;
        }
        match self.session().await {
            Ok(session) => Some(session),
            Err(why) => {
                self.outbox.say(why);
                None
            }
        }
    }

    /// Returns the session; opens it again if it was closed, and creates it if it does not exist. The error is for the
    /// user.
    pub(super) async fn session(&mut self) -> Result<Session, String> {
        if let Some(open) = &self.open {
            self.may_command(&open.session)?;
            return Ok(open.session.clone());
        }
        let state = self.state();
        let Some(id) = state.session else { return self.create().await };
        match self.found(&id, state.model.as_deref()).await? {
            Some(found) => {
                self.may_command(&found.session)?;
                if !found.goes_on {
                    self.tell_damage(&found.session);
                }
                Ok(self.follow(found, Seq(state.next)))
            }
            None => {
                self.outbox.say(format!("The conversation {id} is no longer there: another one begins."));
                self.create().await
            }
        }
    }

    /// Says what of the session's journal cannot be read.
    fn tell_damage(&self, session: &Session) {
        for line in session.journal().damage() {
            self.outbox.say(format!("The journal of this conversation is damaged: {line}."));
        }
    }

    /// Fails for a session that another process has open in a wider mode than the bot allows.
    fn may_command(&self, session: &Session) -> Result<(), String> {
        let setup = self.bot.engine.setup();
        session.wider_than(setup).map_or(Ok(()), |mode| {
            let (id, mode, most) = (session.id(), mode.name(), setup.widest_mode().name());
            Err(format!(
                "Another process has {id} open in the mode `{mode}`, and I allow `{most}` at most: choose a narrower mode \
                 there, or /new begins another conversation."
            ))
        })
    }

    /// Returns a session that is open in this or another process, or stored on disk; `None` if it does not exist. The
    /// error is for the user.
    async fn found(&mut self, id: &str, model: Option<&str>) -> Result<Option<Found>, String> {
        let is_it = |session: &Session| session.id().0 == id;
        if let Some(session) = self.bot.sessions().await.into_iter().find(is_it) {
            return Ok(Some(Found { session, goes_on: true }));
        }
        match self.engine_of(model).await?.open(id, &self.bot.options.host.agent()).await {
            Ok(session) => Ok(Some(Found { goes_on: session.is_joined(), session })),
            Err(EngineError::Journal(JournalError::Missing(_))) => Ok(None),
            Err(error) => {
                Err(format!("I cannot go on with {id}: {error}. /new begins another conversation."))
            }
        }
    }

    /// The engine for the chosen model. If that fails, no other model is used silently.
    async fn engine_of(&mut self, model: Option<&str>) -> Result<Engine, String> {
        let Some(model) = model else { return Ok(self.bot.engine.clone()) };
        let usual = &self.bot.engine.setup().model.spec;
        self.bot.engine_with(model).await.map_err(|why| {
            format!(
                "`{model}` cannot be had: {why}. /model {usual} and then /new begins another conversation."
            )
        })
    }

    async fn create(&mut self) -> Result<Session, String> {
        let model = self.state().wish;
        let engine = self.engine_of(model.as_deref()).await?;
        let session = engine.create(&self.bot.options.host.agent()).map_err(|error| format!("{error}."))?;
        let id = session.id().0.clone();
        self.keep(|chat| {
            (chat.session, chat.model) = (Some(id), model);
            (chat.next, chat.message, chat.sent) = (0, None, 0);
        });
        self.outbox.push(Job::Left);
        Ok(self.follow(Found { session, goes_on: false }, Seq(0)))
    }

    /// Follows a session. Earlier questions are over if the session was resumed here; if it was open, they are still
    /// valid.
    fn follow(&mut self, Found { session, goes_on }: Found, from: Seq) -> Session {
        let entries = session.entries();
        let fresh = entries.last().map_or(0, |last| last.seq.0 + 1);
        let events = Box::pin(session.events(from));
        let before = entries.iter().take_while(|entry| entry.seq < from);
        self.outbox.tell(|renderer| renderer.skip(before.map(|entry| &entry.fact)));
        let asked = if goes_on { still_asked(&entries) } else { Vec::new() };
        self.open = Some(Open { session: session.clone(), events, fresh, asked });
        if goes_on {
            self.outbox.set_running(is_cut_off(&entries));
        }
        if from.0 >= fresh {
            self.ask_again();
        }
        session
    }

    /// Repeats the questions that were open when the session was opened, after its history was sent.
    pub(super) fn ask_again(&mut self) {
        let Some(open) = &mut self.open else { return };
        let (session, asked) = (open.session.clone(), mem::take(&mut open.asked));
        asked.iter().for_each(|entry| self.ask_of(&session, &entry.fact));
    }

    /// Repeats the open questions: the messages with the buttons may have been deleted, or may never have arrived.
    pub(super) fn repeat_asks(&mut self) {
        let Some(session) = self.open.as_ref().map(|open| open.session.clone()) else { return };
        self.end_asks(None, "Asked again below.");
        still_asked(&session.entries()).iter().for_each(|entry| self.ask_of(&session, &entry.fact));
    }

    /// Leaves the session; a running turn is stopped unless another client follows it.
    pub(super) fn leave(&mut self) {
        let is_ours = self.open.as_ref().is_some_and(|open| !open.session.is_joined());
        if is_ours && self.outbox.is_running() && !self.is_followed_elsewhere() {
            self.send(Command::Interrupt);
        }
        self.end_asks(None, "No longer asked.");
        self.drop_unsent();
        let sent: Vec<i64> = self.sent.drain(..).flatten().collect();
        self.forget(&sent);
        self.outbox.tell(|renderer| drop(renderer.take()));
        self.outbox.set_running(false);
        self.open = None;
        self.keep(|chat| {
            (chat.session, chat.model) = (None, None);
            (chat.next, chat.message, chat.sent) = (0, None, 0);
        });
        // Queued after the remaining output of the session.
        self.outbox.push(Job::Left);
    }

    /// Whether another chat uses the same session.
    fn is_followed_elsewhere(&self) -> bool {
        let Some(session) = self.state().session else { return false };
        let is_there =
            |(id, chat): (&i64, &ChatState)| *id != self.id() && chat.session.as_ref() == Some(&session);
        self.bot.store.read(|state| state.chats.iter().any(is_there))
    }

    /// Continues with a session of this workspace.
    pub(super) async fn join(&mut self, id: &str) {
        if id.is_empty() {
            return self.outbox.say("Which one? /join ID; /sessions lists those there are.");
        }
        let home = self.bot.engine.setup().home.clone();
        let found = home.find(id).and_then(|id| home.peek(&id.0).map(|entries| (id, entries)));
        let (id, entries) = match found {
            Ok(found) => found,
            Err(error) => return self.outbox.say(format!("{error}. /sessions lists those there are.")),
        };
        if self.state().session.as_ref() == Some(&id.0) {
            return self.outbox.say("This is the conversation that we are in.");
        }
        if !self.is_of_here(&entries) {
            return self.outbox.say(format!("{id} works in another folder than I do."));
        }
        let found = match self.found(&id.0, None).await {
            Ok(Some(found)) => match self.may_command(&found.session) {
                Ok(()) => found,
                Err(why) => return self.outbox.say(why),
            },
            Ok(None) => {
                return self.outbox.say(format!("{id} is there no more. /sessions lists those there are."));
            }
            Err(why) => return self.outbox.say(why),
        };
        self.leave();
        let model = self.bot.model_of(&found.session).await;
        let next = found.session.entries().last().map_or(0, |last| last.seq.0 + 1);
        let other = model.clone().filter(|model| *model != self.bot.engine.setup().model.spec);
        self.keep(|chat| (chat.session, chat.model, chat.next) = (Some(id.0.clone()), other, next));
        let answers = match model {
            Some(model) => format!("{model} answers"),
            None => "the model of the process answers that has it open".to_owned(),
        };
        self.outbox.say(format!("From here on we go on with {id}; {answers}."));
        if !found.goes_on {
            self.tell_damage(&found.session);
        }
        self.follow(found, Seq(next));
    }

    fn is_of_here(&self, entries: &[Arc<Entry>]) -> bool {
        let here = &self.bot.engine.setup().workspace;
        SessionOpened::of(entries).is_some_and(|opened| opened.workspace == *here)
    }
}

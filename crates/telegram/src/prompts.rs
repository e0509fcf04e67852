//! Converts messages to prompts: commands, albums, answers to questions, files that are downloaded first.
use super::{
    asking::Kind,
    chat::{Chat, Preparing},
    commands,
    files::{self, Prepared},
    updates::{Message, Quote},
};
use haft_core::{Channel, Command, Fact};
use haft_present::safe;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum time between the parts of an album, which arrive separately.
const ALBUM_DELAY: Duration = Duration::from_millis(1_200);

impl Chat {
    /// Handles a message: a command, a part of an album, an answer, or a prompt for the model.
    pub(super) async fn said(&mut self, message: Message) {
        if self.album.as_ref().is_some_and(|(album, _)| album[0].album != message.album) {
            self.end_album().await;
        }
        if message.album.is_some() {
            let mut album = self.album.take().map(|(album, _)| album).unwrap_or_default();
            album.push(message);
            self.album = Some((album, Instant::now() + ALBUM_DELAY));
            return;
        }
        if !message.is_forwarded
            && let Some((name, rest)) = commands::parsed(&message.text, &self.bot.me.name)
        {
            let (name, rest) = (name.to_owned(), rest.to_owned());
            return self.command(&name, &rest, message).await;
        }
        self.plain(message).await;
    }

    async fn command(&mut self, name: &str, rest: &str, message: Message) {
        if commands::is_known(name) {
            // Removed before it runs, so that a command is not repeated if the bot dies meanwhile.
            self.forget(&[message.id]);
            return self.run_job(name, rest).await;
        }
        let line = format!("/{name} {rest}");
        match self.bot.expand(line.trim_end()) {
            Ok(text) => self.plain(Message { text, ..message }).await,
            Err(_) if !message.is_private && !message.text.contains('@') => self.forget(&[message.id]),
            Err(why) => {
                self.forget(&[message.id]);
                self.outbox.say(why);
            }
        }
    }

    /// Handles texts, pictures and files; the bot answers that it cannot use anything else.
    async fn plain(&mut self, message: Message) {
        if let Some(other) = message.other {
            self.forget(&[message.id]);
            return self.outbox.say(format!("I understand text, pictures and files, but no {other}."));
        }
        if message.text.trim().is_empty() && message.file.is_none() {
            return self.forget(&[message.id]);
        }
        if message.file.is_none() && !message.is_forwarded && self.replied(&message.text) {
            return self.forget(&[message.id]);
        }
        if self.asks.iter().any(|ask| matches!(ask.kind, Kind::Approval)) {
            self.outbox.say("A call waits for one of the buttons below; your message comes after it.");
            self.repeat_asks();
        }
        self.waiting.push_back(vec![self.without_own_words(message)]);
        self.prepare().await;
    }

    /// Removes the bot's own file, and a quotation of the bot's own message, which the model knows, unless the sender chose
    /// a passage of it.
    fn without_own_words(&self, message: Message) -> Message {
        let author = message.answers.and_then(|(_, from)| from);
        let is_ours = author.is_some() && author == self.bot.me.id;
        let is_own = author.is_some() && author == message.from.as_ref().map(|person| person.id);
        let quotes = message.quotes.filter(|quote| quote.is_passage || !is_ours);
        let quotes = quotes.map(|quote| Quote { is_of_another: !is_ours && !is_own, ..quote });
        let answered_file = message.answered_file.filter(|_| !is_ours && message.file.is_none());
        Message { quotes, answered_file, ..message }
    }

    pub(super) async fn end_album(&mut self) {
        if let Some((album, _)) = self.album.take() {
            self.waiting.push_back(album);
            self.prepare().await;
        }
    }

    /// Answers the question that was asked last with `text`; returns whether there is one.
    fn replied(&mut self, text: &str) -> bool {
        let asked = self.asks.iter().rev().find(|ask| matches!(ask.kind, Kind::Question { .. }));
        let Some(call) = asked.map(|ask| ask.call.clone()) else { return false };
        self.send(Command::reply(call, Some(safe::text(text).trim().to_owned())))
    }

    /// Prepares the next prompt. Files belong to a session, so it must be open before they are downloaded.
    pub(super) async fn prepare(&mut self) {
        while self.preparing.is_none()
            && let Some(messages) = self.waiting.pop_front()
        {
            match self.session().await {
                Ok(session) => {
                    let folder = self.bot.engine.setup().home.folder(session.id()).join("outputs");
                    let ids = ids(&messages);
                    let prepared = Box::pin(files::prepared(self.bot.api.clone(), messages, folder));
                    self.preparing = Some(Preparing { messages: ids, prepared });
                }
                Err(why) => {
                    self.outbox.say(why);
                    self.forget(&ids(&messages));
                }
            }
        }
    }

    /// Drops prompts that were not sent to the session that the chat leaves: they do not belong to the next one.
    pub(super) fn drop_unsent(&mut self) {
        let album = self.album.take().map(|(album, _)| album);
        let waiting = self.waiting.drain(..).chain(album).flat_map(|messages| ids(&messages));
        let preparing = self.preparing.take().map(|preparing| preparing.messages);
        let unsent: Vec<i64> = preparing.into_iter().flatten().chain(waiting).collect();
        if !unsent.is_empty() {
            self.forget(&unsent);
            self.outbox
                .say("What you sent just before is left out: please send it again if it still matters.");
        }
    }

    pub(super) async fn prompt(&mut self, prepared: Prepared) {
        self.preparing = None;
        let Prepared { messages, parts, problems } = prepared;
        problems.iter().for_each(|problem| self.outbox.say(problem));
        if !parts.is_empty() && !self.outbox.is_running() {
            self.bot.type_in(self.id()).await;
        }
        let channel = Some(self.channel(&messages));
        match parts.is_empty() || !self.sends(Command::Prompt { parts, channel }).await {
            true => self.forget(&messages),
            false => self.sent.push_back(messages),
        }
        self.prepare().await;
    }

    /// Sends a prompt; tries again if the session had closed.
    async fn sends(&mut self, prompt: Command) -> bool {
        for _ in 0..2 {
            match self.session().await {
                Ok(session) if session.send(prompt.clone()).is_ok() => return true,
                Ok(_) => self.open = None,
                Err(why) => {
                    self.outbox.say(why);
                    return false;
                }
            }
        }
        self.outbox.say("The conversation is closed; /new begins another one.");
        false
    }

    pub(super) fn channel(&self, messages: &[i64]) -> Channel {
        let messages = messages.iter().map(i64::to_string).collect();
        Channel { kind: "telegram".into(), chat: self.id().to_string(), messages }
    }

    /// The messages of this chat in a recorded prompt.
    pub(super) fn said_in(&self, fact: &Fact) -> Vec<i64> {
        match fact {
            Fact::Prompted { channel: Some(channel), .. }
            | Fact::PromptQueued { channel: Some(channel), .. }
            | Fact::PromptDenied { channel: Some(channel), .. } => self.messages_of(channel),
            _ => Vec::new(),
        }
    }

    fn messages_of(&self, channel: &Channel) -> Vec<i64> {
        let is_ours = channel.kind == "telegram" && channel.chat == self.id().to_string();
        channel.messages.iter().filter(|_| is_ours).filter_map(|message| message.parse().ok()).collect()
    }

    /// Forgets these messages: they are in a journal, or are dropped.
    pub(super) fn forget(&self, messages: &[i64]) {
        self.keep(|chat| chat.unsent.retain(|message| !messages.contains(&message.id)));
    }

    /// Notes that a prompt is in the journal, and so its messages.
    pub(super) fn heard(&mut self, channel: &Option<Channel>) {
        let messages = channel.as_ref().map(|channel| self.messages_of(channel)).unwrap_or_default();
        if !messages.is_empty() {
            self.sent.retain(|sent| *sent != messages);
            self.forget(&messages);
        }
    }
}

fn ids(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.id).collect()
}

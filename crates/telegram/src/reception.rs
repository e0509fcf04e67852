//! [`Chats`]: polls Telegram for updates, and passes each to its chat. Messages of strangers are not passed on.
use super::{
    Bot, Outage, Trouble,
    admission::Stranger,
    api::Refusal,
    chat::{Chat, Mail},
    commands, fatal,
    store::{ChatState, User},
    updates::{self, Message, Person, Press, Update},
};
use futures::FutureExt;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, time::sleep};

/// Minimum pause between polls of a server that answers immediately without updates.
const POLL_PAUSE: Duration = Duration::from_millis(300);
/// Number of retries while another process polls the bot's updates.
const CONFLICTS: u32 = 4;

/// How an update is handled.
enum Incoming {
    /// A message of an authorized user to the bot.
    Heard(Box<Message>),
    Other(Update),
    Odd,
}

/// The chats, and the access to them.
pub(super) struct Chats {
    bot: Arc<Bot>,
    inboxes: HashMap<i64, mpsc::UnboundedSender<Mail>>,
    /// By group: the album in which the bot was addressed.
    albums: HashMap<i64, String>,
}

impl Chats {
    pub(super) fn new(bot: Arc<Bot>) -> Self {
        Self { bot, inboxes: HashMap::new(), albums: HashMap::new() }
    }

    /// Polls for updates and passes them on, until Telegram refuses that.
    pub(super) async fn receive(&mut self) -> Result<(), Trouble> {
        let before = self.left_by_those_who_may()?;
        before.into_iter().for_each(|(chat, state)| self.send(chat, Mail::Started(state.unsent)));
        let (mut outage, mut conflicts) = (Outage::default(), 0);
        loop {
            let offset = self.bot.store.offset();
            let asked_at = Instant::now();
            match self.bot.api.updates(offset).await {
                Ok(updates) => {
                    (outage, conflicts) = {
                        outage.over(&self.bot.options.notes);
                        (outage, 0)
                    };
                    let is_quiet = !self.handle(updates)?;
                    if is_quiet && asked_at.elapsed() < POLL_PAUSE {
                        sleep(POLL_PAUSE).await;
                    }
                }
                Err(Refusal::Refused { code: 409, description }) if conflicts + 1 >= CONFLICTS => {
                    return Err(Trouble::Conflict(description));
                }
                Err(refusal) => {
                    conflicts += u32::from(matches!(refusal, Refusal::Refused { code: 409, .. }));
                    outage.wait(fatal(refusal)?, &self.bot.options.notes).await;
                }
            }
        }
    }

    /// The stored chats with an authorized user. Other chats are deleted, and so are messages of users who are not
    /// authorized anymore.
    fn left_by_those_who_may(&self) -> Result<BTreeMap<i64, ChatState>, Trouble> {
        let (bot, store) = (&self.bot, &self.bot.store);
        let mut chats = store.read(|state| state.chats.clone());
        let count = chats.len();
        // The ID of a private chat is that of the user; IDs of groups are negative.
        chats.retain(|chat, state| match *chat > 0 {
            true => bot.may_talk(*chat),
            false => state.people.iter().any(|who| bot.may_talk(*who)),
        });
        let may = |message: &Message| message.from.as_ref().is_some_and(|from| bot.is_allowed(from));
        chats.values_mut().for_each(|state| state.unsent.retain(may));
        store
            .write(|state| state.chats.clone_from(&chats))
            .map_err(|error| Trouble::State(store.file().to_owned(), error))?;
        if chats.len() < count {
            let gone = count - chats.len();
            (bot.options.notes)(format!("{gone} chats are forgotten: none of their members may talk"));
        }
        Ok(chats)
    }

    /// Handles updates; returns whether any was new. Updates are marked as handled before they are passed on.
    fn handle(&mut self, updates: Vec<Value>) -> Result<bool, Trouble> {
        let count = updates.len();
        let mut read = |update: Value| Some((updates::id(&update)?, self.read(&update)));
        let numbered: Vec<(i64, Incoming)> = updates.into_iter().filter_map(&mut read).collect();
        let mut odd = count - numbered.len();
        let store = self.bot.store.clone();
        let new = store
            .take_new(numbered, |state, update| match update {
                Incoming::Heard(message) => state.chats.entry(message.chat).or_default().hear(message),
                Incoming::Other(Update::Moved { from, to }) => state.move_chat(*from, *to),
                Incoming::Other(_) | Incoming::Odd => {}
            })
            .map_err(|error| Trouble::State(store.file().to_owned(), error))?;
        let is_quiet = new.is_empty();
        for update in new {
            match update {
                Incoming::Heard(message) => self.send(message.chat, Mail::Said(message)),
                Incoming::Other(update) => self.hand_out(update),
                Incoming::Odd => odd += 1,
            }
        }
        if odd > 0 {
            (self.bot.options.notes)(format!("{odd} updates that cannot be understood were left out"));
        }
        Ok(!is_quiet)
    }

    /// Parses an update. Whether its sender is authorized is checked later.
    fn read(&mut self, update: &Value) -> Incoming {
        match updates::read(update) {
            Some(Update::Said(mut message)) => match self.is_heard(&mut message) {
                true => Incoming::Heard(message),
                false => Incoming::Other(Update::Said(message)),
            },
            Some(update) => Incoming::Other(update),
            None => Incoming::Odd,
        }
    }

    fn is_heard(&mut self, message: &mut Message) -> bool {
        let may = message.from.as_ref().is_some_and(|from| self.bot.is_allowed(from));
        may && (message.is_private || self.is_addressed(message))
    }

    fn hand_out(&mut self, update: Update) {
        match update {
            Update::Said(message) => self.said(*message),
            Update::Edited(message) => {
                let may = message.from.as_ref().is_some_and(|from| self.bot.is_allowed(from));
                if may && message.is_private {
                    self.send(message.chat, Mail::Edited);
                }
            }
            Update::Pressed(press) => self.pressed(press),
            Update::Moved { from, to } => self.moved(from, to),
        }
    }

    /// Passes messages to a group's old ID on to its new one.
    fn moved(&mut self, from: i64, to: i64) {
        if self.inboxes.contains_key(&to) {
            return;
        }
        let Some(inbox) = self.inboxes.remove(&from) else { return };
        self.inboxes.insert(to, inbox);
        self.send(to, Mail::Moved(to));
    }

    fn said(&mut self, mut message: Message) {
        let Some(from) = message.from.clone() else { return };
        if !self.bot.is_allowed(&from) {
            return self.strange(&from, &message);
        }
        // The sender was admitted a moment ago.
        if self.is_heard(&mut message) {
            self.bot.keep(message.chat, |state| state.hear(&message));
            self.send(message.chat, Mail::Said(Box::new(message)));
        }
    }

    /// Whether the message is for the bot. In a group, these are commands, messages with its name, and replies to it.
    fn is_addressed(&mut self, message: &mut Message) -> bool {
        let name = format!("@{}", self.bot.me.name);
        let is_named = !self.bot.me.name.is_empty() && contains_name(&message.text, &name);
        let is_answer =
            message.answers.and_then(|(_, from)| from).is_some_and(|from| Some(from) == self.bot.me.id);
        let is_command = commands::parsed(&message.text, &self.bot.me.name).is_some();
        let is_album = message.album.is_some() && message.album.as_ref() == self.albums.get(&message.chat);
        let is_addressed = is_named || is_answer || is_command || is_album;
        if is_addressed && let Some(album) = &message.album {
            self.albums.insert(message.chat, album.clone());
        }
        if is_named && !is_command {
            message.text = without_name(&message.text, &name);
        }
        is_addressed
    }

    /// Answers a stranger, whose message is neither stored nor passed on.
    fn strange(&mut self, who: &Person, message: &Message) {
        if !message.is_private {
            return;
        }
        let met = self.bot.admission.lock().judge(who, &message.text, Instant::now());
        match met {
            Stranger::LetIn => self.let_in(who, message.chat),
            Stranger::Ignored => {}
            Stranger::Refused | Stranger::CodeEnded => {
                if met == Stranger::CodeEnded {
                    let note = "the code to be let in ended after wrong ones; `--pair` at the next start makes another";
                    (self.bot.options.notes)(note.to_owned());
                }
                let text =
                    format!("This bot is private. Its owner can let you in: your number is {}.", who.id);
                self.bot.try_to("sendMessage", json!({"chat_id": message.chat, "text": text}));
            }
        }
    }

    fn let_in(&mut self, who: &Person, chat: i64) {
        let user = User { id: who.id, name: who.name.clone() };
        match self.bot.store.write(|state| state.users.push(user)) {
            Ok(()) => (self.bot.options.notes)(format!(
                "{} ({}) may talk to the bot from here on",
                who.name, who.id
            )),
            Err(error) => (self.bot.options.notes)(format!("cannot keep who was let in: {error}")),
        }
        let text = "You are in. Say what to do; /help tells what else there is.";
        self.bot.try_to("sendMessage", json!({"chat_id": chat, "text": text}));
    }

    fn pressed(&mut self, press: Press) {
        if !self.bot.is_allowed(&press.from) {
            return self.bot.notice(&press.id, "Only those whom the owner let in can answer.");
        }
        self.send(press.chat, Mail::Pressed(press));
    }

    fn send(&mut self, chat: i64, mail: Mail) {
        let before = self.bot.store.read(|state| state.moved.get(&chat).copied());
        if let Some(before) = before.filter(|_| !self.inboxes.contains_key(&chat)) {
            self.moved(before, chat);
        }
        let inbox = self.inboxes.entry(chat).or_insert_with(|| {
            let (sender, inbox) = mpsc::unbounded_channel();
            let lives = Chat::new(chat, self.bot.clone()).live(inbox);
            let _the_bot_ends = self.bot.tasks.send(lives.boxed());
            sender
        });
        let _the_bot_ends = inbox.send(mail);
    }
}

/// Whether `text` contains `name` as a word, ignoring case.
fn contains_name(text: &str, name: &str) -> bool {
    place_of_name(text, name).is_some()
}

fn place_of_name(text: &str, name: &str) -> Option<usize> {
    let (text, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let ends = |at: &usize| {
        let next = text[at + name.len()..].chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    text.match_indices(&name).map(|(at, _)| at).find(ends)
}

fn without_name(text: &str, name: &str) -> String {
    match place_of_name(text, name) {
        Some(at) => format!("{}{}", text[..at].trim_end(), &text[at + name.len()..]).trim().to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_of_its_own() {
        let table = [
            ("@haft_bot fix it", Some("fix it")),
            ("please, @Haft_Bot, fix it", Some("please,, fix it")),
            ("@haft_bots fix it", None),
            ("ß @haft_bot", Some("ß")),
            ("fix it", None),
        ];
        for (text, expected) in table {
            let without = contains_name(text, "@haft_bot").then(|| without_name(text, "@haft_bot"));
            assert_eq!(without.as_deref(), expected, "{text}");
        }
    }
}

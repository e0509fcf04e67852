//! [`MessageWriter`]: sends messages to one chat: in order, no faster than Telegram allows, and nothing twice.
use super::{
    api::{Api, Refusal, Upload},
    asking::Document,
    outbox::{Job, Next, Outbox, Rules},
    rich::{Rich, Style},
    store::{ChatState, Store},
    turn_renderer::{Extent, Section},
    types::InlineKeyboardMarkup,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use haft_core::Image;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};

/// Maximum delay before a retry if Telegram does not answer; the delays are 1, 2, 4 … seconds.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Delay before a request is repeated if the response says that the group has moved to the ID that it already has.
const MOVE_INTERVAL: Duration = Duration::from_secs(3);

/// Maximum attempts for a file: it is large, and later messages wait for it.
const MAX_FILE_TRIES: u32 = 3;

/// Prints a message for the user who runs the bot.
pub type Notes = Arc<dyn Fn(String) + Send + Sync>;

/// Sends messages to a chat.
pub(super) struct MessageWriter {
    pub(super) api: Api,
    pub(super) store: Arc<Store>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) notes: Notes,
    pub(super) rules: Rules,
    /// The shown part of the growing message.
    shown: Extent,
    edited: Option<Instant>,
    /// Number of consecutive failures.
    troubles: u32,
    /// The messages of the open questions, by question.
    asks: HashMap<u64, i64>,
    /// The growing message, and how many messages of the finished text are in the chat: as in the stored state, but
    /// also for a session that the chat has left.
    message: Option<i64>,
    sent: usize,
}

impl MessageWriter {
    pub(super) fn new(
        (api, store, notes): (Api, Arc<Store>, Notes),
        outbox: Arc<Outbox>,
        rules: Rules,
    ) -> Self {
        let (shown, edited, troubles, asks) = (Extent::default(), None, 0, HashMap::new());
        let ChatState { message, sent, .. } = store.chat(outbox.chat());
        Self { api, store, outbox, notes, rules, shown, edited, troubles, asks, message, sent }
    }

    /// Sends the content of the outbox, forever.
    pub(super) async fn write(mut self) {
        loop {
            match self.outbox.next(self.rules, self.shown, self.edited) {
                Next::Job(job) => self.run_job(job).await,
                Next::Draft(text, extent) => self.draft(&text, extent).await,
                Next::Wait(None) => self.outbox.changed().await,
                Next::Wait(Some(moment)) => tokio::select! {
                    () = self.outbox.changed() => {}
                    () = sleep_until(moment) => {}
                },
            }
        }
    }

    async fn run_job(&mut self, job: Job) {
        let done = match job {
            Job::Deliver { session, section, next } => self.deliver(&session, &section, next).await,
            Job::Left => {
                (self.shown, self.message, self.sent) = (Extent::default(), None, 0);
                self.keep(|chat| (chat.message, chat.sent) = (None, 0));
                Ok(())
            }
            Job::Say { text, keyboard } => self.say(&text, &json!(keyboard)).await.map(drop),
            Job::Ask { ask, text, keyboard, document: None } => self.ask(ask, &text, keyboard.as_ref()).await,
            Job::Ask { ask, text, keyboard, document: Some(document) } => {
                self.ask_with(ask, text, keyboard.as_ref(), document).await
            }
            Job::Answered { ask, text } => match self.asks.remove(&ask) {
                Some(message) => self.answered(message, &text).await,
                None => Ok(()),
            },
            Job::Unbutton { message } => {
                let parameters = json!({"message_id": message});
                self.insist("editMessageReplyMarkup", parameters).await.map(drop)
            }
            Job::File { name, bytes } => {
                let mime = "application/octet-stream";
                let file = Upload { field: "document", name: &name, mime, bytes: &bytes };
                let sent = self.upload("sendDocument", file).await;
                self.excused(&format!("the file {name}"), sent).await
            }
        };
        if let Err(refusal) = done {
            (self.notes)(format!("Telegram takes a message for chat {} no more: {refusal}", self.chat()));
        }
    }

    /// Shows finished text once, even if the chat has left the session: in the growing message, and in further ones.
    async fn deliver(&mut self, session: &str, section: &Section, next: u64) -> Result<(), Refusal> {
        self.shown = Extent::default();
        let pieces = section.text.split(self.rules.limit);
        let mut told = Ok(());
        for place in self.sent..pieces.len() + section.images.len() {
            let written = match (pieces.get(place), self.message) {
                (Some(piece), Some(message)) if place == 0 => self.end(message, piece).await,
                (Some(piece), _) => self.say(piece, &Value::Null).await.map(drop),
                (None, _) => {
                    let sent = self.photo(&section.images[place - pieces.len()]).await;
                    self.excused("a picture", sent).await
                }
            };
            told = told.and(written);
            self.sent = place + 1;
            self.keep_of(session, |chat| chat.sent = place + 1);
        }
        (self.message, self.sent) = (None, 0);
        self.keep_of(session, |chat| (chat.next, chat.message, chat.sent) = (next, None, 0));
        told
    }

    /// Sets the final text of the growing message; if that was deleted, sends it again.
    async fn end(&mut self, message: i64, text: &Rich) -> Result<(), Refusal> {
        match self.edit(message, text).await {
            Err(refusal) if is_gone(&refusal) => self.say(text, &Value::Null).await.map(drop),
            edited => edited,
        }
    }

    /// Updates the growing message. Errors are ignored, since the next update shows more.
    async fn draft(&mut self, text: &Rich, extent: Extent) {
        let pieces = text.split(self.rules.limit.saturating_sub(2));
        let Some(first) = pieces.first().cloned() else { return self.shown = extent };
        let text = if pieces.len() > 1 { first.with("\n…", &[]) } else { first };
        let before = self.message;
        let written = match before {
            Some(message) => {
                let parameters = json!({"message_id": message});
                self.once("editMessageText", parameters, &text).await
            }
            None => self.once("sendMessage", json!({}), &text).await,
        };
        self.edited = Some(Instant::now());
        match written {
            Ok(result) => {
                (self.shown, self.troubles) = (extent, 0);
                self.message = before.or(result["message_id"].as_i64());
                self.keep(|chat| chat.message = self.message);
            }
            Err(Refusal::Wait(time)) => self.pause(time),
            Err(Refusal::Moved(to)) => self.moved(to).await,
            Err(Refusal::Unreachable(why)) => {
                let pause = self.next_pause(&why);
                self.pause(pause);
            }
            Err(refusal) if is_gone(&refusal) && before.is_some() => {
                self.message = None;
                self.keep(|chat| chat.message = None);
            }
            // The whole text is sent anyway once it is complete.
            Err(_) => self.shown = extent,
        }
    }

    async fn say(&mut self, text: &Rich, keyboard: &Value) -> Result<Value, Refusal> {
        let mut result = Value::Null;
        let pieces = text.split(self.rules.limit);
        for (place, piece) in pieces.iter().enumerate() {
            let mut parameters = json!({});
            if !keyboard.is_null() && place + 1 == pieces.len() {
                parameters["reply_markup"] = keyboard.clone();
            }
            result = self.insist_on("sendMessage", parameters, piece).await?;
            self.edited = Some(Instant::now());
        }
        Ok(result)
    }

    async fn ask(
        &mut self,
        ask: u64,
        text: &Rich,
        keyboard: Option<&InlineKeyboardMarkup>,
    ) -> Result<(), Refusal> {
        // A button may be pressed before Telegram answers.
        self.outbox.offer(ask, keyboard);
        let sent = self.say(text, &json!(keyboard)).await?;
        if let Some(message) = sent["message_id"].as_i64() {
            self.asks.insert(ask, message);
            self.keep(|chat| chat.asked.push(message));
        }
        Ok(())
    }

    /// Asks with a file. The user must not allow what they could not see: if the file cannot be sent, the only choice
    /// is to refuse.
    async fn ask_with(
        &mut self,
        ask: u64,
        text: Rich,
        keyboard: Option<&InlineKeyboardMarkup>,
        document: Document,
    ) -> Result<(), Refusal> {
        let Document { name, text: whole, keys_without } = document;
        let mime = "text/plain; charset=utf-8";
        let file = Upload { field: "document", name: &name, mime, bytes: whole.as_bytes() };
        match self.upload("sendDocument", file).await {
            Ok(()) => {
                let text = text.with("\nThe file above has all of it.", &[]);
                self.ask(ask, &text, keyboard).await
            }
            Err(refusal) => {
                let why = format!("\n\nI could not send all of it, so it cannot be allowed here: {refusal}.");
                let text = text.with(&haft_present::safe::text(&why), &[Style::Bold]);
                self.ask(ask, &text, Some(&keys_without)).await
            }
        }
    }

    /// Without `reply_markup`, the buttons are removed.
    async fn answered(&mut self, message: i64, text: &Rich) -> Result<(), Refusal> {
        let edited = self.edit(message, text).await;
        self.keep(|chat| chat.asked.retain(|asked| *asked != message));
        edited
    }

    async fn edit(&mut self, message: i64, text: &Rich) -> Result<(), Refusal> {
        if let Some(last) = self.edited {
            sleep_until(last + self.rules.pace).await;
        }
        let parameters = json!({"message_id": message});
        let edited = self.insist_on("editMessageText", parameters, text).await;
        self.edited = Some(Instant::now());
        edited.map(drop)
    }

    async fn photo(&mut self, image: &Image) -> Result<(), Refusal> {
        let Ok(bytes) = STANDARD.decode(&image.data) else { return Ok(()) };
        let name = image.mime.replace('/', ".");
        let upload = |field| Upload { field, name: &name, mime: &image.mime, bytes: &bytes };
        match self.upload("sendPhoto", upload("photo")).await {
            // Telegram does not accept every picture as one.
            Err(Refusal::Refused { code: 400, .. }) => self.upload("sendDocument", upload("document")).await,
            sent => sent,
        }
    }

    async fn upload(&mut self, method: &str, file: Upload<'_>) -> Result<(), Refusal> {
        let mut tries = 0;
        loop {
            let again = Upload { field: file.field, name: file.name, mime: file.mime, bytes: file.bytes };
            match self.api.send(method, self.chat(), again).await {
                Err(Refusal::Wait(time)) => self.rest(time).await,
                Err(Refusal::Moved(to)) => self.moved(to).await,
                Err(Refusal::Unreachable(why)) if tries < MAX_FILE_TRIES => {
                    tries += 1;
                    let pause = self.next_pause(&why);
                    self.rest(pause).await;
                }
                done => {
                    self.troubles = 0;
                    return done.map(drop);
                }
            }
        }
    }

    /// If `sent` failed, sends a message about that instead.
    async fn excused(&mut self, what: &str, sent: Result<(), Refusal>) -> Result<(), Refusal> {
        let Err(refusal) = sent else { return Ok(()) };
        let text =
            Rich::plain_text(&haft_present::safe::text(&format!("I could not send {what}: {refusal}.")));
        self.say(&text, &Value::Null).await?;
        Err(refusal)
    }

    /// Repeats the request until Telegram accepts it or refuses it for good.
    async fn insist_on(&mut self, method: &str, parameters: Value, text: &Rich) -> Result<Value, Refusal> {
        loop {
            let answer = self.once(method, parameters.clone(), text).await;
            if let Some(done) = self.settled(answer).await {
                return done;
            }
        }
    }

    async fn insist(&mut self, method: &str, mut parameters: Value) -> Result<Value, Refusal> {
        loop {
            parameters["chat_id"] = self.chat().into();
            let answer = self.api.call(method, &parameters).await;
            if let Some(done) = self.settled(answer).await {
                return unchanged_is_fine(done);
            }
        }
    }

    /// `None`, after a pause, if the request is to be repeated.
    async fn settled(&mut self, answer: Result<Value, Refusal>) -> Option<Result<Value, Refusal>> {
        let pause = match answer {
            Err(Refusal::Wait(time)) => time,
            Err(Refusal::Moved(to)) => {
                self.moved(to).await;
                return None;
            }
            Err(Refusal::Unreachable(why)) => self.next_pause(&why),
            done => {
                self.troubles = 0;
                return Some(done);
            }
        };
        self.rest(pause).await;
        None
    }

    /// Sends the request once, with styles if there are any, and without them if Telegram cannot parse them.
    async fn once(&self, method: &str, mut parameters: Value, text: &Rich) -> Result<Value, Refusal> {
        parameters["chat_id"] = self.chat().into();
        parameters["link_preview_options"] = json!({"is_disabled": true});
        let mut plain = parameters.clone();
        plain["text"] = text.plain().into();
        if text.is_plain() {
            return unchanged_is_fine(self.api.call(method, &plain).await);
        }
        parameters["text"] = text.html().into();
        parameters["parse_mode"] = "HTML".into();
        let written = unchanged_is_fine(self.api.call(method, &parameters).await);
        let is_unreadable = |refusal: &Refusal| refusal.says("parse") || refusal.says("entit");
        match written {
            Err(refusal) if is_unreadable(&refusal) => unchanged_is_fine(self.api.call(method, &plain).await),
            written => written,
        }
    }

    /// The delay before the next attempt. An outage is noted once.
    fn next_pause(&mut self, why: &str) -> Duration {
        if self.troubles == 0 {
            (self.notes)(format!("Telegram takes nothing for chat {}: {why}; trying on", self.chat()));
        }
        self.troubles = (self.troubles + 1).min(7);
        Duration::from_secs(1 << (self.troubles - 1)).min(MAX_RETRY_DELAY)
    }

    fn pause(&self, time: Duration) {
        if time > MAX_RETRY_DELAY {
            let seconds = time.as_secs();
            (self.notes)(format!("Telegram takes nothing for chat {} before {seconds} s", self.chat()));
        }
        self.outbox.pause(Instant::now() + time);
    }

    /// Continues in the group that the chat has become. An update may have reported that already, or may never arrive.
    async fn moved(&mut self, to: i64) {
        let from = self.chat();
        if from == to {
            return self.rest(MOVE_INTERVAL).await;
        }
        if let Err(error) = self.store.write(|state| state.move_chat(from, to)) {
            (self.notes)(format!("cannot write `{}`: {error}", self.store.file().display()));
        }
        self.outbox.move_to(to);
        (self.shown, self.message) = (Extent::default(), None);
    }

    async fn rest(&self, time: Duration) {
        self.pause(time);
        sleep(time).await;
    }

    /// Changes the state only while the chat is in `session`, since the position is useless for another one.
    fn keep_of(&self, session: &str, change: impl FnOnce(&mut ChatState)) {
        self.keep(|chat| {
            if chat.session.as_deref() == Some(session) {
                change(chat);
            }
        });
    }

    fn chat(&self) -> i64 {
        self.outbox.chat()
    }

    fn keep(&self, change: impl FnOnce(&mut ChatState)) {
        let kept = self.store.write(|state| change(state.chats.entry(self.chat()).or_default()));
        if let Err(error) = kept {
            (self.notes)(format!("cannot write `{}`: {error}", self.store.file().display()));
        }
    }
}

/// Telegram reports an error if a message already has the requested text.
fn unchanged_is_fine(written: Result<Value, Refusal>) -> Result<Value, Refusal> {
    match written {
        Err(refusal) if refusal.says("message is not modified") => Ok(Value::Null),
        written => written,
    }
}

/// Whether the message to edit does not exist anymore.
fn is_gone(refusal: &Refusal) -> bool {
    refusal.says("message to edit not found") || refusal.says("message can't be edited")
}

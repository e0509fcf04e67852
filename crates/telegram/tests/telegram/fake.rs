//! A Bot API of our own: keeps books of what it is asked, refuses what Telegram refuses, and fails when it is told to.
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};
use tokio::{sync::Notify, task::JoinSet};

pub(crate) const TOKEN: &str = "4711:secret-of-the-bot";
/// The bot's own number and name.
pub(crate) const ME: i64 = 4_711;
/// A request for updates is held so long; Telegram holds it longer.
const HELD: Duration = Duration::from_millis(100);
/// Nothing that a test waits for takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) parameters: Value,
    /// Of an upload: all of it.
    pub(crate) body: String,
    pub(crate) at: Instant,
}

/// A message of the bot, as it reads now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) chat: i64,
    /// As the bot sent it.
    pub(crate) sent: String,
    /// As people read it.
    pub(crate) text: String,
    pub(crate) buttons: Vec<(String, String)>,
}

#[derive(Default)]
pub(crate) struct Books {
    pub(crate) calls: Vec<Call>,
    pub(crate) messages: BTreeMap<i64, Shown>,
    pub(crate) files: HashMap<String, Vec<u8>>,
    /// What is answered instead, once each, by method.
    faults: VecDeque<(&'static str, u16, Value)>,
    /// Every request for a while is answered like this.
    pub(crate) outage: Option<(u16, Value)>,
    /// As Telegram would hand them out.
    updates: Vec<Value>,
    /// Handed out as they stand, whatever is asked for.
    batches: VecDeque<Vec<Value>>,
    next_update: i64,
}

pub(crate) struct Fake {
    pub(crate) url: String,
    books: Arc<(Mutex<Books>, Notify)>,
    _server: JoinSet<()>,
}

impl Fake {
    pub(crate) async fn start() -> Self {
        let books: Arc<(Mutex<Books>, Notify)> = Arc::default();
        books.0.lock().unwrap().next_update = 100;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer).with_state(books.clone());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, books, _server: server }
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.0.lock().unwrap()
    }

    /// The next time `method` is asked, this is answered.
    pub(crate) fn fault(&self, method: &'static str, status: u16, answer: Value) {
        self.books().faults.push_back((method, status, answer));
    }

    /// Hands these out next, whatever is asked for.
    pub(crate) fn batch(&self, updates: Vec<Value>) {
        self.books().batches.push_back(updates);
        self.books.1.notify_waiters();
    }

    /// Something happens.
    pub(crate) fn happens(&self, what: &str, mut content: Value) {
        let mut books = self.books();
        books.next_update += 1;
        if what == "message" {
            content["message_id"] = books.next_update.into();
        }
        let update = json!({"update_id": books.next_update, what: content});
        books.updates.push(update);
        self.books.1.notify_waiters();
    }

    /// A person writes to the bot in private.
    pub(crate) fn says(&self, who: i64, text: &str) {
        self.happens("message", message(who, json!({"text": text})));
    }

    /// A person presses the button with this label on the newest message that has it.
    pub(crate) fn presses(&self, who: i64, label: &str) {
        let found = self.books().messages.iter().rev().find_map(|(id, message)| {
            let (_, data) = message.buttons.iter().find(|(name, _)| name == label)?;
            Some((*id, message.chat, data.clone()))
        });
        let (id, chat, data) = found.unwrap_or_else(|| panic!("no button {label}"));
        self.press(who, chat, id, &data);
    }

    pub(crate) fn press(&self, who: i64, chat: i64, message: i64, data: &str) {
        let message = json!({"message_id": message, "chat": {"id": chat}, "date": 0});
        let press = json!({"id": format!("press-{message}"), "from": {"id": who}, "message": message, "data": data, "chat_instance": "x"});
        self.happens("callback_query", press);
    }

    /// Waits until `found` finds something.
    pub(crate) async fn until<T>(&self, what: &str, found: impl Fn(&Books) -> Option<T>) -> T {
        let from = Instant::now();
        loop {
            if let Some(found) = found(&self.books()) {
                return found;
            }
            if from.elapsed() > PATIENCE {
                let books = self.books();
                let calls: Vec<_> = books.calls.iter().filter(|call| call.method != "getUpdates").collect();
                panic!("waited for {what} in vain: {:#?}\n{calls:#?}", books.messages);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the bot has said exactly these things to `chat`, in order.
    pub(crate) async fn reads(&self, chat: i64, expected: &[&str]) {
        let expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        self.until(&format!("{expected:#?}"), |books| (books.texts(chat) == expected).then_some(())).await;
    }

    /// Waits until one of the bot's messages has this in it.
    pub(crate) async fn reads_part(&self, chat: i64, part: &str) -> String {
        let has = |books: &Books| books.texts(chat).into_iter().rev().find(|text| text.contains(part));
        self.until(part, has).await
    }

    /// Waits until the bot has asked for updates twice more: what it was given before has been handed out.
    pub(crate) async fn has_looked(&self) {
        let count = |books: &Books| books.calls_of("getUpdates").len();
        let before = count(&self.books());
        self.until("another look", |books| (count(books) > before + 1).then_some(())).await;
    }
}

impl Books {
    pub(crate) fn texts(&self, chat: i64) -> Vec<String> {
        self.messages
            .values()
            .filter(|message| message.chat == chat)
            .map(|message| message.text.clone())
            .collect()
    }

    pub(crate) fn calls_of(&self, method: &str) -> Vec<Call> {
        self.calls.iter().filter(|call| call.method == method).cloned().collect()
    }

    fn answered(&mut self, call: &Call) -> (u16, Value) {
        if let Some(outage) = &self.outage {
            return outage.clone();
        }
        if let Some(place) = self.faults.iter().position(|(method, ..)| *method == call.method)
            && let Some((_, status, answer)) = self.faults.remove(place)
        {
            return (status, answer);
        }
        match call.method.as_str() {
            "getMe" => fine(json!({"id": ME, "is_bot": true, "first_name": "Haft", "username": "haft_bot"})),
            "getUpdates" => fine(self.handed_out(call.parameters["offset"].as_i64().unwrap_or_default())),
            "sendMessage" => self.sent(&call.parameters),
            "editMessageText" => self.edited(&call.parameters),
            "editMessageReplyMarkup" => {
                let id = call.parameters["message_id"].as_i64().unwrap();
                self.messages.entry(id).and_modify(|message| message.buttons.clear());
                fine(json!(true))
            }
            "getFile" => {
                let id = call.parameters["file_id"].as_str().unwrap();
                fine(json!({"file_id": id, "file_unique_id": id, "file_path": format!("documents/{id}")}))
            }
            "sendChatAction" => refused(500, "Internal Server Error"),
            "sendDocument" | "sendPhoto" | "answerCallbackQuery" | "setMyCommands" => fine(json!(true)),
            other => refused(404, &format!("no method {other}")),
        }
    }

    fn handed_out(&mut self, offset: i64) -> Value {
        if let Some(batch) = self.batches.pop_front() {
            return batch.into();
        }
        self.updates.retain(|update| update["update_id"].as_i64().unwrap() >= offset);
        self.updates.clone().into()
    }

    fn sent(&mut self, parameters: &Value) -> (u16, Value) {
        let id = self.messages.keys().last().copied().unwrap_or(1_000) + 1;
        match shown(parameters) {
            Ok(message) => {
                let chat = message.chat;
                self.messages.insert(id, message);
                fine(json!({"message_id": id, "date": 1, "chat": {"id": chat, "type": "private"}}))
            }
            Err(why) => refused(400, why),
        }
    }

    fn edited(&mut self, parameters: &Value) -> (u16, Value) {
        let id = parameters["message_id"].as_i64().unwrap();
        let Some(before) = self.messages.get_mut(&id) else {
            return refused(400, "Bad Request: message to edit not found");
        };
        match shown(parameters) {
            Ok(now) if now.sent == before.sent && now.buttons == before.buttons => {
                let why = "Bad Request: message is not modified: specified new message content is the same";
                refused(400, why)
            }
            Ok(now) => {
                *before = now;
                fine(json!(true))
            }
            Err(why) => refused(400, why),
        }
    }
}

/// What Telegram checks of a message.
fn shown(parameters: &Value) -> Result<Shown, &'static str> {
    let sent = parameters["text"].as_str().unwrap().to_owned();
    let text = match parameters["parse_mode"].as_str() {
        Some("HTML") => read_html(&sent).ok_or("Bad Request: can't parse entities: odd HTML")?,
        _ => sent.clone(),
    };
    if text.trim().is_empty() {
        return Err("Bad Request: message text is empty");
    }
    if text.encode_utf16().count() > 4_096 {
        return Err("Bad Request: message is too long");
    }
    let rows = parameters["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let buttons = rows.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default()).map(|button| {
        let data = button["callback_data"].as_str().unwrap().to_owned();
        assert!(data.len() <= 64, "{data}");
        (button["text"].as_str().unwrap().to_owned(), data)
    });
    Ok(Shown { chat: parameters["chat_id"].as_i64().unwrap(), sent, text, buttons: buttons.collect() })
}

/// The text of HTML whose tags are those of Telegram, each closed in its turn.
fn read_html(html: &str) -> Option<String> {
    let (mut text, mut open, mut rest) = (String::new(), Vec::new(), html);
    while let Some((before, after)) = rest.split_once('<') {
        text += before;
        let (tag, after) = after.split_once('>')?;
        match tag.strip_prefix('/') {
            Some(name) => {
                open.pop().filter(|last| *last == name)?;
            }
            None => {
                let name = tag.split(' ').next()?;
                ["b", "i", "s", "a", "code", "pre", "blockquote"].contains(&name).then_some(())?;
                open.push(name);
            }
        }
        rest = after;
    }
    text += rest;
    (open.is_empty() && !text.contains('>')).then_some(())?;
    Some(text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

/// A message of a person to the bot, in private unless it says otherwise.
pub(crate) fn message(who: i64, more: Value) -> Value {
    let mut message = json!({
        "message_id": 1, "date": 1, "chat": {"id": who, "type": "private"},
        "from": {"id": who, "is_bot": false, "first_name": "Ada"},
    });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

fn fine(result: Value) -> (u16, Value) {
    (200, json!({"ok": true, "result": result}))
}

pub(crate) fn refused(code: u16, description: &str) -> (u16, Value) {
    (code, json!({"ok": false, "error_code": code, "description": description}))
}

async fn answer(State(books): State<Arc<(Mutex<Books>, Notify)>>, uri: Uri, body: Bytes) -> Response {
    if let Some(path) = uri.path().strip_prefix(&format!("/file/bot{TOKEN}/")) {
        let id = path.strip_prefix("documents/").unwrap_or_default();
        let file = || books.0.lock().unwrap().files.get(id).cloned();
        // Until the test has it.
        while id.starts_with("slow") && file().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let file = file();
        let status = if file.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
        return Response::builder().status(status).body(Body::from(file.unwrap_or_default())).unwrap();
    }
    let Some(method) = uri.path().strip_prefix(&format!("/bot{TOKEN}/")) else {
        return response(refused(401, "Unauthorized"));
    };
    let parameters = serde_json::from_slice(&body).unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let call = Call { method: method.to_owned(), parameters, body, at: Instant::now() };
    let answered = {
        let mut locked = books.0.lock().unwrap();
        locked.calls.push(call.clone());
        locked.answered(&call)
    };
    if method == "getUpdates" && answered.1["result"].as_array().is_some_and(Vec::is_empty) {
        let _nothing_came = tokio::time::timeout(HELD, books.1.notified()).await;
        return response(books.0.lock().unwrap().answered(&call));
    }
    response(answered)
}

fn response((status, answer): (u16, Value)) -> Response {
    Response::builder().status(status).body(Body::from(answer.to_string())).unwrap()
}

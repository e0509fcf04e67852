//! A bot on Telegram ([`run`]): each chat is a conversation with its own session.
//!
//! [`run`] polls Telegram for updates (long polling), answers only users whom the owner allows (`admission`,
//! `reception`), and passes each chat its messages (`chat`). A `writer` sends the content of a chat's `outbox`. The
//! `store` keeps what must outlive the process: an update is marked as handled, and its content stored, before it takes
//! effect; and the position up to which a session's journal was sent, so that a restart sends the rest.
//!
//! It uses `haft-engine` for sessions, `haft-present` to present events, and `haft-http` to reach Telegram. Begin with
//! [`run`], then `chat` and `turn_renderer`.
//!
//! How it works inside: `README.md` of this crate.
mod admission;
mod answers;
mod api;
mod asking;
mod chat;
mod commands;
mod files;
mod markdown;
mod message_writer;
mod outbox;
mod prompts;
mod reception;
mod rich;
mod sessions;
mod store;
mod turn_renderer;
mod types;
mod undo;
mod updates;

pub use api::Token;
pub use message_writer::Notes;
pub use rich::LIMIT;

use admission::{Admission, Code};
use api::{Api, Refusal};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use haft_engine::{Engine, Session};
use haft_present::host::{EngineRequest, Host, SavedPrompt};
use message_writer::MessageWriter;
use outbox::{Outbox, Rules};
use parking_lot::Mutex;
use reception::Chats;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fmt, io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{ChatState, Store, Unusable};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use types::BotCommand;
use updates::Person;

/// Interval between messages: Telegram accepts about one message per second in a chat, and twenty per minute in a group
/// (its FAQ for bots).
const MESSAGE_INTERVAL: Duration = Duration::from_secs(1);
const GROUP_MESSAGE_INTERVAL: Duration = Duration::from_secs(3);
/// Maximum number of engines for other models; beyond it, those that no chat uses are closed.
const MAX_ENGINES: usize = 4;
/// Timeout for sending the remaining messages at shutdown; the next start sends the rest.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Options of a bot.
pub struct Options {
    /// The address before `/bot<TOKEN>/<METHOD>`.
    pub api_url: String,
    /// The bot's token.
    pub token: Token,
    /// Telegram IDs of the users who may talk to the bot.
    pub allowed: Vec<i64>,
    /// Whether to admit one more user with a code, even if others are allowed already.
    pub pair: bool,
    /// Where the bot stores its state; outside of every workspace.
    pub folder: PathBuf,
    /// Creates engines for `/model`, and lists the saved prompts, `/NAME`.
    pub host: Arc<dyn Host>,
    /// Prints messages for the user who runs the bot.
    pub notes: Notes,
}

/// Why the bot cannot run.
#[derive(Debug)]
pub enum Trouble {
    /// The address is invalid.
    Address(String),
    /// Telegram does not accept the token; holds its description.
    Token(String),
    /// Another process polls the same bot's updates; holds Telegram's description.
    Conflict(String),
    /// Another process on this machine runs this bot.
    Taken,
    /// The state of the bot cannot be saved.
    State(PathBuf, io::Error),
}

impl Trouble {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address(_) => "leave out `--api-url`, or take e.g. http://127.0.0.1:8081",
            Self::Token(_) => "look at TELEGRAM_BOT_TOKEN: @BotFather tells the token of a bot",
            Self::Conflict(why) if why.contains("webhook") => {
                "remove the webhook with the method deleteWebhook"
            }
            Self::Conflict(_) => "end the other program, or take a bot of its own for each",
            Self::Taken => "end the other `haft telegram`, or take another bot",
            Self::State(..) => "mend the file or its permissions; without it, the bot forgets who may talk",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(why) => write!(f, "cannot use the address of the Bot API: {why}"),
            Self::Token(why) => write!(f, "Telegram refuses the token: {why}"),
            Self::Conflict(why) => write!(f, "cannot ask for updates: {why}"),
            Self::Taken => f.write_str("another process on this machine is this bot already"),
            Self::State(path, error) => write!(f, "cannot use `{}`: {error}", path.display()),
        }
    }
}

impl std::error::Error for Trouble {}

/// The bot's own account.
struct Me {
    id: Option<i64>,
    name: String,
}

/// The state that all chats share.
struct Bot {
    engine: Engine,
    options: Options,
    api: Api,
    store: Arc<Store>,
    me: Me,
    /// Engines for other models, by the model's name.
    engines: tokio::sync::Mutex<HashMap<String, Engine>>,
    admission: Mutex<Admission>,
    /// Receives tasks that run beside polling.
    tasks: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
}

/// Runs the bot until `stop`, or until Telegram refuses it. Then shuts down all sessions of the engine.
pub async fn run(engine: Engine, options: Options, stop: impl Future<Output = ()>) -> Result<(), Trouble> {
    let api = Api::new(&options.api_url, options.token.clone()).map_err(Trouble::Address)?;
    let store = Store::open(&options.folder, &options.token).map_err(|unusable| match unusable {
        Unusable::Taken => Trouble::Taken,
        Unusable::Io(path, error) => Trouble::State(path, error),
    })?;
    tokio::pin!(stop);
    let me = tokio::select! {
        () = &mut stop => return Ok(()),
        me = hello(&api, &options.notes) => me?,
    };
    let (tasks, mut given) = mpsc::unbounded_channel();
    let admission = Mutex::new(Admission::new(code(&options, &store)));
    let (store, engines) = (Arc::new(store), Default::default());
    let bot = Arc::new(Bot { engine, options, api, store, me, engines, admission, tasks });
    bot.clone().announce();
    let mut chats = Chats::new(bot.clone());
    let mut going = FuturesUnordered::new();
    let ended = tokio::select! {
        () = &mut stop => Ok(()),
        trouble = chats.receive() => trouble,
        () = errands_of(&mut given, &mut going) => Ok(()),
    };
    drop(chats);
    let farewell = async {
        while let Ok(task) = given.try_recv() {
            going.push(task);
        }
        while going.next().await.is_some() {}
    };
    let _what_is_left_is_told_next_time = tokio::join!(bot.shut_down(), timeout(SHUTDOWN_TIMEOUT, farewell));
    ended
}

/// Runs the received tasks, forever.
async fn errands_of(
    given: &mut mpsc::UnboundedReceiver<BoxFuture<'static, ()>>,
    going: &mut FuturesUnordered<BoxFuture<'static, ()>>,
) {
    loop {
        tokio::select! {
            Some(task) = given.recv() => going.push(task),
            Some(()) = going.next() => {}
            else => return,
        }
    }
}

/// Retries until Telegram answers.
async fn hello(api: &Api, notes: &Notes) -> Result<Me, Trouble> {
    let mut outage = Outage::default();
    loop {
        match api.call("getMe", &json!({})).await {
            Ok(me) => {
                let name = me["username"].as_str().unwrap_or_default().to_owned();
                return Ok(Me { id: me["id"].as_i64(), name });
            }
            Err(refusal) => outage.wait(fatal(refusal)?, notes).await,
        }
    }
}

/// Waits longer after each failure, and notes an outage once.
#[derive(Default)]
struct Outage {
    times: u32,
}

impl Outage {
    async fn wait(&mut self, refusal: Refusal, notes: &Notes) {
        self.times = (self.times + 1).min(7);
        let time = match refusal {
            Refusal::Wait(time) => {
                if time > Duration::from_secs(60) {
                    notes(format!("Telegram hands out nothing before {} s", time.as_secs()));
                }
                time
            }
            why => {
                if self.times == 1 {
                    notes(format!("Telegram cannot be asked: {why}; asking again until it answers"));
                }
                Duration::from_secs(1 << (self.times - 1)).min(Duration::from_secs(60))
            }
        };
        sleep(time).await;
    }

    fn over(&mut self, notes: &Notes) {
        if std::mem::take(&mut self.times) > 0 {
            notes("Telegram answers again".to_owned());
        }
    }
}

/// Errors that no retry helps against.
fn fatal(refusal: Refusal) -> Result<Refusal, Trouble> {
    match refusal {
        other if !other.is_of_telegram() => Ok(other),
        Refusal::Refused { code: 401 | 403 | 404, description } => Err(Trouble::Token(description)),
        Refusal::Refused { code: 409, description } if description.contains("webhook") => {
            Err(Trouble::Conflict(description))
        }
        other => Ok(other),
    }
}

/// Creates the pairing code, and prints it on standard error, where only the owner sees it.
fn code(options: &Options, store: &Store) -> Option<Code> {
    let has_nobody = options.allowed.is_empty() && store.read(|state| state.users.is_empty());
    if !has_nobody && !options.pair {
        return None;
    }
    let code = Code::new(Instant::now())?;
    (options.notes)(format!(
        "send `/start {}` to the bot within 10 minutes to be let in; the code works once",
        code.text()
    ));
    Some(code)
}

impl Bot {
    fn is_allowed(&self, who: &Person) -> bool {
        self.may_talk(who.id)
    }

    fn may_talk(&self, who: i64) -> bool {
        self.options.allowed.contains(&who)
            || self.store.read(|state| state.users.iter().any(|user| user.id == who))
    }

    /// The saved prompts: names and descriptions.
    fn prompts(&self) -> Vec<(String, String)> {
        let saved = self.options.host.prompts(&self.engine.setup().workspace).into_iter();
        saved.map(|SavedPrompt { name, description, .. }| (name, description)).collect()
    }

    /// Expands a line that begins with `/`; the error says why that is impossible. The agent and the model of a chat
    /// are chosen when its conversation starts.
    fn expand(&self, line: &str) -> Result<String, String> {
        let expanded = self.options.host.expand(&self.engine.setup().workspace, line, "/help");
        let expanded =
            expanded.map_err(|problem| format!("{}. /help tells what there is.", problem.message))?;
        let failed = |_| format!("`{line}` names an agent or a model, which is not possible here.");
        expanded.in_session(line, "").map_err(failed)
    }

    /// The engine for the model `spec`; created once.
    async fn engine_with(&self, spec: &str) -> Result<Engine, String> {
        if spec == self.engine.setup().model.spec {
            return Ok(self.engine.clone());
        }
        let mut engines = self.engines.lock().await;
        if let Some(engine) = engines.get(spec) {
            return Ok(engine.clone());
        }
        let request = EngineRequest { model: Some(spec.to_owned()), ..EngineRequest::default() };
        let engine = self.options.host.engine(request).await.map_err(|problem| problem.message)?;
        if engines.len() >= MAX_ENGINES {
            let is_named = |chat: &ChatState, spec: &String| {
                chat.model.as_ref() == Some(spec) || chat.wish.as_ref() == Some(spec)
            };
            let chats = self.store.read(|state| state.chats.clone());
            let is_used = |spec: &String| chats.values().any(|chat| is_named(chat, spec));
            engines.retain(|spec, engine| is_used(spec) || !engine.sessions().is_empty());
        }
        engines.insert(spec.to_owned(), engine.clone());
        Ok(engine)
    }

    /// All sessions that are open in this process.
    async fn sessions(&self) -> Vec<Session> {
        let engines = self.engines.lock().await;
        let others = engines.values().flat_map(Engine::sessions);
        self.engine.sessions().into_iter().chain(others).collect()
    }

    /// The model of a session that is open in this process; `None` if another process has it.
    async fn model_of(&self, session: &Session) -> Option<String> {
        if session.is_joined() {
            return None;
        }
        let engines = self.engines.lock().await;
        let has_it = |engine: &&Engine| engine.sessions().iter().any(|other| other.id() == session.id());
        engines.values().chain([&self.engine]).find(has_it).map(|engine| engine.setup().model.spec.clone())
    }

    async fn shut_down(&self) {
        self.engine.shut_down().await;
        for engine in self.engines.lock().await.values() {
            engine.shut_down().await;
        }
    }

    fn writer(&self, outbox: Arc<Outbox>) -> MessageWriter {
        let edits = &self.engine.setup().profile.chat.edits;
        let pace =
            if self.store.chat(outbox.chat()).is_group { GROUP_MESSAGE_INTERVAL } else { MESSAGE_INTERVAL };
        let limit = edits.limit.unwrap_or(LIMIT).clamp(100, LIMIT);
        let rules = Rules { pace, more_than: edits.more_than, limit };
        let parts = (self.api.clone(), self.store.clone(), self.options.notes.clone());
        MessageWriter::new(parts, outbox, rules)
    }

    /// The ID of the next question; each is unique.
    fn counted(&self) -> u64 {
        let counted = self.store.write(|state| {
            state.next_ask += 1;
            state.next_ask
        });
        counted.unwrap_or_else(|_| self.store.read(|state| state.next_ask))
    }

    fn keep(&self, chat: i64, change: impl FnOnce(&mut ChatState)) {
        if let Err(error) = self.store.write(|state| change(state.chats.entry(chat).or_default())) {
            (self.options.notes)(format!("cannot write `{}`: {error}", self.store.file().display()));
        }
    }

    /// Calls a method without waiting for it, and ignores errors.
    fn try_to(&self, method: &'static str, parameters: Value) {
        let api = self.api.clone();
        let task = async move { drop(api.call(method, &parameters).await) };
        let _the_bot_ends = self.tasks.send(task.boxed());
    }

    /// Shows a notice to the user who pressed a button.
    fn notice(&self, press: &str, text: &str) {
        let text: String = text.chars().take(180).collect();
        self.try_to("answerCallbackQuery", json!({"callback_query_id": press, "text": text}));
    }

    fn announce(self: Arc<Self>) {
        let is_name = |name: &str| {
            (1..=32).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        let own = commands::COMMANDS.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned()));
        let prompts = self.prompts().into_iter().filter(|(name, _)| is_name(name));
        let command = |(command, what): (String, String)| {
            let what: String =
                if what.is_empty() { command.clone() } else { what.chars().take(250).collect() };
            BotCommand { command, description: what }
        };
        let commands: Vec<_> = own.chain(prompts).take(100).map(command).collect();
        self.try_to("setMyCommands", json!({"commands": commands}));
    }
}

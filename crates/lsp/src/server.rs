//! [`Server`]: a running language server.
use crate::{
    connection::{Connection, write},
    documents::Documents,
    error::LspError,
    inbox::Inbox,
    settings::{LanguageServer, LspSettings},
    start::{greeting, keep_words, prepared},
};
use haft_process::Process;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout, timeout_at},
};

/// How long a server may take to answer the first request.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to end by itself.
const END_TIMEOUT: Duration = Duration::from_secs(1);
const END_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum consecutive late answers before a server counts as broken.
const MAX_SILENT: u32 = 3;

/// A running language server. Dropping it ends the server and all its children.
pub(crate) struct Server {
    pub(crate) settings: LanguageServer,
    pub(crate) line: Arc<Line>,
    pub(crate) workspace: PathBuf,
    pub(crate) documents: tokio::sync::Mutex<Documents>,
    process: Mutex<Process>,
    words: Arc<Mutex<String>>,
    /// Late answers to requests, and late published diagnostics: a server may support one and not the other.
    pub(crate) answers: LateCount,
    pub(crate) diagnostics: LateCount,
    _tasks: JoinSet<()>,
    /// The server's `/tmp`.
    _folder: TempDir,
}

/// Number of consecutive late answers of a server.
#[derive(Default)]
pub(crate) struct LateCount(AtomicU32);

impl LateCount {
    /// Counts an answer that was in time or late.
    pub(crate) fn count(&self, is_in_time: bool) {
        match is_in_time {
            true => self.0.store(0, Relaxed),
            false => drop(self.0.fetch_add(1, Relaxed)),
        }
    }

    fn is_too_much(&self) -> bool {
        self.0.load(Relaxed) >= MAX_SILENT
    }
}

/// The connection to a server, and its phase.
pub(crate) struct Line {
    pub(crate) connection: Connection,
    pub(crate) inbox: Inbox,
    phase: watch::Sender<Phase>,
}

/// The phase of a server.
#[derive(Clone, Debug)]
enum Phase {
    Starting,
    /// It is initialized and has these capabilities.
    Ready(Arc<Value>),
    /// Why.
    Ended(Ended),
}

#[derive(Clone, Debug)]
struct Ended {
    why: String,
    /// Whether it was ready before.
    was_ready: bool,
}

impl Server {
    /// Starts `program`, and initializes it in the background. Needs a tokio runtime.
    pub(crate) fn start(
        settings: LanguageServer,
        program: &Path,
        root: &Path,
        session: &LspSettings,
    ) -> Result<Self, LspError> {
        let (program, folder) = prepared(&settings, program, root, session)?;
        let piped = program.start_piped().map_err(|error| LspError::not_started(&settings.name, &error))?;
        let (connection, messages) = Connection::new();
        let inbox = Inbox::new(&settings.name, &settings.options);
        let line = Arc::new(Line { connection, inbox, phase: watch::channel(Phase::Starting).0 });
        let (words, mut tasks) = (Arc::default(), JoinSet::new());
        tasks.spawn(keep_words(piped.errors, Arc::clone(&words)));
        tasks.spawn(async move { drop(write(piped.input, messages).await) });
        let listening = line.clone();
        tasks.spawn(async move {
            let why = listening.connection.listen(piped.output, &listening.inbox).await;
            listening.end(why);
        });
        let (greeting, greeted) = (greeting(&settings, root), line.clone());
        let limit = settings.timeout.unwrap_or(START_TIMEOUT);
        tasks.spawn(async move { greeted.greet(&greeting, limit).await });
        Ok(Self {
            settings,
            line,
            workspace: session.workspace.clone(),
            documents: Default::default(),
            process: Mutex::new(piped.process),
            words,
            answers: LateCount::default(),
            diagnostics: LateCount::default(),
            _tasks: tasks,
            _folder: folder,
        })
    }

    pub(crate) fn name(&self) -> String {
        self.settings.name.clone()
    }

    /// Waits until the server is ready for requests. Returns its capabilities.
    ///
    /// # Errors
    /// Fails if it has ended, or is not ready before `deadline`.
    pub(crate) async fn ready(&self, deadline: Instant) -> Result<Arc<Value>, LspError> {
        let mut phase = self.line.phase.subscribe();
        let reached = timeout_at(deadline, phase.wait_for(|phase| !matches!(phase, Phase::Starting))).await;
        let reached = reached.ok().and_then(|reached| reached.ok().map(|phase| phase.clone()));
        let capabilities = match reached {
            None | Some(Phase::Starting) => return Err(LspError::Loading { name: self.name() }),
            Some(Phase::Ended(ended)) => return Err(self.ended(&ended).await),
            Some(Phase::Ready(capabilities)) => capabilities,
        };
        if !self.settings.says_when_ready {
            return Ok(capabilities);
        }
        let connection = &self.line.connection;
        let loaded = self.line.inbox.until(deadline, |heard| heard.is_quiescent || connection.is_closed());
        if loaded.await { Ok(capabilities) } else { Err(LspError::Loading { name: self.name() }) }
    }

    /// Why the server is broken: it has ended, or does not answer. `None` while it works.
    pub(crate) async fn fault(&self) -> Option<LspError> {
        let phase = self.line.phase.borrow().clone();
        if let Phase::Ended(ended) = phase {
            return Some(self.ended(&ended).await);
        }
        let is_silent = self.answers.is_too_much() || self.diagnostics.is_too_much();
        is_silent.then(|| LspError::Stuck { name: self.name() })
    }

    /// Whether the server was ever ready. A program that ends before may be a stand-in for a server that is not
    /// installed, as with rustup.
    pub(crate) fn was_ready(&self) -> bool {
        match &*self.line.phase.borrow() {
            Phase::Starting => false,
            Phase::Ready(_) => true,
            Phase::Ended(ended) => ended.was_ready,
        }
    }

    /// The error for a server that has ended, with its last lines on standard error.
    async fn ended(&self, ended: &Ended) -> LspError {
        // A program that closed its output may need a moment to end.
        let deadline = Instant::now() + END_INTERVAL * 20;
        while Instant::now() < deadline && matches!(self.process.lock().ended(), Ok(None)) {
            sleep(END_INTERVAL).await;
        }
        let status = self.process.lock().ended().ok().flatten();
        let status = status.map(|status| format!(", {status}")).unwrap_or_default();
        let words = self.words.lock().split_whitespace().collect::<Vec<_>>().join(" ");
        let words = if words.is_empty() { words } else { format!("; it said: {words}") };
        LspError::Ended { name: self.name(), said: format!("{}{status}{words}", ended.why) }
    }

    /// Sends `shutdown` and `exit`, and waits a moment for the end.
    pub(crate) async fn shut_down(&self) {
        let deadline = Instant::now() + END_TIMEOUT;
        if self.was_ready() && !self.line.connection.is_closed() {
            let (_, answer) = self.line.connection.request("shutdown", &Value::Null);
            let _it_is_killed = timeout_at(deadline, answer).await;
            self.line.connection.notify("exit", &Value::Null);
            while Instant::now() < deadline && matches!(self.process.lock().ended(), Ok(None)) {
                sleep(END_INTERVAL).await;
            }
        }
    }
}

impl Line {
    /// Sends `initialize`, and then `initialized`.
    async fn greet(&self, greeting: &Value, limit: Duration) {
        let (_, answer) = self.connection.request("initialize", greeting);
        match timeout(limit, answer).await {
            Ok(Ok(Ok(mut result))) => {
                self.connection.notify("initialized", &json!({}));
                self.phase.send_if_modified(|phase| {
                    let is_starting = matches!(phase, Phase::Starting);
                    if is_starting {
                        *phase = Phase::Ready(Arc::new(result["capabilities"].take()));
                    }
                    is_starting
                });
            }
            Ok(Ok(Err(error))) => self.end(format!(": it refused to start: {}", error["message"])),
            // The last output that was read is a better explanation.
            Ok(Err(_nothing_more)) => {}
            Err(_late) => self.end(format!(": it did not answer within {} s", limit.as_secs())),
        }
    }

    fn end(&self, why: String) {
        self.phase.send_modify(|phase| match phase {
            Phase::Ended(_) => {}
            Phase::Starting => *phase = Phase::Ended(Ended { why, was_ready: false }),
            Phase::Ready(_) => *phase = Phase::Ended(Ended { why, was_ready: true }),
        });
        self.inbox.wake();
    }
}

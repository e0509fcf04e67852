//! [`Inbox`]: processes the notifications and the requests of a server.
use lsp_types::{Diagnostic, Url};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::HashMap, path::PathBuf};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

/// The state from the notifications of a server so far.
pub(crate) struct Inbox {
    name: String,
    /// The server's configuration, returned when it asks for it.
    options: Value,
    heard: Mutex<Heard>,
    /// Counts messages.
    count: watch::Sender<u64>,
}

/// Diagnostics that were published, and whether the server is ready.
#[derive(Default)]
pub(crate) struct Heard {
    published: HashMap<PathBuf, Published>,
    /// Whether it has loaded the project, if it reports that.
    pub(crate) is_quiescent: bool,
    /// Whether it wants to be asked for diagnostics.
    pub(crate) is_pulled: bool,
    /// Number of publications of diagnostics, and the time of the last one.
    publications: u64,
    last: Option<Instant>,
}

/// The last diagnostics of a file.
#[derive(Clone)]
pub(crate) struct Published {
    /// The number of their publication.
    number: u64,
    version: Option<i32>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The error of a request that Haft does not know (JSON-RPC 2.0).
const METHOD_NOT_FOUND: i64 = -32601;

impl Inbox {
    pub(crate) fn new(name: &str, options: &Value) -> Self {
        let (heard, (count, _)) = (Mutex::default(), watch::channel(0));
        Self { name: name.to_owned(), options: options.clone(), heard, count }
    }

    /// Processes a notification.
    pub(crate) fn notified(&self, method: &str, params: &Value) {
        match method {
            "textDocument/publishDiagnostics" => self.published(params),
            "experimental/serverStatus" => {
                self.heard.lock().is_quiescent = params["quiescent"].as_bool().unwrap_or(true);
            }
            _ => return,
        }
        self.wake();
    }

    /// Wakes the tasks that wait in [`Self::until`].
    pub(crate) fn wake(&self) {
        self.count.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn published(&self, params: &Value) {
        let path = params["uri"].as_str().and_then(|uri| Url::parse(uri).ok()?.to_file_path().ok());
        let Some(path) = path else { return };
        let mut heard = self.heard.lock();
        heard.publications += 1;
        heard.last = Some(Instant::now());
        let number = heard.publications;
        let version = params["version"].as_i64().and_then(|version| version.try_into().ok());
        let diagnostics = diagnostics(&params["diagnostics"]);
        heard.published.insert(path, Published { number, version, diagnostics });
    }

    /// The answer to a request of the server.
    pub(crate) fn asked(&self, method: &str, params: &Value) -> Result<Value, Value> {
        match method {
            "workspace/configuration" => {
                let items = params["items"].as_array().into_iter().flatten();
                Ok(items.map(|item| self.option(item["section"].as_str())).collect())
            }
            "client/registerCapability" => {
                let all = params["registrations"].as_array().into_iter().flatten();
                let is_pulled = all.clone().any(|one| one["method"] == "textDocument/diagnostic");
                self.heard.lock().is_pulled |= is_pulled;
                self.wake();
                Ok(Value::Null)
            }
            "client/unregisterCapability"
            | "window/showMessageRequest"
            | "window/workDoneProgress/create"
            | "workspace/diagnostic/refresh"
            | "workspace/workspaceFolders" => Ok(Value::Null),
            // Edits that a server makes by itself would not be staged, so they are refused.
            "workspace/applyEdit" => Ok(json!({"applied": false})),
            _ => Err(json!({"code": METHOD_NOT_FOUND, "message": format!("`{method}` is not supported")})),
        }
    }

    /// Returns a section of the options: `python.analysis` is `analysis` in `python`. The name of the server, and no
    /// section, return all options.
    fn option(&self, section: Option<&str>) -> Value {
        match section {
            None => self.options.clone(),
            Some(section) if section == self.name => self.options.clone(),
            Some(section) => {
                let pointer = format!("/{}", section.replace('.', "/"));
                self.options.pointer(&pointer).cloned().unwrap_or_default()
            }
        }
    }

    /// How many diagnostics were published so far.
    pub(crate) fn publications(&self) -> u64 {
        self.heard.lock().publications
    }

    /// Whether the server wants to be asked for diagnostics.
    pub(crate) fn is_pulled(&self) -> bool {
        self.heard.lock().is_pulled
    }

    /// The last published diagnostics of `path`.
    pub(crate) fn last_of(&self, path: &PathBuf) -> Option<Published> {
        self.heard.lock().published.get(path).cloned()
    }

    /// Waits until `holds` returns true; returns `false` if it does not before `deadline`.
    pub(crate) async fn until(&self, deadline: Instant, holds: impl Fn(&Heard) -> bool) -> bool {
        let mut count = self.count.subscribe();
        loop {
            count.borrow_and_update();
            if holds(&self.heard.lock()) {
                return true;
            }
            if !matches!(timeout_at(deadline, count.changed()).await, Ok(Ok(()))) {
                return false;
            }
        }
    }

    /// Waits until nothing was published for `pause`, or until `deadline`.
    pub(crate) async fn until_quiet(&self, pause: std::time::Duration, deadline: Instant) {
        loop {
            let end = self.heard.lock().last.map_or_else(Instant::now, |last| last + pause);
            if end <= Instant::now() || deadline <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end.min(deadline)).await;
        }
    }
}

impl Heard {
    /// Whether diagnostics of `path` were published after the publication `since`, and, if they name a version, for the
    /// text `version`.
    pub(crate) fn is_published(&self, path: &PathBuf, since: u64, version: i32) -> bool {
        let found = self.published.get(path).filter(|published| published.number > since);
        found.is_some_and(|published| published.version.is_none_or(|own| own >= version))
    }
}

/// Reads diagnostics, and skips those that are invalid.
pub(crate) fn diagnostics(items: &Value) -> Vec<Diagnostic> {
    let items = items.as_array().into_iter().flatten();
    items.filter_map(|item| serde_json::from_value(item.clone()).ok()).collect()
}

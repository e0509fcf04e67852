//! [`Taken`]: a server while one caller uses it: its texts are the caller's.
use crate::{
    documents::{Documents, address},
    error::LspError,
    inbox::diagnostics,
    server::Server,
    tsserver,
};
use haft_process::read_regular;
use lsp_types::Diagnostic;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    sync::MutexGuard,
    time::{Instant, sleep, timeout_at},
};

/// Without news for this long, a server that publishes diagnostics has published all.
const QUIET: Duration = Duration::from_millis(400);
/// Texts that a server is given at a time; more are closed when they are not needed.
const MAX_DOCUMENTS: usize = 64;
/// Bytes of a file; a longer one was written by a program.
const MAX_BYTES: u64 = 1 << 20;
/// A request was overtaken by a change, or the server was busy (LSP 3.17, `ErrorCodes`): it can be made again.
const TRY_AGAIN: [i64; 2] = [-32801, -32802];
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A server while one caller uses it.
pub(crate) struct Taken<'a> {
    pub(crate) server: &'a Server,
    pub(crate) documents: MutexGuard<'a, Documents>,
}

/// The diagnostics of files, by path.
pub(crate) type Found = Vec<(PathBuf, Diagnostic)>;

impl Server {
    /// The server with its texts, for one use at a time.
    pub(crate) async fn take(&self) -> Taken<'_> {
        Taken { server: self, documents: self.documents.lock().await }
    }
}

impl Taken<'_> {
    /// Gives the server this text of `path`; `None` for no such file.
    pub(crate) fn set(&mut self, path: &Path, text: Option<&str>) -> bool {
        let language = self.server.settings.language_of(path).unwrap_or("plaintext").to_owned();
        let line = &self.server.line;
        self.documents.set(&line.connection, path, &language, text, line.inbox.publications())
    }

    /// Gives the server what lies on disk of `paths`, and of all files whose texts it has: a proposal that was asked about
    /// before may not have come true.
    pub(crate) async fn refresh(&mut self, paths: &[PathBuf]) {
        let mut all = self.documents.paths();
        let is_needed = |path: &PathBuf| paths.contains(path);
        if all.len() > MAX_DOCUMENTS {
            for path in all.iter().filter(|path| !is_needed(path)) {
                self.set(path, None);
            }
            all.retain(is_needed);
        }
        all.extend(paths.iter().filter(|path| self.documents.version(path).is_none()).cloned());
        let reading = tokio::task::spawn_blocking(move || {
            all.into_iter().map(|path| (text_of(&path), path)).collect::<Vec<_>>()
        });
        for (text, path) in reading.await.unwrap_or_default() {
            self.set(&path, text.as_deref());
        }
    }

    /// Asks for `method`, and again where the server says that it was overtaken by a change.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Result<Value, LspError> {
        let name = || self.server.name();
        loop {
            let began = Instant::now();
            let (id, answer) = self.server.line.connection.request(method, params);
            let Ok(answered) = timeout_at(deadline, answer).await else {
                self.server.line.connection.give_up(id);
                self.server.answers.count(false);
                return Err(LspError::Silent { name: name(), limit: began.elapsed() });
            };
            let Ok(reply) = answered else {
                return Err(self.server.fault().await.unwrap_or(LspError::Stuck { name: name() }));
            };
            self.server.answers.count(true);
            let error = match reply {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let code = error["code"].as_i64().unwrap_or_default();
            if !TRY_AGAIN.contains(&code) || Instant::now() + RETRY_INTERVAL >= deadline {
                let message = error["message"].as_str().unwrap_or_default().to_owned();
                return Err(LspError::Refused { name: name(), method: method.to_owned(), message });
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Like [`Self::ask`], with the answer read as `T`.
    pub(crate) async fn ask_for<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Result<T, LspError> {
        let answer = self.ask(method, params, deadline).await?;
        serde_json::from_value(answer).map_err(|error| LspError::Unreadable {
            name: self.server.name(),
            method: method.to_owned(),
            why: error.to_string(),
        })
    }

    /// Gives the server these texts, in place of what lies on disk, and returns the diagnostics of those files. What it
    /// published before it got its text counts for none of `edited`, and of the others for those that get a new text here.
    pub(crate) async fn diagnose(
        &mut self,
        texts: &[(PathBuf, Option<String>)],
        edited: &[PathBuf],
        deadline: Instant,
    ) -> Result<Found, LspError> {
        let capabilities = self.server.ready(deadline).await?;
        let mut awaited = Vec::new();
        for (path, text) in texts {
            if (self.set(path, text.as_deref()) || edited.contains(path)) && text.is_some() {
                awaited.push(path.clone());
            }
        }
        let open = texts.iter().filter(|(_, text)| text.is_some()).map(|(path, _)| path);
        if tsserver::is_behind(&capabilities) {
            return self.handed_on(open, deadline).await;
        }
        let is_pulled = !capabilities["diagnosticProvider"].is_null() || self.server.line.inbox.is_pulled();
        match is_pulled {
            true => self.pulled(open, deadline).await,
            false => self.published(open, &awaited, deadline).await,
        }
    }

    async fn handed_on(
        &self,
        open: impl Iterator<Item = &PathBuf>,
        deadline: Instant,
    ) -> Result<Found, LspError> {
        let mut found = Vec::new();
        for path in open {
            for params in tsserver::requests(path) {
                let answer = self.ask("workspace/executeCommand", &params, deadline).await?;
                let all = tsserver::diagnostics(&answer);
                found.extend(all.into_iter().map(|one| (path.clone(), one)));
            }
        }
        Ok(found)
    }

    async fn pulled(
        &self,
        open: impl Iterator<Item = &PathBuf>,
        deadline: Instant,
    ) -> Result<Found, LspError> {
        let mut found = Vec::new();
        for path in open {
            let params = json!({"textDocument": {"uri": address(path)}});
            let report = self.ask("textDocument/diagnostic", &params, deadline).await?;
            found.extend(diagnostics(&report["items"]).into_iter().map(|one| (path.clone(), one)));
        }
        Ok(found)
    }

    /// Waits for what the server publishes of the texts of those that are `awaited`, and then until it is quiet: it may also
    /// have news of the others.
    async fn published(
        &self,
        open: impl Iterator<Item = &PathBuf>,
        awaited: &[PathBuf],
        deadline: Instant,
    ) -> Result<Found, LspError> {
        let (inbox, connection) = (&self.server.line.inbox, &self.server.line.connection);
        let versions = awaited.iter().map(|path| (path, self.documents.version(path).unwrap_or_default()));
        let versions: Vec<(&PathBuf, (i32, u64))> = versions.collect();
        let began = Instant::now();
        let is_published = inbox.until(deadline, |heard| {
            connection.is_closed()
                || heard.is_pulled
                || versions.iter().all(|(path, (version, since))| heard.is_published(path, *since, *version))
        });
        if !is_published.await {
            self.server.diagnostics.count(false);
            return Err(LspError::Silent { name: self.server.name(), limit: began.elapsed() });
        }
        if connection.is_closed() {
            let stuck = LspError::Stuck { name: self.server.name() };
            return Err(self.server.fault().await.unwrap_or(stuck));
        }
        self.server.diagnostics.count(true);
        if inbox.is_pulled() {
            // It has said so only now.
            return self.pulled(open, deadline).await;
        }
        if !awaited.is_empty() {
            inbox.until_quiet(QUIET, deadline).await;
        }
        let of = |path: &PathBuf| {
            let last = inbox.last_of(path).map(|published| published.diagnostics).unwrap_or_default();
            last.into_iter().map(|one| (path.clone(), one)).collect::<Vec<_>>()
        };
        Ok(open.flat_map(of).collect())
    }
}

/// The text of a file; `None` if the file cannot be read or is not UTF-8.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(read_regular(path, MAX_BYTES).ok()?).ok()
}

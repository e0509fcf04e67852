//! [`LanguageServers`]: the servers of a session.
use crate::{
    compare::compare,
    error::LspError,
    server::Server,
    settings::{LanguageServer, LspSettings},
};
use futures::future::{BoxFuture, join_all};
use haft_core::{Diagnostics, DiagnosticsChange, FileEdit};
use ignore::WalkBuilder;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, timeout_at};

/// How long a question to the user, or the end of a reply, waits for diagnostics, including the start of the server.
const COMPARE_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout after a comparison that failed because the server was not ready.
const NEXT_COMPARE_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum files and folders that are searched before a workspace counts as one without source files.
const MAX_LOOKED_AT: usize = 5_000;

/// The servers of a session: each is started at the first request about a file of its language. Dropping this ends all
/// servers.
pub struct LanguageServers {
    settings: LspSettings,
    /// Running servers, by name and root.
    running: Mutex<HashMap<(String, PathBuf), Started>>,
    /// Names of servers that were late because they were not ready.
    late: Mutex<HashSet<String>>,
    /// The last comparison: a question to the user and the end of its reply often compare the same edits.
    last: Mutex<Option<(Vec<FileEdit>, DiagnosticsChange)>>,
}

/// A server, or why it did not start or was given up. A failed server is not started again.
type Started = Result<Arc<Server>, LspError>;

impl LanguageServers {
    /// Creates the servers without starting any.
    pub fn new(settings: LspSettings) -> Self {
        let (running, late, last) = Default::default();
        Self { settings, running, late, last }
    }

    /// Whether a server is installed for a file of the workspace. Starts nothing.
    pub fn are_of_use(&self) -> bool {
        let LspSettings { servers, environment, workspace, .. } = &self.settings;
        let is_installed = |server: &&LanguageServer| server.program(environment, workspace).is_some();
        let installed: Vec<&LanguageServer> = servers.iter().filter(is_installed).collect();
        if installed.is_empty() {
            return false;
        }
        let walk = WalkBuilder::new(workspace).require_git(false).build().take(MAX_LOOKED_AT);
        let mut paths = walk.filter_map(Result::ok).map(ignore::DirEntry::into_path);
        paths.any(|path| installed.iter().any(|server| server.language_of(&path).is_some()))
    }

    /// See [`LspSettings::workspace`].
    pub(crate) fn workspace(&self) -> &Path {
        &self.settings.workspace
    }

    /// The first server for `path` that is installed, and its program.
    fn installed(&self, path: &Path) -> Result<(&LanguageServer, PathBuf), LspError> {
        let fits: Vec<&LanguageServer> =
            self.settings.servers.iter().filter(|server| server.language_of(path).is_some()).collect();
        let LspSettings { environment, workspace, .. } = &self.settings;
        let program = |server: &&'_ LanguageServer| server.program(environment, workspace);
        let mut found = fits.iter().filter_map(|server| Some((*server, program(server)?)));
        found.next().ok_or_else(|| match fits.as_slice() {
            [] => LspError::Unknown(path.display().to_string()),
            fits => {
                let known: Vec<String> = fits.iter().map(|server| format!("`{}`", server.command)).collect();
                LspError::NotInstalled { known: known.join(" or ") }
            }
        })
    }

    /// The server for `path`, which is absolute; started if it does not run yet.
    ///
    /// # Errors
    /// Fails if no server is installed, or the installed one does not work.
    pub(crate) async fn of(&self, path: &Path) -> Result<Arc<Server>, LspError> {
        let (row, program) = self.installed(path)?;
        let root = row.root_of(path, &self.settings.workspace);
        let key = (row.name.clone(), root);
        let mut is_tried = false;
        let started = {
            let mut running = self.running.lock();
            let start = || {
                is_tried = true;
                Server::start(row.clone(), &program, &key.1, &self.settings).map(Arc::new)
            };
            running.entry(key.clone()).or_insert_with(start).clone()
        };
        if let Some(error) = started.as_ref().err().filter(|_| is_tried && row.is_own) {
            (self.settings.on_note)(format!("{error}; this session goes on without it"));
        }
        let server = started?;
        let Some(fault) = server.fault().await else { return Ok(server) };
        self.give_up(key, &server, &fault);
        Err(fault)
    }

    /// Ends a server that is broken. The user is told once.
    fn give_up(&self, key: (String, PathBuf), server: &Server, fault: &LspError) {
        let given_up = self.running.lock().insert(key, Err(fault.clone()));
        let is_first = matches!(given_up, Some(Ok(_)));
        if is_first && (server.was_ready() || server.settings.is_own) {
            (self.settings.on_note)(format!("{fault}; this session goes on without it"));
        }
    }

    async fn compare_all(&self, edits: &[FileEdit]) -> Option<DiagnosticsChange> {
        let mut by_server: Vec<(Arc<Server>, Vec<&FileEdit>)> = Vec::new();
        for edit in edits {
            let Ok(server) = self.of(&edit.path).await else { continue };
            match by_server.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &server)) {
                Some((_, edits)) => edits.push(edit),
                None => by_server.push((server, vec![edit])),
            }
        }
        let compared = by_server.iter().map(|(server, edits)| self.compare_with(server, edits));
        let mut all: Option<DiagnosticsChange> = None;
        for change in join_all(compared).await.into_iter().flatten() {
            let sum = all.get_or_insert_default();
            sum.by.extend(change.by);
            sum.added.extend(change.added);
            sum.removed.extend(change.removed);
        }
        all
    }

    async fn compare_with(&self, server: &Arc<Server>, edits: &[&FileEdit]) -> Option<DiagnosticsChange> {
        let is_late = self.late.lock().contains(&server.settings.name);
        let limit = server.settings.timeout.unwrap_or(COMPARE_TIMEOUT);
        let deadline = Instant::now() + if is_late { NEXT_COMPARE_TIMEOUT } else { limit };
        let compared =
            timeout_at(deadline + NEXT_COMPARE_TIMEOUT, compare(server, edits, deadline)).await.ok()?;
        let name = server.name();
        match compared {
            Ok(change) => {
                self.late.lock().remove(&name);
                Some(change)
            }
            Err(error) => {
                tracing::debug!(%error, "no diagnostics");
                if matches!(error, LspError::Loading { .. }) {
                    self.late.lock().insert(name);
                }
                // Reports a server that has just ended now instead of with the next call.
                let _broken = self.of(&edits.first()?.path).await;
                None
            }
        }
    }
}

impl Diagnostics for LanguageServers {
    fn compare<'a>(&'a self, edits: &'a [FileEdit]) -> BoxFuture<'a, Option<DiagnosticsChange>> {
        Box::pin(async move {
            // Used only once, because other files may have changed the next time.
            let last = self.last.lock().take();
            if let Some((_, known)) = last.filter(|(asked, _)| asked == edits) {
                return Some(known);
            }
            let change = self.compare_all(edits).await?;
            *self.last.lock() = Some((edits.to_vec(), change.clone()));
            Some(change)
        })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let running: Vec<Started> = self.running.lock().drain().map(|(_, started)| started).collect();
            let servers: Vec<Arc<Server>> = running.into_iter().filter_map(Result::ok).collect();
            join_all(servers.iter().map(|server| server.shut_down())).await;
        })
    }
}

//! [`Rehearsal`]: repeats a call of a session in a view of the workspace as it would have been at that time. The
//! changes are never written to the workspace.
use crate::{
    batch::run_calls,
    recorder::Recorder,
    round::Round,
    rules::{CallRules, Redundancy, Unread},
    scope::CallScope,
};
use haft_core::{
    Access, Bulk, Change, Confinement, Effect, FileState, Hash, Mode, Policy, Registry, SessionId, Stage,
    ToolCall, ToolResult, Tracking, View, past_calls::PastCall, relocated,
};
use parking_lot::Mutex;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Repeats calls of a session, with these tools and settings.
pub struct Rehearsal<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// Absolute, links followed.
    pub workspace: &'a Path,
    /// Folder for output that is too long for a result.
    pub artifacts: &'a Path,
    /// Other folders that calls may read.
    pub readable: &'a [PathBuf],
    /// Opens the views.
    pub stage: &'a Arc<dyn Stage>,
    /// What commands may reach.
    pub access: &'a Access,
    /// How results are worded.
    pub rules: &'a CallRules,
    /// The tools.
    pub tools: &'a Registry,
}

/// The result of a repeated call.
pub(crate) struct Repeated {
    pub(crate) result: ToolResult,
    /// Changes from the current workspace to the view at the end of the call; `None` if the call failed and its changes
    /// were dropped.
    pub(crate) changes: Option<Vec<Change>>,
}

/// What a view reported.
#[derive(Default)]
struct Seen {
    changes: Option<Vec<Change>>,
    /// Why it could not be opened.
    error: Option<io::Error>,
}

impl<'a> Rehearsal<'a> {
    /// Returns a rehearsal for calls of `scope`, with `tools`.
    pub fn of(scope: &'a CallScope, tools: &'a Registry) -> Self {
        let CallScope { session, workspace, artifacts, readable, stage, access, rules, .. } = scope;
        Self { session, workspace, artifacts, readable, stage, access, rules, tools }
    }

    /// Repeats `call` in a view that shows the changes `shown` as made.
    ///
    /// # Errors
    /// Fails if no such view can be opened.
    pub(crate) async fn make(
        &self,
        call: &PastCall,
        shown: Vec<Change>,
        cancel: &CancellationToken,
    ) -> io::Result<Repeated> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let stage = Rehearsed { inner: self.stage.clone(), shown: shown.into(), seen: seen.clone() };
        let folder = self.artifacts.with_file_name("made-again");
        let scope = self.scope(Arc::new(stage), &folder);
        let made = ToolCall::new(call.id.0.clone(), call.name.clone(), call.arguments.clone());
        // The call was allowed when it was made, and its effects stay in the view.
        scope.interactions.set_typed(Some(made.id.clone()));
        let (recorder, message) = (Recorder::none(), call.reply.to_string());
        let round = Round {
            scope: &scope,
            tools: self.tools,
            repeats: 1,
            channel: None,
            message,
            parallel: false,
            recorder,
            cancel,
        };
        let mut ran = run_calls(&round, vec![made]).await;
        let mut result = ran.pop().map(|executed| executed.result).unwrap_or_default();
        let (own, theirs) = (scope.artifacts.to_string_lossy(), self.artifacts.to_string_lossy());
        result.content = relocated(&result.content, &own, &theirs);
        let _was_never_made = fs::remove_dir_all(&folder);
        let Seen { changes, error } = std::mem::take(&mut *seen.lock());
        error.map_or(Ok(Repeated { result, changes }), Err)
    }

    fn scope(&self, stage: Arc<dyn Stage>, folder: &Path) -> CallScope {
        let policy = Policy { mode: Mode::Full, ..Policy::default() };
        let rules = CallRules { unread: Unread::Allow, redundancy: Redundancy::Off, ..self.rules.clone() };
        CallScope {
            session: self.session.clone(),
            readable: [self.readable, &[folder.to_owned(), self.artifacts.to_owned()]].concat(),
            access: self.access.clone(),
            rules,
            ..CallScope::standalone(self.workspace.to_owned(), stage, policy, folder.to_owned())
        }
    }
}

/// A stage whose views show changed files, and that settles nothing.
struct Rehearsed {
    inner: Arc<dyn Stage>,
    shown: Arc<[Change]>,
    seen: Arc<Mutex<Seen>>,
}

impl Stage for Rehearsed {
    fn how(&self, workspace: &Path, effects: &[Effect]) -> Tracking {
        self.inner.how(workspace, effects)
    }

    fn unconfined(&self, workspace: &Path) -> Option<String> {
        self.inner.unconfined(workspace)
    }

    fn open(&self, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
        match self.inner.open_with(workspace, effects, &self.shown) {
            Ok(inner) => {
                Ok(Box::new(RehearsedView { inner, shown: self.shown.clone(), seen: self.seen.clone() }))
            }
            Err(error) => {
                let told = io::Error::new(error.kind(), error.to_string());
                self.seen.lock().error = Some(error);
                Err(told)
            }
        }
    }

    fn settle(&self, _: &Path, _: &[Change]) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.inner.content(hash)
    }

    fn keep(&self, content: &[u8]) -> io::Result<Hash> {
        self.inner.keep(content)
    }

    fn found(&self, workspace: &Path, path: &Path) -> io::Result<Option<FileState>> {
        self.inner.found(workspace, path)
    }

    fn resolve(&self, workspace: &Path, path: &Path) -> PathBuf {
        self.inner.resolve(workspace, path)
    }
}

/// A view whose changes are not settled.
struct RehearsedView {
    inner: Box<dyn View>,
    shown: Arc<[Change]>,
    seen: Arc<Mutex<Seen>>,
}

impl View for RehearsedView {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn locate(&self, path: &Path) -> PathBuf {
        self.inner.locate(path)
    }

    /// Returns only the changes of the call, and keeps all changes for the code that repeats the call.
    fn changes(&self) -> io::Result<Vec<Change>> {
        let changes = self.inner.changes()?;
        let was_shown = |change: &Change| {
            self.shown.iter().any(|shown| shown.path == change.path && shown.after == change.after)
        };
        let own = changes.iter().filter(|change| !was_shown(change)).cloned().collect();
        self.seen.lock().changes = Some(changes);
        Ok(own)
    }

    fn stop(&self) {
        self.inner.stop();
    }

    fn finish_by(&self, deadline: Instant) {
        self.inner.finish_by(deadline);
    }

    fn how(&self) -> Tracking {
        self.inner.how()
    }

    fn bulk(&self) -> Arc<Bulk> {
        self.inner.bulk()
    }

    fn shown(&self) -> Vec<(PathBuf, PathBuf)> {
        self.inner.shown()
    }

    fn confinement(&self) -> Option<Arc<Confinement>> {
        self.inner.confinement()
    }
}

//! Runs a call the way the engine does: find, check, effects, view, run, changes, settle.
#![allow(clippy::allow_attributes, reason = "what is not needed differs between the test files")]
#![allow(clippy::unwrap_used, dead_code, reason = "this is a test, and no test file uses all of it")]
use futures::future::BoxFuture;
use haft_core::{
    Access, CallId, Effect, How, JobId, Jobs, Registry, Render, SessionId, Stage, ToolCall, ToolContext,
    ToolError, ToolErrorKind, ToolOutput, ToolResult, Validation, View,
};
use haft_stage::Declared;
use haft_tools::{Settings, builtin};
use serde_json::Value;
use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The tools in a folder of their own.
pub(crate) struct Kit {
    pub(crate) workspace: PathBuf,
    tools: Registry,
    stage: Declared,
    jobs: Arc<Started>,
    live: Arc<Mutex<String>>,
    pub(crate) cancel: CancellationToken,
    _folder: TempDir,
}

type Work = BoxFuture<'static, Result<ToolOutput, ToolError>>;

/// Jobs wait here until a test runs them.
#[derive(Default)]
struct Started(Mutex<Vec<(String, Work)>>);

impl Jobs for Started {
    fn start(&self, title: String, work: Work) -> JobId {
        self.0.lock().unwrap().push((title, work));
        JobId("1".into())
    }
}

impl Kit {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("w");
        fs::create_dir(&workspace).unwrap();
        let stage = Declared::new(folder.path().join("blobs"));
        let (jobs, live, cancel) = Default::default();
        Self { workspace, tools: builtin(&settings), stage, jobs, live, cancel, _folder: folder }
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.workspace.join(path)).unwrap()
    }

    /// What was shown while calls ran.
    pub(crate) fn shown(&self) -> String {
        self.live.lock().unwrap().clone()
    }

    /// The title of the last job, and what came of it.
    pub(crate) async fn job(&self) -> (String, Result<ToolOutput, ToolError>) {
        let (title, work) = self.jobs.0.lock().unwrap().pop().unwrap();
        (title, work.await)
    }

    pub(crate) fn effects(&self, tool: &str, arguments: &Value) -> Result<Vec<Effect>, ToolError> {
        self.tools.find(tool)?.tool.effects(arguments, &self.workspace)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let registered = self.tools.find(tool)?;
        let arguments = registered.check(&arguments, Validation::Coerce)?;
        let effects = registered.tool.effects(&arguments, &self.workspace)?;
        let view: Arc<dyn View> = self.stage.open(&self.workspace, &effects).map_err(refused)?.into();
        let output = registered.tool.call(arguments, &self.context(view.clone())).await?;
        let runs_commands = effects.iter().any(|effect| matches!(effect, Effect::Execute(_)));
        assert_eq!(view.how(), if runs_commands { How::Untracked } else { How::Declared });
        let changes = view.changes().unwrap();
        let writes = effects.iter().any(|effect| matches!(effect, Effect::Write(_)));
        assert!(writes || changes.is_empty());
        assert!(self.stage.settle(&self.workspace, &changes).map_err(refused)?.is_empty());
        Ok(output)
    }

    /// As the model reads it.
    pub(crate) async fn told(&self, tool: &str, arguments: Value) -> ToolResult {
        let result = self.call(tool, arguments.clone()).await;
        Render::default().result(&ToolCall::new("1", tool, arguments), result)
    }

    fn context(&self, view: Arc<dyn View>) -> ToolContext {
        let live = self.live.clone();
        let environment = [("PATH", "/usr/bin:/bin"), ("NAME", "Ada")];
        ToolContext {
            session: SessionId("s".into()),
            call: CallId("1".into()),
            channel: None,
            workspace: view.root().to_owned(),
            live: self.workspace.clone(),
            access: Access {
                environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
            },
            jobs: self.jobs.clone(),
            cancel: self.cancel.clone(),
            on_progress: Arc::new(move |chunk| live.lock().unwrap().push_str(&chunk)),
            view,
        }
    }
}

fn refused(error: std::io::Error) -> ToolError {
    ToolError::new(ToolErrorKind::System, error.to_string())
}

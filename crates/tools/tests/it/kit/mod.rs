//! Runs a call the way the engine does: find, check, effects, view, run, changes, settle.
use futures::future::BoxFuture;
use haft_core::{
    Access, BackgroundTasks, CallId, Channel, Effect, Person, Question, Readable, Registry, Render,
    SessionId, Stage, TaskId, TaskOutput, TaskState, TaskWork, ToolCall, ToolContext, ToolError,
    ToolErrorKind, ToolOutput, ToolResult, Tracking, Validation, View,
};
use haft_stage::LocalStage;
use haft_tools::{Settings, builtin};
use serde_json::Value;
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The tools in a folder of their own.
pub(crate) struct Kit {
    pub(crate) workspace: PathBuf,
    /// Where the conversation takes place.
    pub(crate) channel: Option<Channel>,
    /// Of processes.
    pub(crate) environment: Vec<(String, String)>,
    /// Which files may be read.
    pub(crate) readable: Arc<Readable>,
    pub(crate) tools: Registry,
    stage: LocalStage,
    jobs: Arc<Started>,
    pub(crate) person: Arc<Answers>,
    live: Arc<Mutex<String>>,
    pub(crate) cancel: CancellationToken,
    _folder: TempDir,
}

/// Jobs wait here until a test runs them.
#[derive(Default)]
struct Started(Mutex<Vec<(TaskState, Option<TaskWork>)>>);

impl BackgroundTasks for Started {
    fn start(&self, title: String, work: TaskWork, output: TaskOutput) -> TaskId {
        let mut jobs = self.0.lock().unwrap();
        let id = TaskId((jobs.len() + 1).to_string());
        jobs.push((TaskState { id: id.clone(), title, running: true, output }, Some(work)));
        id
    }
    fn start_in(&self, _: Arc<dyn View>, title: String, work: TaskWork, output: TaskOutput) -> TaskId {
        self.start(title, work, output)
    }
    fn all(&self) -> Vec<TaskState> {
        self.0.lock().unwrap().iter().map(|(job, _)| job.clone()).collect()
    }
    fn wait<'a>(&'a self, _: &TaskId, _: Duration) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
    fn stop(&self, id: &TaskId) -> bool {
        let mut jobs = self.0.lock().unwrap();
        let job = jobs.iter_mut().find(|(job, _)| job.id == *id && job.running);
        job.map(|(job, work)| (job.running, *work) = (false, None)).is_some()
    }
}

/// Answers what a test has put there, and nothing after that.
#[derive(Default)]
pub(crate) struct Answers {
    answers: Mutex<Vec<String>>,
    /// Gives no answer, however long a call waits for one.
    pub(crate) thinks: AtomicBool,
    /// How many questions there were.
    pub(crate) asked: AtomicUsize,
}

impl Person for Answers {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.thinks.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        let answer = self.answers.lock().unwrap().pop();
        Box::pin(std::future::ready(answer.map(|answer| format!("{answer} to {}", question.text))))
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
        let stage = LocalStage::new(folder.path().join("blobs"));
        let (channel, jobs, person, live, cancel) = Default::default();
        let environment = [("PATH", "/usr/bin:/bin"), ("NAME", "Ada")];
        let environment = environment.map(|(name, value)| (name.into(), value.into())).into();
        let tools = builtin(&settings);
        let readable = Arc::default();
        Self {
            workspace,
            channel,
            environment,
            readable,
            tools,
            stage,
            jobs,
            person,
            live,
            cancel,
            _folder: folder,
        }
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.workspace.join(path)).unwrap()
    }

    /// The person answers this to the next question.
    pub(crate) fn answer(&self, answer: &str) {
        self.person.answers.lock().unwrap().push(answer.into());
    }

    /// What was shown while calls ran.
    pub(crate) fn shown(&self) -> String {
        self.live.lock().unwrap().clone()
    }

    /// The title of the last job, and what came of it.
    pub(crate) async fn job(&self) -> (String, Result<ToolOutput, ToolError>) {
        let last = self.jobs.0.lock().unwrap().last_mut().map(|(job, work)| (job.title.clone(), work.take()));
        let (title, work) = last.unwrap();
        let result = work.unwrap().await;
        self.jobs.0.lock().unwrap().last_mut().unwrap().0.running = false;
        (title, result)
    }

    pub(crate) fn effects(&self, tool: &str, arguments: &Value) -> Result<Vec<Effect>, ToolError> {
        self.tools.find(tool)?.tool.effects(arguments, &self.workspace)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let registered = self.tools.find(tool)?;
        let arguments = registered.check(&arguments, Validation::Coerce)?;
        let effects = registered.tool.effects(&arguments, &self.workspace)?;
        let effects: Vec<_> = effects
            .into_iter()
            .map(|effect| effect.placed(|path| self.stage.resolve(&self.workspace, path)))
            .collect();
        let view: Arc<dyn View> = self.stage.open(&self.workspace, &effects).map_err(refused)?.into();
        let output = registered.tool.call(arguments, &self.context(view.clone())).await?;
        let on_files = |effect: &Effect| matches!(effect, Effect::Read(_) | Effect::Write(_));
        let tracked = !effects.is_empty() && effects.iter().all(on_files);
        assert_eq!(view.how(), if tracked { Tracking::Declared } else { Tracking::Untracked });
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
        ToolContext {
            session: SessionId("s".into()),
            message: "0".into(),
            agent: "haft".into(),
            call: CallId("1".into()),
            channel: self.channel.clone(),
            workspace: view.root().to_owned(),
            live: self.workspace.clone(),
            access: Access { environment: self.environment.clone().into(), ..Access::default() },
            readable: self.readable.clone(),
            artifacts: self.workspace.with_file_name("artifacts"),
            jobs: self.jobs.clone(),
            person: self.person.clone(),
            subagents: Arc::new(haft_core::NoSubagents),
            sampler: Arc::new(haft_core::NoSampler),
            cancel: self.cancel.clone(),
            on_progress: Arc::new(move |chunk| live.lock().unwrap().push_str(&chunk)),
            view,
        }
    }
}

fn refused(error: std::io::Error) -> ToolError {
    ToolError::new(ToolErrorKind::System, error.to_string())
}

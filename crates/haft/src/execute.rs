//! Calls without a session: checked, judged, run in a view of their own, settled.
use crate::{
    CallContext, Error, Message, Registry, Result, ToolCall, ToolResult, builder::folder_to_work_in,
    call_context::wording,
};
use futures::{StreamExt, stream};
use haft_core::{
    Access, Alone, Effect, Fact, JobId, Jobs, Nobody, Policy, Readable, Stage, ToolContext, ToolError,
    ToolErrorKind, ToolOutput, Verdict, View,
};
use haft_engine::{BackgroundCommands, CallLog, as_found, is_repository, run_tool};
use haft_stage::Declared;
use serde_json::Value;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Readers that run at the same time.
const MAX_PARALLEL: usize = 16;

/// A call that ran, and what came of it. [`result_messages`] makes messages of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// The call.
    pub call: ToolCall,
    /// What came of it; also where it could not run.
    pub result: ToolResult,
}

impl From<Executed> for Message {
    fn from(Executed { call, result }: Executed) -> Self {
        Self::Tool { call: call.id, name: call.name, result }
    }
}

/// Returns the messages that answer the calls of a reply, in the same order. They stand behind that reply.
pub fn result_messages(results: impl IntoIterator<Item = Executed>) -> Vec<Message> {
    results.into_iter().map(Message::from).collect()
}

/// Runs `calls` of one reply: neighbors that only read together, all others one after the other.
pub(crate) async fn all(tools: &Registry, calls: Vec<ToolCall>, context: &CallContext) -> Vec<Executed> {
    let runner = match Runner::new(context) {
        Ok(runner) => runner,
        Err(error) => return calls.into_iter().map(|call| refused(call, &error)).collect(),
    };
    let mut results = Vec::new();
    let mut calls = calls.into_iter().peekable();
    while let Some(call) = calls.next() {
        let mut batch = vec![call];
        if runner.only_reads(tools, &batch[0]) {
            while let Some(next) = calls.next_if(|next| runner.only_reads(tools, next)) {
                batch.push(next);
            }
        }
        let running = batch.into_iter().map(|call| runner.execute(tools, call));
        results.extend(stream::iter(running).buffered(MAX_PARALLEL).collect::<Vec<_>>().await);
    }
    results
}

fn refused(call: ToolCall, error: &Error) -> Executed {
    let error = ToolError::new(ToolErrorKind::System, error.to_string());
    let result = wording().result(&call, Err(error));
    Executed { call, result }
}

/// Runs calls in one place.
pub(crate) struct Runner<'a> {
    context: &'a CallContext,
    workspace: PathBuf,
    stage: Arc<dyn Stage>,
    /// Holds what calls write until it is in place, and what is too long to be told.
    folder: PathBuf,
}

impl<'a> Runner<'a> {
    /// Fails where the workspace is not a folder, or there is no room for private views.
    pub(crate) fn new(context: &'a CallContext) -> Result<Self> {
        let made = context.folder.get_or_init(|| tempfile::tempdir().map_err(|error| error.to_string()));
        let made =
            made.as_ref().map_err(|why| Error::new(format!("cannot make a folder for private views: {why}")));
        let folder = made?.path().to_owned();
        let workspace = folder_to_work_in(&context.workspace)?;
        let stage = Arc::new(Declared::new(folder.join("contents")));
        Ok(Self { context, workspace, stage, folder })
    }

    /// Runs `call`. Whatever goes wrong is its result.
    pub(crate) async fn execute(&self, tools: &Registry, call: ToolCall) -> Executed {
        let log = CallLog::start(&call);
        let result = match self.run(tools, &call).await {
            Ok(ran) => ran,
            Err(error) => wording().result(&call, Err(log.cause(error))),
        };
        log.end(&result);
        Executed { call, result }
    }

    fn only_reads(&self, tools: &Registry, call: &ToolCall) -> bool {
        let Ok(effects) = self.effects(tools, call) else { return false };
        let is_read_only = tools.find(&call.name).is_ok_and(|found| found.tool.is_read_only());
        is_read_only || !effects.is_empty() && effects.iter().all(|effect| matches!(effect, Effect::Read(_)))
    }

    fn effects(&self, tools: &Registry, call: &ToolCall) -> Result<Vec<Effect>, ToolError> {
        let arguments = self.checked(tools, call)?;
        let effects = tools.find(&call.name)?.tool.effects(&arguments, &self.workspace)?;
        Ok(as_found(effects, &*self.stage, &self.workspace))
    }

    fn checked(&self, tools: &Registry, call: &ToolCall) -> Result<Value, ToolError> {
        match &call.problem {
            None => tools.find(&call.name)?.check(&call.arguments, self.context.validation),
            Some(problem) => {
                let message = format!("cannot call `{}`: {problem}", call.name);
                Err(ToolError::new(ToolErrorKind::Validation, message))
            }
        }
    }

    async fn run(&self, tools: &Registry, call: &ToolCall) -> Result<ToolResult, ToolError> {
        let (arguments, effects) = (self.checked(tools, call)?, self.effects(tools, call)?);
        allowed(&self.context.policy, &effects, &self.workspace, &call.name)?;
        let tool = tools.find(&call.name)?.tool.clone();
        let view: Arc<dyn View> = self.stage.open(&self.workspace, &effects).map_err(not_staged)?.into();
        let (waits, ends) = (self.context.background.is_none(), Ends::default());
        let jobs = self.context.background.clone().unwrap_or_else(|| ends.collecting());
        let readable =
            Readable::new(&self.context.policy, &self.workspace, &effects, vec![self.folder.clone()]);
        let context =
            ToolContext { readable: Arc::new(readable), ..self.tool_context(call, &view, jobs.clone()) };
        let output = run_tool(&*tool, arguments, &context, self.context.call_seconds).await?;
        let changes = view.changes().map_err(not_staged)?;
        let left = self.stage.settle(&self.workspace, &changes).map_err(not_staged)?;
        match (left.first(), &output.job) {
            (Some(path), _) => Err(changed_meanwhile(path)),
            (None, Some(job)) if waits => {
                Ok(ends.of(job, &*jobs).await.unwrap_or_else(|| told(call, output)))
            }
            (None, _) => Ok(told(call, output)),
        }
    }

    fn tool_context(
        &self,
        call: &ToolCall,
        view: &Arc<dyn View>,
        jobs: Arc<BackgroundCommands>,
    ) -> ToolContext {
        ToolContext {
            session: self.context.session.clone(),
            message: self.context.message.clone(),
            agent: self.context.agent.clone(),
            call: call.id.clone(),
            channel: self.context.channel.clone(),
            workspace: view.root().to_owned(),
            live: self.workspace.clone(),
            access: Access::default(),
            readable: Arc::default(),
            artifacts: self.folder.join("outputs"),
            jobs,
            person: Arc::new(Nobody),
            subagents: Arc::new(Alone),
            cancel: Default::default(),
            on_progress: Arc::new(|_| {}),
            view: view.clone(),
        }
    }
}

/// What work came to that its call waits for.
#[derive(Clone, Default)]
struct Ends(Arc<Mutex<HashMap<JobId, ToolResult>>>);

impl Ends {
    fn collecting(&self) -> Arc<BackgroundCommands> {
        let ends = self.clone();
        let tell = move |fact| {
            if let Fact::JobEnded { job, result } = fact {
                ends.0.lock().unwrap_or_else(PoisonError::into_inner).insert(job, result);
            }
        };
        Arc::new(BackgroundCommands::new(tell, 1, wording()))
    }

    async fn of(&self, job: &JobId, jobs: &dyn Jobs) -> Option<ToolResult> {
        jobs.wait(job, Duration::MAX).await;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(job)
    }
}

fn allowed(policy: &Policy, effects: &[Effect], workspace: &Path, name: &str) -> Result<(), ToolError> {
    match policy.judge(effects, workspace, &is_repository) {
        Verdict::Allow => Ok(()),
        Verdict::Ask { reason } | Verdict::Deny { reason } => {
            let message = format!("`{name}` may not run here: {reason}");
            Err(ToolError::new(ToolErrorKind::Permission, message))
        }
    }
}

fn told(call: &ToolCall, output: ToolOutput) -> ToolResult {
    wording().result(call, Ok(output))
}

fn changed_meanwhile(path: &Path) -> ToolError {
    let message = format!("cannot write `{}`: somebody changed it meanwhile", path.display());
    ToolError::new(ToolErrorKind::System, message).hint("read it again first")
}

fn not_staged(error: io::Error) -> ToolError {
    ToolError::new(ToolErrorKind::System, format!("cannot work on the files: {error}"))
}

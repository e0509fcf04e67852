//! [`BackgroundCommands`]: the background tasks of a session. They outlive their calls and end with the session.
use crate::errors::panicked;
use futures::{FutureExt, future::BoxFuture};
use haft_core::{
    BackgroundTasks, Fact, Render, TaskId, TaskOutput, TaskState, TaskWork, ToolCall, ToolError, ToolResult,
    Tracking, View,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Maximum ended tasks whose output is kept.
const MAX_ENDED_TASKS: usize = 32;

/// The background tasks of a session. Dropping this ends them.
pub struct BackgroundCommands {
    tell: Arc<dyn Fn(Fact) + Send + Sync>,
    running: Mutex<JoinSet<()>>,
    known: Mutex<Vec<BackgroundCommand>>,
    next: AtomicU64,
    render: Render,
    /// The results of tasks that have ended, if their calls wait for them.
    awaited: Option<Arc<Mutex<HashMap<TaskId, ToolResult>>>>,
}

struct BackgroundCommand {
    id: TaskId,
    title: String,
    output: TaskOutput,
    stop: CancellationToken,
    ended: CancellationToken,
    /// The view that the task works in, until its changes there are settled.
    view: Option<Arc<dyn View>>,
}

impl BackgroundCommands {
    /// Calls `tell` when a task starts and when it ends. `next` is the number of the first task.
    pub fn new(tell: impl Fn(Fact) + Send + Sync + 'static, next: u64, render: Render) -> Self {
        Self {
            tell: Arc::new(tell),
            running: Mutex::default(),
            known: Mutex::default(),
            next: AtomicU64::new(next),
            render,
            awaited: None,
        }
    }

    /// Creates background tasks for calls that wait for the task that they start and return its result.
    pub fn awaited(render: Render) -> Self {
        let results = Arc::new(Mutex::new(HashMap::new()));
        let ended = results.clone();
        let tell = move |fact| {
            if let Fact::TaskEnded { task: job, result } = fact {
                ended.lock().insert(job, result);
            }
        };
        Self { awaited: Some(results), ..Self::new(tell, 1, render) }
    }

    /// Waits for the task that `result` names and returns its result, if calls wait for their tasks.
    pub(crate) async fn awaited_result(&self, result: &ToolResult) -> Option<ToolResult> {
        let (job, results) = (result.job.as_ref()?, self.awaited.as_ref()?);
        self.wait(job, Duration::MAX).await;
        results.lock().remove(job)
    }

    /// Ends all tasks, and waits until all their processes have ended.
    pub async fn end(&self) {
        let mut running = std::mem::take(&mut *self.running.lock());
        running.shutdown().await;
    }

    fn remember(&self, task: BackgroundCommand) {
        let mut known = self.known.lock();
        let is_over = |task: &BackgroundCommand| task.ended.is_cancelled() && task.view.is_none();
        if known.len() >= MAX_ENDED_TASKS
            && let Some(oldest) = known.iter().position(is_over)
        {
            known.remove(oldest);
        }
        known.push(task);
    }

    /// Whether a task works in `view`.
    pub(crate) fn holds(&self, view: &Arc<dyn View>) -> bool {
        self.known.lock().iter().filter_map(|task| task.view.as_ref()).any(|held| Arc::ptr_eq(held, view))
    }

    /// The view that a task has worked in, once it has ended.
    pub fn take_view(&self, job: &TaskId) -> Option<Arc<dyn View>> {
        self.known.lock().iter_mut().find(|known| known.id == *job)?.view.take()
    }

    /// Ends the tasks that work in `view`, because their call is repeated.
    pub(crate) fn give_up(&self, view: &Arc<dyn View>) {
        let mut known = self.known.lock();
        let held =
            |task: &&mut BackgroundCommand| task.view.as_ref().is_some_and(|held| Arc::ptr_eq(held, view));
        for task in known.iter_mut().filter(held) {
            task.stop.cancel();
            task.view = None;
        }
    }

    fn begin(
        &self,
        view: Option<Arc<dyn View>>,
        title: String,
        work: TaskWork,
        output: TaskOutput,
    ) -> TaskId {
        let id = TaskId(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        let how = view.as_ref().map_or(Tracking::Untracked, |view| view.how());
        (self.tell)(Fact::TaskStarted { task: id.clone(), title: title.clone(), how });
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let (tell, job, render, began) = (self.tell.clone(), id.clone(), self.render.clone(), Instant::now());
        let call = ToolCall::new(id.0.clone(), title.clone(), serde_json::Value::Null);
        let (stopped, done) = (stop.clone(), ended.clone().drop_guard());
        let mut running = self.running.lock();
        while running.try_join_next().is_some() {}
        // The end of the task finds it by its ID.
        self.remember(BackgroundCommand { id: id.clone(), title, output, stop, ended, view });
        running.spawn(async move {
            let _done = done;
            let result = tokio::select! {
                biased;
                () = stopped.cancelled() => Err(ToolError::stopped()),
                result = AssertUnwindSafe(work).catch_unwind() => {
                    result.unwrap_or_else(|panic| Err(panicked(&*panic)))
                }
            };
            let (duration_ms, failed) = (began.elapsed().as_millis() as u64, result.as_ref().err());
            tracing::debug!(%job, duration_ms, ?failed, "the job ended");
            tell(Fact::TaskEnded { task: job, result: render.result(&call, result) });
        });
        id
    }
}

impl BackgroundTasks for BackgroundCommands {
    fn start(&self, title: String, work: TaskWork, output: TaskOutput) -> TaskId {
        self.begin(None, title, work, output)
    }

    fn start_in(&self, view: Arc<dyn View>, title: String, work: TaskWork, output: TaskOutput) -> TaskId {
        self.begin(Some(view), title, work, output)
    }

    fn all(&self) -> Vec<TaskState> {
        let state = |task: &BackgroundCommand| TaskState {
            id: task.id.clone(),
            title: task.title.clone(),
            running: !task.ended.is_cancelled(),
            output: task.output.clone(),
        };
        self.known.lock().iter().map(state).collect()
    }

    fn wait<'a>(&'a self, job: &TaskId, limit: Duration) -> BoxFuture<'a, ()> {
        let ended = self.known.lock().iter().find(|known| known.id == *job).map(|known| known.ended.clone());
        Box::pin(async move {
            let Some(ended) = ended else { return };
            let _ended_or_not = tokio::time::timeout(limit, ended.cancelled()).await;
        })
    }

    fn stop(&self, job: &TaskId) -> bool {
        let known = self.known.lock();
        let running = known.iter().find(|known| known.id == *job && !known.ended.is_cancelled());
        running.inspect(|known| known.stop.cancel()).is_some()
    }
}

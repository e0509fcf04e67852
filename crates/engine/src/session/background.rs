//! Work that outlives its call. It belongs to the session: when the session goes, so does the work.
use futures::future::BoxFuture;
use haft_core::{
    Fact, How, JobId, JobOutput, JobState, Jobs, Render, ToolCall, ToolError, ToolErrorKind, View, Work,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// So many jobs that have ended are remembered, for whoever asks what they printed.
const REMEMBERED: usize = 32;

/// Work that outlives its call. When this is dropped, the work ends.
pub struct BackgroundCommands {
    tell: Arc<dyn Fn(Fact) + Send + Sync>,
    running: Mutex<JoinSet<()>>,
    known: Mutex<Vec<BackgroundCommand>>,
    next: AtomicU64,
    render: Render,
}

struct BackgroundCommand {
    id: JobId,
    title: String,
    output: JobOutput,
    stop: CancellationToken,
    ended: CancellationToken,
    /// What it works in, until what it changed there is settled.
    view: Option<Arc<dyn View>>,
}

impl BackgroundCommands {
    /// Tells of each job that it started and that it ended. `next` is the number of the first one.
    pub fn new(tell: impl Fn(Fact) + Send + Sync + 'static, next: u64, render: Render) -> Self {
        let (running, known) = Default::default();
        Self { tell: Arc::new(tell), running, known, next: AtomicU64::new(next), render }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<BackgroundCommand>> {
        self.known.lock().expect("no code panics while it holds what is known of jobs")
    }

    fn remember(&self, job: BackgroundCommand) {
        let mut known = self.lock();
        let is_over = |job: &BackgroundCommand| job.ended.is_cancelled() && job.view.is_none();
        if known.len() >= REMEMBERED
            && let Some(oldest) = known.iter().position(is_over)
        {
            known.remove(oldest);
        }
        known.push(job);
    }

    /// Whether some of the work goes on in `view`.
    pub(crate) fn holds(&self, view: &Arc<dyn View>) -> bool {
        self.lock().iter().filter_map(|job| job.view.as_ref()).any(|held| Arc::ptr_eq(held, view))
    }

    /// What the work had changed files in, once it has ended.
    pub(crate) fn take_view(&self, job: &JobId) -> Option<Arc<dyn View>> {
        self.lock().iter_mut().find(|known| known.id == *job)?.view.take()
    }

    /// Ends the work that goes on in `view`: its call is made again.
    pub(crate) fn give_up(&self, view: &Arc<dyn View>) {
        let mut known = self.lock();
        let held =
            |job: &&mut BackgroundCommand| job.view.as_ref().is_some_and(|held| Arc::ptr_eq(held, view));
        for job in known.iter_mut().filter(held) {
            job.stop.cancel();
            job.view = None;
        }
    }

    fn begin(&self, view: Option<Arc<dyn View>>, title: String, work: Work, output: JobOutput) -> JobId {
        let id = JobId(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        let how = view.as_ref().map_or(How::Untracked, |view| view.how());
        (self.tell)(Fact::JobStarted { job: id.clone(), title: title.clone(), how });
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let (tell, job, render, began) = (self.tell.clone(), id.clone(), self.render.clone(), Instant::now());
        let call = ToolCall::new(id.0.clone(), title.clone(), serde_json::Value::Null);
        let (stopped, done) = (stop.clone(), ended.clone().drop_guard());
        let mut running = self.running.lock().expect("no code panics while it holds the jobs");
        while running.try_join_next().is_some() {}
        // It is found by its name when it ends.
        self.remember(BackgroundCommand { id: id.clone(), title, output, stop, ended, view });
        running.spawn(async move {
            let _done = done;
            let result = tokio::select! {
                biased;
                () = stopped.cancelled() => Err(stopped_error()),
                result = work => result,
            };
            let (duration_ms, failed) = (began.elapsed().as_millis() as u64, result.as_ref().err());
            tracing::debug!(%job, duration_ms, ?failed, "the job ended");
            tell(Fact::JobEnded { job, result: render.result(&call, result) });
        });
        id
    }
}

impl Jobs for BackgroundCommands {
    fn start(&self, title: String, work: Work, output: JobOutput) -> JobId {
        self.begin(None, title, work, output)
    }

    fn start_in(&self, view: Arc<dyn View>, title: String, work: Work, output: JobOutput) -> JobId {
        self.begin(Some(view), title, work, output)
    }

    fn all(&self) -> Vec<JobState> {
        let state = |job: &BackgroundCommand| JobState {
            id: job.id.clone(),
            title: job.title.clone(),
            running: !job.ended.is_cancelled(),
            output: job.output.clone(),
        };
        self.lock().iter().map(state).collect()
    }

    fn wait<'a>(&'a self, job: &JobId, limit: Duration) -> BoxFuture<'a, ()> {
        let ended = self.lock().iter().find(|known| known.id == *job).map(|known| known.ended.clone());
        Box::pin(async move {
            let Some(ended) = ended else { return };
            let _ended_or_not = tokio::time::timeout(limit, ended.cancelled()).await;
        })
    }

    fn stop(&self, job: &JobId) -> bool {
        let known = self.lock();
        let running = known.iter().find(|known| known.id == *job && !known.ended.is_cancelled());
        running.inspect(|known| known.stop.cancel()).is_some()
    }
}

fn stopped_error() -> ToolError {
    ToolError::new(ToolErrorKind::System, "stopped on request")
}

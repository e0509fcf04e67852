//! [`BackgroundTasks`]: work that continues after its call has ended.
use crate::{CallId, ToolError, ToolOutput, View};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc, time::Duration};

/// ID of a background task, unique within its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub String);

impl TaskId {
    /// The call ID under which facts record its changes.
    pub fn call(&self) -> CallId {
        CallId(format!("job_{}", self.0))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The work of a background task. Dropping it ends the work and its processes.
pub type TaskWork = BoxFuture<'static, Result<ToolOutput, ToolError>>;

/// The background tasks of a session. When a task ends, the session receives its result like a prompt.
pub trait BackgroundTasks: Send + Sync {
    /// Starts `work`, in the real workspace. What it prints goes to `output`. The session owns the work and ends it
    /// when it closes.
    fn start(&self, title: String, work: TaskWork, output: TaskOutput) -> TaskId;
    /// Starts `work` in `view`, the view of its call. Its changes there are settled once it has succeeded.
    fn start_in(&self, view: Arc<dyn View>, title: String, work: TaskWork, output: TaskOutput) -> TaskId;
    /// Tasks that run, and tasks that ended in this process, oldest first.
    fn all(&self) -> Vec<TaskState>;
    /// Waits until the task has ended, at most for `limit`.
    fn wait<'a>(&'a self, job: &TaskId, limit: Duration) -> BoxFuture<'a, ()>;
    /// Ends the task; returns `false` if it does not run.
    fn stop(&self, job: &TaskId) -> bool;
}

/// No background tasks: a task that is started is dropped at once.
pub struct NoBackgroundTasks;

impl BackgroundTasks for NoBackgroundTasks {
    fn start(&self, _: String, _: TaskWork, _: TaskOutput) -> TaskId {
        TaskId("0".into())
    }
    fn start_in(&self, _: Arc<dyn View>, title: String, work: TaskWork, output: TaskOutput) -> TaskId {
        self.start(title, work, output)
    }
    fn all(&self) -> Vec<TaskState> {
        Vec::new()
    }
    fn wait<'a>(&'a self, _: &TaskId, _: Duration) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
    fn stop(&self, _: &TaskId) -> bool {
        false
    }
}

/// The state of a background task.
#[derive(Clone, Debug)]
pub struct TaskState {
    /// ID of the task.
    pub id: TaskId,
    /// What it does, in a few words.
    pub title: String,
    /// Whether it still runs.
    pub running: bool,
    /// What it prints.
    pub output: TaskOutput,
}

/// The output of a background task. Calls read each part once; users can see the newest part at any time. Clones share
/// the same output.
#[derive(Clone, Debug, Default)]
pub struct TaskOutput(Arc<Mutex<Printed>>);

#[derive(Debug, Default)]
struct Printed {
    /// The newest part of all that was printed.
    text: String,
    /// Up to which byte of `text` a call has read.
    read: usize,
    /// Bytes that were dropped before a call read them.
    missing: usize,
}

/// Output since the last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The newest part of it.
    pub text: String,
    /// Bytes before that part, which were dropped.
    pub missing: usize,
}

/// Minimum number of newest bytes that are kept; the maximum is twice as many.
const KEPT_BYTES: usize = 50_000;

impl TaskOutput {
    /// Adds what was printed.
    pub fn push(&self, chunk: &str) {
        let mut printed = self.0.lock();
        printed.text.push_str(chunk);
        if printed.text.len() > 2 * KEPT_BYTES {
            let cut = printed.text.ceil_char_boundary(printed.text.len() - KEPT_BYTES);
            printed.text.drain(..cut);
            printed.missing += cut.saturating_sub(printed.read);
            printed.read = printed.read.saturating_sub(cut);
        }
    }

    /// Returns the unread output and marks it as read.
    pub fn take(&self) -> Unread {
        let mut printed = self.0.lock();
        let unread = Unread {
            text: printed.text[printed.read..].to_owned(),
            missing: std::mem::take(&mut printed.missing),
        };
        printed.read = printed.text.len();
        unread
    }

    /// The newest part of all that was printed, at most 100,000 bytes, whether or not a call has read it. It stays unread.
    pub fn newest(&self) -> String {
        self.0.lock().text.clone()
    }
}

//! [`Queue`]: decides which queued job or due schedule comes next.
use super::{
    JobRequest, Jobs,
    schedule::{self, Schedule},
};
use crate::Failure;
use haft_core::{JobStatus, JobSummary, SessionId};
use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    time::Duration,
};

/// Interval between checks for jobs that other processes queue.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What to do next.
#[derive(Debug)]
pub enum Task {
    /// A schedule is due.
    Begin(JobRequest),
    /// A job that has no worker waits.
    Resume(SessionId),
}

/// The work of one worker: schedules that are due, and jobs that were queued or lost their process, the oldest first.
#[derive(Debug)]
pub struct Queue {
    jobs: Jobs,
    /// Jobs that were tried. A job that fails the same way each time is not repeated endlessly.
    tried: HashSet<SessionId>,
    settled: HashMap<SessionId, u64>,
    was_schedule: bool,
}

impl Jobs {
    /// The job of the earliest due schedule whose directory fulfills `wanted`. The schedule is saved with its next
    /// time.
    ///
    /// # Errors
    ///
    /// If the schedules cannot be saved.
    pub fn take_due(&self, wanted: impl Fn(&Path) -> bool) -> Result<Option<JobRequest>, Failure> {
        let due = schedule::take_due(&self.app.home(), Timestamp::now(), |due| wanted(&due.origin))?;
        Ok(due.map(|Schedule { kind, description, origin, .. }| JobRequest {
            kind,
            description,
            origin,
            keeps_files: false,
            user: None,
        }))
    }

    /// The queue for one worker. Before that, it finishes closing jobs that are over but whose process ended too early.
    #[must_use]
    pub fn worker_queue(&self) -> Queue {
        for (id, standing) in self.app.home().jobs() {
            self.finish_closing(&id, &standing);
        }
        Queue { jobs: self.clone(), tried: HashSet::new(), settled: HashMap::new(), was_schedule: false }
    }
}

impl Queue {
    /// The next task; `None` if nothing is left. Schedules and jobs alternate, so that a schedule that is due again at
    /// once does not delay jobs.
    ///
    /// # Errors
    ///
    /// If the schedules cannot be saved.
    pub fn next_task(&mut self) -> Result<Option<Task>, Failure> {
        let waiting = if self.was_schedule { self.left() } else { None };
        let due = if waiting.is_none() { self.jobs.take_due(|_| true)? } else { None };
        self.was_schedule = due.is_some();
        if let Some(request) = due {
            return Ok(Some(Task::Begin(request)));
        }
        let job = waiting.or_else(|| self.left());
        Ok(job.map(|id| {
            self.tried.insert(id.clone());
            Task::Resume(id)
        }))
    }

    /// How long to wait before the next look at the queue.
    pub fn pause(&self) -> Duration {
        let due = schedule::next(&self.jobs.app.home()).map(|next| next.duration_since(Timestamp::now()));
        let due = due.and_then(|due| Duration::try_from(due).ok());
        due.map_or(POLL_INTERVAL, |due| due.min(POLL_INTERVAL))
    }

    /// The oldest job that has not begun, or whose process is gone.
    fn left(&mut self) -> Option<SessionId> {
        let home = self.jobs.app.home();
        let is_left = |id: &SessionId, job: &JobSummary| match job.status {
            JobStatus::Pending | JobStatus::Waiting => !home.is_open(id),
            JobStatus::Running | JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled => false,
        };
        let jobs = home.changed_jobs(&mut self.settled);
        let mut left =
            jobs.into_iter().rev().filter(|(id, job)| !self.tried.contains(id) && is_left(id, job));
        left.next().map(|(id, _)| id)
    }
}

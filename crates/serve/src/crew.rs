//! [`Crew`]: runs a limited number of jobs at the same time, oldest first. Queued jobs are stored on disk, so that a
//! restarted server continues with them.
use crate::{hub::Hub, parts::Settings};
use futures::StreamExt;
use haft_app::{Failure, jobs::Job};
use haft_core::{Asking, Command, Entry, Event, JobStatus, JobSummary, Outcome, SessionId};
use haft_engine::{Session, Turns};
use haft_fleet::{Slot, Slots};
use haft_process::appears;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    convert::Infallible,
    path::Path,
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Notify, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Delays before a job that could not be opened is retried: a process that was forked for a command holds all open
/// journals until it executes its program.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(5)];

/// How often to look for jobs that other processes added, and for schedules that are due.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The workers of jobs in this process. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Crew(Arc<Inner>);

struct Inner {
    hub: Hub,
    state: Mutex<State>,
    known: Mutex<Known>,
    more: Notify,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct State {
    queue: VecDeque<SessionId>,
    running: HashMap<SessionId, CancellationToken>,
    /// Running jobs that are to be run again once they have ended.
    again: HashSet<SessionId>,
    /// Jobs that are retried although they have ended.
    retried: HashSet<SessionId>,
    /// Jobs of other processes that were queued here.
    taken_up: HashSet<SessionId>,
}

/// What is known of the jobs on disk.
#[derive(Default)]
struct Known {
    /// Journals that need not be read again until they grow, each with its size at the last read.
    settled: HashMap<SessionId, u64>,
    over: HashMap<SessionId, JobSummary>,
}

impl Crew {
    pub(crate) fn new(hub: Hub) -> Self {
        let (state, known, more) = (Mutex::default(), Mutex::default(), Notify::new());
        Self(Arc::new(Inner {
            hub,
            state,
            known,
            more,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    /// Queues a job that is stored on disk.
    pub(crate) fn add(&self, id: SessionId) {
        let mut state = self.0.state.lock();
        if !state.queue.contains(&id) && !state.running.contains_key(&id) {
            state.queue.push_back(id);
        }
        self.0.more.notify_one();
    }

    /// Queues a finished job again, even if this process has not closed it yet.
    pub(crate) fn retry(&self, id: SessionId) {
        let mut state = self.0.state.lock();
        state.retried.insert(id.clone());
        if state.running.contains_key(&id) {
            state.again.insert(id);
            return;
        }
        drop(state);
        self.add(id);
    }

    /// Stops a job that runs in this process; returns whether it does.
    pub(crate) fn cancel(&self, id: &SessionId) -> bool {
        let mut state = self.0.state.lock();
        state.again.remove(id);
        state.retried.remove(id);
        state.queue.retain(|queued| queued != id);
        let running = state.running.get(id);
        running.inspect(|stop| stop.cancel()).is_some()
    }

    /// All jobs, newest first. Reads files.
    pub(crate) fn jobs(&self) -> Vec<(SessionId, JobSummary)> {
        let known = &mut *self.0.known.lock();
        let jobs = self.0.hub.home().changed_jobs(&mut known.settled);
        let mut jobs: HashMap<SessionId, JobSummary> = jobs.into_iter().collect();
        for (id, standing) in jobs.iter().filter(|(_, standing)| standing.status.is_over()) {
            known.over.insert(id.clone(), standing.clone());
        }
        for (id, standing) in &known.over {
            jobs.entry(id.clone()).or_insert_with(|| standing.clone());
        }
        let mut jobs: Vec<_> = jobs.into_iter().collect();
        jobs.sort_by(|(a, _), (b, _)| b.0.cmp(&a.0));
        jobs
    }

    /// Runs jobs until this future is dropped; jobs that have begun continue. Jobs that an earlier process left come
    /// first.
    pub(crate) async fn work(&self) {
        tokio::select! {
            never = self.take_up() => match never {},
            () = self.take_turns() => {}
        }
    }

    /// Queues the jobs that other processes have added or left, each of them once, and begins the jobs of due schedules
    /// in served folders.
    async fn take_up(&self) -> Infallible {
        let own = self.clone();
        let _a_fault_leaves_the_trees = tokio::task::spawn_blocking(move || own.finish_closing()).await;
        loop {
            let own = self.clone();
            let left = tokio::task::spawn_blocking(move || own.left()).await.unwrap_or_default();
            let is_new = |id: &SessionId| self.0.state.lock().taken_up.insert(id.clone());
            left.into_iter().filter(is_new).for_each(|id| self.add(id));
            match self.begin_due().await {
                Ok(Some(begun)) => {
                    self.0.hub.tell(&begun);
                    self.0.state.lock().taken_up.insert(begun.clone());
                    self.add(begun);
                    continue;
                }
                Ok(None) => {}
                Err(why) => self.0.hub.settings().app.warn(format!("cannot begin a scheduled job: {why}")),
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Finishes closing ended jobs where an earlier process did not.
    fn finish_closing(&self) {
        let (hub, jobs) = (&self.0.hub, self.0.hub.settings().app.jobs());
        let is_running = |id: &SessionId| self.0.state.lock().running.contains_key(id);
        for (id, standing) in self.jobs() {
            if hub.is_served(&standing.order.origin) && !is_running(&id) {
                jobs.finish_closing(&id, &standing);
            }
        }
    }

    /// Creates the job of a schedule that is due; [`Self::take_up`] queues it.
    async fn begin_due(&self) -> Result<Option<SessionId>, String> {
        let (hub, jobs) = (&self.0.hub, self.0.hub.settings().app.jobs());
        let own = hub.clone();
        let due = tokio::task::spawn_blocking(move || {
            own.settings().app.jobs().take_due(|folder| own.is_served(folder))
        });
        let due = due.await.map_err(|panic| panic.to_string())?;
        let Some(request) = due.map_err(|failure| failure.message)? else { return Ok(None) };
        let folder = request.origin.display().to_string();
        let place = hub.place(Some(&folder), None, None).map_err(|error| error.message().to_owned())?;
        let queued = jobs.queue(None, request, Some(&place.model)).await;
        queued.map(|(id, _)| Some(id)).map_err(|failure| failure.message)
    }

    async fn take_turns(&self) {
        let slots = Slots::new(self.0.hub.settings().workers);
        loop {
            let Some(slot) = slots.take().await else { return };
            let id = self.next().await;
            let crew = self.clone();
            self.0.tasks.spawn(async move {
                crew.run(&id, slot).await;
                crew.0.hub.figures().jobs.dec();
                crew.0.hub.tell(&id);
                crew.put_down(id);
            });
        }
    }

    fn put_down(&self, id: SessionId) {
        let mut state = self.0.state.lock();
        state.running.remove(&id);
        let again = state.again.remove(&id);
        drop(state);
        if again {
            self.add(id);
        }
    }

    /// Waits for the oldest queued job.
    async fn next(&self) -> SessionId {
        loop {
            let more = self.0.more.notified();
            let found = {
                let mut state = self.0.state.lock();
                let found = state.queue.pop_front();
                if let Some(id) = &found {
                    state.running.insert(id.clone(), CancellationToken::new());
                }
                found
            };
            match found {
                Some(id) => {
                    self.0.hub.figures().jobs.inc();
                    return id;
                }
                None => more.await,
            }
        }
    }

    /// Jobs that no worker runs, oldest first.
    fn left(&self) -> Vec<SessionId> {
        let hub = &self.0.hub;
        let is_left = |(id, standing): &(SessionId, JobSummary)| {
            matches!(standing.status, JobStatus::Pending | JobStatus::Waiting)
                && !hub.home().is_open(id)
                && hub.find(&id.0).is_ok()
        };
        self.jobs().into_iter().rev().filter(is_left).map(|(id, _)| id).collect()
    }

    /// Whether another process or a user has ended the job since it was queued.
    async fn is_over(&self, id: &SessionId) -> bool {
        let (home, id) = (self.0.hub.home().clone(), id.clone());
        let is_over =
            tokio::task::spawn_blocking(move || home.peek(&id.0).is_ok_and(|entries| has_ended(&entries)));
        is_over.await.unwrap_or_default()
    }

    async fn resume(&self, id: &SessionId) -> Result<Job, Failure> {
        let Settings { app, spec, host, .. } = self.0.hub.settings();
        // The current role of the owner applies, not the one at the time of the request. A job whose owner is unknown
        // is not run.
        let known = self.0.hub.find(&id.0).map_err(|error| Failure::failed(error.message()))?;
        let place = known.owner.is_some().then_some(known.place);
        let jobs = app.jobs();
        let resume = async || match &place {
            Some(place) => jobs.resume_within(&id.0, spec, host.usual_model(), place.request()).await,
            None => jobs.resume(&id.0, spec).await,
        };
        for pause in RETRY_DELAYS {
            match resume().await {
                Err(_) => sleep(pause).await,
                job => return job,
            }
        }
        resume().await
    }

    async fn run(&self, id: &SessionId, slot: Slot) {
        let hub = &self.0.hub;
        let is_retried = self.0.state.lock().retried.remove(id);
        if !is_retried && self.is_over(id).await {
            return;
        }
        let job = match self.resume(id).await {
            // Another process ran it until it could be opened here.
            Ok(job) if !is_retried && has_ended(&job.session.entries()) => {
                return job.engine.shut_down().await;
            }
            Ok(job) => job,
            // Another process runs it, and may leave it.
            Err(_) if hub.home().is_open(id) => {
                self.0.state.lock().taken_up.remove(id);
                return;
            }
            Err(_) if !is_retried && self.is_over(id).await => return,
            Err(Failure { message, .. }) => {
                return hub.settings().app.warn(format!("cannot work on the job `{id}`: {message}"));
            }
        };
        hub.adopt(job.session.clone());
        let cancelled = self.0.state.lock().running.get(id).cloned().unwrap_or_default();
        let (stopping, file) = (&self.0.stop, job.stop_file());
        let mut turns = Followed { session: &job.session, file: &file, cancelled, stopping, slot };
        match job.run(&mut turns).await {
            Ok(conclusion) => job.close(&conclusion).await,
            // A job that has not ended waits to be continued.
            Err(Stopped) => job.engine.shut_down().await,
        }
    }

    /// Leaves the running jobs unfinished, and waits until that is recorded.
    pub(crate) async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

fn has_ended(entries: &[Arc<Entry>]) -> bool {
    JobSummary::of(entries, false).is_some_and(|standing| standing.status.is_over())
}

/// The server stops.
struct Stopped;

/// Runs the turns of a job. Clients may follow and steer them and answer their questions, as in other sessions.
struct Followed<'a> {
    session: &'a Session,
    file: &'a Path,
    cancelled: CancellationToken,
    stopping: &'a CancellationToken,
    /// Released for another job while this one waits for an approval or an answer.
    slot: Slot,
}

impl Turns for Followed<'_> {
    type Error = Stopped;

    async fn turn(&mut self, command: Command) -> Result<Outcome, Stopped> {
        self.slot.take_back().await;
        let mut turn = self.session.start(command);
        let (mut is_told, mut asking) = (false, Asking::default());
        loop {
            tokio::select! {
                event = turn.next() => match event {
                    Some(Event::Recorded(entry)) => {
                        asking.apply(&entry.fact);
                        if !asking.is_empty() && self.slot.is_held() {
                            self.slot.leave();
                        }
                    }
                    Some(Event::Live(_)) => {}
                    None => break,
                },
                () = self.slot.take_back(), if asking.is_empty() && !self.slot.is_held() => {}
                () = self.stopping.cancelled() => return Err(Stopped),
                () = self.cancelled.cancelled(), if !is_told => is_told = true,
                () = appears(Some(self.file)), if !is_told => is_told = true,
            }
            if is_told {
                let _it_has_ended = self.session.send(Command::Interrupt);
                while turn.next().await.is_some() {}
                break;
            }
        }
        Ok(turn.report().await.outcome.unwrap_or(Outcome::Failed))
    }
}

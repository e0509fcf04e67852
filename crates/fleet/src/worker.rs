//! [`work`]: runs a worker, which claims jobs, works on them, renews its leases and settles the jobs.
mod attempt;

use crate::{
    database::{Database, Parameters},
    error::FleetError,
    git::Repository,
    lease::{Lease, Leases},
    live::LiveSender,
    prepared,
    queue::{self, Branch, Claimed, Heard},
    secrets::FleetKey,
    slot::Slots,
    writer::Writer,
};
use futures::future::BoxFuture;
use haft_core::{Command, Conclusion};
use haft_engine::Home;
use parking_lot::Mutex;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::{mpsc, watch};
use tokio_postgres::types::Type;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Interval of polling, which finds jobs that wait for a time, and jobs whose notice was missed.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for the last reports of a worker that ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of a worker.
#[derive(Clone)]
pub struct Settings {
    /// The name of the worker; several may have the same one.
    pub name: String,
    /// Version of the worker's program.
    pub version: String,
    /// The queues whose jobs it takes; empty for all.
    pub queues: Vec<String>,
    /// Maximum number of jobs at the same time.
    pub jobs: usize,
    /// How long a job stays assigned without a renewal.
    pub lease: Duration,
    /// The folder for mirrors, attempts and prepared work trees.
    pub folder: PathBuf,
    /// The key that decrypts the secrets of queues.
    pub key: Option<FleetKey>,
    /// Receives messages for the operator.
    pub note: Arc<dyn Fn(String) + Send + Sync>,
}

/// Works on jobs whose files and journal have been prepared.
pub trait Work: Send + Sync {
    /// Works on the job until it is over, or until `attempt.leave` is triggered.
    fn work(&self, attempt: Begun) -> BoxFuture<'static, Ended>;

    /// Runs setup commands in a work tree; returns the reason if they fail.
    fn prepare(&self, preparation: Preparation) -> BoxFuture<'static, Result<(), String>>;
}

/// Setup commands to run.
pub struct Preparation {
    /// The work tree in which they run, and which they may change.
    pub tree: PathBuf,
    /// The home for the session that runs them.
    pub home: Home,
    /// The commands: lines for the shell.
    pub commands: String,
    /// Names and values of the secrets that they get as variables.
    pub secrets: Vec<(String, String)>,
}

/// An attempt that is ready to begin.
pub struct Begun {
    /// The job.
    pub job: Claimed,
    /// The home for the job's sessions, which contains nothing else.
    pub home: Home,
    /// The folder of the job's files.
    pub tree: PathBuf,
    /// The folder of objects that its repository borrows, which the worker shares between jobs.
    pub objects: Option<PathBuf>,
    /// The commit that the job begins with; `None` without a repository.
    pub start: Option<String>,
    /// The values of the queue's secrets, which are hidden in all output: setup commands may have left them in files.
    pub hidden: Vec<String>,
    /// Receives what its sessions record, before it counts.
    pub writer: Writer,
    /// Receives the events of its session, for clients that follow the job.
    pub live: LiveSender,
    /// The commands that users send to the job.
    pub commands: mpsc::UnboundedReceiver<Command>,
    /// Triggered when the job is canceled.
    pub cancelled: CancellationToken,
    /// Triggered when the worker ends, or the job no longer belongs to it.
    pub leave: CancellationToken,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The job is over.
    Concluded(Conclusion),
    /// The attempt failed; another one may succeed, later or on another worker.
    Failed(String),
    /// The budget that is left is too small to begin.
    OverBudget(String),
    /// The worker was told to leave the job.
    Left,
}

/// The connections of a worker.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Asks {
    /// The connection for jobs and journals.
    Jobs = 1,
    /// The connection for leases alone.
    Leases = 2,
}

/// A worker that is registered in the database.
pub(crate) struct Worker {
    pub(crate) database: Database,
    pub(crate) settings: Settings,
    instance: String,
    pub(crate) leases: Leases,
    attempts: attempt::Attempts,
    pub(crate) stop: CancellationToken,
    /// Whether it is to take no more jobs. This may change while it has some.
    is_draining: watch::Sender<bool>,
    /// Triggered when the tables have become too new for this program.
    is_outdated: CancellationToken,
    /// The connections, as [`Asks`], on which PostgreSQL does not respond.
    away: AtomicU8,
    /// The time since which PostgreSQL has responded to each renewal; `None` while it does not respond.
    answers_since: Mutex<Option<Instant>>,
}

/// Works on jobs until `stop`, or until it is drained and has no jobs. Unfinished jobs are put back into the queue.
///
/// Fails if PostgreSQL refuses it. While PostgreSQL is unreachable, it waits.
pub async fn work(
    database: Database,
    settings: Settings,
    work: Arc<dyn Work>,
    stop: CancellationToken,
) -> Result<(), FleetError> {
    let instance = register(&database, &settings).await?;
    attempt::clear(&settings.folder);
    prepared::clear(&settings.folder.join("prepared"));
    let worker = Arc::new(Worker {
        database,
        settings,
        instance,
        leases: Leases::default(),
        attempts: Default::default(),
        stop,
        is_draining: watch::Sender::new(false),
        is_outdated: CancellationToken::new(),
        away: AtomicU8::new(0),
        answers_since: Mutex::default(),
    });
    let (tasks, over) = (TaskTracker::new(), CancellationToken::new());
    let (beating, sweeping) = (worker.clone(), worker.clone());
    tasks.spawn(over.clone().run_until_cancelled_owned(async move { beating.beat().await }));
    tasks.spawn(over.clone().run_until_cancelled_owned(async move { sweeping.keep_order().await }));
    let worked = worker.take_jobs(work).await;
    over.cancel();
    tasks.close();
    tasks.wait().await;
    let _it_is_forgotten_later = tokio::time::timeout(SHUTDOWN_TIMEOUT, worker.say_farewell()).await;
    worked
}

async fn register(database: &Database, settings: &Settings) -> Result<String, FleetError> {
    let statement = "INSERT INTO workers (name, version, queues) VALUES ($1, $2, $3) RETURNING instance";
    let Settings { name, version, queues, .. } = settings;
    let parameters: Parameters<'_> = &[(name, Type::TEXT), (version, Type::TEXT), (queues, Type::TEXT_ARRAY)];
    let rows = database.query("register a worker", statement, parameters).await?;
    Ok(rows[0].get(0))
}

impl Worker {
    /// Marks the worker as gone: its row stays for the lists of its jobs, but the list of workers omits it.
    async fn say_farewell(&self) -> Result<(), FleetError> {
        let (statement, instance) = ("UPDATE workers SET seen = 'epoch' WHERE instance = $1", &self.instance);
        self.database.query("leave", statement, &[(instance, Type::TEXT)]).await.map(|_| ())
    }

    async fn take_jobs(self: &Arc<Self>, work: Arc<dyn Work>) -> Result<(), FleetError> {
        let (tasks, slots) = (TaskTracker::new(), Slots::new(self.settings.jobs));
        let mut notices = self.database.notices();
        // Until then, PostgreSQL may carry out a claim whose answer was lost.
        let mut unsure_until: Option<Instant> = None;
        let ended = loop {
            let Some(Some(slot)) = self.unless_over(slots.take()).await else {
                match self.ends_with(&tasks).await {
                    true => break Ok(()),
                    false => continue,
                }
            };
            let sent = Instant::now();
            let Settings { lease, queues, .. } = &self.settings;
            let claimed = async {
                if unsure_until.is_some_and(|until| sent < until) {
                    queue::release_others(&self.database, &self.instance, &self.leases.all()).await?;
                }
                queue::claim(&self.database, &self.instance, *lease, queues).await
            };
            match claimed.await {
                Ok(Some(job)) => {
                    self.answered(Asks::Jobs);
                    let (worker, work) = (self.clone(), work.clone());
                    let own = Arc::new(Lease::new(job.id.clone(), job.token, *lease, sent));
                    self.leases.add(own.clone());
                    tasks.spawn(async move {
                        worker.attempt(job, own, slot, &*work).await;
                    });
                    continue;
                }
                Ok(None) => self.answered(Asks::Jobs),
                Err(error) if error.is_passing() => {
                    unsure_until = Some(Instant::now() + 2 * *lease);
                    self.note(Asks::Jobs, &error);
                }
                Err(error) => break Err(error),
            }
            drop(slot);
            let told = async {
                while let Ok(notice) = notices.recv().await {
                    if notice.channel == "haft_jobs" {
                        return;
                    }
                }
            };
            let rest = tokio::time::timeout(POLL_INTERVAL, told);
            let _claims_or_ends_next = self.unless_over(rest).await;
        };
        if ended.is_err() {
            self.stop.cancel();
        }
        tasks.close();
        tasks.wait().await;
        if ended.is_ok() && *self.is_draining.borrow() {
            (self.settings.note)("drained: it has no more jobs, and ends".to_owned());
        }
        ended
    }

    /// Awaits `what`; `None` if the worker takes no more jobs.
    async fn unless_over<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            () = self.is_outdated.cancelled() => None,
            () = self.draining(true) => None,
            done = what => Some(done),
        }
    }

    /// Waits until draining is, or is not, `wanted`.
    async fn draining(&self, wanted: bool) {
        let mut is_draining = self.is_draining.subscribe();
        let _its_sender_lives_here = is_draining.wait_for(|is_draining| *is_draining == wanted).await;
    }

    /// Waits until no job is left (`true`), or until the worker may take jobs again (`false`).
    async fn ends_with(&self, tasks: &TaskTracker) -> bool {
        tasks.close();
        tokio::select! {
            biased;
            () = tasks.wait() => true,
            () = self.draining(false), if !self.stop.is_cancelled() && !self.is_outdated.is_cancelled() => {
                !tasks.reopen()
            }
        }
    }

    /// Renews all leases periodically, on a connection of its own.
    async fn beat(&self) {
        let (database, third) = (self.database.another(), self.settings.lease / 3);
        let mut notices = self.database.notices();
        loop {
            let leases = self.leases.all();
            match queue::renew(&database, &self.instance, &leases, self.settings.lease).await {
                Ok(heard) => {
                    self.answered(Asks::Leases);
                    self.answers_since.lock().get_or_insert_with(Instant::now);
                    self.heed(&database, heard).await;
                    let told = async {
                        while let Ok(notice) = notices.recv().await {
                            if notice.channel == "haft_commands" && self.leases.find(&notice.job).is_some() {
                                return;
                            }
                        }
                    };
                    let _either = tokio::time::timeout(third, told).await;
                }
                Err(error) => {
                    self.note(Asks::Leases, &error);
                    tokio::time::sleep(POLL_INTERVAL.min(third / 4)).await;
                }
            }
        }
    }

    async fn heed(&self, database: &Database, heard: Heard) {
        self.is_draining.send_replace(heard.is_draining);
        for job in &heard.cancelled {
            self.attempts.cancel(job);
        }
        for lease in heard.commanded.iter().filter_map(|job| self.leases.find(job)) {
            if self.attempts.listens(&lease.job.0) {
                self.pass_on(database, &lease).await;
            }
        }
    }

    /// Takes the commands for a job from the database and gives them to its attempt.
    async fn pass_on(&self, database: &Database, lease: &Lease) {
        let commands = queue::commands(database, lease).await.unwrap_or_default();
        commands.into_iter().for_each(|command| self.attempts.send(&lease.job.0, command));
    }

    /// Finds jobs whose workers are gone, and branches that are not where they should be. Takes no more jobs if the
    /// tables have become too new for this program.
    async fn keep_order(&self) {
        loop {
            tokio::time::sleep(self.settings.lease / 2).await;
            if let Err(error @ FleetError::Schema(_)) = self.database.check().await
                && !self.is_outdated.is_cancelled()
            {
                (self.settings.note)(format!("takes no more jobs: {error}"));
                self.is_outdated.cancel();
            }
            // Each error is reported before the next statement waits: PostgreSQL may respond again by then.
            if self.has_answered_for_a_lease()
                && let Err(error) = queue::sweep(&self.database).await
            {
                self.note(Asks::Jobs, &error);
            }
            let branches = queue::branches(&self.database, None).await;
            if let Err(error) = &branches {
                self.note(Asks::Jobs, error);
            }
            for branch in branches.unwrap_or_default() {
                self.publish(branch, |branch, repository| repository.publish(branch)).await;
            }
        }
    }

    /// Moves a job's branch to where the database says, by means of `how`.
    pub(crate) async fn publish(
        &self,
        branch: Branch,
        how: impl FnOnce(&Branch, &Repository) -> Result<(), FleetError> + Send + 'static,
    ) {
        let repository = self.repository(&branch.repository);
        let (job, head) = (branch.job.clone(), branch.head.clone());
        let moved = tokio::task::spawn_blocking(move || how(&branch, &repository)).await;
        let moved = match moved.map_err(std::io::Error::from) {
            Ok(Ok(())) => queue::published(&self.database, &job, &head).await,
            Ok(Err(error)) => Err(error),
            Err(error) => Err(FleetError::Local { action: "run git".to_owned(), why: error.to_string() }),
        };
        if let Err(error) = moved {
            (self.settings.note)(format!("the branch of the job `{job}` is not moved yet: {error}"));
        }
    }

    pub(crate) fn repository(&self, url: &str) -> Repository {
        Repository::new(url, &self.settings.folder.join("mirrors"))
    }

    /// Whether PostgreSQL has responded for at least the length of a lease. By then, a worker that lost its leases
    /// because PostgreSQL was unreachable has put its jobs back; jobs that are still late belong to a worker that is
    /// gone.
    fn has_answered_for_a_lease(&self) -> bool {
        self.answers_since.lock().is_some_and(|since| since.elapsed() >= self.settings.lease)
    }

    /// Reports an error. That PostgreSQL is unreachable is reported only once.
    pub(crate) fn note(&self, asks: Asks, error: &FleetError) {
        if error.is_passing() && asks == Asks::Leases {
            *self.answers_since.lock() = None;
        }
        let is_told = error.is_passing() && self.away.fetch_or(asks as u8, Ordering::Relaxed) != 0;
        if !is_told {
            (self.settings.note)(error.to_string());
        }
    }

    fn answered(&self, asks: Asks) {
        let bit = asks as u8;
        if self.away.fetch_and(!bit, Ordering::Relaxed) == bit {
            (self.settings.note)(format!("PostgreSQL at {} answers again", self.database.place()));
        }
    }
}

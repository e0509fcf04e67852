//! [`Attempts`]: attempts at jobs, each from its claim to its result.
use super::{Asks, Begun, Ended, POLL_INTERVAL, Preparation, Work, Worker};
use crate::{
    entries::restore,
    error::FleetError,
    git::{Attempt, Repository, is_commit},
    lease::Lease,
    live::LiveEvents,
    places::Moved,
    prepared::PreparedTree,
    queue::{self, Claimed, Settled},
    secrets,
    slot::Slot,
    writer::{CommitUploader, Writer},
};
use haft_core::{Command, Conclusion};
use haft_engine::Home;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::{mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The channels by which the running attempts get commands and cancellations.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<HashMap<String, AttemptChannels>>);

struct AttemptChannels {
    cancelled: CancellationToken,
    commands: mpsc::UnboundedSender<Command>,
}

impl Attempts {
    pub(crate) fn cancel(&self, job: &str) {
        if let Some(ears) = self.0.lock().get(job) {
            ears.cancelled.cancel();
        }
    }

    /// Whether the attempt of the job takes commands: before, they stay in the database.
    pub(crate) fn listens(&self, job: &str) -> bool {
        self.0.lock().contains_key(job)
    }

    pub(crate) fn send(&self, job: &str, command: Command) {
        if let Some(ears) = self.0.lock().get(job) {
            let _it_has_ended = ears.commands.send(command);
        }
    }
}

/// Removes the folders of attempts whose process is gone; their content is not needed.
pub(super) fn clear(folder: &Path) {
    for attempt in fs::read_dir(folder.join("attempts")).into_iter().flatten().flatten() {
        let is_unseen = attempt.file_name().as_encoded_bytes().starts_with(HIDDEN_PREFIX.as_bytes());
        let is_held = File::open(attempt.path().join("lock")).is_ok_and(|file| file.try_lock().is_err());
        if !is_held && !is_unseen {
            let _next_time = fs::remove_dir_all(attempt.path());
        }
    }
}

/// Why a job returns to the queue if its worker lives but could not renew the lease.
const LEASE_RAN_OUT: &str = "its worker could not renew its lease in time";

/// Prefix of the name of a folder that is still being made.
const HIDDEN_PREFIX: &str = ".";

/// The folder of an attempt, removed when this is dropped. It is locked, so that no other worker of this machine
/// removes it.
struct Place {
    folder: PathBuf,
    _held: File,
}

impl Place {
    fn make(above: &Path, job: &Claimed) -> std::io::Result<Self> {
        let above = above.join("attempts");
        fs::create_dir_all(&above)?;
        let folder = above.canonicalize()?.join(format!("{}-{}", job.id, job.token));
        // Locked before it gets the name under which other workers look for it.
        let unseen = folder.with_file_name(format!("{HIDDEN_PREFIX}{}-{}", job.id, job.token));
        fs::create_dir(&unseen)?;
        let held = File::create(unseen.join("lock"))?;
        held.lock()?;
        fs::rename(&unseen, &folder)?;
        Ok(Self { folder, _held: held })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _next_start_tries_again = fs::remove_dir_all(&self.folder);
    }
}

/// Passes the commands for a job on, and releases the job's slot while it waits for the user. Answers are passed on
/// when there is a slot again.
async fn hand_over(
    mut slot: Slot,
    mut asks: watch::Receiver<bool>,
    mut heard: mpsc::UnboundedReceiver<Command>,
    to: mpsc::UnboundedSender<Command>,
) -> Infallible {
    let mut kept = VecDeque::new();
    loop {
        let is_wanted = !slot.is_held() && (!kept.is_empty() || !*asks.borrow());
        tokio::select! {
            Ok(()) = asks.changed() => {
                if *asks.borrow_and_update() && kept.is_empty() && slot.is_held() {
                    slot.leave();
                }
            }
            () = slot.take_back(), if is_wanted => {}
            Some(command) = heard.recv() => kept.push_back(command),
        }
        // Commands that need no slot are passed on at once, unless they come after an answer that waits. An interrupt
        // is always passed on.
        let passes = |command: &Command| {
            !matches!(command, Command::Answer { .. } | Command::AnswerInPart { .. } | Command::Reply { .. })
        };
        while let Some(command) = kept.pop_front_if(|first| slot.is_held() || passes(first)) {
            let _it_has_ended = to.send(command);
        }
        if let Some(place) = kept.iter().position(|command| matches!(command, Command::Interrupt)) {
            let _it_has_ended = kept.remove(place).map(|interrupt| to.send(interrupt));
        }
    }
}

async fn hold(prepared: &PreparedTree, shared: bool) -> Result<File, FleetError> {
    let prepared = prepared.clone();
    waiting(move || prepared.hold(shared)).await
}

/// The commit at which a job begins.
fn first_commit(job: &Claimed, attempt: &Attempt) -> String {
    job.base.clone().filter(|base| is_commit(base)).unwrap_or_else(|| attempt.begun().to_owned())
}

fn make_folder(folder: &Path) -> Result<(), FleetError> {
    fs::create_dir(folder).map_err(|error| FleetError::Local {
        action: format!("make `{}`", folder.display()),
        why: error.to_string(),
    })
}

/// Runs work that blocks on Git or files on another thread.
async fn waiting<T: Send + 'static>(
    what: impl FnOnce() -> Result<T, FleetError> + Send + 'static,
) -> Result<T, FleetError> {
    tokio::task::spawn_blocking(what).await.map_err(std::io::Error::from).unwrap_or_else(|error| {
        Err(FleetError::Local { action: "make a work tree".to_owned(), why: error.to_string() })
    })
}

impl Worker {
    pub(super) async fn attempt(&self, job: Claimed, lease: Arc<Lease>, slot: Slot, work: &dyn Work) {
        let ended = match Place::make(&self.settings.folder, &job) {
            Ok(place) => self.begin(&job, &lease, &place, slot, work).await,
            Err(error) => {
                Err(FleetError::Local { action: "make a folder".to_owned(), why: error.to_string() })
            }
        };
        if let Err(error) = ended {
            (self.settings.note)(format!("cannot run the job `{}`: {error}", job.id));
            let put_back = self.put_back_after(&lease, &error).await;
            put_back.unwrap_or_else(|error| self.note(Asks::Jobs, &error));
        }
        self.leases.remove(&lease);
    }

    /// Puts the job back into the queue after `error`. If PostgreSQL was unreachable, this does not count as a failed
    /// attempt.
    async fn put_back_after(&self, lease: &Lease, error: &FleetError) -> Result<(), FleetError> {
        match error {
            FleetError::Lost(_) => {
                self.put_back(lease, LEASE_RAN_OUT, || self.has_answered_for_a_lease()).await
            }
            error => self.put_back(lease, &error.to_string(), || !error.is_passing()).await,
        }
    }

    /// Puts the job back into the queue as soon as PostgreSQL responds. The job belongs to this attempt as long as its
    /// token is the last one, even after the lease has ended. `counts`: whether it counts as an attempt; evaluated
    /// before each statement.
    async fn put_back(&self, lease: &Lease, why: &str, counts: impl Fn() -> bool) -> Result<(), FleetError> {
        loop {
            match queue::put_back(&self.database, lease, why, counts()).await {
                Err(error) if error.is_passing() && !self.stop.is_cancelled() => {
                    self.note(Asks::Jobs, &error);
                    let _ends_or_asks_again =
                        self.stop.run_until_cancelled(tokio::time::sleep(POLL_INTERVAL)).await;
                }
                put_back => return put_back,
            }
        }
    }

    async fn begin(
        &self,
        job: &Claimed,
        lease: &Arc<Lease>,
        place: &Place,
        slot: Slot,
        work: &dyn Work,
    ) -> Result<(), FleetError> {
        let (tree, home) = (place.folder.join("tree"), Home(place.folder.join("home")));
        let checked_out = tokio::select! {
            made = self.files(job, lease, &tree, work) => made?,
            () = lease.lost() => return Err(FleetError::Lost(job.id.0.clone())),
            () = self.stop.cancelled() => return self.leave(lease).await,
        };
        let hidden = self.secrets(job).await?.into_iter().map(|(_, value)| value).collect();
        let moved = Moved::new(&job.id, &place.folder);
        restore(&self.database, &job.id, &home, &moved).await?;
        let tasks = TaskTracker::new();
        let uploader = checked_out.clone().map(|attempt| Arc::new(attempt) as Arc<dyn CommitUploader>);
        let blobs = home.folder(&job.id).join("blobs");
        let writer =
            Writer::new(self.database.clone(), lease.clone(), moved.clone(), blobs, uploader, &tasks);
        let (hand_on, commands) = mpsc::unbounded_channel();
        let (cancelled, leave) = (CancellationToken::new(), self.stop.child_token());
        let (live, events) = LiveEvents::new();
        tasks.spawn(events.run(self.database.clone(), job.id.clone(), moved.clone()));
        let heard = self.listen(job, &cancelled);
        // Those that came before this attempt.
        self.pass_on(&self.database, lease).await;
        let begun = Begun {
            job: job.clone(),
            hidden,
            home,
            tree,
            objects: checked_out.as_ref().and_then(Attempt::shared_objects),
            start: checked_out.as_ref().map(|attempt| first_commit(job, attempt)),
            writer: writer.clone(),
            live,
            commands,
            cancelled,
            leave: leave.clone(),
        };
        let working = work.work(begun);
        tokio::pin!(working);
        let ended = tokio::select! {
            ended = &mut working => ended,
            never = hand_over(slot, writer.asks(), heard, hand_on) => match never {},
            () = lease.lost() => {
                leave.cancel();
                working.await
            }
        };
        self.attempts.0.lock().remove(&job.id.0);
        let said = self.say(job, lease, &writer, checked_out.as_ref(), ended).await;
        drop(writer);
        tasks.close();
        tasks.wait().await;
        said
    }

    /// Receives the commands for the job from now on. If the job was already canceled, `cancelled` is triggered.
    fn listen(&self, job: &Claimed, cancelled: &CancellationToken) -> mpsc::UnboundedReceiver<Command> {
        let (to, heard) = mpsc::unbounded_channel();
        let ears = AttemptChannels { cancelled: cancelled.clone(), commands: to };
        self.attempts.0.lock().insert(job.id.0.clone(), ears);
        if job.is_cancelled {
            cancelled.cancel();
        }
        heard
    }

    /// The work tree, and the commit at which it begins.
    async fn files(
        &self,
        job: &Claimed,
        lease: &Lease,
        tree: &Path,
        work: &dyn Work,
    ) -> Result<Option<Attempt>, FleetError> {
        let start = match job.repository.as_deref().map(|url| self.repository(url)) {
            None => None,
            Some(repository) => {
                let (id, base, head) = (job.id.clone(), job.base.clone(), job.head.clone());
                Some(
                    waiting(move || {
                        let commit = repository.start(&id, (base.as_deref(), head.as_ref()))?;
                        Ok((repository, commit))
                    })
                    .await?,
                )
            }
        };
        let prepared = self.prepared(job, start.as_ref(), work).await?;
        let (id, token, tree) = (job.id.clone(), job.token, tree.to_owned());
        let made = waiting(move || {
            match (prepared, &start) {
                (Some((prepared, _held)), _) => prepared.copy(&tree)?,
                (None, Some((repository, _))) => repository.make(&tree)?,
                (None, None) => make_folder(&tree)?,
            }
            start.map(|(repository, commit)| repository.begin(&id, token, &commit, &tree)).transpose()
        })
        .await?;
        let is_fixed = job.base.as_ref().is_some_and(|base| is_commit(base)) || job.head.is_some();
        if let Some(attempt) = made.as_ref().filter(|_| !is_fixed) {
            queue::begin_at(&self.database, lease, attempt.begun()).await?;
        }
        Ok(made)
    }

    /// The work tree in which the setup commands of the job's queue have run, if the queue has any. It is locked, so
    /// that no other attempt changes or removes it. The first attempt on this machine that needs it makes it.
    async fn prepared(
        &self,
        job: &Claimed,
        start: Option<&(Repository, String)>,
        work: &dyn Work,
    ) -> Result<Option<(PreparedTree, File)>, FleetError> {
        let Some(commands) = job.setup.clone() else { return Ok(None) };
        let commit =
            start.map(|(_, commit)| (job.repository.as_deref().unwrap_or_default(), commit.as_str()));
        let prepared =
            PreparedTree::new(&self.settings.folder.join("prepared"), &job.queue, commit, &commands);
        let held = hold(&prepared, true).await?;
        if prepared.is_made() {
            return Ok(Some((prepared, held)));
        }
        drop(held);
        let held = hold(&prepared, false).await?;
        if !prepared.is_made() {
            let secrets = self.secrets(job).await?;
            let (begins, from) = (prepared.clone(), start.cloned());
            let folder = waiting(move || {
                let folder = begins.begin()?;
                match from {
                    Some((repository, commit)) => repository.make_at(&commit, &folder.join("tree"))?,
                    None => make_folder(&folder.join("tree"))?,
                }
                Ok(folder)
            })
            .await?;
            let (tree, home) = (folder.join("tree"), Home(folder.join("home")));
            work.prepare(Preparation { tree, home, commands, secrets }).await.map_err(|why| {
                FleetError::Local {
                    action: format!("run the setup commands of the queue `{}`", job.queue),
                    why,
                }
            })?;
            let made = prepared.clone();
            waiting(move || made.finish()).await?;
        }
        Ok(Some((prepared, held)))
    }

    /// The secrets of the job's queue; empty if the queue has no setup commands, because only those get secrets.
    async fn secrets(&self, job: &Claimed) -> Result<Vec<(String, String)>, FleetError> {
        match &job.setup {
            Some(_) => secrets::opened(&self.database, self.settings.key.as_ref(), &job.queue).await,
            None => Ok(Vec::new()),
        }
    }

    /// Puts the job back into the queue because the worker ends.
    async fn leave(&self, lease: &Lease) -> Result<(), FleetError> {
        self.put_back(lease, "its worker has ended", || false).await
    }

    /// Records the result of the attempt in the database.
    async fn say(
        &self,
        job: &Claimed,
        lease: &Lease,
        writer: &Writer,
        files: Option<&Attempt>,
        ended: Ended,
    ) -> Result<(), FleetError> {
        // What could not be recorded does not count: the worker that has the job by then decides.
        let recorded = writer.sync().await.map_err(|error| FleetError::Local {
            action: "record what the job did".to_owned(),
            why: error.to_string(),
        });
        let lost = (ended == Ended::Left && !lease.lasts()).then(|| FleetError::Lost(job.id.0.clone()));
        if let Some(error) = writer.failure().or(recorded.as_ref().err()).or(lost.as_ref()) {
            (self.settings.note)(format!("stopped working on the job `{}`: {error}", job.id));
            return self.put_back_after(lease, error).await;
        }
        match ended {
            Ended::Concluded(conclusion) => self.settle(job, lease, files, &conclusion).await,
            Ended::Failed(why) => {
                (self.settings.note)(format!("requeued the job `{}`: {why}", job.id));
                self.put_back(lease, &why, || true).await
            }
            Ended::OverBudget(why) => queue::wait_for_budget(&self.database, lease, &why, job.left_usd).await,
            Ended::Left => self.leave(lease).await,
        }
    }

    async fn settle(
        &self,
        job: &Claimed,
        lease: &Lease,
        files: Option<&Attempt>,
        conclusion: &Conclusion,
    ) -> Result<(), FleetError> {
        let carried = match files {
            Some(attempt) => attempt.upload().await?,
            None => None,
        };
        let settled = match queue::settle(&self.database, lease, conclusion, carried.as_deref()).await {
            // The next attempt settles the job by the conclusion in the journal, unless this was the first attempt.
            Err(error) if error.is_passing() => {
                return self.put_back(lease, &error.to_string(), || job.attempt == 1).await;
            }
            settled => settled?,
        };
        match settled {
            Settled::Refused => {
                (self.settings.note)(format!("another worker has taken over the job `{}`", job.id))
            }
            Settled::Stands => {
                for branch in queue::branches(&self.database, Some(&job.id)).await? {
                    let files = files.cloned();
                    self.publish(branch, move |branch, repository| match &files {
                        Some(attempt) => attempt.publish(branch),
                        None => repository.publish(branch),
                    })
                    .await;
                }
            }
        }
        Ok(())
    }
}

//! [`Jobs`]: begins, queues, continues, cancels and schedules jobs. A job is work that has a session of its own.
mod queue;
pub mod schedule;
mod setup_commands;
mod work_tree;

use crate::{
    App, Existing, Failure, SessionSpec, config::Settings, host::narrowing, model::AllowedModels,
    session::NO_MODEL,
};
use futures::StreamExt;
use haft_core::{
    Command, Conclusion, Entry, Event, Fact, JobSpec, JobStatus, JobSummary, Mode, Outcome, SessionId,
    SessionOpened,
};
use haft_engine::{
    Agent, Engine, Home, JournalError, Session, Setup, Turn, TurnReport, Turns, record, run_job,
};
use haft_present::{host::EngineRequest, unattended};
pub use queue::{Queue, Task};
use schedule::{Recurrence, Schedule};
use std::{
    convert::Infallible,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use work_tree::WorkTree;

/// A request for a job.
#[derive(Clone, Debug)]
pub struct JobRequest {
    /// The agent that does the job: `builder`, `debugger`, `reviewer`, `triager` or one of the user's own.
    pub kind: String,
    /// The task.
    pub description: String,
    /// The directory of the repository to work on.
    pub origin: PathBuf,
    /// Whether the job's work tree and saved outputs are kept after it completes.
    pub keeps_files: bool,
    /// The user of a server who asks for the job; `None` for the owner of the configuration.
    pub user: Option<String>,
}

/// The jobs of a user.
#[derive(Clone, Debug)]
pub struct Jobs {
    app: App,
}

impl App {
    /// The jobs of this user.
    #[must_use]
    pub fn jobs(&self) -> Jobs {
        Jobs { app: self.clone() }
    }
}

/// A job that is ready to be worked on, with an engine of its own.
pub struct Job {
    /// The agent that does the job.
    pub agent: Agent,
    /// The task, and where to work.
    pub order: JobSpec,
    /// The engine that has the session open.
    pub engine: Engine,
    /// The session of the job.
    pub session: Session,
    /// Notices on how the model was chosen and where the job works.
    pub notices: Vec<String>,
}

impl Jobs {
    /// Begins a job; in a work tree of its own, if its agent wants one.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid, or no work tree can be made. In that case nothing of the job is left.
    pub async fn begin(&self, request: JobRequest, spec: &SessionSpec) -> Result<Job, Failure> {
        // Reports errors in the model, the configuration or the options before anything is made.
        let tried = SessionSpec { workspace: Some(request.origin.clone()), agent: None, ..spec.clone() };
        self.app.plan(&tried)?.engine().await?;
        let Prepared { agent, order, folder, note } = self.prepare(request).await?;
        let spec = SessionSpec {
            workspace: Some(folder.clone()),
            origin: Some(order.origin.clone()),
            agent: Some(order.kind.clone()),
            start: order.start.clone().map(Box::new),
            ..spec.clone()
        };
        let created = self.create(&spec, &order).await;
        let (engine, session, notices) = created.inspect_err(|_| discard(&order, &folder))?;
        let notices = note.into_iter().chain(notices).collect();
        Ok(Job { agent, order, engine, session, notices })
    }

    async fn create(
        &self,
        spec: &SessionSpec,
        order: &JobSpec,
    ) -> Result<(Engine, Session, Vec<String>), Failure> {
        let assembled = self.app.plan(spec)?.engine().await?;
        let session = assembled.engine.create_job(order.clone(), None, None).await?;
        keep_mode(&session, spec)?;
        Ok((assembled.engine, session, assembled.notices))
    }

    /// Queues a job as a session without a worker. `id`: the name of the job; `model`: the model that will do it, if
    /// known.
    ///
    /// # Errors
    ///
    /// If the agent does not exist, or no work tree can be made. In that case nothing of the job is left.
    pub async fn queue(
        &self,
        id: Option<SessionId>,
        request: JobRequest,
        model: Option<&str>,
    ) -> Result<(SessionId, Option<String>), Failure> {
        let user = request.user.clone();
        let Prepared { order, folder, note, .. } = self.prepare(request).await?;
        let engine = self.app.bare_engine(&folder, model.unwrap_or(NO_MODEL));
        let engine = engine.inspect_err(|_| discard(&order, &folder))?;
        let created = engine.create_job(order.clone(), id, user).await.map(|session| session.id().clone());
        engine.shut_down().await;
        let id = created.map_err(Failure::from).inspect_err(|_| discard(&order, &folder))?;
        Ok((id, note))
    }

    /// Saves a schedule that begins jobs like `request`, in the time zone of this process; returns its name.
    ///
    /// # Errors
    ///
    /// If the agent does not exist, the pattern matches no date, the time zone is unknown, or the file cannot be written.
    pub fn schedule(&self, request: JobRequest, recurrence: Recurrence) -> Result<String, Failure> {
        let JobRequest { kind, description, origin, .. } = request;
        self.app.agent(&origin, &kind)?;
        let zone = recurrence.zone(self.app.environment.get("TZ"))?;
        let next = recurrence.after(jiff::Timestamp::now(), zone.as_deref())?;
        schedule::add(&self.app.home(), &Schedule { kind, description, origin, recurrence, zone, next })
    }

    /// Continues a job that failed, was canceled, or lost its process.
    ///
    /// # Errors
    ///
    /// If there is no such job, it is completed, or the configuration is invalid.
    pub async fn resume(&self, id: &str, spec: &SessionSpec) -> Result<Job, Failure> {
        self.resume_with(id, spec, |_| {}).await
    }

    /// Like [`Self::resume`], for a user of a server, within the limits of `request`. `usual`: the model of `spec`.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::resume`] does, and if the model is not allowed.
    pub async fn resume_within(
        &self,
        id: &str,
        spec: &SessionSpec,
        usual: &str,
        request: EngineRequest,
    ) -> Result<Job, Failure> {
        let (mut spec, model) = (spec.clone(), request.model.as_deref().unwrap_or(usual));
        AllowedModels(request.models.clone()).check(model).map_err(Failure::usage)?;
        if model != usual {
            let base_url = spec.base_url_for(model, Some(usual));
            (spec.settings.model, spec.base_url) = (Some(model.to_owned()), base_url);
        }
        let narrow = narrowing(&self.app, &request)?;
        self.resume_with(id, &spec, narrow).await
    }

    /// Like [`Self::resume`]; `adjust` may change the engine's setup before it starts.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::resume`] does.
    pub async fn resume_with(
        &self,
        id: &str,
        spec: &SessionSpec,
        adjust: impl FnOnce(&mut Setup),
    ) -> Result<Job, Failure> {
        let home = self.app.home();
        let (id, JobSummary { order, status, .. }) = self.find(id)?;
        let entries = home.peek(&id.0)?;
        if status == JobStatus::Completed {
            let hint = match &order.branch {
                Some(branch) if !worked_in(&entries).exists() => {
                    format!("its commits are on the branch `{branch}`; `haft build` begins another job")
                }
                _ => format!("`haft sessions resume {id}` continues its session"),
            };
            return Err(Failure::usage(format!("the job `{id}` is completed")).hint(hint));
        }
        WorkTree::restore(&self.app.places.home, &order, &worked_in(&entries))?;
        let permission = spec.settings.permission.or_else(|| chosen_mode(&entries));
        let spec = SessionSpec {
            agent: Some(order.kind.clone()),
            start: spec.start.clone().or_else(|| order.start.clone().map(Box::new)),
            settings: Settings { permission, ..spec.settings.clone() },
            session: Some(Existing::Named(id.0.clone())),
            ..spec.clone()
        };
        let agent = self.app.agent(&order.origin, &order.kind)?;
        let assembled = self.app.plan(&spec)?.engine_with(adjust).await?;
        let session = assembled.engine.resume(&id.0, &order.kind)?;
        // Removes the mark of an earlier cancellation.
        fs::remove_file(stop_file(&home, &id)).ok();
        keep_mode(&session, &spec)?;
        Ok(Job { agent, order, engine: assembled.engine, session, notices: assembled.notices })
    }

    /// Cancels a job. A job that runs, here or in another process, is told to stop; a job without a worker ends at
    /// once.
    ///
    /// # Errors
    ///
    /// If there is no such job, it is over, or its journal cannot be written.
    pub async fn cancel(&self, id: &str) -> Result<SessionId, Failure> {
        let home = self.app.home();
        let (id, JobSummary { order, status, .. }) = self.find(id)?;
        if status.is_over() {
            return Err(Failure::usage(format!("the job `{id}` is already {status}")));
        }
        if home.is_open(&id) {
            fs::write(stop_file(&home, &id), "")?;
            return Ok(id);
        }
        // Finishes or takes back changes that the job left half-done where it worked.
        let folder = Some(worked_in(&home.peek(&id.0)?)).filter(|folder| folder.exists());
        let engine = self.app.bare_engine(folder.as_ref().unwrap_or(&order.origin), NO_MODEL)?;
        let session = engine.resume(&id.0, &order.kind)?;
        let reason = "stopped by a person".to_owned();
        let conclusion = Conclusion { status: JobStatus::Cancelled, reason, evidence: Vec::new() };
        record(&session, conclusion).await;
        engine.shut_down().await;
        let folder = worked_in(&home.peek(&id.0)?);
        WorkTree::bring_back(&order, &folder);
        if let (JobStatus::Pending, Some(branch)) = (status, &order.branch) {
            WorkTree::remove(&order.origin, &folder, branch);
        }
        Ok(id)
    }

    /// Removes a job that is over, with its journal and its work tree, including uncommitted files in it. Returns the
    /// job's ID, and its branch, which stays if it has commits of the job.
    ///
    /// # Errors
    ///
    /// If there is no such job, it is not over, or its files cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(SessionId, Option<String>), Failure> {
        let home = self.app.home();
        let (id, JobSummary { order, status, .. }) = self.find(id)?;
        if !status.is_over() {
            return Err(Failure::usage(format!("cannot remove the job `{id}`: it is {status}"))
                .hint("`haft jobs cancel` stops a job"));
        }
        let folder = worked_in(&home.peek(&id.0)?);
        home.remove_job(&id)?;
        Ok((id, WorkTree::remove_all(&order, &folder)))
    }

    /// Finishes closing a job that is over but whose process crashed: brings its commits to its branch, and removes
    /// what was made for it, as [`Job::close`] does. Blocks while Git runs.
    pub fn finish_closing(&self, id: &SessionId, standing: &JobSummary) {
        let (home, order) = (self.app.home(), &standing.order);
        let Some(tree) = WorkTree::left(&home.0, order) else { return };
        if !standing.status.is_over() || home.is_open(id) {
            return;
        }
        WorkTree::finish(order, &tree, standing.status == JobStatus::Completed && !order.debug);
        if !tree.exists() {
            fs::remove_dir_all(home.folder(id).join("outputs")).ok();
        }
    }

    /// The folder of its own in which a job works or has worked, if it has one and the folder still exists.
    pub fn folder(&self, id: &SessionId) -> Option<PathBuf> {
        let entries = self.app.home().peek(&id.0).ok()?;
        let opened = SessionOpened::of(&entries)?;
        let origin = opened.order.as_ref().map(|order| &order.origin);
        Some(opened.workspace.clone()).filter(|folder| Some(folder) != origin && folder.exists())
    }

    /// The job with the ID `id`, or the only one whose ID begins with it.
    ///
    /// # Errors
    ///
    /// If no job has this ID, or several IDs begin with it.
    pub fn find(&self, id: &str) -> Result<(SessionId, JobSummary), Failure> {
        let home = self.app.home();
        if let Some((name, _)) = schedule::find(&home, id)? {
            return Err(Failure::usage(format!("`{name}` is a schedule, not a job")).hint(
                "`haft jobs list` lists jobs; `haft jobs show` shows a schedule, and `haft jobs cancel` deletes it",
            ));
        }
        let id = home.find(id).or_else(|error| only_job(&home, id, error))?;
        let summary = JobSummary::of(&home.peek(&id.0)?, home.is_open(&id));
        let no_job =
            || Failure::usage(format!("the session `{id}` is not a job")).hint("`haft jobs list` lists them");
        Ok((id.clone(), summary.ok_or_else(no_job)?))
    }

    /// Prepares a work tree of its own if the agent wants one.
    async fn prepare(&self, request: JobRequest) -> Result<Prepared, Failure> {
        let app = self.app.clone();
        // Making a work tree of a large repository takes time, and other tasks may need this thread.
        let prepared = tokio::task::spawn_blocking(move || Prepared::new(&app, request)).await;
        prepared.map_err(std::io::Error::from)?
    }
}

impl Job {
    /// The file that tells the job to stop as soon as it exists.
    #[must_use]
    pub fn stop_file(&self) -> PathBuf {
        stop_file(&self.engine.setup().home, self.session.id())
    }

    /// Runs turns by means of `turns` until there is a conclusion.
    ///
    /// # Errors
    ///
    /// The errors of `turns`.
    pub async fn run<T: Turns>(&self, turns: &mut T) -> Result<Conclusion, T::Error> {
        run_job(self.engine.setup(), &self.session, &self.agent, &self.order, turns).await
    }

    /// Works until there is a conclusion, and closes the job. Calls that need an approval are denied.
    pub async fn work(self) -> Conclusion {
        let Ok(conclusion) = self.run(&mut Unattended(&self.session)).await;
        self.close(&conclusion).await;
        conclusion
    }

    /// Writes the commits that the job has made so far to its branch in the repository where it was asked for.
    pub fn bring_back(&self) {
        WorkTree::bring_back(&self.order, &self.engine.setup().workspace);
    }

    /// How the last turn ended. If the session can no longer be recorded, the result is a failure, however its last
    /// turn ended.
    #[must_use]
    pub fn last_outcome(&self) -> Option<Outcome> {
        match self.session.journal().failure() {
            Some(_) => Some(Outcome::Failed),
            None => outcome_of(&self.session.entries()),
        }
    }

    /// Closes the session, and removes what was made for the job unless the user asked to keep it. The journal stays.
    pub async fn close(self, conclusion: &Conclusion) {
        self.engine.shut_down().await;
        let Setup { home, workspace, .. } = self.engine.setup();
        fs::remove_file(self.stop_file()).ok();
        WorkTree::bring_back(&self.order, workspace);
        if self.order.debug || conclusion.status != JobStatus::Completed {
            return;
        }
        fs::remove_dir_all(home.folder(self.session.id()).join("outputs")).ok();
        if let Some(branch) = &self.order.branch {
            WorkTree::remove(&self.order.origin, workspace, branch);
        }
    }
}

/// Runs turns unattended: no approvals.
struct Unattended<'a>(&'a Session);

impl Turns for Unattended<'_> {
    type Error = Infallible;

    async fn turn(&mut self, command: Command) -> Result<Outcome, Infallible> {
        Ok(unattended_turn(self.0.start(command)).await.outcome.unwrap_or(Outcome::Failed))
    }
}

/// Follows `turn` to its end. Calls that need an approval are denied.
pub(crate) async fn unattended_turn(mut turn: Turn) -> TurnReport {
    while let Some(event) = turn.next().await {
        let Event::Recorded(entry) = event else { continue };
        match &entry.fact {
            Fact::ApprovalAsked { call, .. } => unattended::refuse(turn.session(), call),
            Fact::QuestionAsked { call, .. } => unattended::reply(turn.session(), call),
            _ => {}
        }
    }
    turn.report().await
}

/// How the last turn among `entries` ended.
#[must_use]
pub fn outcome_of(entries: &[Arc<Entry>]) -> Option<Outcome> {
    entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::TurnEnded { outcome, .. } => Some(*outcome),
        _ => None,
    })
}

/// A job that is ready to begin: its agent, its prompt and its folder.
struct Prepared {
    agent: Agent,
    order: JobSpec,
    folder: PathBuf,
    /// A notice on something that the user may not expect.
    note: Option<String>,
}

impl Prepared {
    fn new(app: &App, request: JobRequest) -> Result<Self, Failure> {
        let JobRequest { kind, description, origin, keeps_files, user: _ } = request;
        let agent = app.agent(&origin, &kind)?;
        let make = || WorkTree::make(&app.places.home, &origin, &kind);
        let tree = agent.work_tree.then(make).transpose()?;
        let (branch, folder, start, note) = match tree {
            Some(WorkTree { branch, folder, start, note }) => (Some(branch), folder, Some(start), note),
            None => (None, origin.clone(), None, None),
        };
        let job_type = agent.job.clone().unwrap_or_else(|| kind.clone());
        let order = JobSpec { kind, job_type, description, origin, branch, start, debug: keeps_files };
        Ok(Self { agent, order, folder, note })
    }
}

/// Removes what was prepared for a job that cannot begin.
fn discard(order: &JobSpec, folder: &Path) {
    if let Some(branch) = &order.branch {
        WorkTree::discard(&order.origin, folder, branch);
    }
}

fn stop_file(home: &Home, id: &SessionId) -> PathBuf {
    home.folder(id).join("cancel")
}

fn worked_in(entries: &[Arc<Entry>]) -> PathBuf {
    SessionOpened::of(entries).map(|opened| opened.workspace.clone()).unwrap_or_default()
}

/// Records the mode and the outbox that the user asks for, so that they apply when the job is resumed without these
/// options.
fn keep_mode(session: &Session, spec: &SessionSpec) -> Result<(), Failure> {
    if spec.outbox {
        session.send(Command::OpenOutbox)?;
    }
    let wanted = spec.settings.permission.map(|wanted| wanted.min(session.ceiling()));
    match wanted.filter(|wanted| chosen_mode(&session.entries()) != Some(*wanted)) {
        Some(mode) => Ok(session.send(Command::SetMode { mode })?),
        None => Ok(()),
    }
}

/// The last mode that the user chose.
fn chosen_mode(entries: &[Arc<Entry>]) -> Option<Mode> {
    entries.iter().rev().find_map(|entry| match entry.fact {
        Fact::ModeSet { mode } => Some(mode),
        _ => None,
    })
}

/// The only job whose ID begins with `id`, after a search of all sessions failed with `error`. Errors other than no or
/// several matches are returned.
fn only_job(home: &Home, id: &str, error: JournalError) -> Result<SessionId, Failure> {
    if !matches!(error, JournalError::Missing(_) | JournalError::Ambiguous { .. }) {
        return Err(error.into());
    }
    let jobs = home.jobs().into_iter().map(|(id, _)| id);
    let mut found: Vec<SessionId> = jobs.filter(|job| job.0.starts_with(id)).collect();
    let id = id.escape_debug();
    match found.as_slice() {
        [_] => Ok(found.remove(0)),
        [] => Err(Failure::usage(format!("there is no job `{id}`")).hint("`haft jobs list` lists them")),
        [first, second, ..] => {
            let message = format!("the ID `{id}` is ambiguous: {first}, {second}");
            let more = if found.len() > 2 { ", …" } else { "" };
            Err(Failure::usage(message + more).hint("type more of the ID"))
        }
    }
}

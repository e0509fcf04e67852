//! [`AppWork`]: runs attempts at the jobs of a fleet. A restored session continues like any job that lost its process.
use crate::{
    Begun, DEFAULT_QUEUE, Ended, FleetError, LiveSender, NewJob, Owner, Preparation, Work, replay_changes,
    replay_changes::lost_changes,
};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use haft_app::{App, Failure, SessionSpec};
use haft_core::{
    BaseCommit, Channel, Command, Conclusion, Entry, Fact, JobSpec, JobStatus, Outcome, Part, Resource,
    SessionId, dollars, past_calls::PastCalls,
};
use haft_engine::{Session, Turns};
use std::{
    convert::Infallible,
    future::pending,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Works on jobs with the options that the worker was started with.
pub struct AppWork {
    /// Opens the sessions.
    pub app: App,
    /// The request for a session, without the directory and the session.
    pub spec: SessionSpec,
}

impl Work for AppWork {
    fn prepare(&self, preparation: Preparation) -> BoxFuture<'static, Result<(), String>> {
        let Preparation { tree, home, commands, secrets } = preparation;
        let (app, spec) = (self.app.clone().with_home(&home), self.spec.clone());
        async move {
            let ran = app.jobs().run_setup(&spec, &tree, &commands, secrets).await;
            ran.map_err(|failure| failure.message)
        }
        .boxed()
    }

    fn work(&self, begun: Begun) -> BoxFuture<'static, Ended> {
        // The sessions of an attempt are in a folder of the attempt.
        let app = self.app.clone().with_home(&begun.home);
        // All attempts compare the work with this commit: a later attempt does not know the branch at which the job
        // began.
        let start = begun.start.clone().map(|commit| BaseCommit { branch: Some(commit.clone()), commit });
        let (workspace, start) = (Some(begun.tree.clone()), start.map(Box::new));
        let spec = SessionSpec { workspace, start, ..self.spec.clone() };
        async move {
            let ended = attempt(&app, &spec, begun).await;
            ended.unwrap_or_else(|failure| Ended::Failed(failure.message))
        }
        .boxed()
    }
}

async fn attempt(app: &App, spec: &SessionSpec, begun: Begun) -> Result<Ended, Failure> {
    let Begun { job: queued, home, objects, hidden, writer, live, commands, cancelled, leave, .. } = begun;
    let entries = home.peek(&queued.id.0)?;
    if let Some(conclusion) = concluded_before(&entries, queued.attempt) {
        return Ok(Ended::Concluded(conclusion));
    }
    let (mut redone, mut is_limited) = (Ok(()), false);
    let jobs = app.jobs();
    let taken = jobs.resume_with(&queued.id.0, spec, |setup| {
        let stage = (setup.stages)(&setup.home.contents(&queued.id));
        redone = replay_changes(&*stage, &setup.workspace, &entries);
        setup.replicas = Some(writer.replicas());
        setup.knowledge.readable.extend(objects);
        setup.access = std::mem::take(&mut setup.access).hiding(hidden);
        if let Some(left) = queued.left_usd {
            let usd = &mut setup.profile.limits.budget.usd;
            is_limited = usd.is_none_or(|usd| left < usd);
            *usd = Some(usd.map_or(left, |usd| usd.min(left)));
        }
    });
    let job = taken.await?;
    if let Err(error) = redone {
        job.engine.shut_down().await;
        return Err(error.into());
    }
    let note = lost_changes(&entries);
    let mut turns = Followed { session: &job.session, note, live };
    // A prompt that was queued may open another turn behind the last one of the job: users steer and stop that, too.
    // The job gives its own command first: others before it would find no turn.
    let concluded = tokio::select! {
        biased;
        Ok(concluded) = job.run(&mut turns) => Some(concluded),
        never = pass_on(&job.session, commands, &cancelled) => match never {},
        () = leave.cancelled() => None,
    };
    let (outcome, has_begun) = (job.last_outcome(), !is_too_little(&job.session.entries()));
    job.engine.shut_down().await;
    Ok(match concluded {
        None => Ended::Left,
        // A model that cannot be asked at the moment may be asked later.
        Some(conclusion) if outcome == Some(Outcome::Failed) => Ended::Failed(conclusion.reason),
        Some(_) if is_limited && !has_begun => Ended::OverBudget(format!(
            "the budgets of its owner and its queue leave {}, too little for its first request",
            dollars(queued.left_usd.unwrap_or_default())
        )),
        Some(conclusion) => Ended::Concluded(conclusion),
    })
}

/// How often a canceled job is interrupted until it ends: each prompt that was queued opens another turn.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(200);

/// Passes on to the session what users send through the database, and interrupts it once the job is canceled.
async fn pass_on(
    session: &Session,
    mut commands: mpsc::UnboundedReceiver<Command>,
    cancelled: &CancellationToken,
) -> Infallible {
    let interrupt = async {
        cancelled.cancelled().await;
        loop {
            let _it_has_ended = session.send(Command::Interrupt);
            tokio::time::sleep(INTERRUPT_INTERVAL).await;
        }
    };
    let pass = async {
        while let Some(command) = commands.recv().await {
            let _it_has_ended = session.send(command);
        }
        pending().await
    };
    tokio::select! {
        never = interrupt => never,
        never = pass => never,
    }
}

/// Whether the last turn ended before its first request, because that could have cost more than was left.
fn is_too_little(entries: &[Arc<Entry>]) -> bool {
    let mut facts = entries.iter().rev().map(|entry| &entry.fact);
    let ended = facts.find(|fact| matches!(fact, Fact::TurnEnded { .. }));
    let reached = facts.find(|fact| matches!(fact, Fact::BudgetReached { .. }));
    matches!(ended, Some(Fact::TurnEnded { outcome: Outcome::Budget, rounds: 0, .. }))
        && matches!(reached, Some(Fact::BudgetReached { what: Resource::Usd, .. }))
}

/// The conclusion of an earlier attempt whose worker died before it could settle the job. At a first attempt, only a
/// completed job counts as concluded, because a user asked for the attempt whatever came before.
fn concluded_before(entries: &[Arc<Entry>], attempt: i32) -> Option<Conclusion> {
    let Some(Fact::JobFinished(conclusion)) = entries.last().map(|entry| &entry.fact) else { return None };
    let is_failure = haft_app::jobs::outcome_of(entries) == Some(Outcome::Failed) || is_too_little(entries);
    let stands = conclusion.status == JobStatus::Completed || (attempt > 1 && !is_failure);
    stands.then(|| conclusion.clone())
}

/// Runs turns that clients follow.
struct Followed<'a> {
    session: &'a Session,
    /// What the model reads before its first request of this attempt, and was not told yet.
    note: Option<String>,
    live: LiveSender,
}

impl Followed<'_> {
    /// The first command of the attempt with the note for the model, and a command to send once its turn has begun.
    fn with_note(&mut self, command: Command) -> (Command, Option<Command>) {
        let Some(note) = self.note.take().map(Part::text) else { return (command, None) };
        let reminder = |note| Command::Prompt { parts: vec![note], channel: Some(Channel::reminder()) };
        match command {
            Command::Prompt { mut parts, channel } => {
                parts.push(note);
                (Command::Prompt { parts, channel }, None)
            }
            // A prompt would end the calls that were cut off, such as a question to the user.
            Command::Continue if has_open_calls(&self.session.entries()) => (command, Some(reminder(note))),
            Command::Continue => (reminder(note), None),
            command => (command, None),
        }
    }
}

/// Whether calls of the last turn have no result yet.
fn has_open_calls(entries: &[Arc<Entry>]) -> bool {
    PastCalls::of(entries).calls.iter().any(|call| call.result.is_none())
}

impl Turns for Followed<'_> {
    type Error = Infallible;

    async fn turn(&mut self, command: Command) -> Result<Outcome, Infallible> {
        let (command, next) = self.with_note(command);
        let mut turn = self.session.start(command);
        if let Some(next) = next {
            let _it_has_ended = self.session.send(next);
        }
        while let Some(event) = turn.next().await {
            self.live.send(&event);
        }
        Ok(turn.report().await.outcome.unwrap_or(Outcome::Failed))
    }
}

/// The owner of jobs that the operator of the fleet submits.
pub const ADMIN: &str = "admin";

/// Maximum attempts at a job before it becomes dead.
const MAX_ATTEMPTS: i32 = 5;

/// Makes a job for workers.
///
/// # Errors
///
/// If there is no such agent.
pub fn new_job(
    app: &App,
    id: SessionId,
    kind: String,
    description: String,
    owner: Owner,
) -> Result<NewJob, Failure> {
    // An agent of the repository cannot be used: the repository is not here.
    let agent = app.agent(Path::new("/nonexistent"), &kind)?;
    let branch = agent.work_tree.then(|| format!("haft/{id}"));
    let job_type = agent.job.clone().unwrap_or_else(|| kind.clone());
    let order =
        JobSpec { kind, job_type, description, origin: PathBuf::new(), branch, start: None, debug: false };
    Ok(NewJob {
        id,
        owner,
        queue: DEFAULT_QUEUE.to_owned(),
        order,
        repository: None,
        base: None,
        priority: 0,
        max_attempts: MAX_ATTEMPTS,
        model: haft_app::session::NO_MODEL.to_owned(),
        profile: "default".to_owned(),
    })
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        let message = error.to_string();
        match error {
            FleetError::Address(_) => {
                Failure::usage(message).hint("expected `postgres://USER@HOST/DATABASE`")
            }
            FleetError::Refused { .. } => {
                Failure::usage(message).hint("check the user, the password and the database")
            }
            FleetError::NotPrivate { .. } => Failure::usage(message).hint(
                "set SSL_CERT_FILE to the certificate authority of the server; \
                 `sslmode=disable` in the address turns off TLS",
            ),
            FleetError::Limit(_) => Failure::usage(message)
                .hint("`haft fleet limit` shows limits; add the job when fewer are pending"),
            FleetError::Denied(_) => {
                Failure::usage(message).hint("`haft fleet access` shows which owners may use a queue")
            }
            FleetError::Schema(_) | FleetError::Usage(_) => Failure::usage(message),
            FleetError::Unreachable { .. } => Failure::failed(message)
                .hint("check that PostgreSQL runs there and that this machine can reach it"),
            FleetError::Lost(_) | FleetError::Statement { .. } | FleetError::Local { .. } => {
                Failure::failed(message)
            }
        }
    }
}

//! Terminals on other machines that attach to a job: what its worker records reaches them through the database, and what
//! they say reaches the worker.
use super::{
    Context, Fleet, find_line, jobs, name_of, no_job, seen_by, sessions::ENTRIES_PER_READ, until_signed_out,
};
use crate::{
    api::{
        attach::{checked, lines},
        body::{Asked, Id},
        lists::{AgentRow, Agents},
        pages,
    },
    error::{Answer, ApiError, ErrorBody},
    follow,
    gate::Asker,
    hub,
};
use axum::{
    Extension, Json,
    extract::{
        State,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, StatusCode},
    response::Response,
};
use haft_app::session::NO_MODEL;
use haft_core::{Entry, Hash, SessionId, SessionOpened, changed, line};
use haft_engine::{Relay, Relayed};
use haft_fleet::{FleetError, Following, JobLine, News, Owner, work_place};
use serde::Serialize;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::time::sleep;
use utoipa::ToSchema;

/// Before the database is asked again that did not answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A job, as `haft attach` lists it
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobSession {
    id: String,
    /// What is to be done
    title: String,
    /// `working`, `asking` or `idle`
    state: &'static str,
    /// Where its files lie, on whatever machine works on it
    workspace: String,
    /// `PROVIDER/MODEL`; empty where the worker chooses it
    model: String,
    /// When it was added, in milliseconds since 1970-01-01 UTC
    opened_at: u64,
    /// When the last entry was recorded, as `opened_at`
    last_at: u64,
}

impl JobSession {
    fn of(job: JobLine, model: String) -> Self {
        let state = match job.status.as_str() {
            jobs::WAITING => "asking",
            "pending" | "running" => "working",
            _ => "idle",
        };
        let added = (job.made * 1_000.0) as u64;
        let workspace = work_place(&SessionId(job.id.clone())).display().to_string();
        Self { id: job.id, title: job.title, state, workspace, model, opened_at: added, last_at: added }
    }
}

/// Jobs, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobSessions {
    sessions: Vec<JobSession>,
    /// Give it as `after` for those that come next; none at the end
    next: Option<String>,
}

/// List jobs as sessions
#[utoipa::path(get, path = "/v1/sessions", operation_id = "list_sessions", tag = "sessions", params(pages::JobsWanted, jobs::JobsOf),
    responses((status = OK, body = JobSessions), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn list(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Asked(wanted): Asked<pages::JobsWanted>,
    Asked(of): Asked<jobs::JobsOf>,
) -> Answer<Json<JobSessions>> {
    let limit = pages::limit(wanted.limit);
    let found = jobs::listed(&context, &asker, (&wanted, &of), limit).await?;
    let (found, next) = pages::page(found, limit, |job| job.id.clone());
    Ok(Json(JobSessions {
        sessions: found.into_iter().map(|job| JobSession::of(job, String::new())).collect(),
        next,
    }))
}

/// What `haft attach --new` is told.
pub(super) async fn create() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong_method",
        "a fleet works on jobs, and has no other sessions",
    )
    .suggest("add a job with `POST /v1/jobs` or `haft fleet add`, and attach to it")
}

/// Show a job as a session
#[utoipa::path(get, path = "/v1/sessions/{id}", operation_id = "show_session", tag = "sessions",
    params(("id" = String, Path, description = "ID of a job")),
    responses((status = OK, body = JobSession), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn show(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Json<JobSession>> {
    let job = find_line(&context, &asker, &id).await?;
    let opened = haft_fleet::entries_since(&context.fleet.database, &id, 0, 1).await?;
    let opened: Vec<_> = opened.iter().filter_map(|(_, text)| entry(text)).collect();
    // The first entry names no model: which one it is, the worker decides.
    let model = SessionOpened::of(&opened).map(|opened| opened.model.clone());
    let model = model.filter(|model| model != NO_MODEL).unwrap_or_default();
    Ok(Json(JobSession::of(job, model)))
}

/// List agents
#[utoipa::path(get, path = "/v1/agents", operation_id = "list_agents", tag = "jobs", responses((status = OK, body = Agents), (status = "5XX", body = ErrorBody)))]
pub(super) async fn agents(State(context): State<Context>) -> Answer<Json<Agents>> {
    // Agents of repositories are unknown here.
    let found = context.fleet.app.agents(Path::new("/nonexistent"))?;
    Ok(Json(Agents { agents: found.iter().map(|found| AgentRow::of(&found.agent)).collect() }))
}

/// Attach to a job, over a WebSocket
///
/// For `haft attach`. The protocol `haft-session.1` is lines of JSON in binary messages: the events of the job, and the
/// commands that a person gives.
#[utoipa::path(get, path = "/v1/sessions/{id}/socket", operation_id = "attach_session", tag = "sessions",
    params(("id" = String, Path, description = "ID of a job"), ("Sec-WebSocket-Protocol" = String, Header, description = "`haft-session.1`")),
    responses((status = SWITCHING_PROTOCOLS), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn attach(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer<Response> {
    let job = find_line(&context, &asker, &id).await?;
    // An attached terminal answers what the job asks.
    asker.approves()?;
    let upgrade = checked(&headers, upgrade)?;
    let place = hub::place_in(&context.places)?;
    let mut attached = Attached::new(&context, &asker, &job);
    attached.read().await?;
    let signed_out = until_signed_out(&context, &asker, &headers);
    Ok(upgrade.on_upgrade(async move |socket| {
        let served = attached.relay.served(name_of(&asker).map(|owner| owner.0.clone()));
        tokio::select! {
            () = served.serve(lines(socket), &context.clients, job.is_over()) => {}
            () = attached.run() => {}
            () = context.stopping.cancelled() => {}
            () = signed_out => {}
        }
        drop(place);
    }))
}

/// A job to which a terminal is attached.
struct Attached {
    fleet: Fleet,
    id: String,
    /// Owner whose jobs the user may see; `None` for all.
    owner: Option<Owner>,
    following: Following,
    relay: Relay,
}

impl Attached {
    fn new(Context { fleet, .. }: &Context, asker: &Asker, job: &JobLine) -> Self {
        let relay = Relay::default();
        let following = Following::live(&fleet.database, &job.id);
        Self { fleet: fleet.clone(), id: job.id.clone(), owner: seen_by(asker).cloned(), following, relay }
    }

    /// Shows what is recorded and was not shown.
    async fn read(&mut self) -> Result<(), FleetError> {
        loop {
            let next = i64::try_from(self.relay.next().0).unwrap_or(i64::MAX);
            let database = &self.fleet.database;
            let read = haft_fleet::entries_since(database, &self.id, next, ENTRIES_PER_READ).await?;
            let is_more = read.len() as i64 == ENTRIES_PER_READ;
            for entry in read.iter().filter_map(|(_, text)| entry(text)) {
                let contents = self.contents(&entry).await?;
                self.relay.record(entry, contents);
            }
            if !is_more {
                return Ok(());
            }
        }
    }

    /// The texts of files that `entry` names.
    async fn contents(&self, entry: &Entry) -> Result<Vec<(Hash, String)>, FleetError> {
        let changes = changed::changes_in(&entry.fact);
        let states = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        let hashes: Vec<String> = states.map(|state| state.hash.0.clone()).collect();
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let found = haft_fleet::contents(&self.fleet.database, &self.id, &hashes).await?;
        let text = |(hash, content)| Some((Hash(hash), String::from_utf8(content).ok()?));
        Ok(found.into_iter().filter_map(text).collect())
    }

    /// Passes on what happens and what is given, until it is dropped.
    async fn run(&mut self) {
        loop {
            let next = self.relay.next().0;
            tokio::select! {
                relayed = self.relay.command() => self.pass_on(relayed).await,
                news = self.following.next(next, follow::HEARTBEAT) => match news {
                    News::Live(updates) => updates.into_iter().for_each(|update| self.relay.live(update)),
                    News::Entries | News::Silence => {
                        while let Err(error) = self.read().await {
                            tracing::debug!(%error, "an attached job cannot be read now");
                            sleep(RETRY_DELAY).await;
                        }
                    }
                },
            }
        }
    }

    async fn pass_on(&mut self, relayed: Relayed) {
        let commands = [relayed.command.clone()];
        let sent =
            haft_fleet::send(&self.fleet.database, &self.id, self.owner.as_ref(), &commands, None).await;
        match sent {
            Ok(true) => self.relay.passed_on(relayed),
            Ok(false) => {
                let found = haft_fleet::job(&self.fleet.database, &self.id, self.owner.as_ref()).await;
                let why = match found {
                    Ok(Some(job)) => format!("the job is {} already", job.status),
                    _ => no_job(&self.id).message().to_owned(),
                };
                self.relay.refuse(relayed, why);
            }
            Err(error) => self.relay.refuse(relayed, format!("the command may be lost: {error}")),
        }
    }
}

fn entry(text: &str) -> Option<Arc<Entry>> {
    line::entry(text.as_bytes()).ok().map(Arc::new)
}

//! Jobs of a fleet over HTTP: they stand in its database, and workers on any machine do them. Nothing runs here.
use crate::{
    api::{
        body::{Asked, Body, Id},
        commands::{Approval, Told},
    },
    error::{Answer, ApiError},
    follow,
    gate::Asker,
    parts::Problem,
    router::{health, not_so, nothing_here},
};
use async_stream::stream;
use axum::{
    Extension, Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use haft_core::{Answer as Said, CallId, Command, Part};
use haft_fleet::{Database, FleetError, JobLine, NewJob, Owner};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Jobs that are listed.
const MOST: i64 = 1_000;
/// Entries that are read at a time.
const AT_ONCE: i64 = 500;

/// Makes a job of a kind and a description, for an owner.
pub type Make = Arc<dyn Fn(String, String, Owner) -> Result<NewJob, Problem> + Send + Sync>;

/// A fleet, as a server knows it.
#[derive(Clone)]
pub struct Fleet {
    /// Where its jobs stand.
    pub database: Database,
    /// Makes jobs.
    pub make: Make,
    /// Whose the jobs are that are given with the server's own token.
    pub admin: Owner,
}

/// What handlers work with.
#[derive(Clone)]
struct Context {
    fleet: Fleet,
    stopping: CancellationToken,
}

/// The routes. Nobody has looked yet at who asks.
pub(crate) fn router(fleet: Fleet, stopping: CancellationToken) -> Router {
    Router::new()
        .route("/healthz", get(health))
        .route("/v1/jobs", post(create).get(list))
        .route("/v1/jobs/{id}", get(show))
        .route("/v1/jobs/{id}/cancel", post(cancel))
        .route("/v1/jobs/{id}/retry", post(retry))
        .route("/v1/sessions/{id}/events", get(events))
        .route("/v1/sessions/{id}/prompt", post(prompt))
        .route("/v1/sessions/{id}/answer", post(answer))
        .route("/v1/sessions/{id}/reply", post(reply))
        .route("/v1/sessions/{id}/interrupt", post(interrupt))
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
        .with_state(Context { fleet, stopping })
}

impl From<FleetError> for ApiError {
    fn from(error: FleetError) -> Self {
        let message = error.to_string();
        match error {
            FleetError::Usage(_) => Self::wrong(message),
            FleetError::Unreachable { .. } => Self::away(message),
            _ => Self::failed(message),
        }
    }
}

/// What was sent and never answered may have been done: whoever sends it again unseen does it twice.
fn unsure(error: FleetError) -> ApiError {
    let is_passing = error.is_passing();
    let answer = ApiError::from(error);
    if is_passing { answer.suggest("look whether it was done before you send it again") } else { answer }
}

/// What an asker may see: all, or what is its own.
fn seen_by(asker: &Asker) -> Option<&Owner> {
    match asker {
        Asker::Admin => None,
        Asker::Owner(owner) => Some(owner),
    }
}

/// A job to do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    kind: Option<String>,
    description: String,
    repository: Option<String>,
    base: Option<String>,
    #[serde(default)]
    priority: i32,
}

/// A job, with the fields that a server without a fleet gives, and those of a fleet.
#[derive(Debug, Serialize)]
struct Job {
    job: String,
    kind: String,
    status: &'static str,
    description: String,
    branch: Option<String>,
    progress: String,
    output: Option<Value>,
    owner: String,
    attempts: i32,
    worker: Option<String>,
    commit: Option<String>,
}

impl From<JobLine> for Job {
    fn from(line: JobLine) -> Self {
        let status = match line.status.as_str() {
            "waiting" => "pending",
            "running" => "running",
            "completed" => "completed",
            "cancelled" => "cancelled",
            _ => "failed",
        };
        let output = line.conclusion.and_then(|whole| serde_json::from_str(&whole).ok());
        let dead =
            (line.status == "dead").then(|| json!({"status": "dead", "reason": line.reason, "evidence": []}));
        Self {
            branch: line.head.as_ref().map(|_| format!("haft/{}", line.id)),
            job: line.id,
            kind: line.kind,
            status,
            description: line.title,
            progress: line.reason.unwrap_or_default(),
            output: output.or(dead),
            owner: line.owner,
            attempts: line.attempts,
            worker: line.worker,
            commit: line.head,
        }
    }
}

async fn create(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Body(new): Body<New>,
) -> Answer<Response> {
    if new.description.trim().is_empty() {
        return Err(
            ApiError::wrong("missing 'description' in input").suggest("say what to do in `description`")
        );
    }
    let fleet = &context.fleet;
    let owner = seen_by(&asker).unwrap_or(&fleet.admin).clone();
    let made = (fleet.make)(new.kind.unwrap_or_else(|| "builder".to_owned()), new.description, owner)?;
    let made = NewJob { repository: new.repository, base: new.base, priority: new.priority, ..made };
    haft_fleet::add(&fleet.database, &made).await.map_err(unsure)?;
    let job = find(&context, &asker, &made.id.0).await?;
    Ok((StatusCode::CREATED, Json(job)).into_response())
}

async fn find(context: &Context, asker: &Asker, id: &str) -> Answer<Job> {
    let found = haft_fleet::job(&context.fleet.database, id, seen_by(asker)).await?;
    found.map(Job::from).ok_or_else(|| no_job(id))
}

/// What is another's is told as what is not there.
fn no_job(id: &str) -> ApiError {
    ApiError::missing(format!("there is no job `{}`", id.escape_debug())).suggest("`GET /v1/jobs` lists them")
}

async fn list(State(context): State<Context>, Extension(asker): Extension<Asker>) -> Answer<Json<Value>> {
    let found = haft_fleet::jobs(&context.fleet.database, seen_by(&asker), None, MOST).await?;
    Ok(Json(json!({"jobs": found.into_iter().map(Job::from).collect::<Vec<_>>()})))
}

async fn show(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Json<Job>> {
    find(&context, &asker, &id).await.map(Json)
}

async fn cancel(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Response> {
    let before = haft_fleet::cancel(&context.fleet.database, &id, seen_by(&asker)).await?;
    let before = before.ok_or_else(|| no_job(&id))?;
    if !["waiting", "running"].contains(&before.status.as_str()) {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", before.status)));
    }
    Ok((StatusCode::ACCEPTED, Json(find(&context, &asker, &id).await?)).into_response())
}

async fn retry(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Response> {
    let before = find(&context, &asker, &id).await?;
    if !haft_fleet::retry(&context.fleet.database, &id, seen_by(&asker)).await? {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", before.status)));
    }
    Ok((StatusCode::ACCEPTED, Json(find(&context, &asker, &id).await?)).into_response())
}

#[derive(Debug, Deserialize)]
struct Since {
    from: Option<u64>,
}

/// What is recorded, as it comes; pieces of a reply that is not whole yet are known to its worker alone.
async fn events(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Asked(Since { from }): Asked<Since>,
    headers: HeaderMap,
) -> Answer<Response> {
    find(&context, &asker, &id).await?;
    let (Context { fleet, stopping }, mut next) = (context, follow::from(&headers, from).0 as i64);
    let told = stream! {
        let mut news = fleet.database.news();
        loop {
            let lines = haft_fleet::entries_since(&fleet.database, &id, next, AT_ONCE).await.unwrap_or_default();
            let is_more = lines.len() as i64 == AT_ONCE;
            for (seq, line) in lines {
                next = seq + 1;
                yield Bytes::from(format!("id: {seq}\ndata: {line}\n\n"));
            }
            if is_more {
                continue;
            }
            tokio::select! {
                () = stopping.cancelled() => break,
                is_news = news.of(&id, follow::HEARTBEAT) => if !is_news { yield follow::beat() },
            }
        }
    };
    Ok(follow::response(told))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompt {
    text: String,
}

async fn prompt(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Body(Prompt { text }): Body<Prompt>,
) -> Answer<Response> {
    send(&context, &asker, &id, Command::Prompt { parts: vec![Part::text(text)], channel: None }).await
}

async fn answer(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Body(told): Body<Approval>,
) -> Answer<Response> {
    let said = Said::from(told.answer);
    // It waits in the turn, so that the model reads both at once.
    let because = told.because.filter(|because| said == Said::No && !because.trim().is_empty());
    if let Some(because) = because {
        send(&context, &asker, &id, Command::Prompt { parts: vec![Part::text(because)], channel: None })
            .await?;
    }
    send(&context, &asker, &id, Command::Answer { call: CallId(told.call), answer: said }).await
}

async fn reply(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Body(told): Body<Told>,
) -> Answer<Response> {
    send(&context, &asker, &id, Command::Reply { call: CallId(told.call), answer: told.answer }).await
}

async fn interrupt(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Response> {
    send(&context, &asker, &id, Command::Interrupt).await
}

/// The job's worker carries it out, once it has one.
async fn send(context: &Context, asker: &Asker, id: &str, command: Command) -> Answer<Response> {
    let job = find(context, asker, id).await?;
    let sent = haft_fleet::send(&context.fleet.database, id, seen_by(asker), &command).await;
    if !sent.map_err(unsure)? {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", job.status)));
    }
    Ok((StatusCode::ACCEPTED, Json(json!({"session": id}))).into_response())
}

//! Jobs: created, listed, stopped, retried.
use super::{
    Context,
    body::{Asked, Body, Id, blocking},
    closed_sets::JobState,
    pages::{self, JobsWanted},
    sessions::made_as,
};
use crate::{
    access_log::OfSession,
    error::{Answer, ApiError, ErrorBody},
    hub::Hub,
    parts::Place,
    requests::Key,
};
use axum::{
    Extension, Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use haft_app::jobs::{JobRequest, schedule};
use haft_core::{JobStatus, JobSummary, SessionId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new job
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewJob {
    /// Agent: `builder`, `debugger`, `reviewer`, `triager` or one of your own [default: builder]
    kind: Option<String>,
    /// What to do
    description: String,
    /// Folder to work in, absolute: one that is served, or in one
    workspace: Option<String>,
}

/// A job, as `haft jobs show --json` prints it. Its ID is that of a session, which can be followed like any other.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Job {
    job: String,
    #[serde(rename = "type")]
    job_type: String,
    kind: String,
    /// State of the job
    status: JobState,
    description: String,
    /// The branch that it works on
    branch: Option<String>,
    /// The folder that it was asked for in
    origin: String,
    /// Requests to the model so far
    rounds: u32,
    /// What it is doing, or what it came to
    progress: String,
    /// What it came to
    output: Option<Output>,
}

/// What a job came to.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Output {
    status: JobState,
    reason: String,
    /// What calls gave that prove it
    evidence: Vec<serde_json::Value>,
}

fn job(id: SessionId, standing: JobSummary) -> Job {
    let JobSummary { order, status, rounds, progress, conclusion } = standing;
    let output = conclusion.map(|done| Output {
        status: done.status.into(),
        reason: done.reason,
        evidence: done.evidence,
    });
    Job {
        job: id.0,
        job_type: if order.job_type.is_empty() { order.kind.clone() } else { order.job_type },
        kind: order.kind,
        status: status.into(),
        description: order.description,
        branch: order.branch,
        origin: order.origin.display().to_string(),
        rounds,
        progress,
        output,
    }
}

/// Queue a job
///
/// The job is on disk when the request returns, and starts as soon as a worker is free, even after a restart of the server.
#[utoipa::path(post, path = "/v1/jobs", operation_id = "create_job", tag = "jobs", request_body = NewJob,
    responses((status = CREATED, body = Job), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn create(context: Context, Key(key): Key, Body(new): Body<NewJob>) -> Answer<Response> {
    if new.description.trim().is_empty() {
        return Err(
            ApiError::wrong("missing 'description' in input").suggest("say what to do in `description`")
        );
    }
    let Place { workspace: origin, model, .. } = context.hub.place(new.workspace.as_deref(), None, None)?;
    let kind = new.kind.unwrap_or_else(|| "builder".to_owned());
    let user = context.hub.user_name().map(str::to_owned);
    let id = made_as(key);
    if context.hub.home().begun(&id)?.is_none() {
        let request = JobRequest { kind, description: new.description, origin, keeps_files: false, user };
        context.hub.settings().app.jobs().queue(Some(id.clone()), request, Some(&model)).await?;
    }
    context.crew.add(id.clone());
    context.hub.tell(&id);
    let job = find(&context.hub, &id.0).await?;
    Ok((StatusCode::CREATED, Extension(OfSession(id)), Json(job)).into_response())
}

async fn find(hub: &Hub, id: &str) -> Answer<Job> {
    standing(hub, id).await.map(|standing| job(SessionId(id.to_owned()), standing))
}

/// A job that begins by itself
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScheduleRow {
    name: String,
    /// Agent
    kind: String,
    description: String,
    /// How often it begins: `every 2h`, or a pattern of cron with its time zone
    recurrence: String,
    /// When it begins next, in milliseconds since 1970-01-01 UTC
    next: i64,
}

/// All schedules of the served folders
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Schedules {
    /// The next one first
    schedules: Vec<ScheduleRow>,
}

/// List the schedules of jobs
#[utoipa::path(get, path = "/v1/schedules", operation_id = "list_schedules", tag = "jobs",
    responses((status = OK, body = Schedules), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn schedules(context: Context) -> Answer<Json<Schedules>> {
    let found = blocking(move || {
        let schedule::List { readable: mut known, unreadable } = schedule::list(context.hub.home());
        unreadable.into_iter().for_each(|(_, failure)| context.hub.warn_once(failure.message));
        // A schedule belongs to no user.
        let sees_all = context.hub.user().is_none_or(|user| user.role.sees_all());
        known.retain(|(_, schedule)| sees_all && context.hub.is_served(&schedule.origin));
        known.sort_by_key(|(_, schedule)| schedule.next);
        Ok(known)
    });
    let row = |(name, schedule): (String, schedule::Schedule)| ScheduleRow {
        name,
        recurrence: schedule.to_string(),
        kind: schedule.kind,
        description: schedule.description,
        next: schedule.next.as_millisecond(),
    };
    Ok(Json(Schedules { schedules: found.await?.into_iter().map(row).collect() }))
}

/// A page of jobs
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobPage {
    /// Newest first
    jobs: Vec<Job>,
    /// Value of `after` for the next page; `null` on the last one
    next: Option<String>,
}

/// List jobs
#[utoipa::path(get, path = "/v1/jobs", operation_id = "list_jobs", tag = "jobs", params(JobsWanted),
    responses((status = OK, body = JobPage), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn list(context: Context, Asked(wanted): Asked<JobsWanted>) -> Answer<Json<JobPage>> {
    let (limit, status) = (pages::limit(wanted.limit), wanted.status()?);
    let jobs = blocking(move || {
        let hub = &context.hub;
        let is_wanted = |(id, standing): &(SessionId, JobSummary)| {
            wanted.after.as_ref().is_none_or(|after| id.0 < *after)
                && status.is_none_or(|status| standing.status == status)
                && hub.shows(&standing.order.origin, id)
        };
        let found = context.crew.jobs().into_iter().filter(is_wanted).take(limit + 1).collect();
        let (found, next) = pages::page(found, limit, |(id, _)| id.0.clone());
        Ok(JobPage { jobs: found.into_iter().map(|(id, standing)| job(id, standing)).collect(), next })
    });
    jobs.await.map(Json)
}

/// Show a job
#[utoipa::path(get, path = "/v1/jobs/{id}", operation_id = "show_job", tag = "jobs", params(("id" = String, Path, description = "ID of a job")),
    responses((status = OK, body = Job), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn show(context: Context, Id(id): Id) -> Answer<Json<Job>> {
    find(&context.hub, &id).await.map(Json)
}

/// Cancel a job
#[utoipa::path(post, path = "/v1/jobs/{id}/cancel", operation_id = "cancel_job", tag = "jobs", params(("id" = String, Path, description = "ID of a job")),
    responses((status = ACCEPTED, body = Job), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn cancel(context: Context, Id(id): Id) -> Answer<Response> {
    let standing = standing(&context.hub, &id).await?;
    if standing.status.is_over() {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", standing.status)));
    }
    let id = SessionId(id);
    if !context.crew.cancel(&id) {
        context.hub.settings().app.jobs().cancel(&id.0).await?;
    }
    context.hub.tell(&id);
    Ok((StatusCode::ACCEPTED, Json(find(&context.hub, &id.0).await?)).into_response())
}

/// Retry a job that failed, was cancelled, or lost its process
#[utoipa::path(post, path = "/v1/jobs/{id}/retry", operation_id = "retry_job", tag = "jobs", params(("id" = String, Path, description = "ID of a job")),
    responses((status = ACCEPTED, body = Job), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn retry(context: Context, Id(id): Id) -> Answer<Response> {
    let standing = standing(&context.hub, &id).await?;
    let is_running = !standing.status.is_over() && context.hub.home().is_open(&SessionId(id.clone()));
    if standing.status == JobStatus::Completed || is_running {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", standing.status)));
    }
    context.hub.check_job(&context.hub.find(&id)?)?;
    context.crew.retry(SessionId(id.clone()));
    Ok((StatusCode::ACCEPTED, Json(find(&context.hub, &id).await?)).into_response())
}

async fn standing(hub: &Hub, id: &str) -> Answer<JobSummary> {
    let (hub, id) = (hub.clone(), id.to_owned());
    blocking(move || {
        let known = hub.find(&id).map_err(|error| match error.is_missing() {
            true => ApiError::missing(format!("there is no job `{}`", id.escape_debug()))
                .suggest("`GET /v1/jobs` lists them"),
            false => error,
        })?;
        let standing = JobSummary::of(&hub.home().peek(&id)?, hub.home().is_open(&known.id));
        standing.ok_or_else(|| {
            ApiError::missing(format!("the session `{id}` is not a job")).suggest("`GET /v1/jobs` lists them")
        })
    })
    .await
}

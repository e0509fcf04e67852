//! Jobs of a fleet: created, listed, stopped, retried.
use super::{Context, find, name_of, no_job, seen_by, unsure};
use crate::{
    access_log::OfSession,
    api::{
        body::{Asked, Body, Id},
        pages::{self, JobsWanted},
        sessions::made_as,
    },
    error::{Answer, ApiError, ErrorBody},
    gate::Asker,
    requests::Key,
};
use axum::{
    Extension, Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use haft_core::JobStatus;
use haft_fleet::{DEFAULT_QUEUE, JobLine, NewJob, Owner, new_job};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

/// How a job stands that waits for a person.
pub(super) const WAITING: &str = "waiting";

/// A job to do.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// Agent: `builder`, `debugger`, `reviewer`, `triager` or another one that the server knows [default: builder]
    kind: Option<String>,
    /// What to do
    description: String,
    /// URL of the repository; an empty folder where there is none
    repository: Option<String>,
    /// Commit or branch to begin with [default: what the repository calls HEAD]
    base: Option<String>,
    /// The larger number goes first
    #[serde(default)]
    priority: i32,
    /// Queue: workers of it, and workers of all queues take the job [default: default]
    queue: Option<String>,
}

/// A job, with the fields that a server without a fleet gives, and those of a fleet.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Job {
    job: String,
    kind: String,
    /// `pending`, `running`, `waiting` (for a person), `completed`, `failed` or `cancelled`
    pub(super) status: &'static str,
    /// What to do; in lists, the first line of it
    description: String,
    /// The branch that its commits are on
    branch: Option<String>,
    /// Why it stands so
    progress: String,
    /// What it came to
    output: Option<Value>,
    /// Owner who submitted it
    owner: String,
    /// Which workers may take it
    queue: String,
    /// How often it was begun
    attempts: i32,
    /// Name of the worker that has it, or had it last
    worker: Option<String>,
    /// The last commit of its branch
    commit: Option<String>,
}

impl From<JobLine> for Job {
    fn from(line: JobLine) -> Self {
        let status = match line.status.as_str() {
            "pending" => "pending",
            "running" => "running",
            WAITING => WAITING,
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
            queue: line.queue,
            attempts: line.attempts,
            worker: line.worker,
            commit: line.head,
        }
    }
}

/// Queue a job
///
/// On return it is in the database; a worker takes it as soon as one is free.
#[utoipa::path(post, path = "/v1/jobs", operation_id = "create_job", tag = "jobs", request_body = New,
    responses((status = CREATED, body = Job), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn create(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Key(key): Key,
    Body(new): Body<New>,
) -> Answer<Response> {
    if new.description.trim().is_empty() {
        return Err(
            ApiError::wrong("missing 'description' in input").suggest("say what to do in `description`")
        );
    }
    let fleet = &context.fleet;
    let owner = name_of(&asker).unwrap_or(&fleet.admin).clone();
    let kind = new.kind.unwrap_or_else(|| "builder".to_owned());
    let made = new_job(&fleet.app, made_as(key), kind, new.description, owner)?;
    let queue = new.queue.unwrap_or_else(|| DEFAULT_QUEUE.to_owned());
    let made = NewJob { repository: new.repository, base: new.base, priority: new.priority, queue, ..made };
    haft_fleet::add(&fleet.database, &made).await.map_err(unsure)?;
    let job = find(&context, &asker, &made.id.0).await?;
    Ok((StatusCode::CREATED, Extension(OfSession(made.id)), Json(job)).into_response())
}

/// Which jobs of a fleet a list shows, besides [`JobsWanted`].
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct JobsOf {
    /// Only jobs of this queue
    queue: Option<String>,
    /// Only jobs of this owner, for those who see the jobs of all
    owner: Option<String>,
}

/// Some jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobPage {
    /// Newest first
    jobs: Vec<Job>,
    /// Give it as `after` for those that come next; none at the end
    next: Option<String>,
}

/// List jobs
///
/// Those of the owner whose token it is; with the server's own token, all.
#[utoipa::path(get, path = "/v1/jobs", operation_id = "list_jobs", tag = "jobs", params(JobsWanted, JobsOf), responses((status = OK, body = JobPage), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn list(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Asked(wanted): Asked<JobsWanted>,
    Asked(of): Asked<JobsOf>,
) -> Answer<Json<JobPage>> {
    let limit = pages::limit(wanted.limit);
    let found = listed(&context, &asker, (&wanted, &of), limit).await?;
    let (found, next) = pages::page(found, limit, |job| job.id.clone());
    Ok(Json(JobPage { jobs: found.into_iter().map(Job::from).collect(), next }))
}

/// Returns the `wanted` jobs, and one more than `limit` if there are more.
pub(super) async fn listed(
    context: &Context,
    asker: &Asker,
    (wanted, of): (&JobsWanted, &JobsOf),
    limit: usize,
) -> Answer<Vec<JobLine>> {
    let statuses = match wanted.status()? {
        None => Vec::new(),
        // A job that was tried too often counts as failed.
        Some(JobStatus::Failed) => vec!["failed".to_owned(), "dead".to_owned()],
        Some(status) => vec![status.to_string()],
    };
    let after = wanted.after.as_deref();
    if let Some(after) = after {
        find(context, asker, after).await?;
    }
    let chosen = of.owner.clone().map(Owner);
    let owner = match (seen_by(asker), &chosen) {
        (Some(own), Some(chosen)) if chosen != own => return Ok(Vec::new()),
        (own, chosen) => own.or(chosen.as_ref()),
    };
    let queue = of.queue.as_deref();
    let wanted = haft_fleet::JobsWanted { statuses, queue, after, most: limit as i64 + 1 };
    Ok(haft_fleet::jobs(&context.fleet.database, owner, &wanted).await?)
}

/// Show a job
#[utoipa::path(get, path = "/v1/jobs/{id}", operation_id = "show_job", tag = "jobs", params(("id" = String, Path, description = "ID of a job")),
    responses((status = OK, body = Job), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn show(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Json<Job>> {
    find(&context, &asker, &id).await.map(Json)
}

/// Stop a job
///
/// One that was tried too often becomes `cancelled`, too.
#[utoipa::path(post, path = "/v1/jobs/{id}/cancel", operation_id = "cancel_job", tag = "jobs", params(("id" = String, Path, description = "ID of a job")),
    responses((status = ACCEPTED, body = Job), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn cancel(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Response> {
    let before = haft_fleet::cancel(&context.fleet.database, &id, seen_by(&asker)).await?;
    let before = before.ok_or_else(|| no_job(&id))?;
    if !before.can_be_cancelled() {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", before.status)));
    }
    Ok((StatusCode::ACCEPTED, Json(find(&context, &asker, &id).await?)).into_response())
}

/// Try a job again that failed, was stopped, or was tried too often
#[utoipa::path(post, path = "/v1/jobs/{id}/retry", operation_id = "retry_job", tag = "jobs", params(("id" = String, Path, description = "ID of a job")),
    responses((status = ACCEPTED, body = Job), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn retry(
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

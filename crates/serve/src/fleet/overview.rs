//! [`FleetOverview`]: a fleet at one moment, as `GET /v1/fleet` and `haft fleet status --json` give it.
use super::Context;
use crate::{
    error::{Answer, ErrorBody},
    gate::Asker,
};
use axum::{Extension, Json, extract::State};
use haft_fleet::{
    Database, FleetError, JobCount, JobLine, LimitUsage, Limited, Owner, Paused, Period, Status, WorkerLine,
};
use haft_present::timeline::rounded_usd;
use serde::Serialize;
use utoipa::ToSchema;

/// A fleet at one moment
#[derive(Debug, Serialize, ToSchema)]
pub struct FleetOverview {
    /// Workers that were heard of in the last day
    workers: Vec<FleetWorker>,
    /// How many jobs of each owner and queue are in each status
    jobs: Vec<FleetJobs>,
    /// Jobs that are out of attempts, newest first, at most 20
    dead: Vec<DeadJob>,
    paused: FleetPauses,
    /// Limits of owners, then of queues
    limits: Vec<FleetLimit>,
    /// What the jobs of each queue have cost
    costs: Vec<QueueCost>,
    /// Seconds that the oldest job that could begin has waited; `null` without such a job
    oldest_waits_seconds: Option<f64>,
}

/// A worker
#[derive(Debug, Serialize, ToSchema)]
struct FleetWorker {
    /// ID of this process
    instance: String,
    /// Name, which several workers may share
    name: String,
    /// Version of Haft
    version: String,
    /// Seconds since it was heard of last
    seen_seconds_ago: f64,
    /// It takes no more jobs
    draining: bool,
    /// It has ended, or cannot reach the database
    gone: bool,
    /// Number of jobs that it has
    running: i64,
    /// Queues whose jobs it takes; empty: all
    queues: Vec<String>,
}

/// Number of jobs of an owner in a queue that have the same status
#[derive(Debug, Serialize, ToSchema)]
struct FleetJobs {
    owner: String,
    queue: String,
    status: FleetJobStatus,
    count: i64,
}

/// Status of a job in a fleet
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FleetJobStatus {
    /// No worker has it
    Pending,
    /// A worker has it
    Running,
    /// It waits for a person
    Waiting,
    /// Done, with evidence
    Completed,
    /// Not done
    Failed,
    /// A person stopped it
    Cancelled,
    /// It could not be worked on, and is out of attempts; `GET /v1/jobs` lists it as `failed`
    Dead,
}

/// A job that is out of attempts
#[derive(Debug, Serialize, ToSchema)]
struct DeadJob {
    /// ID of the job
    job: String,
    owner: String,
    queue: String,
    /// First line of its description
    title: String,
    /// Number of times that it was begun
    attempts: i32,
    /// Why the last attempt ended
    reason: Option<String>,
}

/// Jobs that no worker begins; those that run go on
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct FleetPauses {
    /// All jobs
    fleet: bool,
    /// Jobs of these owners
    owners: Vec<String>,
    /// Jobs of these queues
    queues: Vec<String>,
}

/// What the jobs of an owner or of a queue may use together, and what they use
#[derive(Debug, Serialize, ToSchema)]
pub struct FleetLimit {
    /// Owner whose jobs it limits; `null` if it limits a queue
    owner: Option<String>,
    /// Queue whose jobs it limits; `null` if it limits an owner
    queue: Option<String>,
    /// Maximum number of jobs that workers have; `null`: no limit
    max_running: Option<i32>,
    /// Maximum number of pending jobs; `null`: no limit
    max_pending: Option<i32>,
    /// US dollars that a period may cost; `null`: no limit
    budget_usd: Option<f64>,
    /// Period of the budget
    period: Option<BudgetPeriod>,
    /// Number of jobs that workers have
    running: i64,
    /// Number of pending jobs
    pending: i64,
    /// US dollars that the period has cost; 0 without a budget
    spent_usd: f64,
    /// Why no further job begins; `null` if one can
    reached: Option<String>,
}

/// Period of a budget, in UTC
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BudgetPeriod {
    /// A day, from midnight to midnight
    Day,
    /// A week, from Monday to Sunday
    Week,
    /// A month of the calendar
    Month,
}

/// What the jobs of a queue have cost
#[derive(Debug, Serialize, ToSchema)]
struct QueueCost {
    queue: String,
    /// US dollars, as far as prices are known
    usd: f64,
}

impl FleetOverview {
    /// Reads it from the database.
    ///
    /// # Errors
    /// If PostgreSQL cannot be reached.
    pub async fn read(database: &Database) -> Result<Self, FleetError> {
        let (status, costs) = tokio::try_join!(haft_fleet::status(database), haft_fleet::costs(database))?;
        let Status { counts, workers, dead, paused, limits, oldest_waits } = status;
        Ok(Self {
            workers: workers.into_iter().map(FleetWorker::from).collect(),
            jobs: counts.into_iter().map(FleetJobs::from).collect(),
            dead: dead.into_iter().map(DeadJob::from).collect(),
            paused: FleetPauses::of(paused),
            limits: limits.iter().map(FleetLimit::from).collect(),
            costs: costs.into_iter().map(|(queue, usd)| QueueCost { queue, usd: rounded_usd(usd) }).collect(),
            oldest_waits_seconds: oldest_waits,
        })
    }
}

impl From<WorkerLine> for FleetWorker {
    fn from(line: WorkerLine) -> Self {
        let gone = line.is_gone();
        let WorkerLine { instance, name, version, seen, is_draining: draining, running, queues } = line;
        Self { instance, name, version, seen_seconds_ago: seen, draining, gone, running, queues }
    }
}

impl From<JobCount> for FleetJobs {
    fn from(JobCount { owner, queue, status, count }: JobCount) -> Self {
        let status = match status.as_str() {
            "pending" => FleetJobStatus::Pending,
            "running" => FleetJobStatus::Running,
            "waiting" => FleetJobStatus::Waiting,
            "completed" => FleetJobStatus::Completed,
            "cancelled" => FleetJobStatus::Cancelled,
            "dead" => FleetJobStatus::Dead,
            _ => FleetJobStatus::Failed,
        };
        Self { owner, queue, status, count }
    }
}

impl From<JobLine> for DeadJob {
    fn from(line: JobLine) -> Self {
        let JobLine { id: job, owner, queue, title, attempts, reason, .. } = line;
        Self { job, owner, queue, title, attempts, reason }
    }
}

impl FleetPauses {
    pub(super) fn of(paused: Vec<Paused>) -> Self {
        let mut pauses = Self::default();
        for paused in paused {
            match paused {
                Paused::All => pauses.fleet = true,
                Paused::Owner(Owner(name)) => pauses.owners.push(name),
                Paused::Queue(name) => pauses.queues.push(name),
            }
        }
        pauses
    }
}

impl From<&LimitUsage> for FleetLimit {
    fn from(usage: &LimitUsage) -> Self {
        let (owner, queue) = match usage.of.clone() {
            Limited::Owner(Owner(name)) => (Some(name), None),
            Limited::Queue(name) => (None, Some(name)),
        };
        let (budget_usd, period) = usage.limits.budget.unzip();
        Self {
            owner,
            queue,
            max_running: usage.limits.running,
            max_pending: usage.limits.pending,
            budget_usd,
            period: period.map(BudgetPeriod::from),
            running: usage.running,
            pending: usage.pending,
            spent_usd: usage.spent_usd,
            reached: usage.reached(),
        }
    }
}

impl From<Period> for BudgetPeriod {
    fn from(period: Period) -> Self {
        match period {
            Period::Day => Self::Day,
            Period::Week => Self::Week,
            Period::Month => Self::Month,
        }
    }
}

/// Show workers, jobs by status, dead jobs, pauses, limits and costs
///
/// Only for administrators: it is of all owners.
#[utoipa::path(get, path = "/v1/fleet", operation_id = "show_fleet", tag = "server",
    responses((status = OK, body = FleetOverview), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn show(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
) -> Answer<Json<FleetOverview>> {
    asker.administers()?;
    Ok(Json(FleetOverview::read(&context.fleet.database).await?))
}

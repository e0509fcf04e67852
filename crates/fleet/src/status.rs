//! [`Status`]: an overview of a fleet: its workers, its jobs by status, and the jobs that users must decide on.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    jobs::{JobLine, JobsWanted, jobs},
    limits::{LimitUsage, limits},
    pauses::{Paused, pauses},
    queues::SILENCE_SECONDS,
};
use haft_core::Usage;
use tokio_postgres::{Row, types::Type};

/// Maximum number of jobs that are listed.
const MAX_LISTED_JOBS: i64 = 20;
/// Seconds after which a silent worker is not shown.
const WORKER_EXPIRY_SECONDS: f64 = 86_400.0;

/// The state of a fleet at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Number of jobs by owner, queue and status.
    pub counts: Vec<JobCount>,
    /// Workers of the fleet.
    pub workers: Vec<WorkerLine>,
    /// Jobs without attempts left.
    pub dead: Vec<JobLine>,
    /// Owners and queues whose jobs no worker begins.
    pub paused: Vec<Paused>,
    /// The limits of owners and queues, and how much of them is used.
    pub limits: Vec<LimitUsage>,
    /// How long the oldest job that could begin has been waiting, in seconds.
    pub oldest_waits: Option<f64>,
}

/// The number of jobs with the same owner, queue and status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCount {
    /// Owner who submitted them.
    pub owner: String,
    /// Their queue.
    pub queue: String,
    /// Their status, as in [`JobLine::status`].
    pub status: String,
    /// Number of jobs.
    pub count: i64,
}

/// A worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerLine {
    /// A unique ID of the worker's process.
    pub instance: String,
    /// Its name.
    pub name: String,
    /// Version of the worker's program.
    pub version: String,
    /// Seconds since its last report.
    pub seen: f64,
    /// Whether it takes no more jobs.
    pub is_draining: bool,
    /// How many jobs it has.
    pub running: i64,
    /// The queues whose jobs it takes; empty for all.
    pub queues: Vec<String>,
}

impl WorkerLine {
    /// Whether the worker has ended, or cannot reach the database.
    pub fn is_gone(&self) -> bool {
        self.seen > SILENCE_SECONDS
    }
}

/// Reads the status of the fleet.
pub async fn status(database: &Database) -> Result<Status, FleetError> {
    let ask = async |statement: &str, parameters: Parameters<'_>| {
        database.query_within(SHORT, "look at the fleet", statement, parameters).await
    };
    let counts =
        ask("SELECT owner, queue, stands, count(*) FROM standing GROUP BY 1, 2, 3 ORDER BY 1, 2, 3", &[])
            .await?;
    let workers = ask(
        "SELECT instance, name, version, extract(epoch FROM clock_timestamp() - seen)::float8, is_draining, \
           (SELECT count(*) FROM jobs WHERE worker = instance AND status = 'running'), queues FROM workers \
         WHERE seen > clock_timestamp() - $1 * interval '1 second' ORDER BY name, instance",
        &[(&WORKER_EXPIRY_SECONDS, Type::FLOAT8)],
    )
    .await?;
    let oldest = ask(
        "SELECT extract(epoch FROM clock_timestamp() - min(greatest(made, run_after)))::float8 FROM jobs j \
         WHERE status = 'pending' AND run_after <= clock_timestamp() \
           AND NOT EXISTS (SELECT FROM pauses p WHERE p.owner IN ('*', j.owner)) \
           AND NOT EXISTS (SELECT FROM queue_pauses p WHERE p.queue = j.queue)",
        &[],
    )
    .await?;
    let dead =
        JobsWanted { statuses: vec!["dead".to_owned()], most: MAX_LISTED_JOBS, ..JobsWanted::default() };
    Ok(Status {
        counts: counts
            .iter()
            .map(|row| JobCount {
                owner: row.get(0),
                queue: row.get(1),
                status: row.get(2),
                count: row.get(3),
            })
            .collect(),
        workers: workers
            .iter()
            .map(|row| WorkerLine {
                instance: row.get(0),
                name: row.get(1),
                version: row.get(2),
                seen: row.get(3),
                is_draining: row.get(4),
                running: row.get(5),
                queues: row.get(6),
            })
            .collect(),
        dead: jobs(database, None, &dead).await?,
        paused: pauses(database).await?,
        limits: limits(database).await?,
        oldest_waits: oldest.first().and_then(|row| row.get(0)),
    })
}

/// What the jobs of each queue have cost so far, in US dollars, as far as prices are known.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn costs(database: &Database) -> Result<Vec<(String, f64)>, FleetError> {
    let statement = "SELECT queue, sum(usd) FROM spending GROUP BY queue ORDER BY queue";
    let rows = database.query_within(SHORT, "look at costs", statement, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// The number of turns that ended in a queue with the same outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnCount {
    /// Queue of their jobs.
    pub queue: String,
    /// How they ended, as the journal writes it.
    pub outcome: String,
    /// Number of turns.
    pub count: u64,
    /// Their tokens, including the sessions that they delegated to.
    pub usage: Usage,
}

/// Turns that have ended so far, by queue and outcome.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn turns(database: &Database) -> Result<Vec<TurnCount>, FleetError> {
    let statement =
        "SELECT queue, outcome, ended, input, output, cache_read, cache_write FROM turns ORDER BY 1, 2";
    let rows = database.query_within(SHORT, "look at turns", statement, &[]).await?;
    let count = |row: &Row, column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or_default();
    let turn = |row: &Row| TurnCount {
        queue: row.get(0),
        outcome: row.get(1),
        count: count(row, 2),
        usage: Usage {
            input: count(row, 3),
            output: count(row, 4),
            cache_read: count(row, 5),
            cache_write: count(row, 6),
        },
    };
    Ok(rows.iter().map(turn).collect())
}

/// Tells the workers named `name` (`None`: all workers) to take no more jobs, and to end when they have none. If not
/// `wanted`: tells those that still have jobs to take jobs again. Returns the number of workers.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn drain(database: &Database, name: Option<&str>, wanted: bool) -> Result<i64, FleetError> {
    let statement = "WITH told AS (UPDATE workers SET is_draining = $3 WHERE ($1::text IS NULL OR name = $1 OR instance = $1) \
           AND seen > clock_timestamp() - $2 * interval '1 second' AND (is_draining OR $3) RETURNING 1) SELECT count(*) FROM told";
    let parameters: Parameters<'_> =
        &[(&name, Type::TEXT), (&SILENCE_SECONDS, Type::FLOAT8), (&wanted, Type::BOOL)];
    let rows = database.query_within(SHORT, "drain workers", statement, parameters).await?;
    Ok(rows[0].get(0))
}

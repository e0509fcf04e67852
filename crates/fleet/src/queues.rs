//! [`QueueAccess`]: queues, which decide which workers may take a job and which owners may submit one. A queue exists
//! as soon as a job or a worker names it.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    owners::{Owner, check_name},
};
use tokio_postgres::types::Type;

/// Seconds without a report after which a worker counts as gone. It reports at least once in every third of its lease.
pub(crate) const SILENCE_SECONDS: f64 = 60.0;

/// The queue of jobs that name no queue.
pub const DEFAULT_QUEUE: &str = "default";

/// Fails if `name` is not a valid name of a queue.
///
/// # Errors
/// [`FleetError::Usage`] unless it has letters, digits and `-_.@+`, at most 64.
pub fn check_queue(name: &str) -> Result<(), FleetError> {
    check_name("a queue", name)
}

/// Fails if `name` is not a valid name of a worker.
///
/// # Errors
/// [`FleetError::Usage`] unless it has letters, digits and `-_.@+`, at most 64.
pub fn check_worker(name: &str) -> Result<(), FleetError> {
    check_name("the name of a worker", name)
}

/// A queue that only some owners may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueAccess {
    /// The queue.
    pub queue: String,
    /// Owners who may submit jobs to it, in addition to the administrator.
    pub owners: Vec<Owner>,
}

/// Lets only these owners and the administrator submit jobs to `queue`; an empty list lets all owners. Jobs that are
/// already in the queue stay in it.
///
/// # Errors
/// [`FleetError::Usage`] if the name of the queue is invalid or there is no such owner; if PostgreSQL cannot be reached.
pub async fn set_access(database: &Database, queue: &str, owners: &[Owner]) -> Result<(), FleetError> {
    check_queue(queue)?;
    let statement = "WITH kept AS (DELETE FROM queue_owners WHERE queue = $1 AND owner <> ALL ($2)) \
         INSERT INTO queue_owners SELECT DISTINCT $1, owner FROM unnest($2) AS owner ON CONFLICT DO NOTHING";
    let owners: Vec<&str> = owners.iter().map(|owner| owner.0.as_str()).collect();
    let parameters: Parameters<'_> = &[(&queue, Type::TEXT), (&owners, Type::TEXT_ARRAY)];
    database.query_within(SHORT, "set who may use a queue", statement, parameters).await.map(|_| ())
}

/// The queues that not all owners may use, by name.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn access(database: &Database) -> Result<Vec<QueueAccess>, FleetError> {
    let statement =
        "SELECT queue, array_agg(owner ORDER BY owner) FROM queue_owners GROUP BY queue ORDER BY queue";
    let rows = database.query_within(SHORT, "read who may use queues", statement, &[]).await?;
    let owners = |names: Vec<String>| names.into_iter().map(Owner).collect();
    Ok(rows.iter().map(|row| QueueAccess { queue: row.get(0), owners: owners(row.get(1)) }).collect())
}

/// The queues of each worker that takes jobs; empty for all queues.
pub(crate) async fn queues_taken(database: &Database) -> Result<Vec<Vec<String>>, FleetError> {
    let statement = "SELECT DISTINCT queues FROM workers \
         WHERE NOT is_draining AND seen > clock_timestamp() - $1 * interval '1 second'";
    let parameters: Parameters<'_> = &[(&SILENCE_SECONDS, Type::FLOAT8)];
    let rows = database.query_within(SHORT, "look at workers", statement, parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

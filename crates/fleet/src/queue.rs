//! [`claim`], [`renew`], [`put_back`] and [`settle`]: what workers do with jobs. Each is one statement that checks the
//! token.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    lease::Lease,
    owners::Owner,
};
use haft_core::{Command, Conclusion, JobStatus, SessionId};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_postgres::{Row, types::Type};

/// The delay after a first failed attempt. It doubles with each further one, up to five minutes.
const BACK_OFF: Duration = Duration::from_secs(2);

/// The data that a worker needs of a job that it has claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// ID of the job.
    pub id: SessionId,
    /// The fencing token of this attempt.
    pub token: i64,
    /// Number of the attempt, counted from 1.
    pub attempt: i32,
    /// The URL of its repository.
    pub repository: Option<String>,
    /// The commit or branch that it begins at.
    pub base: Option<String>,
    /// The last commit of an earlier attempt, and the token of that attempt.
    pub head: Option<(String, i64)>,
    /// Owner who submitted it.
    pub owner: Owner,
    /// The queue in which it was.
    pub queue: String,
    /// The setup commands of that queue, if any.
    pub setup: Option<String>,
    /// Whether it was canceled.
    pub is_cancelled: bool,
    /// The rest of the budgets of its owner and its queue, in US dollars; `None` without a budget.
    pub left_usd: Option<f64>,
}

/// Claims the next job of these queues (empty for all) that may begin; the function `claim_job` of the migrations
/// chooses it. `None` if no job can begin.
pub async fn claim(
    database: &Database,
    worker: &str,
    length: Duration,
    queues: &[String],
) -> Result<Option<Claimed>, FleetError> {
    let statement = "SELECT id, token, attempts, repository, base, head, head_token, owner, is_cancelled, \
           (SELECT min(greatest(u.budget_usd - u.used_usd, 0)) FROM limit_usage u \
             WHERE u.budget_usd IS NOT NULL AND (u.owner = j.owner OR u.queue = j.queue)), queue, \
           (SELECT commands FROM queue_setups s WHERE s.queue = j.queue) \
         FROM claim_job($1, $2, $3) j";
    let length = length.as_secs_f64();
    let parameters: Parameters<'_> =
        &[(&worker, Type::TEXT), (&length, Type::FLOAT8), (&queues, Type::TEXT_ARRAY)];
    let rows = database.query("claim a job", statement, parameters).await?;
    Ok(rows.first().map(claimed))
}

/// Puts back the jobs that `worker` claimed and does not have, without counting an attempt: PostgreSQL carried out a claim
/// whose answer was lost. `leases`: the jobs that it has.
pub async fn release_others(
    database: &Database,
    worker: &str,
    leases: &[Arc<Lease>],
) -> Result<(), FleetError> {
    let statement = "UPDATE jobs SET token = token + 1, worker = NULL, leased_until = NULL, attempts = attempts - 1, \
         status = 'pending', run_after = clock_timestamp() \
       WHERE worker = $1 AND status = 'running' AND id <> ALL($2) RETURNING pg_notify('haft_jobs', id)";
    let known: Vec<&str> = leases.iter().map(|lease| lease.job.0.as_str()).collect();
    let parameters: Parameters<'_> = &[(&worker, Type::TEXT), (&known, Type::TEXT_ARRAY)];
    database.query("put back jobs of a lost answer", statement, parameters).await.map(|_| ())
}

fn claimed(row: &Row) -> Claimed {
    let (head, by): (Option<String>, Option<i64>) = (row.get(5), row.get(6));
    Claimed {
        id: SessionId(row.get(0)),
        token: row.get(1),
        attempt: row.get(2),
        repository: row.get(3),
        base: row.get(4),
        head: head.zip(by),
        owner: Owner(row.get(7)),
        is_cancelled: row.get(8),
        left_usd: row.get(9),
        queue: row.get(10),
        setup: row.get(11),
    }
}

/// Records the commit of the work tree that an attempt has made. The next attempt begins at the same commit, wherever
/// the repository's HEAD is by then.
pub(crate) async fn begin_at(database: &Database, lease: &Lease, commit: &str) -> Result<(), FleetError> {
    let statement = "UPDATE jobs SET base = $3 WHERE id = $1 AND token = $2 AND status = 'running' \
         AND leased_until > clock_timestamp() AND head IS NULL RETURNING 1";
    let parameters: Parameters<'_> =
        &[(&lease.job.0, Type::TEXT), (&lease.token, Type::INT8), (&commit, Type::TEXT)];
    database
        .query_until(|| !lease.lasts(), "record where a job begins", statement, parameters)
        .await
        .map(|_| ())
}

/// The response of PostgreSQL to a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Whether the worker is to take no more jobs.
    pub is_draining: bool,
    /// Jobs of the worker that were canceled.
    pub cancelled: Vec<String>,
    /// Jobs of the worker for which commands wait.
    pub commanded: Vec<String>,
}

/// Reports that the worker lives, and renews these leases. Leases that PostgreSQL does not renew are lost.
pub async fn renew(
    database: &Database,
    worker: &str,
    leases: &[std::sync::Arc<Lease>],
    length: Duration,
) -> Result<Heard, FleetError> {
    let statement = "WITH held AS (SELECT * FROM unnest($2::text[], $3::int8[]) AS held (id, token)), \
       renewed AS (UPDATE jobs SET leased_until = clock_timestamp() + $4::float8 * interval '1 second' FROM held \
         WHERE jobs.id = held.id AND jobs.token = held.token AND jobs.status = 'running' \
           AND jobs.leased_until > clock_timestamp() RETURNING jobs.id, is_cancelled), \
       seen AS (UPDATE workers SET seen = clock_timestamp() WHERE instance = $1 RETURNING is_draining) \
       SELECT coalesce((SELECT is_draining FROM seen), true), ARRAY(SELECT id FROM renewed), \
         ARRAY(SELECT id FROM renewed WHERE is_cancelled), \
         ARRAY(SELECT DISTINCT job FROM commands, renewed WHERE job = renewed.id)";
    let (sent, seconds) = (Instant::now(), length.as_secs_f64());
    let jobs: Vec<&str> = leases.iter().map(|lease| lease.job.0.as_str()).collect();
    let tokens: Vec<i64> = leases.iter().map(|lease| lease.token).collect();
    let parameters: Parameters<'_> = &[
        (&worker, Type::TEXT),
        (&jobs, Type::TEXT_ARRAY),
        (&tokens, Type::INT8_ARRAY),
        (&seconds, Type::FLOAT8),
    ];
    let rows = database.query("renew leases", statement, parameters).await?;
    let renewed: Vec<String> = rows[0].get(1);
    for lease in leases {
        if renewed.contains(&lease.job.0) { lease.renewed(sent) } else { lease.lose() }
    }
    Ok(Heard { is_draining: rows[0].get(0), cancelled: rows[0].get(2), commanded: rows[0].get(3) })
}

/// Takes jobs from workers whose leases have ended, so that other workers can claim them. Jobs without attempts left
/// become dead. Returns how many jobs are pending again, and how many are dead.
pub async fn sweep(database: &Database) -> Result<(i64, i64), FleetError> {
    let statement = "WITH late AS (SELECT id FROM jobs WHERE status = 'running' AND leased_until <= clock_timestamp() \
         FOR UPDATE SKIP LOCKED), \
       swept AS (UPDATE jobs SET token = token + 1, worker = NULL, leased_until = NULL, \
           status = CASE WHEN is_cancelled THEN 'cancelled' WHEN attempts >= max_attempts THEN 'dead' ELSE 'pending' END, \
           ended = CASE WHEN is_cancelled OR attempts >= max_attempts THEN clock_timestamp() END, \
           reason = CASE WHEN is_cancelled THEN $2 ELSE 'its worker was not heard of any more' END, \
           conclusion = CASE WHEN is_cancelled THEN $3 ELSE conclusion END, \
           run_after = clock_timestamp() + least(300, $1::float8 * 2 ^ (attempts - 1)) * interval '1 second' \
         FROM late WHERE jobs.id = late.id RETURNING jobs.id, status) \
       SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'dead'), \
         max(pg_notify('haft_jobs', id)::text) FROM swept";
    let pause = BACK_OFF.as_secs_f64();
    let conclusion = cancelled();
    let whole = serde_json::to_string(&conclusion).unwrap_or_default();
    let parameters: Parameters<'_> =
        &[(&pause, Type::FLOAT8), (&conclusion.reason, Type::TEXT), (&whole, Type::TEXT)];
    let rows = database.query("look for late workers", statement, parameters).await?;
    Ok((rows[0].get(0), rows[0].get(1)))
}

/// The conclusion of a job that was canceled.
pub(crate) fn cancelled() -> Conclusion {
    Conclusion {
        status: JobStatus::Cancelled,
        reason: "stopped by a person".to_owned(),
        evidence: Vec::new(),
    }
}

/// Puts a job back that the worker cannot continue. It is tried again after a delay, unless no attempts are left.
/// `counts`: whether it counts as an attempt; a worker that ends in an orderly way has not failed.
pub async fn put_back(database: &Database, lease: &Lease, why: &str, counts: bool) -> Result<(), FleetError> {
    let statement = "WITH back AS (UPDATE jobs SET token = token + 1, worker = NULL, leased_until = NULL, \
           attempts = CASE WHEN $4 THEN attempts ELSE attempts - 1 END, \
           status = CASE WHEN is_cancelled THEN 'cancelled' WHEN $4 AND attempts >= max_attempts THEN 'dead' \
             ELSE 'pending' END, \
           ended = CASE WHEN is_cancelled OR $4 AND attempts >= max_attempts THEN clock_timestamp() END, \
           reason = CASE WHEN is_cancelled THEN $6 ELSE $3 END, \
           conclusion = CASE WHEN is_cancelled THEN $7 ELSE conclusion END, \
           run_after = CASE WHEN $4 THEN clock_timestamp() \
             + least(300, $5::float8 * 2 ^ (attempts - 1)) * interval '1 second' ELSE clock_timestamp() END \
         WHERE id = $1 AND token = $2 AND status = 'running' RETURNING id) \
       SELECT pg_notify('haft_jobs', id) FROM back";
    let (why, pause) = (why.replace('\0', " "), BACK_OFF.as_secs_f64());
    let conclusion = cancelled();
    let whole = serde_json::to_string(&conclusion).unwrap_or_default();
    let parameters: Parameters<'_> = &[
        (&lease.job.0, Type::TEXT),
        (&lease.token, Type::INT8),
        (&why, Type::TEXT),
        (&counts, Type::BOOL),
        (&pause, Type::FLOAT8),
        (&conclusion.reason, Type::TEXT),
        (&whole, Type::TEXT),
    ];
    database.query_until(|| !lease.lasts(), "put a job back", statement, parameters).await?;
    Ok(())
}

/// Puts a job back that could not begin with the `left_usd` US dollars left by budgets. That does not count as an
/// attempt. The next attempt waits for a new period of the budget with the smallest rest, or for other limits.
pub(crate) async fn wait_for_budget(
    database: &Database,
    lease: &Lease,
    why: &str,
    left_usd: Option<f64>,
) -> Result<(), FleetError> {
    // A budget that was raised meanwhile has more left, so the job does not wait for it.
    let statement = "WITH short AS (SELECT u.period FROM limit_usage u JOIN jobs j ON u.owner = j.owner OR u.queue = j.queue \
         WHERE j.id = $1 AND u.budget_usd IS NOT NULL AND u.budget_usd - u.used_usd <= $4 ORDER BY u.budget_usd - u.used_usd LIMIT 1), \
       back AS (UPDATE jobs SET token = token + 1, worker = NULL, leased_until = NULL, attempts = attempts - 1, \
           status = 'pending', reason = $3, run_after = coalesce((SELECT (date_trunc(period, clock_timestamp() \
             AT TIME ZONE 'UTC') + ('1 ' || period)::interval) AT TIME ZONE 'UTC' FROM short), clock_timestamp()) \
         WHERE id = $1 AND token = $2 AND status = 'running' RETURNING id) \
       SELECT pg_notify('haft_jobs', id) FROM back";
    let parameters: Parameters<'_> = &[
        (&lease.job.0, Type::TEXT),
        (&lease.token, Type::INT8),
        (&why, Type::TEXT),
        (&left_usd, Type::FLOAT8),
    ];
    database.query_until(|| !lease.lasts(), "put a job back", statement, parameters).await.map(|_| ())
}

/// The result of settling a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The conclusion is recorded.
    Stands,
    /// The lease is lost: the conclusion does not count.
    Refused,
}

/// Ends a job, with the commit that is its result. Repeating the request has no further effect.
pub async fn settle(
    database: &Database,
    lease: &Lease,
    conclusion: &Conclusion,
    head: Option<&str>,
) -> Result<Settled, FleetError> {
    // The reason includes how the previous attempt ended: that may be why it failed, such as a push that was refused,
    // which the session does not know.
    let statement = "UPDATE jobs SET status = $3, conclusion = $5, head = coalesce($6, head), \
         reason = CASE WHEN $3 = 'failed' AND attempts > 1 AND reason IS NOT NULL \
           THEN $4 || '; the attempt before ended: ' || reason ELSE $4 END, \
         head_token = CASE WHEN $6 IS NULL THEN head_token ELSE token END, \
         leased_until = NULL, ended = clock_timestamp() \
       WHERE id = $1 AND token = $2 AND status = 'running' AND leased_until > clock_timestamp() \
       RETURNING pg_notify('haft_entries', id)";
    let Conclusion { status, reason, .. } = conclusion;
    let (status, reason) = (status.to_string(), reason.replace('\0', " "));
    let whole = serde_json::to_string(conclusion).unwrap_or_default();
    let parameters: Parameters<'_> = &[
        (&lease.job.0, Type::TEXT),
        (&lease.token, Type::INT8),
        (&status, Type::TEXT),
        (&reason, Type::TEXT),
        (&whole, Type::TEXT),
        (&head, Type::TEXT),
    ];
    let rows = database.query_until(|| !lease.lasts(), "settle a job", statement, parameters).await?;
    if !rows.is_empty() {
        return Ok(Settled::Stands);
    }
    // A connection that broke before its response arrived may have recorded the conclusion.
    let statement = "SELECT 1 FROM jobs WHERE id = $1 AND token = $2 AND conclusion = $3 AND status = $4";
    let parameters: Parameters<'_> = &[
        (&lease.job.0, Type::TEXT),
        (&lease.token, Type::INT8),
        (&whole, Type::TEXT),
        (&status, Type::TEXT),
    ];
    let rows = database.query_within(SHORT, "look at a job", statement, parameters).await?;
    Ok(if rows.is_empty() { Settled::Refused } else { Settled::Stands })
}

/// Takes the commands that were sent to a job, in order. The attempt that takes them carries them out.
pub(crate) async fn commands(database: &Database, lease: &Lease) -> Result<Vec<Command>, FleetError> {
    let statement = "WITH held AS MATERIALIZED (SELECT id FROM jobs WHERE id = $1 AND token = $2 \
         AND status = 'running' AND leased_until > clock_timestamp() FOR NO KEY UPDATE), \
       taken AS (DELETE FROM commands USING held WHERE job = held.id RETURNING number, command) \
       SELECT command FROM taken ORDER BY number";
    let parameters: Parameters<'_> = &[(&lease.job.0, Type::TEXT), (&lease.token, Type::INT8)];
    let rows = database.query("take commands", statement, parameters).await?;
    Ok(rows.iter().filter_map(|row| serde_json::from_str(row.get(0)).ok()).collect())
}

/// A branch that is not where the database says.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) job: SessionId,
    pub(crate) repository: String,
    /// The commit at which it should be, and the token of the attempt that uploaded it.
    pub(crate) head: String,
    pub(crate) token: i64,
    /// The commit to which a worker last moved it. It is moved only from there.
    pub(crate) stands: Option<String>,
}

/// Branches of the job `id` if it is over; without an ID, those of all jobs whose workers have had enough time to move
/// them.
pub(crate) async fn branches(database: &Database, id: Option<&SessionId>) -> Result<Vec<Branch>, FleetError> {
    let statement = "SELECT id, repository, head, head_token, published FROM jobs \
         WHERE published IS DISTINCT FROM head AND repository IS NOT NULL AND head_token IS NOT NULL \
           AND ended > clock_timestamp() - interval '1 day' \
           AND (id = $1 OR ($1::text IS NULL AND ended < clock_timestamp() - interval '10 seconds')) \
         ORDER BY ended LIMIT 10";
    let id = id.map(|id| id.0.as_str());
    let rows = database.query_within(SHORT, "look for branches", statement, &[(&id, Type::TEXT)]).await?;
    let branch = |row: &Row| Branch {
        job: SessionId(row.get(0)),
        repository: row.get(1),
        head: row.get(2),
        token: row.get(3),
        stands: row.get(4),
    };
    Ok(rows.iter().map(branch).collect())
}

/// Records that the branch of a job is at `head`.
pub(crate) async fn published(database: &Database, id: &SessionId, head: &str) -> Result<(), FleetError> {
    let statement = "UPDATE jobs SET published = $2 WHERE id = $1 AND head = $2 AND ended IS NOT NULL";
    let parameters: Parameters<'_> = &[(&id.0, Type::TEXT), (&head, Type::TEXT)];
    database.query_within(SHORT, "record a branch", statement, parameters).await.map(|_| ())
}

//! [`add`], [`send`], [`cancel`] and [`retry`]: submit jobs, send them commands, cancel them, and run them again.
//! [`jobs`] lists them.
use crate::{
    database::{Database, Parameters, SHORT},
    entries::entries_since,
    error::FleetError,
    git::is_address,
    limits::{limits, reason},
    owners::Owner,
    pauses::pauses,
    places::work_place,
    queue,
    queues::check_queue,
    queues::queues_taken,
};
use haft_core::{Command, Entry, Fact, JobSpec, Seq, SessionId, SessionOpened, event::JOURNAL_VERSION, line};
use std::time::SystemTime;
use tokio_postgres::{Row, types::Type};

/// A job to enqueue.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// ID of the job, which is that of its session.
    pub id: SessionId,
    /// Owner who submits the job.
    pub owner: Owner,
    /// The queue. Only workers of this queue, and workers of all queues, take the job.
    pub queue: String,
    /// The task; `repository` says where to work.
    pub order: JobSpec,
    /// The URL of the repository for Git; `None` to work in an empty folder.
    pub repository: Option<String>,
    /// The commit or branch to begin with; `None` for the repository's HEAD.
    pub base: Option<String>,
    /// Jobs with a larger number go first.
    pub priority: i32,
    /// Maximum number of attempts. After that, the job stays dead until a user runs it again.
    pub max_attempts: i32,
    /// The model that its first entry names.
    pub model: String,
    /// The profile that its first entry names.
    pub profile: String,
}

/// Maximum bytes of a job's description: more than a long task, and little enough for lists and journals.
const MAX_DESCRIPTION_BYTES: usize = 256 << 10;
/// Maximum characters of the first line of a description that lists show.
const MAX_TITLE_LENGTH: usize = 200;

/// Adds a job to the database, with the first entry of its journal, unless a job with its ID exists.
///
/// # Errors
/// [`FleetError::Limit`] if its owner or its queue already has the maximum number of pending jobs, [`FleetError::Usage`] if
/// the description is empty or too long.
pub async fn add(database: &Database, new: &NewJob) -> Result<(), FleetError> {
    let statement = "WITH put AS (INSERT INTO jobs (id, owner, kind, title, repository, base, priority, max_attempts, queue) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $10) ON CONFLICT DO NOTHING RETURNING id), \
                     begun AS (INSERT INTO entries SELECT id, id, 0, 0, $9 FROM put) \
                     SELECT pg_notify('haft_jobs', id) FROM put";
    let NewJob { id, owner, queue, order, repository, base, priority, max_attempts, .. } = new;
    check_queue(queue)?;
    if order.description.trim().is_empty() {
        return Err(FleetError::Usage("the job has no task: its description is empty".to_owned()));
    }
    if order.description.len() > MAX_DESCRIPTION_BYTES {
        return Err(FleetError::Usage(format!(
            "the description of the job has {} bytes; at most {MAX_DESCRIPTION_BYTES} are allowed: put the rest into a file of \
             the repository",
            order.description.len()
        )));
    }
    if let Some(url) = repository.as_deref().filter(|url| !is_address(url)) {
        let url = url.escape_debug();
        return Err(FleetError::Usage(format!(
            "`{url}` is not a repository: expected a URL or an absolute path"
        )));
    }
    if base.as_deref().is_some_and(|base| base.trim().is_empty()) {
        return Err(FleetError::Usage("the base of the job is empty: name a commit or a branch".to_owned()));
    }
    let line = order.description.lines().next().unwrap_or_default().replace('\0', " ");
    let title = match line.char_indices().nth(MAX_TITLE_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    let parameters: Parameters<'_> = &[
        (&id.0, Type::TEXT),
        (&owner.0, Type::TEXT),
        (&order.kind, Type::TEXT),
        (&title, Type::TEXT),
        (repository, Type::TEXT),
        (base, Type::TEXT),
        (priority, Type::INT4),
        (max_attempts, Type::INT4),
        (&first_line(new), Type::TEXT),
        (queue, Type::TEXT),
    ];
    database.query_within(SHORT, "put a job down", statement, parameters).await?;
    Ok(())
}

fn first_line(new: &NewJob) -> String {
    let workspace = work_place(&new.id);
    let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
    let order = JobSpec { origin: workspace.clone(), ..new.order.clone() };
    let fact = Fact::SessionOpened(SessionOpened {
        version: JOURNAL_VERSION,
        session: new.id.clone(),
        agent: order.kind.clone(),
        model: new.model.clone(),
        effort: None,
        workspace,
        profile: new.profile.clone(),
        delegated_by: None,
        order: Some(order),
        forked_from: None,
        user: None,
        commit: None,
    });
    line::of_entry(&Entry { seq: Seq(0), parent: None, at, fact, chain: None })
}

/// Cancels a job of `owner` (`None`: of any owner). A job without a worker, including a dead one, ends at once; for a
/// running job, the worker is notified. Returns the former status; `None` if there is no such job.
pub async fn cancel(
    database: &Database,
    id: &str,
    owner: Option<&Owner>,
) -> Result<Option<JobLine>, FleetError> {
    let Some(before) = job(database, id, owner).await? else { return Ok(None) };
    let conclusion = queue::cancelled();
    let whole = serde_json::to_string(&conclusion).unwrap_or_default();
    let statement = "UPDATE jobs SET is_cancelled = true, \
         token = CASE WHEN status = 'running' THEN token ELSE token + 1 END, \
         ended = CASE WHEN status <> 'running' THEN clock_timestamp() END, \
         reason = CASE status WHEN 'pending' THEN $2 WHEN 'dead' THEN concat_ws('; the last attempt ended: ', $2, reason) \
           ELSE reason END, \
         conclusion = CASE WHEN status <> 'running' THEN $3 END, \
         status = CASE WHEN status = 'running' THEN status ELSE 'cancelled' END \
       WHERE id = $1 AND status IN ('pending', 'running', 'dead') RETURNING pg_notify('haft_commands', id)";
    let parameters: Parameters<'_> =
        &[(&id, Type::TEXT), (&conclusion.reason, Type::TEXT), (&whole, Type::TEXT)];
    database.query_within(SHORT, "cancel a job", statement, parameters).await?;
    Ok(Some(before))
}

/// Puts a job of `owner` (`None`: of any owner) that is dead, failed or canceled back into the queue, once its branch
/// is published. Returns whether there is one. An owner must still be allowed to use the queue.
///
/// # Errors
/// [`FleetError::Denied`] if the owner may no longer use the queue; if PostgreSQL cannot be reached.
pub async fn retry(database: &Database, id: &str, owner: Option<&Owner>) -> Result<bool, FleetError> {
    let statement = "UPDATE jobs SET status = 'pending', attempts = 0, token = token + 1, run_after = '-infinity', \
         is_cancelled = false, ended = NULL, worker = NULL, conclusion = NULL, reason = NULL \
       WHERE id = $1 AND ($2::text IS NULL OR owner = $2) AND status IN ('dead', 'failed', 'cancelled') \
         AND published IS NOT DISTINCT FROM head \
       RETURNING pg_notify('haft_jobs', id)";
    let denied = "SELECT queue FROM jobs j WHERE id = $1 AND owner = $2 AND owner <> 'admin' \
         AND EXISTS (SELECT FROM queue_owners q WHERE q.queue = j.queue) \
         AND NOT EXISTS (SELECT FROM queue_owners q WHERE q.queue = j.queue AND q.owner = j.owner)";
    let owner = owner.map(|owner| owner.0.as_str());
    let parameters: Parameters<'_> = &[(&id, Type::TEXT), (&owner, Type::TEXT)];
    let rows = database.query_within(SHORT, "look at a queue", denied, parameters).await?;
    if let (Some(row), Some(owner)) = (rows.first(), owner) {
        let queue: String = row.get(0);
        return Err(FleetError::Denied(format!("the owner `{owner}` may not use the queue `{queue}`")));
    }
    let rows = database.query_within(SHORT, "put a job back", statement, parameters).await?;
    Ok(!rows.is_empty())
}

/// Sends commands to a job of `owner` (`None`: of any owner) that is not over: its attempt has not recorded a
/// conclusion. Returns whether there is one. Commands that were already sent with the same `request` are not sent again.
pub async fn send(
    database: &Database,
    id: &str,
    owner: Option<&Owner>,
    commands: &[Command],
    request: Option<&str>,
) -> Result<bool, FleetError> {
    let statement = "WITH job AS (SELECT id FROM jobs WHERE id = $1 AND ($2::text IS NULL OR owner = $2) \
         AND (status = 'pending' OR status = 'running' AND NOT EXISTS (SELECT FROM \
           (SELECT token, line FROM entries WHERE job = $1 AND session = $1 ORDER BY seq DESC LIMIT 1) last \
           WHERE last.token = jobs.token AND last.line LIKE '%\"type\":\"concluded\"%'))), \
       first AS (UPDATE requests SET is_sent = true FROM job WHERE name = $4 AND NOT is_sent RETURNING name), \
       sent AS (INSERT INTO commands (job, command) SELECT job.id, said.command \
         FROM job, unnest($3::text[]) WITH ORDINALITY AS said (command, place) \
         WHERE $4::text IS NULL OR EXISTS (SELECT FROM first) ORDER BY place) \
       SELECT pg_notify('haft_commands', id) FROM job";
    let owner = owner.map(|owner| owner.0.as_str());
    let commands: Vec<String> =
        commands.iter().map(|command| serde_json::to_string(command).unwrap_or_default()).collect();
    let parameters: Parameters<'_> =
        &[(&id, Type::TEXT), (&owner, Type::TEXT), (&commands, Type::TEXT_ARRAY), (&request, Type::TEXT)];
    let rows = match request {
        // Without a request name, a repetition after a lost response would send the commands twice.
        None => database.query("send a command", statement, parameters).await?,
        Some(_) => database.query_within(SHORT, "send a command", statement, parameters).await?,
    };
    Ok(!rows.is_empty())
}

/// A job in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLine {
    /// ID of the job.
    pub id: String,
    /// Owner who submitted it.
    pub owner: String,
    /// The queue that it is in.
    pub queue: String,
    /// The agent that does the job.
    pub kind: String,
    /// The first line of the task.
    pub title: String,
    /// `pending`, `running`, `waiting` (for an approval or an answer), `completed`, `failed`, `cancelled` or `dead`.
    pub status: String,
    /// Number of attempts so far.
    pub attempts: i32,
    /// Why it has this status. For a pending job: the pause or the limit that keeps it from beginning, or that no
    /// worker takes jobs of its queue. For a running job: how the previous attempt ended.
    pub reason: Option<String>,
    /// The name of the worker that has it.
    pub worker: Option<String>,
    /// The last commit of its branch.
    pub head: Option<String>,
    /// Its conclusion, as JSON.
    pub conclusion: Option<String>,
    /// When it was submitted, in seconds since 1970-01-01 UTC.
    pub made: f64,
    /// The cost of its ended turns, in US dollars, as far as prices are known.
    pub cost_usd: f64,
    /// The URL of its repository.
    pub repository: Option<String>,
    /// The commit or branch at which it begins.
    pub base: Option<String>,
    /// Among the jobs of its owner, larger numbers begin first.
    pub priority: i32,
}

impl JobLine {
    /// Whether [`cancel`] ends it: it is not over, or it is dead after its last attempt.
    pub fn can_be_cancelled(&self) -> bool {
        !self.is_over() || self.status == "dead"
    }

    /// Whether no worker works on it any more, unless it is run again.
    pub fn is_over(&self) -> bool {
        !matches!(self.status.as_str(), "pending" | "running" | "waiting")
    }
}

const LINE: &str = "SELECT j.id, j.owner, j.kind, j.title, j.stands, j.attempts, j.reason, w.name, j.head, j.conclusion, \
                    extract(epoch FROM j.made)::float8, j.queue, j.cost_usd, j.repository, j.base, j.priority FROM standing j LEFT JOIN workers w ON w.instance = j.worker";

/// Returns a job of `owner`; `None` for a job of any owner.
pub async fn job(
    database: &Database,
    id: &str,
    owner: Option<&Owner>,
) -> Result<Option<JobLine>, FleetError> {
    let statement = format!("{LINE} WHERE j.id = $1 AND ($2::text IS NULL OR j.owner = $2)");
    let owner = owner.map(|owner| owner.0.as_str());
    let parameters: Parameters<'_> = &[(&id, Type::TEXT), (&owner, Type::TEXT)];
    let rows = database.query_within(SHORT, "look at a job", &statement, parameters).await?;
    Ok(lines(database, &rows).await?.pop())
}

/// The whole task of `job`; the title is only its first line.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn description(database: &Database, job: &JobLine) -> Result<String, FleetError> {
    let first = entries_since(database, &job.id, 0, 1).await?;
    let opened = first.first().and_then(|(_, entry)| line::entry(entry.as_bytes()).ok());
    let Some(Fact::SessionOpened(SessionOpened { order: Some(order), .. })) = opened.map(|entry| entry.fact)
    else {
        return Ok(job.title.clone());
    };
    Ok(order.description)
}

/// The job with this ID, or the only job whose ID begins with `prefix`.
///
/// # Errors
/// [`FleetError::Usage`] if no job or several jobs have this prefix; if PostgreSQL cannot be reached.
pub async fn find(database: &Database, prefix: &str) -> Result<JobLine, FleetError> {
    let statement = format!("{LINE} WHERE starts_with(j.id, $1) ORDER BY j.id <> $1, j.made DESC LIMIT 2");
    let rows = database.query_within(SHORT, "look for a job", &statement, &[(&prefix, Type::TEXT)]).await?;
    let mut found = lines(database, &rows).await?;
    let shown = prefix.escape_debug();
    match found.len() {
        0 => Err(FleetError::Usage(format!(
            "the fleet has no job `{shown}`; `haft fleet list` lists its jobs"
        ))),
        2 if found[0].id != prefix => {
            Err(FleetError::Usage(format!("several jobs begin with `{shown}`: write more of the ID")))
        }
        _ => Ok(found.swap_remove(0)),
    }
}

/// A filter for a list of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobsWanted<'a> {
    /// Only jobs with these statuses; empty for all.
    pub statuses: Vec<String>,
    /// Only jobs of this queue; `None` for all.
    pub queue: Option<&'a str>,
    /// Only jobs after this one.
    pub after: Option<&'a str>,
    /// Maximum number of jobs.
    pub most: i64,
}

/// Jobs of `owner` (`None`: of any owner), the newest first.
pub async fn jobs(
    database: &Database,
    owner: Option<&Owner>,
    wanted: &JobsWanted<'_>,
) -> Result<Vec<JobLine>, FleetError> {
    let statement = format!(
        "{LINE} WHERE ($1::text IS NULL OR j.owner = $1) AND ($2::text[] = '{{}}' OR j.stands = ANY ($2)) \
         AND ($3::text IS NULL OR (j.made, j.id) < (SELECT made, id FROM jobs WHERE id = $3)) \
         AND ($5::text IS NULL OR j.queue = $5) ORDER BY j.made DESC, j.id DESC LIMIT $4"
    );
    let owner = owner.map(|owner| owner.0.as_str());
    let JobsWanted { statuses, queue, after, most } = wanted;
    let parameters: Parameters<'_> = &[
        (&owner, Type::TEXT),
        (statuses, Type::TEXT_ARRAY),
        (after, Type::TEXT),
        (most, Type::INT8),
        (queue, Type::TEXT),
    ];
    let rows = database.query_within(SHORT, "list jobs", &statement, parameters).await?;
    lines(database, &rows).await
}

/// Adds reasons. The reason of a pending job is the pause or the limit that keeps it from beginning, or that no worker
/// takes jobs of its queue. The reason of a running job is how the previous attempt ended.
async fn lines(database: &Database, rows: &[Row]) -> Result<Vec<JobLine>, FleetError> {
    let mut lines: Vec<JobLine> = rows.iter().map(job_line).collect();
    for line in lines.iter_mut().filter(|line| line.status != "pending" && !line.is_over()) {
        line.reason = line.reason.take().map(|reason| format!("the attempt before ended: {reason}"));
    }
    if lines.iter().any(|line| line.status == "pending") {
        let (pauses, limits) = (pauses(database).await?, limits(database).await?);
        let taken = queues_taken(database).await?;
        for line in lines.iter_mut().filter(|line| line.status == "pending") {
            let paused = pauses.iter().find(|paused| paused.is_of(&line.owner, &line.queue));
            let held = paused.map(|paused| format!("{paused} is paused"));
            let held = held.or_else(|| reason(&limits, &line.owner, &line.queue));
            let is_taken = taken.iter().any(|queues| queues.is_empty() || queues.contains(&line.queue));
            let alone =
                (!is_taken).then(|| format!("no running worker takes jobs of the queue `{}`", line.queue));
            line.reason = held.or_else(|| line.reason.take()).or(alone);
        }
    }
    Ok(lines)
}

fn job_line(row: &Row) -> JobLine {
    JobLine {
        id: row.get(0),
        owner: row.get(1),
        kind: row.get(2),
        title: row.get(3),
        status: row.get(4),
        attempts: row.get(5),
        reason: row.get(6),
        worker: row.get(7),
        head: row.get(8),
        conclusion: row.get(9),
        made: row.get(10),
        queue: row.get(11),
        cost_usd: row.get(12),
        repository: row.get(13),
        base: row.get(14),
        priority: row.get(15),
    }
}

//! [`Limits`]: the limits for all jobs of an owner or of a queue together.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    owners::Owner,
    queues::check_queue,
};
use haft_core::dollars;
use std::fmt;
use tokio_postgres::{Row, types::Type};

/// The jobs that a limit applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limited {
    /// All jobs of an owner.
    Owner(Owner),
    /// All jobs of a queue.
    Queue(String),
}

impl Limited {
    /// The values of the columns `owner` and `queue`, one of which is empty.
    fn columns(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Owner(Owner(name)) => (Some(name), None),
            Self::Queue(name) => (None, Some(name)),
        }
    }
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(Owner(name)) => write!(f, "the owner `{}`", name.escape_debug()),
            Self::Queue(name) => write!(f, "the queue `{}`", name.escape_debug()),
        }
    }
}

/// A period in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// A day, from midnight to midnight.
    #[default]
    Day,
    /// A week, from Monday to Sunday.
    Week,
    /// A calendar month.
    Month,
}

impl Period {
    /// `day`, `week` or `month`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// The period that [`Self::word`] names.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Day, Self::Week, Self::Month].into_iter().find(|period| period.word() == word)
    }
}

/// Limits; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Maximum number of jobs that workers have at the same time, including those that wait for the user.
    pub running: Option<i32>,
    /// Maximum number of pending jobs. More are refused.
    pub pending: Option<i32>,
    /// Maximum cost of turns in a period, in US dollars. When it is spent, no job begins until the next period.
    pub budget: Option<(f64, Period)>,
}

/// Limits, and their use.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUsage {
    /// The owner or the queue that they apply to.
    pub of: Limited,
    /// The limits.
    pub limits: Limits,
    /// Number of jobs that workers have.
    pub running: i64,
    /// Number of pending jobs.
    pub pending: i64,
    /// Cost in the current period, in US dollars; 0 without a budget.
    pub spent_usd: f64,
}

impl LimitUsage {
    /// The limit that keeps these jobs from beginning; `None` if none does.
    pub fn reached(&self) -> Option<String> {
        let Self { of, limits, running, spent_usd, .. } = self;
        if let Some((usd, period)) = limits.budget.filter(|(usd, _)| spent_usd >= usd) {
            return Some(format!("{of} is over its budget of {} a {}", dollars(usd), period.word()));
        }
        let most = limits.running.filter(|most| *running >= i64::from(*most))?;
        Some(format!("{of} is at its limit of {most} running jobs"))
    }

    fn is_of(&self, owner: &str, queue: &str) -> bool {
        match &self.of {
            Limited::Owner(Owner(name)) => name == owner,
            Limited::Queue(name) => name == queue,
        }
    }
}

/// Sets all limits of an owner or a queue; a limit that is `None` is removed. Pending jobs that wait for a time are
/// tried at once: they may wait for a budget that has now changed.
///
/// # Errors
/// [`FleetError::Usage`] if there is no such owner, or the name of the queue is invalid; if PostgreSQL cannot be reached.
pub async fn set_limits(database: &Database, of: &Limited, limits: &Limits) -> Result<(), FleetError> {
    if let Limited::Queue(name) = of {
        check_queue(name)?;
    }
    let (owner, queue) = of.columns();
    if *limits == Limits::default() {
        let statement = "WITH removed AS (DELETE FROM limits WHERE owner = $1 OR queue = $2 RETURNING 1), \
             woken AS (UPDATE jobs SET run_after = clock_timestamp() FROM removed \
               WHERE status = 'pending' AND run_after > clock_timestamp() AND (jobs.owner = $1 OR jobs.queue = $2)) \
             SELECT pg_notify('haft_jobs', '') FROM removed";
        let named: Parameters<'_> = &[(&owner, Type::TEXT), (&queue, Type::TEXT)];
        return database.query_within(SHORT, "remove limits", statement, named).await.map(|_| ());
    }
    let conflict = if owner.is_some() { "owner" } else { "queue" };
    let statement = format!(
        "WITH put AS (INSERT INTO limits (owner, queue, running, pending, budget_usd, period) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT ({conflict}) DO UPDATE SET running = $3, pending = $4, \
             budget_usd = $5, period = $6 RETURNING 1), \
           woken AS (UPDATE jobs SET run_after = clock_timestamp() FROM put \
             WHERE status = 'pending' AND run_after > clock_timestamp() AND (jobs.owner = $1 OR jobs.queue = $2)) \
         SELECT pg_notify('haft_jobs', '') FROM put"
    );
    let (usd, period) = limits.budget.map(|(usd, period)| (usd, period.word())).unzip();
    let parameters: Parameters<'_> = &[
        (&owner, Type::TEXT),
        (&queue, Type::TEXT),
        (&limits.running, Type::INT4),
        (&limits.pending, Type::INT4),
        (&usd, Type::FLOAT8),
        (&period, Type::TEXT),
    ];
    database.query_within(SHORT, "set limits", &statement, parameters).await?;
    Ok(())
}

/// All limits, those of owners first.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn limits(database: &Database) -> Result<Vec<LimitUsage>, FleetError> {
    let statement = "SELECT owner, queue, running, pending, budget_usd, period, used_running, used_pending, used_usd \
         FROM limit_usage ORDER BY owner, queue";
    let rows = database.query_within(SHORT, "look at limits", statement, &[]).await?;
    Ok(rows.iter().map(limit_usage).collect())
}

fn limit_usage(row: &Row) -> LimitUsage {
    let (owner, usd, period): (Option<String>, Option<f64>, Option<&str>) =
        (row.get(0), row.get(4), row.get(5));
    let budget = usd.zip(period.and_then(Period::named));
    LimitUsage {
        of: owner.map_or_else(|| Limited::Queue(row.get(1)), |name| Limited::Owner(Owner(name))),
        limits: Limits { running: row.get(2), pending: row.get(3), budget },
        running: row.get(6),
        pending: row.get(7),
        spent_usd: row.get(8),
    }
}

/// The limit that keeps a pending job from beginning, if any.
pub(crate) fn reason(limits: &[LimitUsage], owner: &str, queue: &str) -> Option<String> {
    limits.iter().filter(|usage| usage.is_of(owner, queue)).find_map(LimitUsage::reached)
}

//! [`pause`] and [`unpause`]: stop workers from beginning certain jobs. Jobs that run continue.
use crate::{
    database::{Database, SHORT},
    error::FleetError,
    owners::Owner,
    queues::check_queue,
};
use std::fmt;
use tokio_postgres::{Row, types::Type};

/// Stands for all owners in the table; it is not a valid name of an owner.
const ALL: &str = "*";

/// Jobs that no worker begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paused {
    /// The whole fleet.
    All,
    /// Jobs of an owner.
    Owner(Owner),
    /// Jobs of a queue.
    Queue(String),
}

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("the fleet"),
            Self::Owner(Owner(name)) => write!(f, "the owner `{}`", name.escape_debug()),
            Self::Queue(name) => write!(f, "the queue `{}`", name.escape_debug()),
        }
    }
}

impl Paused {
    /// Whether the pause applies to jobs of this owner in this queue.
    pub(crate) fn is_of(&self, owner: &str, queue: &str) -> bool {
        match self {
            Self::All => true,
            Self::Owner(Owner(name)) => name == owner,
            Self::Queue(name) => name == queue,
        }
    }

    /// The table of this kind of pause, its column, and the value in the column.
    fn row(&self) -> (&'static str, &'static str, &str) {
        match self {
            Self::All => ("pauses", "owner", ALL),
            Self::Owner(Owner(name)) => ("pauses", "owner", name),
            Self::Queue(name) => ("queue_pauses", "queue", name),
        }
    }
}

/// Keeps workers from beginning these jobs until [`unpause`]. Returns `false` if there is no such owner.
///
/// # Errors
/// If the name of a queue is invalid; if PostgreSQL cannot be reached or refuses the statement.
pub async fn pause(database: &Database, paused: &Paused) -> Result<bool, FleetError> {
    let (table, column, name) = paused.row();
    if let Paused::Queue(name) = paused {
        check_queue(name)?;
    }
    // A queue need not exist: it exists as soon as it is named.
    let statement = format!(
        "WITH known AS (SELECT $1::text AS name \
             WHERE $1 = '*' OR '{column}' = 'queue' OR EXISTS (SELECT FROM owners WHERE name = $1)), \
           put AS (INSERT INTO {table} ({column}) SELECT name FROM known ON CONFLICT DO NOTHING) SELECT FROM known"
    );
    let rows = database.query_within(SHORT, "pause jobs", &statement, &[(&name, Type::TEXT)]).await?;
    Ok(!rows.is_empty())
}

/// Lets workers begin these jobs again. Returns `false` if they were not paused.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn unpause(database: &Database, paused: &Paused) -> Result<bool, FleetError> {
    let (table, column, name) = paused.row();
    let statement = format!(
        "WITH ended AS (DELETE FROM {table} WHERE {column} = $1 RETURNING {column} AS name) \
         SELECT pg_notify('haft_jobs', name) FROM ended"
    );
    let rows = database.query_within(SHORT, "end a pause", &statement, &[(&name, Type::TEXT)]).await?;
    Ok(!rows.is_empty())
}

/// All pauses: that of the whole fleet, those of owners, those of queues.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn pauses(database: &Database) -> Result<Vec<Paused>, FleetError> {
    let statement = "SELECT owner, NULL FROM pauses UNION ALL SELECT NULL, queue FROM queue_pauses \
         ORDER BY 1 NULLS LAST, 2";
    let rows = database.query_within(SHORT, "look at pauses", statement, &[]).await?;
    let paused = |row: &Row| match row.get::<_, Option<String>>(0) {
        Some(name) if name == ALL => Paused::All,
        Some(name) => Paused::Owner(Owner(name)),
        None => Paused::Queue(row.get(1)),
    };
    let mut all: Vec<Paused> = rows.iter().map(paused).collect();
    all.sort_by_key(|paused| *paused != Paused::All);
    Ok(all)
}

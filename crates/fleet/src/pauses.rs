//! Pauses: whose jobs no worker begins. Jobs that run go on.
use crate::{
    database::{Database, SHORT},
    error::FleetError,
    owners::Owner,
};
use tokio_postgres::types::Type;

/// Stands for all owners in the table: no owner has such a name.
const ALL: &str = "*";

/// Whose jobs no worker begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paused {
    /// The whole fleet.
    All,
    /// One owner.
    Owner(Owner),
}

impl Paused {
    fn name(&self) -> &str {
        match self {
            Self::All => ALL,
            Self::Owner(Owner(name)) => name,
        }
    }
}

/// Lets no worker begin these jobs until [`unpause`]. Returns `false` if there is no such owner.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn pause(database: &Database, paused: &Paused) -> Result<bool, FleetError> {
    let statement = "WITH known AS (SELECT $1::text AS owner WHERE $1 = '*' OR EXISTS (SELECT FROM owners WHERE name = $1)), \
         put AS (INSERT INTO pauses (owner) SELECT owner FROM known ON CONFLICT DO NOTHING) SELECT FROM known";
    let rows = database.query_within(SHORT, "pause jobs", statement, &[(&paused.name(), Type::TEXT)]).await?;
    Ok(!rows.is_empty())
}

/// Lets workers begin these jobs again. Returns `false` if they were not paused.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn unpause(database: &Database, paused: &Paused) -> Result<bool, FleetError> {
    let statement = "WITH ended AS (DELETE FROM pauses WHERE owner = $1 RETURNING owner) \
         SELECT pg_notify('haft_jobs', owner) FROM ended";
    let rows =
        database.query_within(SHORT, "end a pause", statement, &[(&paused.name(), Type::TEXT)]).await?;
    Ok(!rows.is_empty())
}

/// All pauses, that of the whole fleet first.
pub(crate) async fn pauses(database: &Database) -> Result<Vec<Paused>, FleetError> {
    let statement = "SELECT owner FROM pauses ORDER BY owner <> '*', owner";
    let rows = database.query_within(SHORT, "look at pauses", statement, &[]).await?;
    let paused = |name: String| if name == ALL { Paused::All } else { Paused::Owner(Owner(name)) };
    Ok(rows.iter().map(|row| paused(row.get(0))).collect())
}

//! The tables, and how older ones become those of this program.
use crate::{database::Database, error::FleetError};

/// In the order of their numbers, which begin with 1. What was handed out once is never changed.
const MIGRATIONS: [(&str, &str); 5] = [
    ("begin", include_str!("../migrations/0001_begin.sql")),
    ("requests", include_str!("../migrations/0002_requests.sql")),
    ("waiting", include_str!("../migrations/0003_waiting.sql")),
    ("pauses", include_str!("../migrations/0004_pauses.sql")),
    ("limits", include_str!("../migrations/0005_limits.sql")),
];

/// Of the lock that one migrating process holds.
const MIGRATION_LOCK_ID: i64 = 0x6861_6674;

/// What a migration came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version there was; 0 where there were no tables.
    pub from: i32,
    /// The version there is.
    pub to: i32,
}

/// Brings the tables to what this program uses. Each step is one transaction with its own row in the table of versions,
/// so that one which was interrupted has not happened, and is made when this is called again.
///
/// Fails where PostgreSQL cannot be reached or refuses a step, and where the tables are newer.
pub async fn migrate(address: &str) -> Result<Migrated, FleetError> {
    let database = Database::connect(address).await?;
    let table = "CREATE TABLE IF NOT EXISTS migrations \
                 (version integer PRIMARY KEY, name text NOT NULL, made timestamptz NOT NULL DEFAULT now())";
    database.script("make the table of versions", &in_turn(table)).await?;
    let from = version(&database).await?;
    let newest = MIGRATIONS.len() as i32;
    if from > newest {
        return Err(newer(from, newest));
    }
    for (number, (name, statements)) in (1..).zip(MIGRATIONS) {
        // Another process may have made it while this one waited for the lock.
        let step = format!(
            "DO $haft$ BEGIN IF NOT EXISTS (SELECT FROM migrations WHERE version = {number}) THEN\n{statements}\n\
             INSERT INTO migrations (version, name) VALUES ({number}, '{name}'); END IF; END $haft$"
        );
        if number > from {
            database.script("migrate", &in_turn(&step)).await?;
        }
    }
    Ok(Migrated { from, to: newest })
}

fn in_turn(statements: &str) -> String {
    // Statements that are sent as one are one transaction.
    format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK_ID});\n{statements}")
}

impl Database {
    /// Reads the address, connects, and looks whether the tables are those of this program.
    ///
    /// Fails if the address is invalid, if the server refuses the connection, and if the tables are older or newer.
    pub async fn open(address: &str) -> Result<Self, FleetError> {
        let database = Self::connect(address).await?;
        database.check().await?;
        Ok(database)
    }

    /// Looks whether the server answers, and whether the tables are those of this program.
    ///
    /// Fails as [`Self::open`] does.
    pub async fn check(&self) -> Result<(), FleetError> {
        check(version(self).await?)
    }
}

/// Fails where the tables are not those of this program.
fn check(has: i32) -> Result<(), FleetError> {
    let newest = MIGRATIONS.len() as i32;
    match has {
        has if has > newest => Err(newer(has, newest)),
        has if has < newest => Err(FleetError::Schema(format!(
            "the fleet's tables have version {has}, and this haft needs version {newest}; \
             update them with `haft fleet migrate`"
        ))),
        _ => Ok(()),
    }
}

fn newer(has: i32, newest: i32) -> FleetError {
    FleetError::Schema(format!(
        "the fleet's tables have version {has}, and this haft supports at most version {newest}; upgrade haft"
    ))
}

async fn version(database: &Database) -> Result<i32, FleetError> {
    let statement = "SELECT coalesce(max(version), 0) FROM migrations";
    let rows = database.query("read the version of the tables", statement, &[]).await?;
    Ok(rows[0].get(0))
}

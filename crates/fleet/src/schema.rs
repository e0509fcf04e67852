//! [`migrate`]: creates the tables, and updates older tables to those of this program.
use crate::{database::Database, error::FleetError};

/// A step from older tables to those of this program.
struct Migration {
    name: &'static str,
    statements: &'static str,
    /// The oldest program version that can use the tables after this step. Equal to `version`, unless the step only
    /// adds what an older program does not need.
    oldest: i32,
}

/// The steps in the order of their numbers, which begin with 1. A step that was released is never changed.
const MIGRATIONS: [Migration; 9] = [
    Migration { name: "begin", statements: include_str!("../migrations/0001_begin.sql"), oldest: 1 },
    Migration { name: "requests", statements: include_str!("../migrations/0002_requests.sql"), oldest: 2 },
    Migration { name: "waiting", statements: include_str!("../migrations/0003_waiting.sql"), oldest: 3 },
    Migration { name: "pauses", statements: include_str!("../migrations/0004_pauses.sql"), oldest: 4 },
    Migration {
        name: "limits, storage, logins",
        statements: include_str!("../migrations/0005_limits_storage_logins.sql"),
        oldest: 5,
    },
    // An older program works without the log.
    Migration { name: "audit", statements: include_str!("../migrations/0006_audit.sql"), oldest: 5 },
    // An older worker announces no calls, and an older server sends nothing.
    Migration { name: "push", statements: include_str!("../migrations/0007_push.sql"), oldest: 5 },
    // Turns of an older worker are not counted.
    Migration { name: "turns", statements: include_str!("../migrations/0008_turns.sql"), oldest: 5 },
    // An older server lets all users who logged in approve, as before.
    Migration { name: "roles", statements: include_str!("../migrations/0009_roles.sql"), oldest: 5 },
];
/// The version of the tables that this program makes.
const NEWEST: i32 = MIGRATIONS.len() as i32;
/// The first version whose table of migrations has the column `oldest`. Older programs refuse all newer tables.
const FIRST_WITH_OLDEST: i32 = 5;

/// ID of the lock that a migrating process holds.
const MIGRATION_LOCK_ID: i64 = 0x6861_6674;

/// The result of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 if there were no tables.
    pub from: i32,
    /// The version after.
    pub to: i32,
}

/// Updates the tables to what this program uses. Each step is one transaction that includes its row in the table of
/// versions. So an interrupted step has no effect, and is made by the next call. Newer tables that this program can use
/// are left as they are.
///
/// Fails if PostgreSQL cannot be reached or refuses a step, or if the tables are too new.
pub async fn migrate(address: &str) -> Result<Migrated, FleetError> {
    let database = Database::connect(address).await?;
    let table = "CREATE TABLE IF NOT EXISTS migrations \
                 (version integer PRIMARY KEY, name text NOT NULL, made timestamptz NOT NULL DEFAULT now())";
    database.script("make the table of versions", &in_turn(table)).await?;
    let tables = tables(&database).await?;
    if tables.version > NEWEST {
        tables.check()?;
        return Ok(Migrated { from: tables.version, to: tables.version });
    }
    for (number, migration) in (1..).zip(&MIGRATIONS).filter(|(number, _)| *number > tables.version) {
        database.script("migrate", &in_turn(&step(number, migration))).await?;
    }
    Ok(Migrated { from: tables.version, to: NEWEST })
}

/// Another process may have made the step while this one waited for the lock.
fn step(number: i32, Migration { name, statements, oldest }: &Migration) -> String {
    let (column, oldest) = match number < FIRST_WITH_OLDEST {
        true => ("", String::new()),
        false => (", oldest", format!(", {oldest}")),
    };
    format!(
        "DO $haft$ BEGIN IF NOT EXISTS (SELECT FROM migrations WHERE version = {number}) THEN\n{statements}\n\
         INSERT INTO migrations (version, name{column}) VALUES ({number}, '{name}'{oldest}); END IF; END $haft$"
    )
}

fn in_turn(statements: &str) -> String {
    // Statements that are sent together are one transaction.
    format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK_ID});\n{statements}")
}

impl Database {
    /// Parses the address, connects, and checks whether this program can use the tables.
    ///
    /// Fails if the address is invalid, if the server refuses the connection, or if the tables are older or too new.
    pub async fn open(address: &str) -> Result<Self, FleetError> {
        let database = Self::connect(address).await?;
        database.check().await?;
        Ok(database)
    }

    /// Checks whether the server responds, and whether this program can use the tables.
    ///
    /// Fails as [`Self::open`] does.
    pub async fn check(&self) -> Result<(), FleetError> {
        tables(self).await?.check()
    }
}

/// The content of the table of migrations.
struct Tables {
    version: i32,
    /// The oldest program version that can use the tables.
    oldest: i32,
}

impl Tables {
    /// Fails if this program cannot use them.
    fn check(&self) -> Result<(), FleetError> {
        let Self { version, oldest } = self;
        match version {
            version if version < &NEWEST => Err(FleetError::Schema(format!(
                "the fleet's tables have version {version}, and this haft needs version {NEWEST}; \
                 update them with `haft fleet migrate`"
            ))),
            version if oldest > &NEWEST => Err(FleetError::Schema(format!(
                "the fleet's tables have version {version}, and this haft supports at most version {NEWEST}; upgrade haft"
            ))),
            _ => Ok(()),
        }
    }
}

async fn tables(database: &Database) -> Result<Tables, FleetError> {
    // Read through JSON, because older tables have no column `oldest`. Without a value, only programs that know the
    // version can use the tables.
    let statement = "SELECT coalesce(max(version), 0), \
         coalesce(max(coalesce((to_jsonb(m) ->> 'oldest')::integer, version)), 0) FROM migrations m";
    let rows = database.query("read the version of the tables", statement, &[]).await?;
    Ok(Tables { version: rows[0].get(0), oldest: rows[0].get(1) })
}

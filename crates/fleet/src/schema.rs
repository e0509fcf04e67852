//! The tables, and how older ones become those of this program.
use crate::{database::Database, error::FleetError};

/// A step from older tables to those of this program.
struct Migration {
    name: &'static str,
    statements: &'static str,
    /// The oldest version of a program that can use the tables after it. The same as `version`, unless the step only
    /// adds what an older program can do without.
    oldest: i32,
}

/// In the order of their numbers, which begin with 1. What was handed out once is never changed.
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
    // An older program does without the log.
    Migration { name: "audit", statements: include_str!("../migrations/0006_audit.sql"), oldest: 5 },
    // An older worker announces no calls, and an older server sends nothing.
    Migration { name: "push", statements: include_str!("../migrations/0007_push.sql"), oldest: 5 },
    // Turns of an older worker are not counted.
    Migration { name: "turns", statements: include_str!("../migrations/0008_turns.sql"), oldest: 5 },
    // An older server lets those who logged in approve, as it always did.
    Migration { name: "roles", statements: include_str!("../migrations/0009_roles.sql"), oldest: 5 },
];
/// The version of the tables that this program makes.
const NEWEST: i32 = MIGRATIONS.len() as i32;
/// The first version whose table of migrations has the column `oldest`. Programs before it refuse all newer tables.
const FIRST_WITH_OLDEST: i32 = 5;

/// ID of the lock that a migrating process holds.
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
/// so that one which was interrupted has not happened, and is made when this is called again. Newer tables that this
/// program can use are left as they are.
///
/// Fails where PostgreSQL cannot be reached or refuses a step, and where the tables are too new.
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

/// Another process may have made it while this one waited for the lock.
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
    // Statements that are sent as one are one transaction.
    format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK_ID});\n{statements}")
}

impl Database {
    /// Reads the address, connects, and looks whether this program can use the tables.
    ///
    /// Fails if the address is invalid, if the server refuses the connection, and if the tables are older or too new.
    pub async fn open(address: &str) -> Result<Self, FleetError> {
        let database = Self::connect(address).await?;
        database.check().await?;
        Ok(database)
    }

    /// Looks whether the server answers, and whether this program can use the tables.
    ///
    /// Fails as [`Self::open`] does.
    pub async fn check(&self) -> Result<(), FleetError> {
        tables(self).await?.check()
    }
}

/// What the table of migrations says.
struct Tables {
    version: i32,
    /// The oldest version of a program that can use them.
    oldest: i32,
}

impl Tables {
    /// Fails where this program cannot use them.
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
    // As JSON, because older tables have no column `oldest`. Without a value, only programs that know the version can
    // use the tables.
    let statement = "SELECT coalesce(max(version), 0), \
         coalesce(max(coalesce((to_jsonb(m) ->> 'oldest')::integer, version)), 0) FROM migrations m";
    let rows = database.query("read the version of the tables", statement, &[]).await?;
    Ok(Tables { version: rows[0].get(0), oldest: rows[0].get(1) })
}

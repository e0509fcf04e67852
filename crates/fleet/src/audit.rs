//! [`append_to_audit`] and [`audit_log`]: the audit log of a fleet. PostgreSQL chains its lines, and only appends.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
};
use tokio_postgres::{Row, types::Type};

/// Number of lines that one statement reads.
const BATCH: i64 = 1_000;

/// Appends `entry`, a JSON object on one line.
///
/// # Errors
/// If PostgreSQL cannot be reached; the line may have been appended nevertheless.
pub async fn append_to_audit(database: &Database, entry: &str) -> Result<(), FleetError> {
    let statement = "SELECT append_to_audit($1)";
    database.query("append to the audit log", statement, &[(&entry, Type::TEXT)]).await.map(|_| ())
}

/// The whole log, one entry per line, in the form that [`haft_core::chain::check`] reads.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn audit_log(database: &Database) -> Result<String, FleetError> {
    let statement = "SELECT number, line FROM audit WHERE number > $1 ORDER BY number LIMIT $2";
    let (mut log, mut last) = (String::new(), 0_i64);
    loop {
        let parameters: Parameters<'_> = &[(&last, Type::INT8), (&BATCH, Type::INT8)];
        let rows = database.query_within(SHORT, "read the audit log", statement, parameters).await?;
        rows.iter().for_each(|row: &Row| log.extend([row.get(1), "\n"]));
        match rows.last() {
            Some(row) if rows.len() as i64 == BATCH => last = row.get(0),
            _ => return Ok(log),
        }
    }
}

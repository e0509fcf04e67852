//! [`prune`]: removes old jobs from the database.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
};
use tokio_postgres::types::Type;

/// Maximum number of jobs that one statement removes.
const BATCH: i32 = 200;

/// The number of rows that [`prune`] removes, or would remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Jobs.
    pub jobs: i64,
    /// Entries of their journals.
    pub entries: i64,
    /// Contents of changed files.
    pub contents: i64,
}

/// Removes the jobs that ended more than `days` days ago, with their journals and with the contents in the database,
/// unless `is_trial`. Also removes workers that have not reported since then and that no job names. A job whose branch
/// is not in its repository yet stays for a day. Costs, and contents in an object store, stay.
///
/// # Errors
/// If PostgreSQL cannot be reached; some jobs may be removed by then.
pub async fn prune(database: &Database, days: u32, is_trial: bool) -> Result<Pruned, FleetError> {
    let old = "SELECT id FROM jobs WHERE ended < clock_timestamp() - $1 * interval '1 day' \
         AND (published IS NOT DISTINCT FROM head OR ended < clock_timestamp() - interval '1 day')";
    let counts = "(SELECT count(*) FROM old), (SELECT count(*) FROM entries WHERE job IN (SELECT id FROM old)), \
         (SELECT count(*) FROM contents WHERE job IN (SELECT id FROM old))";
    let days = f64::from(days);
    if is_trial {
        let statement = format!("WITH old AS MATERIALIZED ({old}) SELECT {counts}");
        let parameters: Parameters<'_> = &[(&days, Type::FLOAT8)];
        let rows = database.query_within(SHORT, "look for old jobs", &statement, parameters).await?;
        return Ok(Pruned { jobs: rows[0].get(0), entries: rows[0].get(1), contents: rows[0].get(2) });
    }
    let statement = format!(
        "WITH old AS MATERIALIZED ({old} ORDER BY ended LIMIT $2 FOR UPDATE SKIP LOCKED), \
         removed AS (DELETE FROM jobs WHERE id IN (SELECT id FROM old)) SELECT {counts}"
    );
    let mut all = Pruned::default();
    loop {
        let parameters: Parameters<'_> = &[(&days, Type::FLOAT8), (&BATCH, Type::INT4)];
        let rows = database.query("remove old jobs", &statement, parameters).await?;
        let jobs: i64 = rows[0].get(0);
        all.jobs += jobs;
        all.entries += rows[0].get::<_, i64>(1);
        all.contents += rows[0].get::<_, i64>(2);
        if jobs < i64::from(BATCH) {
            break;
        }
    }
    // A living worker reports in every third of its lease.
    let statement = "DELETE FROM workers WHERE seen < clock_timestamp() - greatest($1, 1) * interval '1 day' \
         AND NOT EXISTS (SELECT FROM jobs WHERE worker = instance)";
    database.query("remove old workers", statement, &[(&days, Type::FLOAT8)]).await?;
    Ok(all)
}

//! Reads stored journal entries and contents, for the next attempt and for clients that follow a job.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    places::Moved,
};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use haft_core::{SessionId, chain::rechained};
use haft_engine::Home;
use std::{
    collections::BTreeMap,
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};
use tokio_postgres::{Row, types::Type};

/// Number of contents that one statement fetches.
const CONTENTS_PER_FETCH: i64 = 32;
/// Number of these that are fetched from an object store at the same time.
const CONTENTS_AT_ONCE: usize = 8;

/// The lines of a job's own session from the number `from` on, as stored.
pub async fn entries_since(
    database: &Database,
    job: &str,
    from: i64,
    most: i64,
) -> Result<Vec<(i64, String)>, FleetError> {
    let statement =
        "SELECT seq, line FROM entries WHERE job = $1 AND session = $1 AND seq >= $2 ORDER BY seq LIMIT $3";
    let rows = database
        .query_within(
            SHORT,
            "read a journal",
            statement,
            &[(&job, Type::TEXT), (&from, Type::INT8), (&most, Type::INT8)],
        )
        .await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// The number that the next line of a job's own session will have.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn next_entry(database: &Database, job: &str) -> Result<u64, FleetError> {
    let statement = "SELECT coalesce(max(seq) + 1, 0) FROM entries WHERE job = $1 AND session = $1";
    let rows = database.query_within(SHORT, "read a journal", statement, &[(&job, Type::TEXT)]).await?;
    Ok(rows[0].get::<_, i64>(0).try_into().unwrap_or_default())
}

/// The stored contents of a job with these hashes, each with its hash.
pub async fn contents(
    database: &Database,
    job: &str,
    hashes: &[String],
) -> Result<Vec<(String, Vec<u8>)>, FleetError> {
    let statement = "SELECT hash, bytes, place FROM contents WHERE job = $1 AND hash = ANY ($2)";
    let parameters: Parameters<'_> = &[(&job, Type::TEXT), (&hashes, Type::TEXT_ARRAY)];
    let rows = database.query_within(SHORT, "read contents", statement, parameters).await?;
    read(database, &rows).await
}

async fn read(database: &Database, rows: &[Row]) -> Result<Vec<(String, Vec<u8>)>, FleetError> {
    let read: Vec<_> = rows.iter().map(|row| database.content(row).boxed()).collect();
    stream::iter(read).buffered(CONTENTS_AT_ONCE).try_collect().await
}

/// Writes everything that is stored of the job `id` to `home`, which has nothing of it yet: journals, and contents
/// beside the journal of the job's own session.
pub async fn restore(
    database: &Database,
    id: &SessionId,
    home: &Home,
    moved: &Moved,
) -> Result<(), FleetError> {
    let statement = "SELECT session, line FROM entries WHERE job = $1 ORDER BY session, seq";
    let rows = database.query_within(SHORT, "read a journal", statement, &[(&id.0, Type::TEXT)]).await?;
    let mut journals: BTreeMap<String, String> = BTreeMap::new();
    for row in &rows {
        let journal = journals.entry(row.get(0)).or_default();
        journal.push_str(&moved.here(row.get(1)));
        journal.push('\n');
    }
    for (session, text) in &journals {
        let folder = home.folder(&SessionId(session.clone()));
        // Paths differ from those where the lines were written, so the chain is computed again.
        write_journal(&folder, &rechained(text)).map_err(|error| local(&folder, &error))?;
    }
    let blobs = home.folder(id).join("blobs");
    let mut after = String::new();
    loop {
        let statement =
            "SELECT hash, bytes, place FROM contents WHERE job = $1 AND hash > $2 ORDER BY hash LIMIT $3";
        let rows = database
            .query_within(
                SHORT,
                "read contents",
                statement,
                &[(&id.0, Type::TEXT), (&after, Type::TEXT), (&CONTENTS_PER_FETCH, Type::INT8)],
            )
            .await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.get(0);
        for (hash, bytes) in read(database, &rows).await? {
            write_content(&blobs, &hash, &bytes).map_err(|error| local(&blobs, &error))?;
        }
    }
}

fn write_journal(folder: &Path, text: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join("journal.jsonl"));
    file?.write_all(text.as_bytes())
}

/// Writes a content under its hash, which the writer has checked.
fn write_content(blobs: &Path, hash: &str, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(blobs)?;
    File::create_new(blobs.join(hash))?.write_all(bytes)
}

fn local(folder: &Path, error: &io::Error) -> FleetError {
    FleetError::Local {
        action: format!("write the journal into `{}`", folder.display()),
        why: error.to_string(),
    }
}

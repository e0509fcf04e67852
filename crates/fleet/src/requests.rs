//! [`Request`]: a request that clients may repeat, stored with its response.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
};
use haft_core::SessionId;
use std::time::Duration;
use tokio_postgres::{Row, types::Type};

/// A request as it was first stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Identifies the request's content: a request with the same key and another content is refused.
    pub request: String,
    /// The ID of the job that it makes, if any.
    pub job: SessionId,
    /// The response.
    pub answer: Option<RequestAnswer>,
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestAnswer {
    /// HTTP status.
    pub status: u16,
    /// Content type.
    pub kind: String,
    /// The body.
    pub body: String,
}

/// Stores a request under `name`, which stands for its key, and returns the request that was first stored under this
/// name. Removes all requests that are older than `kept`.
pub async fn begin_request(
    database: &Database,
    name: &str,
    (request, job): (&str, &SessionId),
    kept: Duration,
) -> Result<Request, FleetError> {
    let ask = async |statement: &str, parameters: Parameters<'_>| {
        database.query_within(SHORT, "keep a request", statement, parameters).await
    };
    let old = "DELETE FROM requests WHERE made < clock_timestamp() - $1::float8 * interval '1 second'";
    ask(old, &[(&kept.as_secs_f64(), Type::FLOAT8)]).await?;
    let new = "INSERT INTO requests (name, request, job) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    ask(new, &[(&name, Type::TEXT), (&request, Type::TEXT), (&job.0, Type::TEXT)]).await?;
    first(database, name).await
}

/// Stores the response to a request, unless it has one, and returns the stored one.
pub async fn answer_request(
    database: &Database,
    name: &str,
    answer: &RequestAnswer,
) -> Result<Option<RequestAnswer>, FleetError> {
    let statement =
        "UPDATE requests SET status = $2, kind = $3, body = $4 WHERE name = $1 AND status IS NULL";
    let status = i32::from(answer.status);
    let parameters: Parameters<'_> =
        &[(&name, Type::TEXT), (&status, Type::INT4), (&answer.kind, Type::TEXT), (&answer.body, Type::TEXT)];
    database.query_within(SHORT, "keep an answer", statement, parameters).await?;
    first(database, name).await.map(|request| request.answer)
}

async fn first(database: &Database, name: &str) -> Result<Request, FleetError> {
    let statement = "SELECT request, job, status, kind, body FROM requests WHERE name = $1";
    let rows = database.query_within(SHORT, "look at a request", statement, &[(&name, Type::TEXT)]).await?;
    let answer = |row: &Row| {
        let status: Option<i32> = row.get(2);
        Some(RequestAnswer { status: u16::try_from(status?).ok()?, kind: row.get(3), body: row.get(4) })
    };
    let found = rows.first().map(|row| Request {
        request: row.get(0),
        job: SessionId(row.get(1)),
        answer: answer(row),
    });
    let why = "it is gone".to_owned();
    found.ok_or(FleetError::Statement { action: "look at a request", why })
}

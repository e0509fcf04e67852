//! What goes on in jobs of a fleet, and what people say to them.
use super::{Context, find, seen_by, unsure};
use crate::{
    api::{
        body::{Asked, Body, Id},
        commands::{Approval, Told, channel},
    },
    error::{Answer, ApiError, ErrorBody},
    figures::Counted,
    follow,
    gate::Asker,
    requests::{Key, Keyed},
};
use async_stream::stream;
use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use haft_core::{Answer as Said, CallId, Command, Part};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Entries that are read at a time.
const AT_ONCE: i64 = 500;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// The first entry wanted [default: 0]; the header `Last-Event-ID` is stronger
    from: Option<u64>,
}

/// Follow a job, as server-sent events
///
/// Each event is a line of `--output stream-json`; what is recorded has its `seq` as the event's ID. The stream goes on until
/// the client leaves. Pieces of a reply that is not whole yet are known to the job's worker alone.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "session_events", tag = "sessions",
    params(Since, ("id" = String, Path, description = "ID of a job"), ("Last-Event-ID" = Option<u64>, Header, description = "The last entry that was read")),
    responses((status = OK, body = String, content_type = "text/event-stream"), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn events(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Asked(Since { from }): Asked<Since>,
    headers: HeaderMap,
) -> Answer<Response> {
    find(&context, &asker, &id).await?;
    let Context { fleet, figures, stopping } = context;
    let (counted, mut next) = (Counted::new(figures.own.clone()), follow::from(&headers, from).0 as i64);
    let told = stream! {
        let _counted = counted;
        let mut news = fleet.database.news();
        loop {
            let lines = haft_fleet::entries_since(&fleet.database, &id, next, AT_ONCE).await.unwrap_or_default();
            let is_more = lines.len() as i64 == AT_ONCE;
            for (seq, line) in lines {
                next = seq + 1;
                yield Bytes::from(format!("id: {seq}\ndata: {line}\n\n"));
            }
            if is_more {
                continue;
            }
            tokio::select! {
                () = stopping.cancelled() => break,
                is_news = news.of(&id, follow::HEARTBEAT) => if !is_news { yield follow::beat() },
            }
        }
    };
    Ok(follow::response(told))
}

/// What is said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    /// Words
    text: String,
}

/// A command stands in the database, and the job's worker takes it from there.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sent {
    /// ID of the job
    session: String,
}

/// Say something to the job's worker
#[utoipa::path(post, path = "/v1/sessions/{id}/prompt", tag = "sessions", request_body = Prompt,
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Sent), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn prompt(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
    Body(Prompt { text }): Body<Prompt>,
) -> Answer<Response> {
    let channel = key.as_ref().map(channel);
    send((&context, &asker, &id, key), &[Command::Prompt { parts: vec![Part::text(text)], channel }]).await
}

/// Answer a call that asks
#[utoipa::path(post, path = "/v1/sessions/{id}/answer", tag = "sessions", request_body = Approval,
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Sent), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn answer(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
    Body(told): Body<Approval>,
) -> Answer<Response> {
    let said = Said::from(told.answer);
    // It waits in the turn, so that the model reads both at once.
    let because = told.because.filter(|because| said == Said::No && !because.trim().is_empty());
    let because = because.map(|because| Command::Prompt { parts: vec![Part::text(because)], channel: None });
    let answer = Command::Answer { call: CallId(told.call), answer: said };
    send((&context, &asker, &id, key), &because.into_iter().chain([answer]).collect::<Vec<_>>()).await
}

/// Answer a question of a tool
#[utoipa::path(post, path = "/v1/sessions/{id}/reply", tag = "sessions", request_body = Told,
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Sent), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn reply(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
    Body(told): Body<Told>,
) -> Answer<Response> {
    let reply = Command::Reply { call: CallId(told.call), answer: told.answer };
    send((&context, &asker, &id, key), &[reply]).await
}

/// Stop the turn
#[utoipa::path(post, path = "/v1/sessions/{id}/interrupt", tag = "sessions",
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Sent), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn interrupt(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
) -> Answer<Response> {
    send((&context, &asker, &id, key), &[Command::Interrupt]).await
}

/// The job's worker carries it out, once it has one.
async fn send(
    (context, asker, id, key): (&Context, &Asker, &str, Option<Keyed>),
    commands: &[Command],
) -> Answer<Response> {
    let job = find(context, asker, id).await?;
    let name = key.as_ref().map(|key| key.name.as_str());
    let sent = haft_fleet::send(&context.fleet.database, id, seen_by(asker), commands, name).await;
    if !sent.map_err(unsure)? {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", job.status)));
    }
    Ok((StatusCode::ACCEPTED, Json(Sent { session: id.to_owned() })).into_response())
}

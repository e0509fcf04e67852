//! Events of a fleet's jobs, and the prompts and answers that clients send to them.
use super::{
    Context, find,
    jobs::{Job, WAITING},
    name_of, seen_by, unsure, until_signed_out,
};
use crate::{
    api::{
        body::{Asked, Body, Id, IdAndCall, blocking},
        commands::{AcceptedPart, AnswerRequest, ApprovalAnswer, QuestionAnswer, ReplyRequest, channel},
        watch::{self, DiffParams, FileLines, PendingRequest},
    },
    error::{Answer, ApiError, ErrorBody},
    follow::{self, Followed, Message, Start, View},
    gate::Asker,
    kept::KeptJob,
    requests::{Key, Keyed},
};
use async_stream::stream;
use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt, stream};
use haft_core::{CallId, Command, Entry, Event, Fact, Part, Seq, changed};
use haft_fleet::{Following, News};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Entries that are read at a time.
pub(super) const ENTRIES_PER_READ: i64 = 500;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// First entry to send [default: 0]; the header `Last-Event-ID` takes precedence
    from: Option<u64>,
    /// What the events are [default: journal]
    #[serde(default)]
    #[param(inline)]
    view: View,
}

/// Follow a job, as server-sent events
///
/// Each event is a line of `--output stream-json`; a recorded event has its `seq` as its ID. The stream continues until the
/// client disconnects. Text of replies, thoughts and output of calls come while they are made; one that is missed is part of
/// a recorded event.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "session_events", tag = "sessions",
    params(Since, ("id" = String, Path, description = "ID of a job"), ("Last-Event-ID" = Option<u64>, Header, description = "Last entry received")),
    responses((status = OK, body = String, content_type = "text/event-stream"), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn events(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Asked(Since { from, view }): Asked<Since>,
    headers: HeaderMap,
) -> Answer<Response> {
    find(&context, &asker, &id).await?;
    let start = Start::of(&headers, from, Some(end(&context, &id).await?))?;
    let told = view.of(start.from, |from| follow(&context, id, from));
    let told = stream::iter(start.sign()).chain(told.map(Message::alone));
    let told = told.take_until(Box::pin(until_signed_out(&context, &asker, &headers)));
    Ok(follow::counted(&context.figures.own, told))
}

/// The next entry of a job.
async fn end(context: &Context, id: &str) -> Answer<Seq> {
    Ok(Seq(haft_fleet::next_entry(&context.fleet.database, id).await?))
}

/// What is recorded of a job from the entry `next` on, until the client leaves or the server stops.
fn follow(context: &Context, id: String, next: u64) -> impl Stream<Item = Message> + Send + use<> {
    let Context { fleet, stopping, .. } = context.clone();
    let mut next = i64::try_from(next).unwrap_or(i64::MAX);
    stream! {
        let mut following = Following::live(&fleet.database, &id);
        loop {
            let lines = haft_fleet::entries_since(&fleet.database, &id, next, ENTRIES_PER_READ).await.unwrap_or_default();
            let is_more = lines.len() as i64 == ENTRIES_PER_READ;
            for (seq, line) in lines {
                next = seq + 1;
                yield Message::Line { seq: u64::try_from(seq).ok(), line };
            }
            if is_more {
                continue;
            }
            tokio::select! {
                () = stopping.cancelled() => break,
                news = following.next(u64::try_from(next).unwrap_or(0), follow::HEARTBEAT) => match news {
                    News::Entries => {}
                    News::Live(updates) => for update in updates {
                        yield Message::Event(Event::Live(update));
                    },
                    News::Silence => yield Message::Beat,
                },
            }
        }
    }
}

/// Follow several jobs on one stream
///
/// Each event of the job at the place N of `follow`, from 0, is `{"follow":N,"event":EVENT}`, or once
/// `{"follow":N,"error":ERROR}`.
#[utoipa::path(get, path = "/v1/events", operation_id = "all_events", tag = "sessions", params(Followed),
    responses((status = OK, body = String, content_type = "text/event-stream"), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn all(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Asked(followed): Asked<Followed>,
    headers: HeaderMap,
) -> Answer<Response> {
    let mut streams = Vec::new();
    for (id, from) in followed.sessions()? {
        let known = match find(&context, &asker, &id).await {
            Ok(_) => follow::check(from, Some(end(&context, &id).await?)),
            Err(error) if error.is_missing() => Err(error),
            Err(error) => return Err(error),
        };
        streams.push(match known {
            Ok(from) => followed.view.of(from, |from| follow(&context, id, from)),
            Err(error) => stream::iter([Message::Refused(error)]).boxed(),
        });
    }
    let stopping = context.stopping.clone();
    let beats = stream! {
        loop {
            yield follow::beat();
            tokio::select! {
                () = stopping.cancelled() => break,
                () = tokio::time::sleep(follow::HEARTBEAT) => {}
            }
        }
    };
    let told = stream::select(beats, follow::together(streams));
    let told = told.take_until(Box::pin(until_signed_out(&context, &asker, &headers)));
    Ok(follow::counted(&context.figures.own, told))
}

/// List the calls of a job that wait for a person
#[utoipa::path(get, path = "/v1/sessions/{id}/asked", operation_id = "list_asked", tag = "sessions",
    params(("id" = String, Path, description = "ID of a job")),
    responses((status = OK, body = Vec<PendingRequest>), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn asked(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
) -> Answer<Json<Vec<PendingRequest>>> {
    if find(&context, &asker, &id).await?.status != WAITING {
        return Ok(Json(Vec::new()));
    }
    let asks = |entries: &[Arc<Entry>]| watch::pending(entries).into_iter().map(|(_, entry)| entry).collect();
    let kept = KeptJob::read(&context.fleet.database, &id, (0, i64::MAX), asks).await?;
    blocking(move || Ok(watch::waiting(&kept))).await.map(Json)
}

/// Show the changed lines of an entry
#[utoipa::path(get, path = "/v1/sessions/{id}/diff", operation_id = "entry_diff", tag = "sessions",
    params(DiffParams, ("id" = String, Path, description = "ID of a job")),
    responses((status = OK, body = Vec<FileLines>), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn diff(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Asked(DiffParams { seq }): Asked<DiffParams>,
) -> Answer<Json<Vec<FileLines>>> {
    find(&context, &asker, &id).await?;
    let missing = || ApiError::missing(format!("there is no entry {seq} in the job"));
    let from = i64::try_from(seq).map_err(|_| missing())?;
    let kept = KeptJob::read(&context.fleet.database, &id, (from, 1), <[_]>::to_vec).await?;
    let entry = kept.entries.first().filter(|entry| entry.seq.0 == seq).cloned().ok_or_else(missing)?;
    blocking(move || Ok(watch::files(&kept, changed::changes_in(&entry.fact)))).await.map(Json)
}

/// A prompt
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptRequest {
    /// Text of the prompt
    text: String,
}

/// A command in the database, which the worker of the job carries out
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Accepted {
    /// Job ID
    session: String,
}

/// Send a prompt to the worker of a job
#[utoipa::path(post, path = "/v1/sessions/{id}/prompt", tag = "sessions", request_body = PromptRequest,
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn prompt(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
    Body(PromptRequest { text }): Body<PromptRequest>,
) -> Answer<Response> {
    if text.trim().is_empty() {
        return Err(ApiError::wrong("the prompt is empty").suggest("say what to do in `text`"));
    }
    let who = name_of(&asker).map(|owner| owner.0.as_str());
    let channel = channel(who, key.as_ref());
    send((&context, &asker, &id, key), &[Command::Prompt { parts: vec![Part::text(text)], channel }]).await
}

/// Answer a call that needs an approval
#[utoipa::path(post, path = "/v1/sessions/{id}/approvals/{call}", tag = "sessions", request_body = ApprovalAnswer,
    params(("id" = String, Path, description = "ID of a job"),
           ("call" = String, Path, description = "ID of the call, as `approval_asked` names it")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn approve(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    IdAndCall(id, call): IdAndCall,
    Key(key): Key,
    Body(given): Body<ApprovalAnswer>,
) -> Answer<Response> {
    asker.approves()?;
    given.check()?;
    send((&context, &asker, &id, key), &[approval(call, given)]).await
}

/// Answer a call that needs an approval. Deprecated: use `approvals/{call}`
#[utoipa::path(post, path = "/v1/sessions/{id}/answer", tag = "sessions", request_body = AnswerRequest,
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
#[deprecated = "`approvals/{call}` takes its place"]
pub(super) async fn answer(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
    Body(given): Body<AnswerRequest>,
) -> Answer<Response> {
    let (call, given) = given.split();
    asker.approves()?;
    given.check()?;
    send((&context, &asker, &id, key), &[approval(call, given)]).await
}

fn approval(call: String, given: ApprovalAnswer) -> Command {
    if let Some(parts) = given.accepted {
        let accepted = haft_core::Accepted { files: parts.into_iter().map(AcceptedPart::named).collect() };
        return Command::accept(CallId(call), accepted);
    }
    Command::Answer { call: CallId(call), answer: given.answer.into(), by: None, because: given.because }
}

/// Answer the question of a call
#[utoipa::path(post, path = "/v1/sessions/{id}/questions/{call}", tag = "sessions", request_body = QuestionAnswer,
    params(("id" = String, Path, description = "ID of a job"),
           ("call" = String, Path, description = "ID of the call, as `question_asked` names it")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn reply_to(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    IdAndCall(id, call): IdAndCall,
    Key(key): Key,
    Body(QuestionAnswer { answer }): Body<QuestionAnswer>,
) -> Answer<Response> {
    asker.approves()?;
    send((&context, &asker, &id, key), &[Command::reply(CallId(call), answer)]).await
}

/// Answer the question of a call. Deprecated: use `questions/{call}`
#[utoipa::path(post, path = "/v1/sessions/{id}/reply", tag = "sessions", request_body = ReplyRequest,
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
#[deprecated = "`questions/{call}` takes its place"]
pub(super) async fn reply(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
    Body(told): Body<ReplyRequest>,
) -> Answer<Response> {
    asker.approves()?;
    let reply = Command::reply(CallId(told.call), told.answer);
    send((&context, &asker, &id, key), &[reply]).await
}

/// Interrupt the running turn
#[utoipa::path(post, path = "/v1/sessions/{id}/interrupt", tag = "sessions",
    params(("id" = String, Path, description = "ID of a job")), responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn interrupt(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Id(id): Id,
    Key(key): Key,
) -> Answer<Response> {
    send((&context, &asker, &id, key), &[Command::Interrupt]).await
}

/// Refuses an answer to a call that does not wait for one of its kind. What a job asked before its worker was lost, it
/// asks again.
async fn check_waits(context: &Context, job: &Job, id: &str, commands: &[Command]) -> Answer<()> {
    let answered = commands.iter().find_map(|command| match command {
        Command::Answer { call, .. } | Command::AnswerInPart { call, .. } => Some((call, "an approval")),
        Command::Reply { call, .. } => Some((call, "an answer")),
        _ => None,
    });
    let Some((call, what)) = answered.filter(|_| ["running", WAITING].contains(&job.status)) else {
        return Ok(());
    };
    let kept = KeptJob::read(&context.fleet.database, id, (0, i64::MAX), |_| Vec::new()).await?;
    let is_asked = |(waits, entry): &(CallId, Arc<Entry>)| {
        let asks_to_approve = matches!(entry.fact, Fact::ApprovalAsked { .. });
        waits == call && asks_to_approve == (what == "an approval")
    };
    match watch::pending(&kept.entries).iter().any(is_asked) {
        true => Ok(()),
        false => Err(ApiError::conflict(format!("no call `{}` waits for {what}", call.0.escape_debug()))
            .suggest("`GET /v1/sessions/{id}/asked` lists the calls that do")),
    }
}

/// The job's worker carries it out, once it has one.
async fn send(
    (context, asker, id, key): (&Context, &Asker, &str, Option<Keyed>),
    commands: &[Command],
) -> Answer<Response> {
    let job = find(context, asker, id).await?;
    check_waits(context, &job, id, commands).await?;
    let who = name_of(asker).map(|owner| owner.0.as_str());
    let signed = |command: &Command| match command {
        Command::Prompt { channel: Some(_), .. } => command.clone(),
        unsigned => unsigned.clone().signed(who),
    };
    let commands: Vec<_> = commands.iter().map(signed).collect();
    let name = key.as_ref().map(|key| key.name.as_str());
    let sent = haft_fleet::send(&context.fleet.database, id, seen_by(asker), &commands, name).await;
    if !sent.map_err(unsure)? {
        return Err(ApiError::conflict(format!("the job `{id}` is {} already", job.status)));
    }
    Ok((StatusCode::ACCEPTED, Json(Accepted { session: id.to_owned() })).into_response())
}

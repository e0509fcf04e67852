//! Undo and redo of files and conversations.
use super::{
    Context,
    body::{Body, Id, blocking},
    report::FileChange,
    sessions::resting,
    watch::{FileLines, files},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    requests::{Key, Keyed, begin},
};
use axum::Json;
use futures::StreamExt;
use haft_core::{
    Command, Direction, Entry, Event, Fact, Seq, UndoCalls, active_path, arguments_in_brief, changed,
    past_calls::PastCalls, undo as plan,
};
use haft_engine::Session;
use haft_present::undo::{Refusal, undo_calls};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// How far to go back [default: the last turn]
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoRequest {
    /// Last entry to keep
    to: Option<u64>,
    /// Entry of a prompt: go back to before it
    before: Option<u64>,
    /// Number of calls that changed files to undo
    calls: Option<usize>,
    /// Undo this call alone, by its number in `GET /v1/sessions/{id}/calls`; the conversation stays as it is
    call: Option<usize>,
    /// With `call`: also undo the later calls that depend on it
    #[serde(default)]
    with_dependents: bool,
    /// With `call`: merge the text, with conflict markers where later changes overlap
    #[serde(default)]
    merge: bool,
    /// Only report what would be restored
    #[serde(default)]
    dry_run: bool,
}

/// Files that an undo or a redo changed
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct RestoredFiles {
    /// Changed files
    changes: Vec<FileChange>,
    /// Files that were changed elsewhere meanwhile, and left alone
    conflicts: Vec<String>,
    /// Number of calls whose changes were not recorded, and remain
    untracked: usize,
    /// Numbers of the calls that were undone by their numbers
    undone: Vec<usize>,
    /// With `dry_run`: what would become of the files, line by line
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileLines>,
}

/// A call that changed files
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangingCall {
    /// Number of the call in the session, counted from 1
    call: usize,
    /// ID, as in the timeline. IDs come again in later replies
    id: String,
    /// Entry of the reply that made it
    reply: u64,
    /// Tool
    name: String,
    /// Arguments in a few words
    summary: String,
    /// Changed files
    changes: Vec<FileChange>,
    /// Whether it was undone by its number
    undone: bool,
}

/// List the calls that changed files, with their numbers
#[utoipa::path(get, path = "/v1/sessions/{id}/calls", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Vec<ChangingCall>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn calls(context: Context, Id(id): Id) -> Answer<Json<Vec<ChangingCall>>> {
    let past = PastCalls::of(&context.hub.open(&id).await?.entries());
    let calls = past.calls.iter().filter(|call| !call.changes.is_empty());
    let calls = calls.map(|call| ChangingCall {
        call: call.number,
        id: call.id.0.clone(),
        reply: call.reply.0,
        name: call.name.clone(),
        summary: arguments_in_brief(&call.arguments),
        changes: changed::squash(&call.changes).iter().map(FileChange::from).collect(),
        undone: call.is_undone,
    });
    Ok(Json(calls.collect()))
}

/// Undo turns: restores files and the conversation
#[utoipa::path(post, path = "/v1/sessions/{id}/undo", tag = "sessions", request_body = UndoRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = RestoredFiles), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn undo(
    context: Context,
    Id(id): Id,
    Key(key): Key,
    Body(undo): Body<UndoRequest>,
) -> Answer<Json<RestoredFiles>> {
    let session = resting(&context, &id).await?;
    let entries = session.entries();
    checked(&undo)?;
    if let Some(call) = undo.call {
        if undo.dry_run || undo.to.is_some() || undo.before.is_some() || undo.calls.is_some() {
            return Err(ApiError::wrong(
                "`call` goes with neither `to` nor `before` nor `calls` nor `dry_run`",
            ));
        }
        let is_it =
            |entry: &Entry| matches!(&entry.fact, Fact::Rewound { calls, .. } if calls.contains(&call));
        if let Some(done) = done_before(&entries, key.as_ref(), Direction::Undo, |_| Some(is_it)) {
            return Ok(Json(done));
        }
        begin(key.as_ref(), &session).await?;
        let UndoRequest { with_dependents, merge, .. } = undo;
        return undo_call(&session, UndoCalls { calls: vec![call], with_dependents, merge }).await.map(Json);
    }
    if undo.dry_run {
        let plan = plan::back_to(&entries, target(&entries, &undo)?);
        let changes = changed::squash(&plan.changes).iter().map(FileChange::from).collect();
        let untracked = plan.untracked.len();
        let files = blocking(move || Ok(files(&session, &plan.changes))).await?;
        return Ok(Json(RestoredFiles { changes, untracked, files, ..RestoredFiles::default() }));
    }
    let goes_there = |before: &[Arc<Entry>]| {
        let to = target(before, &undo).ok()?;
        Some(move |entry: &Entry| entry.parent == Some(to))
    };
    if let Some(done) = done_before(&entries, key.as_ref(), Direction::Undo, goes_there) {
        return Ok(Json(done));
    }
    let to = target(&entries, &undo)?;
    begin(key.as_ref(), &session).await?;
    moved(&session, Command::Rewind { to }, Direction::Undo).await.map(Json)
}

/// The last entry to keep.
fn target(entries: &[Arc<Entry>], undo: &UndoRequest) -> Answer<Seq> {
    let to = match (undo.to.map(Seq).or(before(entries, undo.before)?), undo.calls) {
        (Some(to), _) if !active_path(entries).iter().any(|entry| entry.seq == to) => {
            return Err(ApiError::wrong(format!("there is no entry {to} to go back to"))
                .suggest("`export` shows them: `seq` of those that were not undone"));
        }
        (Some(to), _) => Some(to),
        (None, Some(calls)) => plan::before_last_calls(entries, calls),
        (None, None) => plan::before_last_turn(entries),
    };
    to.ok_or_else(|| ApiError::conflict("there is nothing to undo"))
}

/// What an earlier attempt of the request did, whose answer a crash prevented. `is_it` knows its entry, given those before
/// that attempt.
fn done_before<F: Fn(&Entry) -> bool>(
    entries: &[Arc<Entry>],
    key: Option<&Keyed>,
    wanted: Direction,
    is_it: impl FnOnce(&[Arc<Entry>]) -> Option<F>,
) -> Option<RestoredFiles> {
    let (before, since) = key?.earlier(entries)?;
    let is_it = is_it(before)?;
    let mut done = since.iter().filter(|entry| is_it(entry));
    done.find_map(|entry| RestoredFiles::of(&entry.fact, wanted))
}

/// Refuses what says nothing, or two things.
fn checked(undo: &UndoRequest) -> Answer<()> {
    let UndoRequest { call, calls, with_dependents, merge, .. } = undo;
    let bounds = [undo.to.is_some(), undo.before.is_some(), calls.is_some()];
    if call.is_none() && bounds.into_iter().filter(|is_given| *is_given).count() > 1 {
        return Err(ApiError::wrong("`to`, `before` and `calls` do not go together"));
    }
    let wrong = match (call, with_dependents, merge) {
        _ if *calls == Some(0) => "`calls` must be at least 1",
        (None, true, _) | (None, _, true) => "`with_dependents` and `merge` go with `call` only",
        (_, true, true) => "`with_dependents` and `merge` do not go together",
        _ => return Ok(()),
    };
    Err(ApiError::wrong(wrong))
}

/// The entry before a prompt.
fn before(entries: &[Arc<Entry>], prompt: Option<u64>) -> Answer<Option<Seq>> {
    let Some(prompt) = prompt else { return Ok(None) };
    let path = active_path(entries);
    let is_prompt = |fact: &Fact| {
        matches!(fact, Fact::Prompted { .. } | Fact::PromptQueued { .. } | Fact::PromptDenied { .. })
    };
    let place = path.iter().position(|entry| entry.seq == Seq(prompt) && is_prompt(&entry.fact));
    let place = place.and_then(|place| place.checked_sub(1));
    match place {
        Some(before) => Ok(Some(path[before].seq)),
        None => Err(ApiError::wrong(format!("there is no prompt {prompt} to go back to"))
            .suggest("`timeline` shows them: `seq` of those that were not undone")),
    }
}

async fn undo_call(session: &Session, undo: UndoCalls) -> Answer<RestoredFiles> {
    let is_merge = undo.merge;
    match undo_calls(session, undo).await {
        Ok(entry) => RestoredFiles::of(&entry.fact, Direction::Undo)
            .ok_or_else(|| ApiError::failed("the files were moved forward, and not back")),
        Err(Refusal { why, can_merge: false, .. }) => Err(ApiError::conflict(why)),
        // It is no text, or there was none before.
        Err(Refusal { why, .. }) if is_merge => Err(ApiError::in_the_way(why)),
        Err(Refusal { why, can_merge: true, .. }) => Err(ApiError::in_the_way(why).suggest(
            "`with_dependents` also undoes the later calls; `merge` merges the text, with conflict markers",
        )),
    }
}

/// Redo what the last undo took back
#[utoipa::path(post, path = "/v1/sessions/{id}/redo", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = RestoredFiles), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn redo(context: Context, Id(id): Id, Key(key): Key) -> Answer<Json<RestoredFiles>> {
    let session = resting(&context, &id).await?;
    let any = |_: &[Arc<Entry>]| Some(|_: &Entry| true);
    if let Some(done) = done_before(&session.entries(), key.as_ref(), Direction::Redo, any) {
        return Ok(Json(done));
    }
    if plan::last_undo(&session.entries()).is_none() {
        return Err(ApiError::conflict("there is nothing to redo"));
    }
    begin(key.as_ref(), &session).await?;
    moved(&session, Command::Redo, Direction::Redo).await.map(Json)
}

async fn moved(session: &Session, command: Command, wanted: Direction) -> Answer<RestoredFiles> {
    let mut turn = session.start(command);
    while let Some(event) = turn.next().await {
        let Event::Recorded(entry) = event else { continue };
        if let Some(restored) = RestoredFiles::of(&entry.fact, wanted) {
            return Ok(restored);
        }
    }
    let why = turn.report().await.error;
    Err(ApiError::failed(why.unwrap_or_else(|| "there was nothing to put back any more".into())))
}

impl RestoredFiles {
    /// What the fact says, if files were moved this way.
    fn of(fact: &Fact, wanted: Direction) -> Option<Self> {
        let Fact::Rewound { way, changes, conflicts, untracked, calls, .. } = fact else { return None };
        let done = changed::squash(changes);
        let done = done.iter().filter(|change| !conflicts.contains(&change.path));
        (*way == wanted).then(|| Self {
            changes: done.map(FileChange::from).collect(),
            conflicts: conflicts.iter().map(|path| path.display().to_string()).collect(),
            untracked: untracked.len(),
            undone: calls.clone(),
            files: Vec::new(),
        })
    }
}

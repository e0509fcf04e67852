//! Outboxes: what sessions queued since it cannot be taken back; listed, sent and dropped.
use super::{
    Context,
    body::{Asked, Body, Id, IdAndCall, blocking},
    closed_sets::{OutboxItemKind, OutboxItemState},
    sessions::{may_act, resting},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    requests::{Key, Keyed, begin},
};
use axum::Json;
use haft_app::outbox::carry_out;
use haft_core::{
    Command, Entry, Fact, ItemState, OutboxItem,
    outbox::{self, TestEvidence},
};
use haft_present::outbox::{tests, whole_call};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};
use utoipa::{IntoParams, ToSchema};

/// An item of an outbox, as `haft outbox list --json` prints it, with words for a person
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OutboxRow {
    /// ID of the item
    id: String,
    /// What sending it does
    kind: OutboxItemKind,
    /// The host, the remote, `SERVER/TOOL` or the program
    target: String,
    /// What became of it
    state: OutboxItemState,
    /// ID of the session
    session: String,
    /// Title of the session
    title: String,
    /// Tool, as the model wrote it
    tool: String,
    /// Arguments, as the model wrote them
    arguments: Value,
    /// The call that sends it, with the tool's own names
    sends: OutboxCall,
    /// All arguments of that call, for a person
    call: String,
    /// Why it was queued
    reason: String,
    /// Prompt before the call
    prompt: String,
    /// Last run of tests before the call; `null` if there was none
    evidence: Option<OutboxEvidence>,
    /// The same in a few words for a person
    tests: &'static str,
    /// When it was queued, in milliseconds since 1970-01-01 UTC
    queued_at: u64,
    /// When its call began the last time, in milliseconds since 1970-01-01 UTC
    sent_at: Option<u64>,
    /// What its call gave
    result: Option<String>,
}

/// A call that sends an item
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OutboxCall {
    /// Name of the tool
    name: String,
    /// What it is called with
    arguments: Value,
}

/// A run of tests
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OutboxEvidence {
    /// Command line that ran the tests
    command: String,
    /// Whether all tests passed, and there were some
    ok: bool,
    /// Whether files were changed after it, before the item was queued
    is_outdated: bool,
}

/// Items of outboxes
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OutboxRows {
    /// In the order in which they were queued
    items: Vec<OutboxRow>,
}

impl OutboxRow {
    fn of(item: OutboxItem, title: String) -> Self {
        let (call, tests) = (whole_call(&item), tests(&item));
        let OutboxItem { id, kind, target, state, session, tool, arguments, sends, reason, prompt, .. } =
            item;
        let evidence = item.evidence.map(|TestEvidence { command, ok, is_outdated }| OutboxEvidence {
            command,
            ok,
            is_outdated,
        });
        Self {
            id,
            kind: kind.into(),
            target,
            state: state.into(),
            session: session.0,
            title,
            tool,
            arguments,
            sends: OutboxCall { name: sends.name, arguments: sends.arguments },
            call,
            reason,
            prompt,
            evidence,
            tests,
            queued_at: item.queued_at,
            sent_at: item.sent_at,
            result: item.result,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutboxFilter {
    /// Only items that were neither sent nor dropped
    #[serde(default)]
    waiting: bool,
}

impl OutboxFilter {
    fn takes(&self, item: &OutboxItem) -> bool {
        !self.waiting || !matches!(item.state, ItemState::Sent | ItemState::Dropped)
    }
}

/// List what waits in the outboxes of all sessions, and what became of it
#[utoipa::path(get, path = "/v1/outbox", operation_id = "list_outbox", tag = "sessions", params(OutboxFilter),
    responses((status = OK, body = OutboxRows), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn all(context: Context, Asked(which): Asked<OutboxFilter>) -> Answer<Json<OutboxRows>> {
    let rows = blocking(move || {
        let hub = &context.hub;
        let shown =
            hub.home().page(None, usize::MAX, |session| hub.shows(&session.workspace, &session.id), |_| {});
        let mut titles: HashMap<_, _> =
            shown.into_iter().map(|session| (session.id, session.title)).collect();
        let items = hub.settings().app.outbox_of(titles.keys().cloned().collect::<Vec<_>>());
        let items = items.into_iter().filter(|item| which.takes(item)).map(|item| {
            let title = titles.entry(item.session.clone()).or_default().clone();
            OutboxRow::of(item, title)
        });
        Ok(OutboxRows { items: items.collect() })
    });
    rows.await.map(Json)
}

/// List the outbox of a session
#[utoipa::path(get, path = "/v1/sessions/{id}/outbox", operation_id = "session_outbox", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session"), OutboxFilter),
    responses((status = OK, body = OutboxRows), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn of_session(
    context: Context,
    Id(id): Id,
    Asked(which): Asked<OutboxFilter>,
) -> Answer<Json<OutboxRows>> {
    let rows = blocking(move || {
        let known = context.hub.find(&id)?;
        let items = context.hub.settings().app.outbox(Some(&known.id.0), None)?;
        let items = items.into_iter().filter(|item| which.takes(item)).map(|item| row(&context, item));
        Ok(OutboxRows { items: items.collect() })
    });
    rows.await.map(Json)
}

/// How to send an item
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendRequest {
    /// Send it also if what an earlier attempt did is unknown
    #[serde(default)]
    again: bool,
}

/// Send an item of an outbox, and respond with what became of it
///
/// Its call is made once, in the workspace as it is now: of two requests the second is refused.
#[utoipa::path(post, path = "/v1/sessions/{id}/outbox/{item}/send", operation_id = "send_outbox_item", tag = "sessions", request_body = SendRequest,
    params(("id" = String, Path, description = "ID of a session"), ("item" = String, Path, description = "ID of an item")),
    responses((status = OK, body = OutboxRow), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn send(
    context: Context,
    IdAndCall(id, item): IdAndCall,
    Key(key): Key,
    Body(SendRequest { again }): Body<SendRequest>,
) -> Answer<Json<OutboxRow>> {
    let by = context.hub.user_name().map(str::to_owned);
    let command = Command::SendItem { item: item.clone(), again, by };
    done(context, key, (&id, &item), ("send an item", command)).await
}

/// Drop an item of an outbox: it is never sent
#[utoipa::path(post, path = "/v1/sessions/{id}/outbox/{item}/drop", operation_id = "drop_outbox_item", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session"), ("item" = String, Path, description = "ID of an item")),
    responses((status = OK, body = OutboxRow), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn drop_item(
    context: Context,
    IdAndCall(id, item): IdAndCall,
    Key(key): Key,
) -> Answer<Json<OutboxRow>> {
    let by = context.hub.user_name().map(str::to_owned);
    let command = Command::DropItem { item: item.clone(), by };
    done(context, key, (&id, &item), ("drop an item", command)).await
}

async fn done(
    context: Context,
    key: Option<Keyed>,
    (id, item): (&str, &str),
    (what, command): (&str, Command),
) -> Answer<Json<OutboxRow>> {
    let session = resting(&context, id).await?;
    may_act(&context, &session, what).await?;
    let entries = session.entries();
    let Some(known) = outbox::outbox(&entries).into_iter().find(|known| known.id == item) else {
        return Err(ApiError::missing(format!("there is no item `{}` in this session", item.escape_debug()))
            .suggest("`GET /v1/sessions/{id}/outbox` lists them"));
    };
    let is_unknown = matches!(known.state, ItemState::Sending | ItemState::Unknown);
    let refused = |why| {
        ApiError::conflict(why).suggest(match is_unknown {
            true => {
                "look whether it was done; a new request with `{\"again\":true}` sends the item all the same"
            }
            false => "`GET /v1/sessions/{id}/outbox` says what became of the item",
        })
    };
    if was_begun(&entries, key.as_ref(), &command) {
        return match is_unknown {
            true => Err(refused(format!(
                "cannot {what}: this request was cut off before, and what it did is unknown"
            ))),
            false => blocking(move || Ok(Json(row(&context, known)))).await,
        };
    }
    begin(key.as_ref(), &session).await?;
    let now = carry_out(&session, item, command).await.map_err(refused)?;
    blocking(move || Ok(Json(row(&context, now)))).await
}

/// Whether an earlier attempt of the request gave the command, and a crash prevented its answer.
fn was_begun(entries: &[Arc<Entry>], key: Option<&Keyed>, command: &Command) -> bool {
    let since = key.and_then(|key| key.earlier(entries)).map_or(&[][..], |(_, since)| since);
    since.iter().any(|entry| match (&entry.fact, command) {
        (Fact::ItemSending { item, .. }, Command::SendItem { item: wanted, .. })
        | (Fact::ItemDropped { item, .. }, Command::DropItem { item: wanted, .. }) => item == wanted,
        _ => false,
    })
}

fn row(context: &Context, item: OutboxItem) -> OutboxRow {
    let title = context.hub.home().summary(item.session.clone()).map(|session| session.title);
    OutboxRow::of(item, title.unwrap_or_default())
}

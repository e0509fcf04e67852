//! Sessions: created, listed, renamed, forked, exported, deleted.
use super::{
    Context,
    body::{Asked, Body, Id, blocking},
    closed_sets::PermissionMode,
    pages,
};
use crate::page::export_html;
use crate::{
    access_log::OfSession,
    error::{Answer, ApiError, ErrorBody},
    hub::{Choice, Hub, SessionState as Standing},
    parts::{Bounds, Place},
    requests::{Key, Keyed},
};
use axum::{
    Extension, Json,
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use haft_app::{config::serve::Permission, export::ExportFormat};
use haft_core::{Command, LastTurn, Mode, Seq, SessionId};
use haft_engine::{Session, Summary, new_session_id};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A new session. Omitted fields default to the options of `haft serve`
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// Absolute path of the workspace, in a served folder
    workspace: Option<String>,
    /// Agent to use
    agent: Option<String>,
    /// `PROVIDER/MODEL`
    model: Option<String>,
    /// Profile to use
    profile: Option<String>,
    /// Reasoning effort, if the model takes one
    effort: Option<String>,
    /// Name of the session
    name: Option<String>,
    /// Permission mode, up to the maximum that the server allows
    #[schema(value_type = Option<PermissionMode>)]
    permission: Option<String>,
    /// Ask no questions, and queue what cannot be taken back
    #[serde(default)]
    outbox: bool,
}

/// A session in a list
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionRow {
    /// ID of the session
    id: String,
    /// Name that a person gave it
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Name of the session, or the beginning of its first prompt
    title: String,
    /// State of the session
    state: Standing,
    /// Workspace folder
    workspace: String,
    /// Model it asks, as `PROVIDER/MODEL`
    model: String,
    /// Time of creation, in milliseconds since 1970-01-01 UTC
    opened_at: u64,
    /// Time of the last entry, in milliseconds since 1970-01-01 UTC
    last_at: u64,
    /// Number of entries
    entries: usize,
    /// Session that delegated to it
    #[serde(skip_serializing_if = "Option::is_none")]
    delegated_by: Option<String>,
    /// Session it was forked from
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<String>,
    /// User who began it, on a server with users
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
}

/// A page of sessions
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionPage {
    /// Newest first
    sessions: Vec<SessionRow>,
    /// Value of `after` for the next page; `null` on the last one
    next: Option<String>,
    /// Why sessions are left out whose journals cannot be read; only for clients that see the sessions of all
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

/// A session with its settings
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionDetail {
    #[serde(flatten)]
    row: SessionRow,
    /// Agent
    agent: String,
    /// User who began it; `null` if a client with the server's own token did
    user: Option<String>,
    /// Profile
    profile: String,
    /// Reasoning effort that was chosen for it
    effort: Option<String>,
    /// Permission mode; `null` if the session is not open here
    permission: Option<PermissionMode>,
    /// Widest permission mode allowed; `null` if the session is not open here
    up_to: Option<PermissionMode>,
    /// Context window of the model in tokens; `null` if unknown, or if the session is not open here
    window: Option<u64>,
    /// The last turn did not finish: `continue` resumes it
    is_unfinished: bool,
    /// Whether the session is a job
    is_job: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionFilter {
    /// Maximum number of sessions, up to 500 [default: 50]
    limit: Option<usize>,
    /// Only sessions older than this one: `next` of the previous page
    #[serde(alias = "cursor", alias = "behind")]
    after: Option<String>,
    /// Only sessions in this state
    #[serde(alias = "state")]
    #[param(inline, value_type = Option<Standing>)]
    status: Option<String>,
    /// Only sessions whose title contains this text
    search: Option<String>,
    /// Include subagent sessions
    all: Option<bool>,
}

/// Create a session
#[utoipa::path(post, path = "/v1/sessions", operation_id = "create_session", tag = "sessions", request_body = NewSession,
    responses((status = CREATED, body = SessionDetail), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn create(context: Context, Key(key): Key, Body(new): Body<NewSession>) -> Answer<Response> {
    let hub = &context.hub;
    let mode = new.permission.as_deref().map(|name| allowed_mode(hub, name)).transpose()?;
    if new.outbox {
        // What can be taken back is not asked about.
        context.require(Permission::Approve)?;
    }
    let place = hub.place(new.workspace.as_deref(), new.model, new.profile)?;
    let place = Place { effort: new.effort, ..place };
    let id = made_as(key);
    let session = match hub.home().begun(&id)? {
        Some(begun) => hub.open(&begun.0).await?,
        None => hub.create(id, place, &agent_of(hub, new.agent)).await?,
    };
    if let Some(mode) = mode {
        session.start(Command::SetMode { mode }).report().await;
    }
    if new.outbox {
        session.start(Command::OpenOutbox).report().await;
    }
    if let Some(name) = &new.name {
        hub.home().rename(&session.id().0, name)?;
    }
    let of = Extension(OfSession(session.id().clone()));
    let detail = detail(hub, &session.id().0).await?;
    Ok((StatusCode::CREATED, of, Json(detail)).into_response())
}

/// The ID of what a request makes. If there is such a session already, an earlier request was cut off after it began.
pub(crate) fn made_as(key: Option<Keyed>) -> SessionId {
    key.map_or_else(new_session_id, |key| key.id)
}

/// The agent to use, which the client may have named.
pub(crate) fn agent_of(hub: &Hub, named: Option<String>) -> String {
    named.unwrap_or_else(|| hub.settings().agent())
}

/// The mode of this name, if the role of the user allows it.
fn allowed_mode(hub: &Hub, name: &str) -> Answer<Mode> {
    let mode = mode(name)?;
    match hub.user().and_then(|user| Bounds::of(&user.role).up_to) {
        Some(up_to) if mode > up_to => {
            let message = format!("your role does not allow the mode `{}`", mode.name());
            Err(ApiError::forbidden(message).suggest(format!("choose one up to `{}`", up_to.name())))
        }
        _ => Ok(mode),
    }
}

fn mode(name: &str) -> Answer<Mode> {
    Mode::named(name).ok_or_else(|| {
        let all = Mode::ALL.map(|mode| format!("`{}`", mode.name())).join(", ");
        ApiError::wrong(format!("`{}` is not a mode", name.escape_debug()))
            .suggest(format!("modes are {all}"))
    })
}

/// List sessions
#[utoipa::path(get, path = "/v1/sessions", operation_id = "list_sessions", tag = "sessions", params(SessionFilter),
    responses((status = OK, body = SessionPage), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn list(context: Context, Asked(which): Asked<SessionFilter>) -> Answer<Json<SessionPage>> {
    let limit = pages::limit(which.limit);
    let status = which.status.map(|name| pages::one_of(&name, &Standing::ALL)).transpose()?;
    let page = blocking(move || {
        let hub = &context.hub;
        let after = which.after.map(SessionId);
        let search = which.search.unwrap_or_default().to_lowercase();
        let is_wanted = |session: &Summary| {
            (session.delegated_by.is_none() || which.all == Some(true))
                && session.title.to_lowercase().contains(&search)
                && hub.shows(&session.workspace, &session.id)
                && status.is_none_or(|status| hub.state(&session.id) == status)
        };
        let mut unreadable = Vec::new();
        let found = hub.home().page(after.as_ref(), limit + 1, is_wanted, |error| {
            hub.warn_once(error.to_string());
            unreadable.push(error.to_string());
        });
        if hub.user().is_some_and(|user| !user.role.sees_all()) {
            // They may be those of others.
            unreadable.clear();
        }
        let (found, next) = pages::page(found, limit, |session| session.id.0.clone());
        Ok(SessionPage {
            sessions: found.into_iter().map(|session| row(hub, session)).collect(),
            next,
            unreadable,
        })
    });
    page.await.map(Json)
}

fn row(hub: &Hub, session: Summary) -> SessionRow {
    let Summary { id, opened_at, last_at, workspace, model, name, title, .. } = session;
    let Summary { entries, delegated_by, forked_from, user, .. } = session;
    SessionRow {
        state: hub.state(&id),
        model: hub.chosen_model(&id).unwrap_or(model),
        id: id.0,
        name,
        title,
        workspace: workspace.display().to_string(),
        opened_at,
        last_at,
        entries,
        delegated_by: delegated_by.map(|id| id.0),
        forked_from: forked_from.map(|from| from.session.0),
        user,
    }
}

/// Show a session
#[utoipa::path(get, path = "/v1/sessions/{id}", operation_id = "show_session", tag = "sessions", params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = SessionDetail), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn show(context: Context, Id(id): Id) -> Answer<Json<SessionDetail>> {
    detail(&context.hub, &id).await.map(Json)
}

async fn detail(hub: &Hub, id: &str) -> Answer<SessionDetail> {
    let (hub, id) = (hub.clone(), id.to_owned());
    blocking(move || {
        let known = hub.find(&id)?;
        let Some(summary) = hub.home().read_summary(known.id.clone())? else {
            return Err(ApiError::failed(format!("cannot read the session `{id}`")));
        };
        let live = hub.live(&known.id);
        let entries = live.as_ref().map_or_else(|| hub.home().peek(&id), |session| Ok(session.entries()))?;
        // `SessionDetail::user` holds it, and is `null` without one.
        let row = SessionRow { user: None, ..row(&hub, summary) };
        Ok(SessionDetail {
            is_unfinished: row.state == Standing::Idle && LastTurn::of(&entries).can_go_on(),
            row,
            agent: known.agent,
            user: known.owner,
            profile: known.place.profile.clone(),
            effort: known.place.effort.clone(),
            permission: live.as_ref().map(|session| session.mode().into()),
            up_to: live.as_ref().map(|session| session.ceiling().into()),
            window: hub.engines().known(&known.place).and_then(|engine| engine.setup().model.window),
            is_job: known.order.is_some(),
        })
    })
    .await
}

/// Changes of a session
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionChange {
    /// New name; an empty one removes the name
    name: Option<String>,
    /// Agent to go on with
    agent: Option<String>,
    /// Model to go on with, as `PROVIDER/MODEL`
    model: Option<String>,
    /// Reasoning effort to go on with
    effort: Option<String>,
    /// Permission mode, up to the maximum that the server allows
    #[schema(value_type = Option<PermissionMode>)]
    permission: Option<String>,
}

/// Rename a session, or change its agent, model, effort or permission mode
///
/// Another agent, model or effort is for the turns that follow; a session in which a turn runs keeps those it has. The
/// journal names all three.
#[utoipa::path(patch, path = "/v1/sessions/{id}", operation_id = "change_session", tag = "sessions", request_body = SessionChange,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = SessionDetail), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn change(
    context: Context,
    Id(id): Id,
    Body(changed): Body<SessionChange>,
) -> Answer<Json<SessionDetail>> {
    let (hub, known) = (&context.hub, context.hub.find(&id)?);
    let mode = changed.permission.as_deref().map(|name| allowed_mode(hub, name)).transpose()?;
    if let Some(name) = &changed.name {
        hub.home().rename(&id, name)?;
        hub.tell(&known.id);
    }
    let choice = Choice { agent: changed.agent, model: changed.model, effort: changed.effort };
    if !choice.is_empty() {
        hub.switch(&id, choice).await?;
    }
    if let Some(mode) = mode {
        let session = opened(&context, &id).await?;
        session.start(Command::SetMode { mode }).report().await;
    }
    detail(hub, &id).await.map(Json)
}

/// Delete a session and its subagent sessions
#[utoipa::path(delete, path = "/v1/sessions/{id}", operation_id = "delete_session", tag = "sessions", params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Deleted), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn delete(context: Context, Id(id): Id) -> Answer<Json<Deleted>> {
    let hub = context.hub.clone();
    let known = hub.find(&id)?;
    // For a session that another process has open, this is reported below.
    if hub.state(&known.id) != Standing::Elsewhere {
        hub.close(&known.id).await?;
    }
    let own = hub.clone();
    let removed = blocking(move || own.home().remove(&id).map_err(ApiError::from)).await?;
    removed.iter().for_each(|id| hub.tell(id));
    Ok(Json(Deleted { deleted: removed.into_iter().map(|id| id.0).collect() }))
}

/// Deleted sessions
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {
    /// Session IDs
    deleted: Vec<String>,
}

/// Where to fork
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// Last entry that both sessions share [default: the last entry]
    at: Option<u64>,
}

/// Copy a session, whole or up to an entry
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", operation_id = "fork_session", tag = "sessions", request_body = ForkRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = CREATED, body = SessionDetail), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn fork(
    context: Context,
    Id(id): Id,
    Key(key): Key,
    Body(ForkRequest { at }): Body<ForkRequest>,
) -> Answer<Response> {
    let hub = context.hub.clone();
    hub.check_fork(&hub.find(&id)?)?;
    let (own, made) = (hub.clone(), made_as(key));
    let user = hub.user_name().map(str::to_owned);
    let forked = blocking(move || match own.home().begun(&made)? {
        Some(forked) => Ok(forked),
        None => own.home().fork_as(made, &id, at.map(Seq), user).map_err(ApiError::from),
    });
    let forked = forked.await?;
    hub.tell(&forked);
    let detail = detail(&hub, &forked.0).await?;
    Ok((StatusCode::CREATED, Extension(OfSession(forked)), Json(detail)).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    /// `json` is the journal, one entry per line [default: json]
    #[param(inline, value_type = Option<FormatName>)]
    format: Option<String>,
}

/// Format of an export
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "names the formats in the description of the API")]
enum FormatName {
    Json,
    Markdown,
    Html,
}

/// How a session is written.
enum Export {
    Text(ExportFormat),
    /// A single HTML file.
    Page,
}

/// Export a session
#[utoipa::path(get, path = "/v1/sessions/{id}/export", operation_id = "export_session", tag = "sessions", params(ExportParams, ("id" = String, Path, description = "ID of a session")),
    responses((status = OK, content((String = "text/plain"), (String = "text/markdown"), (String = "application/x-ndjson"))), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn export(
    context: Context,
    Id(id): Id,
    Asked(ExportParams { format }): Asked<ExportParams>,
) -> Answer<Response> {
    let (kind, format) = match format.as_deref() {
        None | Some("json") => ("application/x-ndjson", Export::Text(ExportFormat::Json)),
        Some("markdown") => ("text/markdown; charset=utf-8", Export::Text(ExportFormat::Markdown)),
        // ExportParams text: a page of ours would run in our own name.
        Some("html") => ("text/plain; charset=utf-8", Export::Page),
        Some(other) => {
            return Err(ApiError::wrong(format!("`{}` is not a format", other.escape_debug()))
                .suggest("formats are `json`, `markdown` and `html`"));
        }
    };
    let text = blocking(move || {
        let known = context.hub.find(&id)?;
        let app = &context.hub.settings().app;
        Ok(match format {
            Export::Text(format) => app.export(&known.id.0, format)?,
            Export::Page => export_html(app, &known.id.0)?,
        })
    });
    let text: String = text.await?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response())
}

/// A session that can take commands: in no wider mode than the role of the user allows, nor than this server allows where
/// another process has it open.
pub(crate) async fn opened(context: &Context, id: &str) -> Answer<Session> {
    let session = context.hub.open(id).await?;
    may_command(context, &session).await?;
    Ok(session)
}

async fn may_command(context: &Context, session: &Session) -> Answer<()> {
    context.hub.check_mode(session)?;
    if !session.is_joined() {
        return Ok(());
    }
    let engine = context.hub.engine_of(&session.id().0).await?;
    let setup = engine.setup();
    session.wider_than(setup).map_or(Ok(()), |mode| {
        let most = setup.widest_mode().name();
        let message = format!(
            "another process has the session open in the mode `{}`, and this server allows the mode `{most}` at most",
            mode.name()
        );
        Err(ApiError::conflict(message).suggest("choose a narrower mode there, or close the session there"))
    })
}

/// A session in which no turn runs.
pub(super) async fn resting(context: &Context, id: &str) -> Answer<Session> {
    let session = opened(context, id).await?;
    match context.hub.state(session.id()) {
        Standing::Working | Standing::Asking => {
            Err(ApiError::conflict("a turn runs in the session").suggest("wait for its end, or interrupt it"))
        }
        Standing::Idle | Standing::Elsewhere => Ok(session),
    }
}

/// Fails if this server, or the process that has the session open, only reads: no client does anything for good then.
pub(super) async fn may_act(context: &Context, session: &Session, what: &str) -> Answer<()> {
    let engine = context.hub.engine_of(&session.id().0).await?;
    let ceiling = engine.setup().widest_mode().min(session.ceiling());
    if ceiling > Mode::Plan {
        return Ok(());
    }
    let message = format!("cannot {what}: this server allows the mode `{}` at most", ceiling.name());
    Err(ApiError::conflict(message).suggest("do it in a terminal, where the session is"))
}

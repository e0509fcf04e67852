//! [`Fleet`]: jobs of a fleet over HTTP: its database stores them, and workers on any machine run them. This process
//! runs none.
mod attach;
mod figures;
mod jobs;
pub(crate) mod overview;
mod pauses;
mod push;
mod sessions;

use crate::{
    api::{body::Body, lists::Me},
    bearer::given,
    error::{Answer, ApiError, ErrorBody},
    gate::Asker,
    highlight::{Code, HighlightedCode, highlighted},
    hub,
    push::FleetPush,
    readiness::{self, Needs, Readiness},
    requests::{Requests, once},
    router::{self, Token, described},
};
use axum::{
    Extension, Json, Router, extract::FromRef, http::HeaderMap, middleware::from_fn_with_state, routing::post,
};
pub(crate) use figures::FleetFigures;
use haft_app::{App, config::serve::Permission};
use haft_engine::RemoteClients;
use haft_fleet::{Database, FleetError, JobLine, Owner};
use jobs::Job;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::sleep};
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

/// How often it is looked whether the token of a client that stays connected still holds.
const TOKEN_INTERVAL: Duration = Duration::from_secs(10);

/// A fleet, as a server knows it.
#[derive(Clone)]
pub struct Fleet {
    /// Where its jobs stand.
    pub database: Database,
    /// Knows the agents.
    pub app: App,
    /// Owner of jobs that are submitted with the server's own token.
    pub admin: Owner,
}

/// What handlers work with.
#[derive(Clone)]
struct Context {
    fleet: Fleet,
    figures: Arc<FleetFigures>,
    stopping: CancellationToken,
    readiness: Arc<Readiness>,
    /// What each attached terminal has given.
    clients: Arc<RemoteClients>,
    /// Places for attached terminals.
    places: Arc<Semaphore>,
    push: Arc<FleetPush>,
}

impl FromRef<Context> for Arc<Readiness> {
    fn from_ref(context: &Context) -> Self {
        context.readiness.clone()
    }
}

/// The description of the API, but for its routes.
#[derive(OpenApi)]
#[openapi(
    info(title = "Haft", description = "Jobs of a fleet. `haft help serve` explains it."),
    components(schemas(ErrorBody)),
    modifiers(&Token),
    security(("token" = [])),
    tags(
        (name = "sessions", description = "What goes on in jobs"),
        (name = "jobs", description = "Work that workers on any machine do"),
        (name = "push", description = "Devices that are notified"),
        (name = "server", description = "The server itself"),
    )
)]
struct Description;

/// The routes, without authorization.
#[expect(deprecated, reason = "the old paths of answers stay for a version")]
pub(crate) fn router(
    fleet: Fleet,
    figures: Arc<FleetFigures>,
    push: Arc<FleetPush>,
    stopping: CancellationToken,
) -> Router {
    let routes = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(router::health))
        .routes(routes!(readiness::ready))
        .routes(routes!(figures::metrics))
        .routes(routes!(me))
        .routes(routes!(highlight))
        .routes(routes!(overview::show))
        .routes(routes!(pauses::pause_fleet))
        .routes(routes!(pauses::resume_fleet))
        .routes(routes!(pauses::pause_group))
        .routes(routes!(pauses::resume_group))
        .routes(routes!(jobs::create, jobs::list))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(push::list, push::put, push::delete))
        .routes(routes!(attach::list))
        .route("/v1/sessions", post(attach::create))
        .routes(routes!(attach::show))
        .routes(routes!(attach::agents))
        .routes(routes!(attach::attach))
        .routes(routes!(sessions::events))
        .routes(routes!(sessions::all))
        .routes(routes!(sessions::asked))
        .routes(routes!(sessions::diff))
        .routes(routes!(sessions::prompt))
        .routes(routes!(sessions::approve))
        .routes(routes!(sessions::answer))
        .routes(routes!(sessions::reply_to))
        .routes(routes!(sessions::reply))
        .routes(routes!(sessions::interrupt));
    let requests = Requests::in_fleet(fleet.database.clone());
    let needs = Needs::Database(fleet.database.clone());
    let readiness = Arc::new(Readiness::new(needs, stopping.clone()));
    let places = Arc::new(Semaphore::new(hub::MAX_ATTACHED));
    let context = Context { fleet, figures, stopping, readiness, clients: Arc::default(), places, push };
    described(routes).with_state(context).layer(from_fn_with_state(requests, once))
}

impl From<FleetError> for ApiError {
    fn from(error: FleetError) -> Self {
        let message = error.to_string();
        match error {
            FleetError::Usage(_) => Self::wrong(message),
            FleetError::Denied(_) => {
                Self::forbidden(message).suggest("ask the administrator of the fleet for access")
            }
            FleetError::Limit(_) => {
                Self::limited(message).suggest("send it again when fewer jobs are pending")
            }
            FleetError::Unreachable { .. } => Self::away(message),
            _ => Self::failed(message),
        }
    }
}

/// A request without an answer may have been carried out: repeating it blindly would do it twice.
fn unsure(error: FleetError) -> ApiError {
    let is_passing = error.is_passing();
    let answer = ApiError::from(error);
    if is_passing { answer.suggest("look whether it was done before you send it again") } else { answer }
}

/// What an asker may see: all, or what is its own.
fn seen_by(asker: &Asker) -> Option<&Owner> {
    match asker {
        Asker::Admin(_) => None,
        Asker::Owner { owner, .. } => Some(owner),
    }
}

/// Whom the token of the asker names.
fn name_of(asker: &Asker) -> Option<&Owner> {
    match asker {
        Asker::Admin(name) => name.as_ref(),
        Asker::Owner { owner, .. } => Some(owner),
    }
}

/// Show who asks, and what the client may do
#[utoipa::path(get, path = "/v1/me", operation_id = "show_me", tag = "server", responses((status = OK, body = Me), (status = "4XX", body = ErrorBody)))]
async fn me(Extension(asker): Extension<Asker>) -> Json<Me> {
    use Permission::{Administer, Approve, Prompt, View};
    let may = match &asker {
        Asker::Admin(_) => &[View, Prompt, Approve, Administer][..],
        Asker::Owner { may_approve: true, .. } => &[View, Prompt, Approve],
        Asker::Owner { may_approve: false, .. } => &[View, Prompt],
    };
    let user = name_of(&asker).map(|owner| owner.0.clone());
    Json(Me {
        role: user.is_some().then(|| asker.role().to_owned()),
        user,
        may: may.iter().map(|what| what.name()).collect(),
    })
}

/// Waits until the database no longer knows the token of the request: a login ends, or an owner gets another token. For the
/// server's own token, waits for ever.
fn until_signed_out(
    context: &Context,
    asker: &Asker,
    headers: &HeaderMap,
) -> impl Future<Output = ()> + Send + use<> {
    let token = given(headers).map(|token| String::from_utf8_lossy(token).into_owned());
    let token = token.filter(|_| *asker != Asker::Admin(None));
    let database = context.fleet.database.clone();
    async move {
        let Some(token) = token else { return std::future::pending().await };
        while !matches!(haft_fleet::client_of(&database, &token).await, Ok(None)) {
            sleep(TOKEN_INTERVAL).await;
        }
    }
}

/// Color code
///
/// Changes nothing, and is in no audit log.
#[utoipa::path(post, path = "/v1/highlight", operation_id = "highlight", tag = "server", request_body = Code,
    responses((status = OK, body = HighlightedCode), (status = "4XX", body = ErrorBody)))]
async fn highlight(Body(code): Body<Code>) -> Answer<Json<HighlightedCode>> {
    highlighted(code).await
}

async fn find(context: &Context, asker: &Asker, id: &str) -> Answer<Job> {
    let mut line = find_line(context, asker, id).await?;
    line.title = haft_fleet::description(&context.fleet.database, &line).await?;
    Ok(line.into())
}

async fn find_line(context: &Context, asker: &Asker, id: &str) -> Answer<JobLine> {
    let found = haft_fleet::job(&context.fleet.database, id, seen_by(asker)).await?;
    found.ok_or_else(|| no_job(id))
}

/// The error for a job that does not exist, or belongs to another owner.
fn no_job(id: &str) -> ApiError {
    ApiError::missing(format!("there is no job `{}`", id.escape_debug())).suggest("`GET /v1/jobs` lists them")
}

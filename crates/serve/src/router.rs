//! [`router`]: the routes, and the description that is made of them.
use crate::{
    api::{
        Context, attach, commands, completions, jobs, lists, outbox, push, review, sessions, typed, undo,
        uploads, verify, watch,
    },
    crew::Crew,
    error::{ApiError, ErrorBody},
    highlight,
    hub::Hub,
    openai, page,
    push::Push,
    readiness::{self, Readiness},
    requests::{Requests, once},
};
use axum::{
    Json, Router,
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::get,
};
use std::sync::Arc;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};

/// The description of the API, but for its routes.
#[derive(OpenApi)]
#[openapi(
    info(title = "Haft", description = "Sessions and jobs of an agent. `haft help serve` explains it."),
    components(schemas(ErrorBody)),
    modifiers(&Token),
    security(("token" = [])),
    tags(
        (name = "sessions", description = "Conversations with one journal each"),
        (name = "jobs", description = "Work that is a session of its own"),
        (name = "lists", description = "Agents and tools"),
        (name = "push", description = "Devices that are notified"),
        (name = "openai", description = "The agent as an OpenAI-compatible endpoint"),
        (name = "server", description = "The server itself"),
    )
)]
struct Description;

/// How clients show who they are.
pub(crate) struct Token;

impl Modify for Token {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = description.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
}

/// The routes of sessions.
#[expect(deprecated, reason = "the old paths of answers stay for a version")]
fn of_sessions() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::show, sessions::change, sessions::delete))
        .routes(routes!(sessions::fork))
        .routes(routes!(sessions::export))
        .routes(routes!(commands::prompt))
        .routes(routes!(typed::typed))
        .routes(routes!(completions::completions))
        .routes(routes!(commands::approve))
        .routes(routes!(commands::answer))
        .routes(routes!(commands::reply_to))
        .routes(routes!(commands::reply))
        .routes(routes!(commands::interrupt))
        .routes(routes!(commands::withdraw))
        .routes(routes!(commands::go_on))
        .routes(routes!(commands::compact))
        .routes(routes!(undo::calls))
        .routes(routes!(undo::undo))
        .routes(routes!(undo::redo))
        .routes(routes!(watch::events))
        .routes(routes!(attach::attach))
        .routes(routes!(watch::timeline))
        .routes(routes!(watch::asked))
        .routes(routes!(watch::diff))
        .routes(routes!(review::changes))
        .routes(routes!(review::commit))
        .routes(routes!(review::pull_request))
        .routes(routes!(verify::verify))
        .routes(routes!(outbox::all))
        .routes(routes!(outbox::of_session))
}

/// All routes, without authorization.
pub(crate) fn router(
    hub: Hub,
    crew: Crew,
    push: Push,
    requests: Requests,
    readiness: Arc<Readiness>,
) -> Router {
    let routes = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(health))
        .routes(routes!(readiness::ready))
        .routes(routes!(metrics))
        .merge(of_sessions())
        .routes(routes!(outbox::send))
        .routes(routes!(outbox::drop_item))
        .routes(routes!(watch::all))
        .routes(routes!(uploads::upload))
        .routes(routes!(highlight::highlight))
        .routes(routes!(jobs::create, jobs::list))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::schedules))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(push::list, push::put, push::delete))
        .routes(routes!(lists::me))
        .routes(routes!(lists::agents))
        .routes(routes!(lists::choices))
        .routes(routes!(lists::tools))
        .routes(routes!(lists::models))
        .routes(routes!(lists::model))
        .routes(routes!(openai::chat::completions))
        .routes(routes!(openai::responses::create))
        .routes(routes!(openai::responses::retrieve));
    let context = Context::new(hub, crew, push, readiness);
    described(routes).with_state(context).layer(from_fn_with_state(requests, once))
}

/// The routes, a description of them, the page, and the answer for unknown paths.
pub(crate) fn described<S: Clone + Send + Sync + 'static>(routes: OpenApiRouter<S>) -> Router<S> {
    let (routes, description) = routes.split_for_parts();
    let described = crate::description::text(description);
    routes
        .route("/openapi.json", get(move || async move { json(described.clone()) }))
        .merge(page::routes())
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
}

fn json(text: String) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

pub(crate) async fn nothing_here() -> ApiError {
    ApiError::missing("there is no such route").suggest("`GET /openapi.json` describes them all")
}

pub(crate) async fn not_so() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", "the route does not take this method")
        .suggest("`GET /openapi.json` describes the routes")
}

/// Liveness check
///
/// Needs no token.
#[utoipa::path(get, path = "/healthz", tag = "server", security(()), responses((status = OK, body = inline(Health))))]
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}

#[derive(serde::Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    status: &'static str,
}

/// Metrics, in the text format of Prometheus
#[utoipa::path(get, path = "/metrics", tag = "server", responses((status = OK, body = String, content_type = "text/plain")))]
async fn metrics(context: Context) -> Response {
    (&**context.hub.figures()).into_response()
}

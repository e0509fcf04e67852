//! Pauses of a fleet, of owners and of queues, over HTTP.
use super::{Context, overview::FleetPauses};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    gate::Asker,
};
use axum::{
    Extension, Json,
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
};
use haft_fleet::{Owner, Paused};
use serde::Deserialize;
use utoipa::ToSchema;

/// Kind of what is paused beside the whole fleet
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Group {
    /// Jobs of an owner
    Owners,
    /// Jobs of a queue
    Queues,
}

/// The owner or queue in a path.
pub(super) struct Named(Paused);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let Path((group, name)) = Path::<(Group, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::missing("only `owners` and `queues` are paused by name"))?;
        Ok(Self(match group {
            Group::Owners => Paused::Owner(Owner(name)),
            Group::Queues => Paused::Queue(name),
        }))
    }
}

/// Pause the fleet
///
/// No worker begins a job until the fleet is resumed; running jobs continue. Only for administrators.
#[utoipa::path(post, path = "/v1/fleet/pause", operation_id = "pause_fleet", tag = "server",
    responses((status = OK, body = FleetPauses), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn pause_fleet(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
) -> Answer<Json<FleetPauses>> {
    pause(&context, &asker, &Paused::All).await
}

/// Resume the fleet
///
/// Pauses of single owners and queues stay. Only for administrators.
#[utoipa::path(post, path = "/v1/fleet/resume", operation_id = "resume_fleet", tag = "server",
    responses((status = OK, body = FleetPauses), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn resume_fleet(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
) -> Answer<Json<FleetPauses>> {
    resume(&context, &asker, &Paused::All).await
}

/// Pause an owner or a queue
///
/// No worker begins a job of it until it is resumed; running jobs continue. Only for administrators.
#[utoipa::path(post, path = "/v1/fleet/{group}/{name}/pause", operation_id = "pause_group", tag = "server",
    params(("group" = inline(Group), Path, description = "What is paused"), ("name" = String, Path, description = "Name of the owner or queue")),
    responses((status = OK, body = FleetPauses), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn pause_group(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Named(paused): Named,
) -> Answer<Json<FleetPauses>> {
    pause(&context, &asker, &paused).await
}

/// Resume an owner or a queue
///
/// A pause of the whole fleet stays. Only for administrators.
#[utoipa::path(post, path = "/v1/fleet/{group}/{name}/resume", operation_id = "resume_group", tag = "server",
    params(("group" = inline(Group), Path, description = "What is resumed"), ("name" = String, Path, description = "Name of the owner or queue")),
    responses((status = OK, body = FleetPauses), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn resume_group(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Named(paused): Named,
) -> Answer<Json<FleetPauses>> {
    resume(&context, &asker, &paused).await
}

async fn pause(context: &Context, asker: &Asker, paused: &Paused) -> Answer<Json<FleetPauses>> {
    asker.administers()?;
    if !haft_fleet::pause(&context.fleet.database, paused).await? {
        return Err(ApiError::missing(format!("{paused} does not exist"))
            .suggest("`haft fleet owner NAME` creates an owner"));
    }
    Ok(Json(FleetPauses::of(haft_fleet::pauses(&context.fleet.database).await?)))
}

async fn resume(context: &Context, asker: &Asker, paused: &Paused) -> Answer<Json<FleetPauses>> {
    asker.administers()?;
    if !haft_fleet::unpause(&context.fleet.database, paused).await? {
        return Err(ApiError::conflict(format!("{paused} is not paused"))
            .suggest("`GET /v1/fleet` says what is paused"));
    }
    Ok(Json(FleetPauses::of(haft_fleet::pauses(&context.fleet.database).await?)))
}

//! Notifications of a fleet's jobs: which devices of an owner are told that something waits or has ended, and when.
use super::{Context, name_of};
use crate::{
    api::{
        body::{Asked, Body},
        push::{DeviceRow, NewDevice, Notifications, WhichDevice},
    },
    bearer::given,
    error::{Answer, ApiError, ErrorBody},
    gate::Asker,
    push::Hindrance,
};
use axum::{Extension, Json, extract::State, http::HeaderMap};
use haft_fleet::{Owner, PushDevice};

/// List the own devices that are notified
#[utoipa::path(get, path = "/v1/push", operation_id = "list_push", tag = "push",
    responses((status = OK, body = Notifications), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn list(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
) -> Answer<Json<Notifications>> {
    check(&context)?;
    shown(&context, owner(&context, &asker)).await
}

/// Notify a device of the own jobs, or change what it is told
#[utoipa::path(put, path = "/v1/push", operation_id = "put_push", tag = "push", request_body = NewDevice,
    responses((status = OK, body = Notifications), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn put(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    headers: HeaderMap,
    Body(NewDevice { subscription, wishes }): Body<NewDevice>,
) -> Answer<Json<Notifications>> {
    check(&context)?;
    let owner = owner(&context, &asker);
    let token = String::from_utf8_lossy(given(&headers).unwrap_or_default()).into_owned();
    context.push.add(owner, &token, &subscription, &wishes).await??;
    shown(&context, owner).await
}

/// Notify a device no more
#[utoipa::path(delete, path = "/v1/push", operation_id = "delete_push", tag = "push", params(WhichDevice),
    responses((status = OK, body = Notifications), (status = "4XX", body = ErrorBody), (status = SERVICE_UNAVAILABLE, body = ErrorBody)))]
pub(super) async fn delete(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
    Asked(WhichDevice { id }): Asked<WhichDevice>,
) -> Answer<Json<Notifications>> {
    check(&context)?;
    let owner = owner(&context, &asker);
    context.push.remove(owner, &id).await?;
    shown(&context, owner).await
}

/// The owner whose jobs the devices are notified of.
fn owner<'a>(context: &'a Context, asker: &'a Asker) -> &'a Owner {
    name_of(asker).unwrap_or(&context.fleet.admin)
}

fn check(context: &Context) -> Answer<()> {
    match context.push.hindrance() {
        None => Ok(()),
        Some(Hindrance::Off) => Err(crate::api::push::is_off()),
        Some(Hindrance::NoKey) => Err(ApiError::missing(
            "this server notifies no devices: it has no key of the fleet",
        )
        .suggest(
            "the person who runs it can set HAFT_FLEET_KEY, with the same value at all servers and workers",
        )),
    }
}

async fn shown(context: &Context, owner: &Owner) -> Answer<Json<Notifications>> {
    let key = context.push.public_key().await?;
    let devices = context.push.devices(owner).await?;
    let row = |(PushDevice { subscription, wishes, .. }, added_at): (PushDevice, i64)| {
        let (subscription, wishes) =
            (serde_json::from_str(&subscription).ok()?, serde_json::from_str(&wishes).ok()?);
        Some(DeviceRow::new(subscription, wishes, u64::try_from(added_at).unwrap_or_default()))
    };
    Ok(Json(Notifications::new(key, devices.into_iter().filter_map(row).collect())))
}

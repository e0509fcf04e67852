//! Notifications: which devices are told that something waits or has ended, and when.
use super::{
    Context,
    body::{Asked, Body, blocking},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    push::{AddError, Device, Push, PushSubscription, Wishes},
};
use axum::Json;
use serde::{Deserialize, Serialize};
use std::io;
use utoipa::{IntoParams, ToSchema};

/// What a browser needs to be notified, and the devices that are
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Notifications {
    /// Public key of the server, in base64url: `applicationServerKey` of a subscription
    key: String,
    /// Own devices that are notified
    devices: Vec<DeviceRow>,
}

/// A device that is notified
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeviceRow {
    /// ID of the subscription
    id: String,
    /// Address of the subscription
    endpoint: String,
    /// What it is told
    wishes: Wishes,
    /// When it was added, in milliseconds since 1970-01-01 UTC
    added_at: u64,
}

/// A device to notify
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDevice {
    /// What the browser subscribed to with the key of `GET /v1/push`
    pub(crate) subscription: PushSubscription,
    /// What it is told
    #[serde(default)]
    pub(crate) wishes: Wishes,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhichDevice {
    /// ID of the subscription
    pub(crate) id: String,
}

impl Notifications {
    pub(crate) fn new(key: String, devices: Vec<DeviceRow>) -> Self {
        Self { key, devices }
    }
}

impl DeviceRow {
    pub(crate) fn new(subscription: PushSubscription, wishes: Wishes, added_at: u64) -> Self {
        Self { id: subscription.id(), endpoint: subscription.endpoint, wishes, added_at }
    }
}

impl From<Device> for DeviceRow {
    fn from(Device { subscription, wishes, added_at, .. }: Device) -> Self {
        Self::new(subscription, wishes, added_at)
    }
}

/// List the own devices that are notified
#[utoipa::path(get, path = "/v1/push", operation_id = "list_push", tag = "push",
    responses((status = OK, body = Notifications), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn list(context: Context) -> Answer<Json<Notifications>> {
    check(&context.push)?;
    blocking(move || shown(&context)).await.map(Json)
}

/// Notify a device, or change what it is told
#[utoipa::path(put, path = "/v1/push", operation_id = "put_push", tag = "push", request_body = NewDevice,
    responses((status = OK, body = Notifications), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn put(context: Context, Body(device): Body<NewDevice>) -> Answer<Json<Notifications>> {
    check(&context.push)?;
    let NewDevice { subscription, wishes } = device;
    blocking(move || {
        context.push.add(&context.hub, subscription, wishes)?;
        shown(&context)
    })
    .await
    .map(Json)
}

/// Notify a device no more
#[utoipa::path(delete, path = "/v1/push", operation_id = "delete_push", tag = "push", params(WhichDevice),
    responses((status = OK, body = Notifications), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn delete(
    context: Context,
    Asked(WhichDevice { id }): Asked<WhichDevice>,
) -> Answer<Json<Notifications>> {
    check(&context.push)?;
    blocking(move || {
        context.push.remove(&context.hub, &id).map_err(files)?;
        shown(&context)
    })
    .await
    .map(Json)
}

fn check(push: &Push) -> Answer<()> {
    match push.is_off() {
        false => Ok(()),
        true => Err(is_off()),
    }
}

pub(crate) fn is_off() -> ApiError {
    ApiError::missing("this server notifies no devices")
        .suggest("the person who runs it can remove `off` from `[serve.push]`")
}

fn shown(context: &Context) -> Answer<Notifications> {
    let key = context.push.public_key().map_err(files)?;
    let devices = context.push.devices_of(&context.hub).map_err(files)?;
    Ok(Notifications { key, devices: devices.into_iter().map(DeviceRow::from).collect() })
}

fn files(error: io::Error) -> ApiError {
    ApiError::failed(format!("cannot use `serve-push-key` and `serve-push.json` in Haft's home: {error}"))
        .suggest("repair the file, or remove it and subscribe all devices again")
}

impl From<AddError> for ApiError {
    fn from(error: AddError) -> Self {
        match error {
            AddError::Invalid(why) => Self::wrong(format!("the device cannot be notified: {why}"))
                .suggest("send what `PushSubscription.toJSON()` gives, and quiet hours as `GET /openapi.json` shows them"),
            AddError::NoContact => {
                Self::conflict("Apple's push service takes nothing from this server: it names no contact")
                    .suggest("the person who runs it can set `contact = \"mailto:NAME\"` in `[serve.push]`")
            }
            AddError::Many(most) => Self::conflict(format!("{most} devices of yours are notified already"))
                .suggest("stop one of those that `GET /v1/push` lists"),
            AddError::NoUser => Self::forbidden("you are no user of this server any more")
                .suggest("ask the person who runs the server"),
            AddError::Files(error) => files(error),
        }
    }
}

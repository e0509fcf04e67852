//! Lets a terminal on another machine attach to a session.
use super::{Context, body::Id, sessions::opened};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    hub::{Hub, SessionState},
    socket::{MAX_MESSAGE_BYTES, PROTOCOL, link},
};
use axum::{
    extract::ws::{Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    http::{HeaderMap, header::SEC_WEBSOCKET_PROTOCOL},
    response::Response,
};
use haft_core::SessionId;
use haft_engine::{Link, Served};

/// Attach to a session, over a WebSocket
///
/// For `haft attach`. The protocol `haft-session.1` is lines of JSON in binary messages: the events of the session, and the
/// commands that a person gives.
#[utoipa::path(get, path = "/v1/sessions/{id}/socket", operation_id = "attach_session", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session"), ("Sec-WebSocket-Protocol" = String, Header, description = "`haft-session.1`")),
    responses((status = SWITCHING_PROTOCOLS), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn attach(
    context: Context,
    Id(id): Id,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer<Response> {
    let hub = context.hub.clone();
    let id = hub.find(&id)?.id;
    let upgrade = checked(&headers, upgrade)?;
    let place = hub.place_for_client()?;
    let served = Served::of(&opened(&context, &id.0).await?, hub.user_name().map(str::to_owned));
    let is_at_rest = hub.state(&id) == SessionState::Idle;
    Ok(upgrade.on_upgrade(async move |socket| {
        serve(&hub, &id, (served, is_at_rest), socket).await;
        drop(place);
    }))
}

/// The WebSocket that the request asks for, with the protocol of this version.
pub(crate) fn checked(
    headers: &HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer<WebSocketUpgrade> {
    check_protocol(headers)?;
    let upgrade = upgrade.map_err(|why| {
        ApiError::wrong(format!("the request does not open a WebSocket: {}", why.body_text()))
            .suggest("`haft attach` opens one; a proxy before the server must pass on `Upgrade`")
    })?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.protocols([PROTOCOL]))
}

fn check_protocol(headers: &HeaderMap) -> Answer<()> {
    let asked: Vec<_> =
        headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|name| name.to_str().ok()).collect();
    let asked = asked.join(", ");
    match asked.split(',').any(|name| name.trim() == PROTOCOL) {
        true => Ok(()),
        false => Err(ApiError::wrong(format!(
            "this server (haft {}) speaks the protocol `{PROTOCOL}`, and the client asks for `{}`",
            env!("CARGO_PKG_VERSION"),
            asked.escape_debug()
        ))
        .suggest("install the same version of haft on both machines")),
    }
}

/// Until the person leaves, the session closes or the server stops. Meanwhile the session is not idle.
async fn serve(hub: &Hub, id: &SessionId, (served, is_at_rest): (Served, bool), socket: WebSocket) {
    let link = lines(socket);
    let stays_open = async {
        loop {
            hub.touch(id);
            tokio::time::sleep(hub.settings().idle / 2).await;
        }
    };
    tokio::select! {
        () = served.serve(link, hub.clients(), is_at_rest) => {}
        () = stays_open => {}
        () = hub.stopping().cancelled() => {}
        () = hub.clone().until_signed_out() => {}
    }
}

/// The two directions of a WebSocket.
pub(crate) fn lines(socket: WebSocket) -> Link {
    link(socket, data, Message::Binary)
}

fn data(message: Message) -> Option<bytes::Bytes> {
    matches!(message, Message::Binary(_) | Message::Text(_)).then(|| message.into_data())
}

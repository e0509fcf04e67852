//! [`of_greeting`] and [`of_request`]: rewrite errors of the SDK, which names Rust types, for users and models.
use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};

/// Why a handshake failed.
pub(super) fn of_greeting(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer to the greeting is not one of MCP".to_owned()
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it answered another request than the greeting".to_owned()
        }
        ClientInitializeError::ConnectionClosed(_) => {
            "it closed the connection before it answered the greeting".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        ClientInitializeError::JsonRpcError(error) => format!("it refused the greeting: {}", error.message),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<_> = server_supported.iter().map(ToString::to_string).collect();
            format!("it speaks revisions of MCP that Haft does not: {}", versions.join(", "))
        }
        ClientInitializeError::NoPreferredProtocolVersion | ClientInitializeError::Cancelled => {
            "the greeting was cancelled".to_owned()
        }
        // Most servers support this handshake.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_greeting(fallback),
        _ => "it does not answer the greeting as MCP wants".to_owned(),
    }
}

/// Whether a handshake failed because the server requires a login: HTTP status 401.
pub(super) fn wants_login(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => is_unauthorized(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => wants_login(fallback),
        _ => false,
    }
}

/// Why a request failed.
pub(super) fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => of_transport(error),
        ServiceError::TransportClosed => "the connection is closed".to_owned(),
        ServiceError::UnexpectedResponse => "its answer is not one to such a request".to_owned(),
        ServiceError::SubscriptionLagged { .. } => "it tells more than can be heard".to_owned(),
        ServiceError::Cancelled { reason: Some(reason) } => format!("it was cancelled: {reason}"),
        ServiceError::Cancelled { reason: None } => "it was cancelled".to_owned(),
        ServiceError::Timeout { timeout } => format!("no answer within {} seconds", timeout.as_secs()),
        ServiceError::InputRequiredRoundsExceeded { max_rounds } => {
            format!("it asked for more after {max_rounds} answers")
        }
        _ => "it failed".to_owned(),
    }
}

pub(super) fn is_unauthorized(error: &DynamicTransportError) -> bool {
    match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::AuthRequired(_)) => true,
        // A challenge without a scheme.
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => said.starts_with("HTTP 401"),
        _ => false,
    }
}

/// The HTTP status of a server that accepts no requests at the moment, and so has done nothing.
pub(super) fn busy(error: &DynamicTransportError) -> Option<u16> {
    match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        // Proxies also answer 503 if the server has received the request.
        Some(StreamableHttpError::HttpStatus(error)) => Some(error.status).filter(|status| *status == 429),
        _ => None,
    }
}

fn of_transport(error: &DynamicTransportError) -> String {
    let error = &*error.error;
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => in_full(error),
        Some(StreamableHttpError::UnexpectedContentType(kind)) => {
            let kind = kind.as_deref().unwrap_or("none");
            format!("it answers with neither JSON nor events: its content type is `{kind}`")
        }
        Some(StreamableHttpError::AuthRequired(_)) => "it wants a login".to_owned(),
        Some(StreamableHttpError::Auth(error)) => format!("the login cannot be used: {}", in_full(error)),
        Some(StreamableHttpError::InsufficientScope(wanted)) => match &wanted.required_scope {
            Some(scope) => format!("the login lacks the scope `{scope}`: log in with `--scopes {scope}`"),
            None => "the login does not allow it".to_owned(),
        },
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => {
            format!("its answer is not one of MCP: {said}")
        }
        _ => in_full(error),
    }
}

/// An error and its causes.
pub(super) fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source()).map(ToString::to_string);
    let mut told = error.to_string();
    for cause in causes.filter(|cause| !cause.is_empty()) {
        if !told.contains(&cause) {
            told += &format!(": {cause}");
        }
    }
    told
}

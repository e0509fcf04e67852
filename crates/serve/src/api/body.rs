//! [`Body`], [`Id`] and [`Asked`]: extract bodies, names in paths and queries from requests. Invalid ones get an error
//! in the same form as other errors.
use crate::error::{Answer, ApiError};
use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{StatusCode, request::Parts},
};
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;
use std::{error::Error, time::Duration};
use tokio::time::timeout;

/// Maximum size of a body, in bytes: enough for a long prompt with a few pictures.
pub(crate) const LONGEST: usize = 24 << 20;
/// How long a body may take to arrive.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// A JSON body. An empty body means `{}`.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Answer<Self> {
        let bytes = whole(request).await?;
        let bytes = if bytes.is_empty() { Bytes::from_static(b"{}") } else { bytes };
        let wrong = |why: String| {
            ApiError::wrong(format!("cannot read the body: {why}"))
                .suggest("`GET /openapi.json` describes what each route takes")
        };
        // Otherwise serde would read an array as the fields in their order.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(wrong("it must be an object, and is an array".to_owned()));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| wrong(error.to_string()))
    }
}

/// Reads the whole body.
pub(crate) async fn whole(request: Request) -> Answer<Bytes> {
    let too_long = || {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body has more than {LONGEST} bytes"),
        )
        .suggest("leave pictures out, or make them smaller")
    };
    let named = request
        .headers()
        .get("content-length")
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if named.is_some_and(|length| length > LONGEST) {
        return Err(too_long());
    }
    match timeout(ARRIVAL_TIMEOUT, to_bytes(request.into_body(), LONGEST)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.source().is_some_and(|source| source.is::<LengthLimitError>()) => {
            Err(too_long())
        }
        Ok(Err(error)) => Err(ApiError::wrong(format!("cannot read the body: {error}"))),
        Err(_) => {
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the body did not arrive in time"))
        }
    }
}

/// The name in a path. An invalid name is answered like an unknown one.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let Path(id) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::missing("the path holds no name"))?;
        Ok(Self(id))
    }
}

/// The IDs of the session and of the call in a path.
pub(crate) struct IdAndCall(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for IdAndCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let Path((id, call)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::missing("the path holds no names of a session and a call"))?;
        Ok(Self(id, call))
    }
}

/// The query of a URL, after the `?`.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let Query(asked) = Query::<T>::from_request_parts(parts, state)
            .await
            .map_err(|error| ApiError::wrong(format!("cannot read the query: {}", error.body_text())))?;
        Ok(Self(asked))
    }
}

/// Runs blocking file access on a separate thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(ApiError::failed("a fault in the program")))
}

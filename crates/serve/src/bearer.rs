//! [`given`]: reads the token of a request.
use axum::http::{HeaderMap, HeaderName, header::AUTHORIZATION};

/// The token, if the request has exactly one. RFC 9110, 11.1: the scheme's name is case-insensitive.
pub(crate) fn given(headers: &HeaderMap) -> Option<&[u8]> {
    if is_repeated(headers, &AUTHORIZATION) {
        return None;
    }
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// Whether a header occurs more than once: a proxy may have checked one of them and passed on both.
pub(crate) fn is_repeated(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get_all(name).iter().nth(1).is_some()
}

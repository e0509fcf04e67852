//! [`private`] and others: tell the model why a page could not be fetched.
use haft_core::{ToolError, ToolErrorKind};
use haft_http::LeadsInside;
use reqwest::Response;
use std::error::Error;
use url::Url;

pub(super) fn private(url: &Url) -> ToolError {
    let message = format!("cannot fetch `{url}`: it is an address of this machine or of a private network");
    ToolError::new(ToolErrorKind::Security, message)
        .hint("take a public address; only the person can open private ones to this tool")
}

pub(super) fn failed(url: &Url, response: &Response) -> ToolError {
    let status = response.status();
    let message = format!("cannot fetch `{url}`: the server answered {status}");
    let kind = if status.is_server_error() { ToolErrorKind::System } else { ToolErrorKind::User };
    ToolError::new(kind, message).details(serde_json::json!({"status": status.as_u16()}))
}

pub(super) fn broken(url: &Url, error: reqwest::Error) -> ToolError {
    let error = error.without_url();
    if causes(&error).any(|cause| cause.is::<LeadsInside>()) {
        return private(url);
    }
    let last = causes(&error).last().map(ToString::to_string).unwrap_or_default();
    ToolError::new(ToolErrorKind::System, format!("cannot fetch `{url}`: {last}")).caused_by(error)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| error.source())
}

//! The description of the API, finished: what OpenAPI 3.1 wants of every response, and paths as it writes them.
use axum::http::StatusCode;
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, PathItem},
};

/// As JSON.
pub(crate) fn text(mut description: OpenApi) -> String {
    let paths = std::mem::take(&mut description.paths.paths);
    for (path, mut item) in paths {
        operations(&mut item).for_each(describe);
        // A name that may hold slashes is marked for the router alone.
        description.paths.paths.insert(path.replace("{*", "{"), item);
    }
    description.to_json().unwrap_or_default()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    [get, put, post, delete, options, head, patch, trace].into_iter().filter_map(Option::as_mut)
}

fn describe(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = in_words(status);
        }
    }
}

fn in_words(status: &str) -> String {
    let known = status.parse().ok().and_then(|status: StatusCode| status.canonical_reason());
    match (status, known) {
        ("4XX", _) => "The request was refused: `error` says why".to_owned(),
        ("5XX", _) => "The server failed: `error` says why".to_owned(),
        (_, Some(known)) => known.to_owned(),
        (status, None) => status.to_owned(),
    }
}

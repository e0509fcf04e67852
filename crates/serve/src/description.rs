//! [`text`]: completes the description of the API: adds what OpenAPI 3.1 requires of every response, paths in its
//! notation, and the header that every `POST` accepts.
use axum::http::StatusCode;
use utoipa::openapi::{
    ObjectBuilder, OpenApi, RefOr, Required, Type,
    path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
};

/// Returns the description as JSON.
pub(crate) fn text(mut description: OpenApi) -> String {
    let paths = std::mem::take(&mut description.paths.paths);
    for (path, mut item) in paths {
        operations(&mut item).for_each(describe);
        if let Some(post) = &mut item.post {
            post.parameters.get_or_insert_default().push(RefOr::T(key()));
        }
        // The mark of a name that may contain slashes is only for the router.
        description.paths.paths.insert(path.replace("{*", "{"), item);
    }
    description.to_json().unwrap_or_default()
}

fn key() -> Parameter {
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Up to 255 visible ASCII characters. The same request with the same key is done once within 24 hours, and \
             answered alike; another request with it is refused with 422",
        ))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(255))))
        .build()
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

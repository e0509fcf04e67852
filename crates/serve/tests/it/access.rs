//! Access control: a name of the server, its own page, the token, a content type.
use crate::kit::{Server, answer, request};
use axum::http::HeaderValue;
use haft_core::Mode;

#[tokio::test]
async fn a_request_is_refused_before_it_is_routed() {
    let server = Server::start(Mode::Ask, &[]).await;
    let table = [
        ("host", "evil.example", 421, "wrong_host"),
        ("origin", "http://evil.example", 403, "wrong_origin"),
        ("sec-fetch-site", "cross-site", 403, "wrong_origin"),
        ("authorization", "Bearer wrong", 401, "unauthorized"),
        ("content-type", "text/plain", 415, "wrong_content_type"),
    ];
    for (name, value, status, kind) in table {
        let mut request = request("POST /v1/sessions", "{}");
        request.headers_mut().insert(name, HeaderValue::from_static(value));
        let refused = answer(server.send(request).await).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["type"]),
            (status, &kind.into()),
            "{name}"
        );
    }
    assert_eq!(server.ask("GET /v1/sessions", "").await.json()["sessions"], serde_json::json!([]));
}

#[tokio::test]
async fn the_page_and_the_checks_need_no_token() {
    let server = Server::start(Mode::Ask, &[]).await;
    for path in
        ["/", "/healthz", "/fold.js", "/transcript.js", "/session.js", "/composer.js", "/approvals.js"]
    {
        let mut request = request(&format!("GET {path}"), "");
        request.headers_mut().remove("authorization");
        let answer = answer(server.send(request).await).await;
        assert_eq!(answer.status.as_u16(), 200, "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{path}");
    }
}

#[tokio::test]
async fn an_error_says_what_was_wrong() {
    let server = Server::start(Mode::Ask, &[]).await;
    let id = server.session().await;
    let prompt = format!("POST /v1/sessions/{id}/prompt");
    let table = [
        ("GET /v1/nothing", "", 404, "not_found"),
        ("DELETE /healthz", "", 405, "wrong_method"),
        ("GET /v1/sessions/nope", "", 404, "not_found"),
        ("GET /v1/sessions/nope/timeline", "", 404, "not_found"),
        ("GET /v1/sessions?status=odd", "", 400, "invalid_request"),
        (&prompt, "{}", 400, "invalid_request"),
        (&prompt, r#"{"odd":1}"#, 400, "invalid_request"),
        (&format!("GET /v1/sessions/{id}/events?view=odd"), "", 400, "invalid_request"),
        (&format!("POST /v1/sessions/{id}/approvals/c1"), r#"{"answer":"once"}"#, 409, "conflict"),
        (&format!("POST /v1/sessions/{id}/redo"), "", 409, "conflict"),
    ];
    for (line, body, status, kind) in table {
        let refused = server.ask(line, body).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["type"]),
            (status, &kind.into()),
            "{line}"
        );
    }
}

//! The routes that clients of OpenAI talk to, where requests meet each other or a turn does not end well.
use crate::kit::{Answer, Server, answer, request};
use axum::http::StatusCode;
use haft_core::Mode;
use serde_json::{Value, json};

const BASH: &str = "echo x >> marker";

fn acts() -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": BASH}}]})
}

async fn respond(server: &Server, input: &str, previous: Option<&str>) -> Answer {
    let body = json!({"model": "haft", "input": input, "previous_response_id": previous}).to_string();
    server.ask("POST /v1/responses", &body).await
}

async fn chat(server: &Server, messages: Value) -> Answer {
    let body = json!({"model": "haft", "messages": messages}).to_string();
    server.ask("POST /v1/chat/completions", &body).await
}

/// The session of an answer, and its text.
fn told(answer: &Answer) -> (String, String) {
    let json = answer.json();
    let session = json["haft"]["session"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned();
    let text = match &json["choices"] {
        Value::Null => &json["output"][0]["content"][0]["text"],
        choices => &choices[0]["message"]["content"],
    };
    (session, text.as_str().unwrap().to_owned())
}

// H-130
#[tokio::test(flavor = "multi_thread")]
async fn two_requests_that_go_on_from_one_answer_are_two_branches() {
    let lines = [json!({"say": "Base."}), json!({"say": "Next.", "delay_ms": 300}), json!({"say": "Third."})];
    let server = Server::start(Mode::Ask, &lines).await;
    let base = respond(&server, "begin", None).await.json();
    let id = base["id"].as_str();
    let (one, other) = tokio::join!(respond(&server, "one", id), respond(&server, "other", id));
    let (one, other) = (told(&one), told(&other));
    assert_eq!((one.1.as_str(), other.1.as_str()), ("Next.", "Next."));
    assert_ne!(one.0, other.0);

    let begun = chat(&server, json!([{"role": "user", "content": "hi"}])).await;
    assert_eq!(told(&begun).1, "Base.");
    let history = [("user", "hi"), ("assistant", "Base."), ("user", "and now?")];
    let history = json!(history.map(|(role, content)| json!({"role": role, "content": content})));
    let (one, other) = tokio::join!(chat(&server, history.clone()), chat(&server, history));
    let (one, other) = (told(&one), told(&other));
    assert_eq!((one.1.as_str(), other.1.as_str()), ("Next.", "Next."));
    assert_ne!(one.0, other.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_has_acted_and_fails_is_not_begun_again_by_the_client() {
    let table = [
        ("rejected", StatusCode::BAD_REQUEST),
        ("context", StatusCode::BAD_REQUEST),
        ("auth", StatusCode::BAD_GATEWAY),
    ];
    for (kind, status) in table {
        let fails = json!({"fail": "no", "kind": kind});
        let server = Server::start(Mode::Full, std::slice::from_ref(&fails)).await;
        let at_once = chat(&server, json!([{"role": "user", "content": "go"}])).await;
        assert_eq!(at_once.status, status, "{kind}: {}", at_once.text);
        assert_eq!(at_once.headers.get("x-should-retry"), None, "{kind}: nothing was done");
        let server = Server::start(Mode::Full, &[acts(), fails]).await;
        for answer in [
            chat(&server, json!([{"role": "user", "content": "go"}])).await,
            respond(&server, "go", None).await,
        ] {
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{kind}: {}", answer.text);
            assert_eq!(answer.headers["x-should-retry"], "false", "{kind}");
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("has what the turn did until then"), "{kind}: {message}");
        }
    }
}

async fn keyed(server: &Server, key: &str) -> Answer {
    let body = json!({"model": "haft", "input": "go"}).to_string();
    let mut request = request("POST /v1/responses", &body);
    request.headers_mut().insert("idempotency-key", key.parse().unwrap());
    answer(server.send(request).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_failed_before_it_did_anything_is_tried_again_with_its_key() {
    let lines = [json!({"fail": "no", "kind": "rejected"}), json!({"say": "Now."})];
    let server = Server::start(Mode::Ask, &lines).await;
    let failed = keyed(&server, "k").await;
    assert_eq!(
        (failed.status, &failed.json()["error"]["type"]),
        (StatusCode::BAD_REQUEST, &json!("model_failed"))
    );
    assert_eq!(told(&keyed(&server, "k").await).1, "Now.");
    assert_eq!(told(&keyed(&server, "k").await).1, "Now.", "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_interrupted_is_no_whole_one() {
    let server = Server::start(Mode::Ask, &[json!({"say": "partial", "pieces": 3, "delay_ms": 200})]).await;
    let interrupted = async {
        let id = loop {
            let listed = server.ask("GET /v1/sessions", "").await.json();
            if let Some(id) = listed["sessions"][0]["id"].as_str() {
                break id.to_owned();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        server.ask(&format!("POST /v1/sessions/{id}/interrupt"), "{}").await
    };
    let (answer, _) = tokio::join!(chat(&server, json!([{"role": "user", "content": "go"}])), interrupted);
    assert_eq!(answer.status, StatusCode::CONFLICT, "{}", answer.text);
    assert_eq!(answer.headers["x-should-retry"], "false");
}

//! Sessions are verified: the journal, and the calls that are made again.
use crate::kit::Server;
use axum::http::StatusCode;
use haft_core::Mode;
use serde_json::{Value, json};

/// A session in which a file was read and one was written.
async fn with_calls() -> (Server, String) {
    let read = json!({"name": "read", "arguments": {"path": "a.txt"}});
    let write = json!({"name": "write", "arguments": {"path": "b.txt", "content": "two\n"}});
    let lines = [json!({"calls": [read]}), json!({"calls": [write]}), json!({"say": "Done."})];
    let server = Server::start(Mode::AcceptEdits, &lines).await;
    server.write("a.txt", "one\n");
    let id = server.session().await;
    server.turn(&id).await;
    (server, id)
}

async fn verify(server: &Server, id: &str, how: Value) -> (StatusCode, Value) {
    let answer = server.ask(&format!("POST /v1/sessions/{id}/verify"), &how.to_string()).await;
    (answer.status, answer.json())
}

// H-87
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_verified_and_its_calls_are_made_again() {
    let (server, id) = with_calls().await;
    let (status, report) = verify(&server, &id, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{report}");
    assert_eq!((&report["verified"], &report["calls"]), (&json!(true), &json!(2)), "{report}");
    assert_eq!(report["lines"][2], "2 calls made again, with the same results", "{report}");
    let (_, chain) = verify(&server, &id, json!({"chain_only": true})).await;
    assert_eq!((&chain["calls"], &chain["head"]), (&json!(0), &report["head"]), "{chain}");
    let (status, _) = verify(&server, "nothing", json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

// H-87
#[tokio::test(flavor = "multi_thread")]
async fn the_first_thing_that_is_not_as_recorded_is_named() {
    let (server, id) = with_calls().await;
    let journal = server.home().join("sessions").join(&id).join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replace("two", "six")).unwrap();
    let (status, report) = verify(&server, &id, json!({})).await;
    assert_eq!((status, &report["verified"]), (StatusCode::OK, &json!(false)), "{report}");
    assert!(report["lines"][0].as_str().unwrap().starts_with("not verified: "), "{report}");
}

// H-87
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_verified_once_at_a_time_and_not_while_it_works() {
    let slow = json!({"calls": [{"name": "bash", "arguments": {"command": "sleep 1"}}]});
    let lines = [slow, json!({"say": "Done."}), json!({"say": "Slowly.", "pieces": 50, "delay_ms": 200})];
    let server = Server::start(Mode::Full, &lines).await;
    let id = server.session().await;
    server.turn(&id).await;
    let (first, second) = tokio::join!(verify(&server, &id, json!({})), verify(&server, &id, json!({})));
    let mut statuses = [first.0, second.0];
    statuses.sort();
    assert_eq!(statuses, [StatusCode::OK, StatusCode::CONFLICT], "{first:?} {second:?}");
    let refused = if first.0 == StatusCode::CONFLICT { first.1 } else { second.1 };
    assert!(refused["error"]["message"].as_str().unwrap().contains("is being verified"), "{refused}");

    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#).await;
    let (status, refused) = verify(&server, &id, json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(refused["error"]["message"].as_str().unwrap().contains("a turn runs in it"), "{refused}");
}

// H-87
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_needs_an_approval_is_not_made_again() {
    let call = json!({"name": "bash", "arguments": {"command": "true", "needs": ["live"]}});
    let server = Server::start(Mode::Ask, &[json!({"calls": [call]}), json!({"say": "Done."})]).await;
    let id = server.session().await;
    let asked = server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#).await;
    assert_eq!(asked.status, StatusCode::ACCEPTED);
    let events = format!("/v1/sessions/{id}/events");
    let events = server.events(&events, |event| event["type"] == "approval_asked").await;
    let call = events.last().unwrap()["call"].as_str().unwrap().to_owned();
    server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#).await;
    server.events(&format!("/v1/sessions/{id}/events"), |event| event["type"] == "turn_ended").await;
    let (status, refused) = verify(&server, &id, json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("`bash` was not run again"), "{refused}");
    let (status, chain) = verify(&server, &id, json!({"chain_only": true})).await;
    assert_eq!((status, &chain["verified"]), (StatusCode::OK, &json!(true)), "{chain}");
}

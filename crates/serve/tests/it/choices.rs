//! What can be chosen for a session: before it begins, and afterwards.
use crate::kit::Server;
use axum::http::StatusCode;
use haft_core::Mode;
use serde_json::{Value, json};
use std::{ffi::OsStr, path::Path, time::Duration};

/// A session with a reply, and another model in its workspace.
async fn two_models() -> (Server, String) {
    let server = Server::start(Mode::AcceptEdits, &[json!({"say": "From the first."})]).await;
    // It is asked for the second reply of the session.
    server.write("other", &format!("{}\n", json!({"say": "From the other."})).repeat(2));
    let id = server.session().await;
    assert_eq!(server.turn(&id).await["text"], "From the first.");
    (server, id)
}

async fn change(server: &Server, id: &str, what: Value) -> (StatusCode, Value) {
    let answer = server.ask(&format!("PATCH /v1/sessions/{id}"), &what.to_string()).await;
    (answer.status, answer.json())
}

// H-67
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_with_another_model_and_agent() {
    let (server, id) = two_models().await;
    let (status, detail) = change(&server, &id, json!({"model": "script/other", "agent": "reviewer"})).await;
    assert_eq!((status, &detail["agent"]), (StatusCode::OK, &json!("reviewer")), "{detail}");
    let model = Path::new(detail["model"].as_str().unwrap());
    assert_eq!(model.file_name(), Some(OsStr::new("other")), "{detail}");
    assert_eq!(server.turn(&id).await["text"], "From the other.");
    let timeline = server.ask(&format!("GET /v1/sessions/{id}/timeline"), "").await.text;
    assert!(timeline.contains("From the first.") && timeline.contains("From the other."), "{timeline}");
}

// H-67
#[tokio::test(flavor = "multi_thread")]
async fn a_choice_holds_while_other_requests_open_the_session() {
    let (server, id) = two_models().await;
    let changes = async {
        for agent in ["reviewer", "haft"].into_iter().cycle().take(20) {
            let (status, detail) = change(&server, &id, json!({"agent": agent})).await;
            assert_eq!((status, &detail["agent"]), (StatusCode::OK, &json!(agent)), "{detail}");
        }
    };
    let others = async {
        loop {
            let calls = server.ask(&format!("GET /v1/sessions/{id}/calls"), "").await;
            assert_eq!(calls.status, StatusCode::OK, "{}", calls.text);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = changes => {}
        () = others => {}
    }
}

// H-67
#[tokio::test(flavor = "multi_thread")]
async fn a_choice_that_is_not_there_changes_nothing() {
    let (server, id) = two_models().await;
    let before = server.ask(&format!("GET /v1/sessions/{id}"), "").await.json();
    for what in [
        json!({"agent": "unknown"}),
        json!({"model": "script/none"}),
        json!({"model": "other", "effort": "huge"}),
    ] {
        let (status, _) = change(&server, &id, what.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{what}");
    }
    let after = server.ask(&format!("GET /v1/sessions/{id}"), "").await.json();
    assert_eq!((&after["agent"], &after["model"]), (&before["agent"], &before["model"]));
}

// H-67
#[tokio::test(flavor = "multi_thread")]
async fn choices_are_listed() {
    let server = Server::start(Mode::AcceptEdits, &[]).await;
    let choices = server.ask("GET /v1/choices", "").await.json();
    let model = choices["defaults"]["model"].as_str().unwrap();
    assert!(model.starts_with("script/") && choices["models"][0]["id"] == model, "{choices}");
    assert_eq!(choices["permissions"], json!(["read-only", "plan", "ask", "accept-edits"]));
    assert_eq!(choices["defaults"]["workspace"], choices["folders"][0]);
    let agents = choices["agents"].as_array().unwrap();
    assert!(agents.iter().any(|agent| agent["name"] == "reviewer"), "{choices}");
    assert_eq!(server.ask("GET /v1/choices?workspace=/", "").await.status, StatusCode::BAD_REQUEST);
}

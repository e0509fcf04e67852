//! What sessions queued since it cannot be taken back: listed, sent once, dropped.
use crate::kit::Server;
use axum::http::StatusCode;
use haft_core::Mode;
use serde_json::{Value, json};
use std::{path::Path, process::Command};

fn push(branch: &str) -> Value {
    let call =
        json!({"name": "bash", "arguments": {"command": format!("git push --quiet origin main:{branch}")}});
    json!({"calls": [call]})
}

fn git(folder: &Path, words: &[&str]) -> String {
    let person = ["-c", "user.name=p", "-c", "user.email=p@localhost"];
    let ran = Command::new("git").args(person).args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A session that queued a push to each of two branches of a bare repository beside its workspace.
async fn two_pushes(mode: Mode) -> (Server, String) {
    let server = Server::start(mode, &[push("one"), push("two"), json!({"say": "Done."})]).await;
    let work = server.work();
    git(&work, &["init", "--quiet", "-b", "main"]);
    git(&work, &["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
    git(&work, &["init", "--quiet", "--bare", "-b", "main", "../remote.git"]);
    git(&work, &["remote", "add", "origin", "../remote.git"]);
    let made = server.ask("POST /v1/sessions", r#"{"outbox": true, "name": "two pushes"}"#).await.json();
    let id = made["id"].as_str().unwrap().to_owned();
    server.turn(&id).await;
    (server, id)
}

async fn items(server: &Server, path: &str) -> Vec<Value> {
    let answer = server.ask(&format!("GET {path}"), "").await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()["items"].as_array().unwrap().clone()
}

async fn act(server: &Server, id: &str, item: &Value, what: &str) -> (StatusCode, Value) {
    let item = item["id"].as_str().unwrap();
    let answer = server.ask(&format!("POST /v1/sessions/{id}/outbox/{item}/{what}"), "{}").await;
    (answer.status, answer.json())
}

fn branches(server: &Server) -> String {
    git(&server.work(), &["ls-remote", "--heads", "origin"])
}

// H-85
#[tokio::test(flavor = "multi_thread")]
async fn an_item_is_sent_once_and_another_one_is_dropped() {
    let (server, id) = two_pushes(Mode::AcceptEdits).await;
    let own = format!("/v1/sessions/{id}/outbox");
    let listed = items(&server, &own).await;
    assert_eq!(items(&server, "/v1/outbox").await, listed);
    let shown = |item: &Value| {
        (item["state"].clone(), item["kind"].clone(), item["title"].clone(), item["tests"].clone())
    };
    let expected = (json!("queued"), json!("push"), json!("two pushes"), json!("not run"));
    assert_eq!(listed.iter().map(shown).collect::<Vec<_>>(), [expected.clone(), expected], "{listed:?}");
    assert!(listed[0]["call"].as_str().unwrap().starts_with("command: git push"), "{listed:?}");
    assert_eq!(branches(&server), "");

    // Two requests at the same time, and a third one.
    let (first, second) =
        tokio::join!(act(&server, &id, &listed[0], "send"), act(&server, &id, &listed[0], "send"));
    let mut statuses = [first.0, second.0];
    statuses.sort();
    assert_eq!(statuses, [StatusCode::OK, StatusCode::CONFLICT], "{first:?} {second:?}");
    let (status, again) = act(&server, &id, &listed[0], "send").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(again["error"]["message"].as_str().unwrap().contains("it was sent before"), "{again}");
    assert!(branches(&server).contains("refs/heads/one"));

    let (status, dropped) = act(&server, &id, &listed[1], "drop").await;
    assert_eq!((status, &dropped["state"]), (StatusCode::OK, &json!("dropped")), "{dropped}");
    let (status, refused) = act(&server, &id, &listed[1], "send").await;
    assert_eq!(status, StatusCode::CONFLICT, "{refused}");
    assert!(!branches(&server).contains("refs/heads/two"));
    let states: Vec<Value> = items(&server, &own).await.iter().map(|item| item["state"].clone()).collect();
    assert_eq!(states, ["sent", "dropped"]);
    assert_eq!(items(&server, "/v1/outbox?waiting=true").await, Vec::<Value>::new());
    let (status, _) = act(&server, &id, &json!({"id": "nothing-1"}), "send").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

// H-85
#[tokio::test(flavor = "multi_thread")]
async fn what_failed_is_told_and_can_be_sent_again() {
    let (server, id) = two_pushes(Mode::AcceptEdits).await;
    let item = items(&server, "/v1/outbox").await.remove(0);
    git(&server.work(), &["remote", "set-url", "origin", "../nothing.git"]);
    let (status, failed) = act(&server, &id, &item, "send").await;
    assert_eq!((status, &failed["state"]), (StatusCode::OK, &json!("failed")), "{failed}");
    assert!(failed["result"].as_str().unwrap().contains("nothing.git"), "{failed}");
    git(&server.work(), &["remote", "set-url", "origin", "../remote.git"]);
    let (_, sent) = act(&server, &id, &item, "send").await;
    assert_eq!(sent["state"], "sent", "{sent}");
}

// H-85
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_only_reads_sends_nothing() {
    let (server, id) = two_pushes(Mode::AcceptEdits).await;
    let item = items(&server, "/v1/outbox").await.remove(0);
    let server = server.again(Mode::ReadOnly).await;
    for what in ["send", "drop"] {
        let (status, refused) = act(&server, &id, &item, what).await;
        assert_eq!(status, StatusCode::CONFLICT, "{refused}");
        assert!(
            refused["error"]["message"].as_str().unwrap().contains("allows the mode `read-only` at most")
        );
    }
    let typed = json!({"text": "/outbox send 1"}).to_string();
    let refused = server.ask(&format!("POST /v1/sessions/{id}/typed"), &typed).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    assert_eq!(items(&server, "/v1/outbox").await[0]["state"], "queued");
    assert_eq!(branches(&server), "");
}

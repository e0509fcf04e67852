//! All changes of a session, and what an undo would put back.
use crate::kit::Server;
use haft_core::Mode;
use serde_json::{Value, json};

fn paths(files: &Value) -> Vec<(&str, &str)> {
    let files = files.as_array().unwrap().iter();
    files.map(|file| (file["path"].as_str().unwrap(), file["kind"].as_str().unwrap())).collect()
}

// H-69
#[tokio::test(flavor = "multi_thread")]
async fn the_changes_of_a_session_are_those_of_all_its_turns() {
    let write = |path: &str, content: &str| json!({"calls": [{"name": "write", "arguments": {"path": path, "content": content}}]});
    let lines =
        [write("a.txt", "one\n"), json!({"say": "Done."}), write("b.txt", "two\n"), json!({"say": "Done."})];
    let server = Server::start(Mode::AcceptEdits, &lines).await;
    let id = server.session().await;
    server.turn(&id).await;
    server.turn(&id).await;
    let changes = format!("GET /v1/sessions/{id}/changes");
    let shown = server.ask(&changes, "").await.json();
    assert_eq!(paths(&shown), [("a.txt", "created"), ("b.txt", "created")]);
    assert_eq!(shown[1]["hunks"][0][0]["parts"][0][1], "two");

    // Before the second prompt there was one file.
    let timeline = server.ask(&format!("GET /v1/sessions/{id}/timeline"), "").await.json();
    let is_prompt = |update: &&Value| update["items"][0]["type"] == "prompt";
    let prompts: Vec<&Value> = timeline["updates"].as_array().unwrap().iter().filter(is_prompt).collect();
    let undo = |body: Value| {
        let (server, line) = (&server, format!("POST /v1/sessions/{id}/undo"));
        async move { server.ask(&line, &body.to_string()).await.json() }
    };
    let plan = undo(json!({"before": prompts[1]["seq"], "dry_run": true})).await;
    assert_eq!(paths(&plan["files"]), [("b.txt", "deleted")]);
    assert_eq!(server.file("b.txt").as_deref(), Some("two\n"));
    for two in [json!({"to": 1, "calls": 1}), json!({"to": 1, "before": prompts[1]["seq"]})] {
        let refused = undo(two).await;
        assert_eq!(refused["error"]["message"], "`to`, `before` and `calls` do not go together", "{refused}");
    }
    let reply = prompts[1]["seq"].as_u64().unwrap() + 1;
    assert!(undo(json!({"before": reply})).await["error"]["message"].as_str().unwrap().contains("no prompt"));
    undo(json!({"before": prompts[1]["seq"]})).await;
    assert_eq!((server.file("a.txt").is_some(), server.file("b.txt")), (true, None));
    assert_eq!(paths(&server.ask(&changes, "").await.json()), [("a.txt", "created")]);
    let refused = undo(json!({"before": prompts[1]["seq"]})).await;
    assert_eq!(refused["error"]["type"], "invalid_request");
}

// H-69
#[tokio::test]
async fn a_server_that_only_reads_commits_nothing() {
    let server = Server::start(Mode::ReadOnly, &[]).await;
    server.write("a.txt", "one\n");
    let line = format!("POST /v1/sessions/{}/commit", server.session().await);
    let body = json!({"message": "Add a.txt", "paths": ["a.txt"]});
    let refused = server.ask(&line, &body.to_string()).await;
    assert_eq!(refused.status.as_u16(), 409, "{}", refused.text);
    assert!(refused.text.contains("allows the mode `read-only` at most"), "{}", refused.text);
}

// H-70
#[tokio::test]
async fn schedules_are_listed() {
    let server = Server::start(Mode::Ask, &[]).await;
    assert_eq!(server.ask("GET /v1/schedules", "").await.json(), json!({"schedules": []}));
}

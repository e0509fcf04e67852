//! Sessions: prompts, approvals, events and the timeline.
use crate::kit::{Server, request};
use haft_core::Mode;
use serde_json::{Value, json};

fn write_and_say() -> [Value; 2] {
    let call = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}});
    [
        json!({"say": "I write.", "calls": [call], "usage": {"input": 10, "output": 5}}),
        json!({"say": "Done.", "usage": {"input": 20, "output": 5}}),
    ]
}

/// Types of the items of updates, in their order.
fn types(updates: &[Value]) -> Vec<&str> {
    let items = updates.iter().flat_map(|update| update["items"].as_array().unwrap());
    items.map(|item| item["type"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_reported_and_its_timeline_has_every_item() {
    let server = Server::start(Mode::AcceptEdits, &write_and_say()).await;
    let id = server.session().await;
    let report = server.turn(&id).await;
    assert_eq!(
        (&report["outcome"], &report["text"], &report["changes"]),
        (&json!("finished"), &json!("Done."), &json!([{"path": "a.txt", "kind": "created"}])),
        "{report}"
    );
    assert_eq!(server.file("a.txt").as_deref(), Some("one\n"));
    let timeline = server.ask(&format!("GET /v1/sessions/{id}/timeline"), "").await.json();
    let updates = timeline["updates"].as_array().unwrap();
    let expected = [
        "prompt",
        "replied",
        "reply",
        "call",
        "call_started",
        "call_changed",
        "call_ended",
        "replied",
        "reply",
        "ended",
    ];
    assert_eq!(types(updates), expected, "{timeline}");
    assert_eq!(updates.last().unwrap()["state"], "idle");

    // A stream has the same updates, and one that resumes has those that the client does not have.
    let is_end = |update: &Value| update["items"][0]["type"] == "ended";
    let recorded = |updates: Vec<Value>| -> Vec<Value> {
        updates.into_iter().filter(|update| !update["seq"].is_null()).collect()
    };
    let events = format!("/v1/sessions/{id}/events?view=timeline");
    assert_eq!(&recorded(server.events(&events, is_end).await), updates);
    let from = updates[3]["seq"].as_u64().unwrap();
    assert_eq!(recorded(server.events(&format!("{events}&from={from}"), is_end).await), updates[3..]);
    let rest = server.ask(&format!("GET /v1/sessions/{id}/timeline?from={from}"), "").await.json();
    assert_eq!(rest["updates"].as_array().unwrap(), &updates[3..]);
    // Other clients read the journal, as before.
    let entries =
        server.events(&format!("/v1/sessions/{id}/events"), |event| event["type"] == "turn_ended").await;
    assert_eq!((&entries[0]["type"], &entries[1]["type"]), (&json!("session_opened"), &json!("prompted")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undo_says_which_entries_are_undone_and_a_redo_takes_it_back() {
    let server = Server::start(Mode::AcceptEdits, &write_and_say()).await;
    let id = server.session().await;
    server.turn(&id).await;
    let undone = server.ask(&format!("POST /v1/sessions/{id}/undo"), "{}").await.json();
    assert_eq!(undone["changes"], json!([{"path": "a.txt", "kind": "deleted"}]));
    let path = format!("GET /v1/sessions/{id}/timeline");
    let timeline = server.ask(&path, "").await.json();
    let last = timeline["updates"].as_array().unwrap().last().unwrap().clone();
    let seq = last["seq"].as_u64().unwrap();
    assert_eq!(
        (&last["items"][0]["type"], &last["items"][0]["paths"]),
        (&json!("rewound"), &json!(["a.txt"]))
    );
    assert_eq!(last["undone"], json!([{"first": 1, "last": seq - 1}]), "{last}");
    server.ask(&format!("POST /v1/sessions/{id}/redo"), "").await.json();
    let timeline = server.ask(&path, "").await.json();
    let last = timeline["updates"].as_array().unwrap().last().unwrap().clone();
    // With what says that the redo is about to begin.
    assert_eq!(last["undone"], json!([{"first": seq, "last": seq + 1}]), "{last}");
    assert_eq!(server.file("a.txt").as_deref(), Some("one\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_an_approval() {
    let server = Server::start(Mode::Ask, &write_and_say()).await;
    let id = server.session().await;
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#).await;
    let events = format!("/v1/sessions/{id}/events?view=timeline");
    let updates = server.events(&events, |update| update["items"][0]["type"] == "asked").await;
    assert_eq!(updates.last().unwrap()["state"], "asking");
    let asked = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").await.json();
    assert_eq!(asked[0]["approval"]["files"][0]["kind"], "created", "{asked}");
    assert_eq!(server.file("a.txt"), None);
    let call = asked[0]["call"].as_str().unwrap();
    let taken = server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#).await;
    assert_eq!(taken.status.as_u16(), 202, "{}", taken.text);
    let updates = server.events(&events, |update| update["items"][0]["type"] == "ended").await;
    assert!(types(&updates).contains(&"approval"), "{updates:?}");
    assert_eq!(server.file("a.txt").as_deref(), Some("one\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openai_client_gets_the_reply() {
    let server = Server::start(Mode::Ask, &[json!({"say": "Hello."})]).await;
    let models = server.ask("GET /v1/models", "").await.json();
    let model = &models["data"][0]["id"];
    let body = json!({"model": model, "messages": [{"role": "user", "content": "Hi"}]}).to_string();
    let reply = server.ask("POST /v1/chat/completions", &body).await.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "Hello.", "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_requests_are_told_what_is_wrong_in_a_few_words() {
    let server = Server::start(Mode::AcceptEdits, &write_and_say()).await;
    let id = server.session().await;
    for (line, body) in [("POST", " [\"go\", null, null]"), ("PATCH", "[]")] {
        let path = if line == "POST" { "/prompt" } else { "" };
        let refused = server.ask(&format!("{line} /v1/sessions/{id}{path}"), body).await;
        assert!(refused.status == 400 && refused.text.contains("it must be an object"), "{}", refused.text);
    }
    let name = json!({"name": "n".repeat(100_000)}).to_string();
    let refused = server.ask(&format!("PATCH /v1/sessions/{id}"), &name).await;
    assert!(refused.status == 400 && refused.text.len() < 4_000, "{}", refused.text.len());
    // A client that has read everything that there can be.
    server.turn(&id).await;
    let mut asked = request(&format!("GET /v1/sessions/{id}/events?until=turn"), "");
    asked.headers_mut().insert("last-event-id", u64::MAX.to_string().parse().unwrap());
    assert_eq!(server.send(asked).await.status(), 200);
}

//! What a text that is being typed can become.
use crate::kit::Server;
use haft_core::Mode;
use serde_json::{Value, json};

async fn completed(server: &Server, id: &str, typed: &str) -> (u64, Vec<(String, String)>) {
    let body = json!({"typed": typed}).to_string();
    let found = server.ask(&format!("POST /v1/sessions/{id}/completions"), &body).await.json();
    let word = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
    let values = found["values"].as_array().unwrap();
    let values = values.iter().map(|value| (word(value, "text"), word(value, "kind")));
    (found["start"].as_u64().unwrap(), values.collect())
}

/// A session in whose workspace there are a file in a folder and a saved prompt.
async fn with_files() -> (Server, String) {
    let lines = [json!({"expect": "Fix the parser.", "say": "Fixed."})];
    let server = Server::start(Mode::AcceptEdits, &lines).await;
    server.write("src/parser.rs", "x\n");
    server.write(".haft/commands/fix.md", "---\ndescription: Fix it\n---\nFix $ARGUMENTS.\n");
    let id = server.session().await;
    (server, id)
}

// H-68
#[tokio::test(flavor = "multi_thread")]
async fn files_folders_commands_and_saved_prompts_are_completed() {
    let (server, id) = with_files().await;
    let of = |text: &str, kind: &str| (text.to_owned(), kind.to_owned());
    // Counted as JavaScript counts: the emoji is two.
    assert_eq!(
        completed(&server, &id, "see 🙂 @s").await,
        (
            7,
            vec![
                of("@src/", "folder"),
                of("@src/parser.rs", "file"),
                of("@.haft/commands/", "folder"),
                of("@.haft/commands/fix.md", "file")
            ]
        )
    );
    assert_eq!(completed(&server, &id, "@parser").await, (0, vec![of("@src/parser.rs", "file")]));
    assert_eq!(completed(&server, &id, "/pl").await, (0, vec![of("/plan", "command")]));
    assert_eq!(completed(&server, &id, "/fix").await.1.first(), Some(&of("/fix", "command")));
    assert_eq!(completed(&server, &id, "nothing").await, (0, Vec::new()));
}

// H-68
#[tokio::test(flavor = "multi_thread")]
async fn a_saved_prompt_is_sent_as_its_text() {
    let (server, id) = with_files().await;
    let typed = server.ask(&format!("POST /v1/sessions/{id}/typed"), r#"{"text": "/fix the parser"}"#).await;
    assert_eq!(typed.status, 202, "{}", typed.text);
    let is_end = |event: &Value| {
        event["type"] == "turn_ended" && event["seq"].as_u64() > typed.json()["from"].as_u64()
    };
    let events = server.events(&format!("/v1/sessions/{id}/events"), is_end).await;
    let said = json!(events).to_string();
    assert!(said.contains("Fix the parser.") && said.contains("Fixed."), "{said}");
    let unknown = server.ask(&format!("POST /v1/sessions/{id}/typed"), r#"{"text": "/fxi it"}"#).await;
    assert!(unknown.status == 400 && unknown.text.contains("did you mean `/fix`?"), "{}", unknown.text);
}

//! What a person types in place of a prompt, over the API: `/plan`, `/goal`, `/memory`, `#TEXT`.
use crate::kit::{Place, call, serving::Serving};
use serde_json::{Value, json};

fn typed(server: &Serving, id: &str, text: &str) -> Value {
    server.ask(&format!("POST /v1/sessions/{id}/typed"), &json!({"text": text}).to_string()).json()
}

// H-15
#[test]
fn a_line_for_the_notes_is_asked_about_in_any_mode_and_undone_alone() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "full"]);
    let id = server.session(r#"{"permission": "full"}"#);
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"hi","wait":true}"#);
    let mut events = server.follow(&id, "");
    assert_eq!(typed(&server, &id, "# use pnpm")["note"], Value::Null);
    let asks = events.until("approval_asked").pop().unwrap();
    assert_eq!(place.read("AGENTS.md"), None);
    let path = format!("POST /v1/sessions/{id}/approvals/{}", asks["call"].as_str().unwrap());
    server.ask(&path, r#"{"answer": "once"}"#);
    events.until("turn_ended");
    let notes = place.read("AGENTS.md").unwrap();
    assert!(notes.contains(&format!("- use pnpm <!-- haft: {id}#")), "{notes}");
    let undone = server.ask(&format!("POST /v1/sessions/{id}/undo"), "{}").json();
    assert_eq!(
        (&undone["changes"][0]["path"], place.read("AGENTS.md")),
        (&json!("AGENTS.md"), None),
        "{undone}"
    );
    let shown = server.ask(&format!("GET /v1/sessions/{id}/timeline"), "").body;
    assert!(shown.contains("Hello."), "{shown}");
}

#[test]
fn a_goal_and_a_plan_are_typed() {
    let place = Place::new();
    let write = call("write", json!({"path": "done", "content": ""}));
    let model = place.script("model", &[write, json!({"say": "It is there."}), json!({"say": "1. Rest."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "accept-edits"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    assert!(typed(&server, &id, "/goal")["note"].as_str().unwrap().starts_with("no goal is set"));
    typed(&server, &id, "/goal make it --proof cat done");
    events.until("goal_reached");
    events.until("turn_ended");
    typed(&server, &id, "/plan rest");
    events.until("question_asked");
    let shown = server.ask(&format!("GET /v1/sessions/{id}"), "").json();
    assert_eq!(shown["permission"], "plan");
    let refused = server.ask(&format!("POST /v1/sessions/{id}/typed"), r#"{"text": "what is this"}"#);
    assert!(refused.status == 400 && refused.body.contains("is no command"), "{refused:?}");
}

//! What a person types in place of a prompt, over the API: `/plan`, `/goal`, `/memory`, `#TEXT`.
use crate::kit::{Place, call, serving::Serving, terminal::poll};
use serde_json::{Value, json};
use std::{io::Write, process::Stdio};

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

/// It is no command of the person at the machine.
// H-127
#[test]
fn the_check_of_a_goal_is_judged_as_any_command() {
    for (options, configuration) in [
        (&["--permission", "read-only"][..], ""),
        (&["--permission", "full"], "[rules]\ndeny = [\"execute:touch *\"]\n"),
    ] {
        let place = Place::new();
        place.configure(configuration);
        let model = place.script("model", &[json!({"say": "Hello."}), json!({"say": "Again."})]);
        let server = Serving::start(&place, &[&["--model", &model], options].concat());
        let id = server.session("{}");
        let mut events = server.follow(&id, "");
        typed(&server, &id, "/goal make it --proof \"touch made\"");
        events.until("turn_ended");
        assert_eq!(place.read("made"), None, "{options:?}");
    }
}

/// The session of a terminal is open in a wider mode than the server allows.
// H-127
#[test]
fn a_session_in_a_wider_mode_elsewhere_takes_no_orders() {
    let place = Place::new();
    let write = call("write", json!({"path": "made", "content": ""}));
    let chat = place.script("chat", &[json!({"say": "First."}), write, json!({"say": "Written."})]);
    let mut terminal = place
        .haft(&["chat", "--model", &chat, "--permission", "full"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    terminal.stdin.as_ref().unwrap().write_all(b"begin\n").unwrap();
    let has_ended = || {
        let listed = place.run(&["sessions", "list", "--json"]).out;
        !listed.is_empty() && std::fs::read_to_string(place.journal()).unwrap().contains("turn_ended")
    };
    poll(has_ended, || "the turn has not ended".to_owned());
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let model = place.script("model", &[json!({"say": "unused"})]);
    let server =
        Serving::start(&place, &["--model", &model, "--permission", "ask", "--up-to", "accept-edits"]);
    for (path, body) in [
        ("prompt", r#"{"text": "write"}"#),
        ("typed", r#"{"text": "/plan write"}"#),
        ("continue", "{}"),
        ("undo", "{}"),
    ] {
        let refused = server.ask(&format!("POST /v1/sessions/{id}/{path}"), body);
        let why = "open in the mode `full`, and this server allows the mode `accept-edits` at most";
        assert!(refused.status == 409 && refused.body.contains(why), "{path}: {refused:?}");
    }
    for path in ["timeline", "changes"] {
        let read = server.ask(&format!("GET /v1/sessions/{id}/{path}"), "");
        assert_eq!(read.status, 200, "{path}: {read:?}");
    }
    assert_eq!(place.read("made"), None);
    drop(terminal.stdin.take());
    assert!(terminal.wait().unwrap().success());
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

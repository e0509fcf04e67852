//! What `haft run --outbox` queued, sent over HTTP by another process.
use crate::kit::{Place, bash, serving::Serving};
use serde_json::{Value, json};

// H-85
#[test]
fn what_a_run_queued_is_sent_once_by_a_server() {
    let place = Place::new();
    let command = "echo sent >>../outside; curl --version -d a=1";
    let model = place.script("model", &[bash(command), json!({"say": "Queued."})]);
    let ran = place.run(&["run", "--outbox", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let outside = place.work().join("../outside");
    assert!(!outside.exists());
    let serving = Serving::start(&place, &["--model", &model]);
    let listed = serving.ask("GET /v1/outbox?waiting=true", "").json();
    let own = place.run(&["outbox", "list", "--json"]).events();
    let item = &listed["items"][0];
    for field in ["id", "kind", "target", "state", "session", "tool", "arguments", "reason", "evidence"] {
        assert_eq!(item[field], own[0][field], "{field}: {listed}");
    }
    let name = |field: &str| item[field].as_str().unwrap().to_owned();
    let send = format!("POST /v1/sessions/{}/outbox/{}/send", name("session"), name("id"));
    let added = place.run(&["serve", "add-user", "ann", "--role", "admin"]);
    let token = format!("Bearer {}", added.out.trim());
    let head =
        [("host", serving.host.as_str()), ("authorization", &token), ("content-type", "application/json")];
    let sent = serving.with(&send, &head, "{}");
    assert_eq!(sent.status, 200, "{sent:?}");
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let sending = journal.lines().find(|line| line.contains("item_sending")).unwrap();
    assert!(sending.contains(r#""by":"ann""#), "{sending}");
    let again = serving.ask(&send, "{}");
    assert!(again.status == 409 && again.body.contains("was sent before"), "{again:?}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "sent\n", "{sent:?}");
    assert_eq!(serving.ask("GET /v1/outbox?waiting=true", "").json()["items"], Value::Array(Vec::new()));
}

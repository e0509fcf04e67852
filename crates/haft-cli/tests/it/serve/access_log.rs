//! `haft serve --access-log` writes a line of JSON for each request. The real binary.
use crate::kit::{Place, fleet::Fleet, serving::Serving};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Starts a server whose standard output goes to a file.
fn start(place: &Place, more: &[&str]) -> (Serving, PathBuf) {
    let log = place.path().join("access.log");
    let words = [&["--access-log"], more].concat();
    (Serving::start_writing_to(place, &words, fs::File::create(&log).unwrap().into()), log)
}

/// Waits until the log has `count` lines, and returns them.
fn lines(log: &Path, count: usize) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(log).unwrap();
        if text.lines().count() >= count {
            assert!(text.ends_with('\n'), "{text}");
            return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a line says of its request, but for times, sizes and its name.
fn said(line: &Value) -> Value {
    json!([line["method"], line["path"], line["status"], line["session"]])
}

#[test]
fn each_request_is_logged_with_its_session() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."}), json!({"say": "Hello again."})]);
    let (server, log) = start(&place, &["--model", &model]);
    let id = server.session("{}");
    let path = |rest: &str| format!("/v1/sessions/{id}{rest}");
    server.ask(&format!("POST {}", path("/prompt")), r#"{"text":"go","wait":true}"#);
    server.ask("GET /v1/nothing?secret=1", "");
    server.with("GET /v1/sessions", &[("host", &server.address)], "");
    let mut events = server.follow(&id, "");
    events.until("turn_ended");
    drop(events);
    let chat = json!({"model": "haft", "messages": [{"role": "user", "content": "hello"}]});
    let chatted = server.ask("POST /v1/chat/completions", &chat.to_string()).json();
    let found = lines(&log, 6);
    // A stream is logged when its client has left, which another request may overtake.
    let mut told: Vec<Value> = found.iter().map(said).collect();
    let mut expected = vec![
        json!(["POST", "/v1/sessions", 201, id]),
        json!(["POST", path("/prompt"), 200, id]),
        json!(["GET", "/v1/nothing", 404, null]),
        json!(["GET", "/v1/sessions", 401, null]),
        json!(["GET", path("/events"), 200, id]),
        json!(["POST", "/v1/chat/completions", 200, chatted["haft"]["session"]]),
    ];
    [&mut told, &mut expected].into_iter().for_each(|lines| lines.sort_by_key(Value::to_string));
    assert_eq!(told, expected);
    for line in &found {
        let time = line["time"].as_str().unwrap();
        assert!(time.ends_with('Z') && time.contains('T') && time.len() == "2026-01-01T00:00:00.000Z".len());
        assert!(line["duration_ms"].as_f64().unwrap() > 0.0 && line["bytes"].as_u64().unwrap() > 0, "{line}");
    }
}

#[test]
fn a_request_has_the_name_that_its_proxy_gave_it() {
    let Some(fleet) = Fleet::new() else { return };
    let (server, log) = start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let given = "of-the-proxy.1";
    let table = [(given, true), ("", false), ("a b", false), (&"a".repeat(129), false)];
    let mut names = Vec::new();
    for (name, is_kept) in table {
        let head = [("host", server.address.as_str()), ("x-request-id", name)];
        let answered = server.with("GET /healthz", &head, "");
        let (_, rest) = answered.head.split_once("\r\nx-request-id: ").unwrap();
        let answered = rest.lines().next().unwrap().to_owned();
        assert_eq!(answered == name, is_kept, "{name}: {answered}");
        names.push(answered);
    }
    let logged: Vec<Value> = lines(&log, table.len()).iter().map(|line| line["request_id"].clone()).collect();
    assert_eq!(json!(logged), json!(names));
    let distinct: BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), table.len(), "{names:?}");
}

//! What `haft serve` makes of journals: read further than they go, of a newer version, open in another
//! process, and on a full disk.
use crate::kit::{Place, other_user, serving::Serving};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

fn post(server: &Serving, id: &str, what: &str, body: &Value) -> Value {
    let answered = server.ask(&format!("POST /v1/sessions/{id}/{what}"), &body.to_string());
    assert!(answered.status < 300, "{what}: {answered:?}");
    answered.json()
}

#[test]
fn a_client_that_has_read_more_than_there_is_starts_anew() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "One."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let path = format!("/v1/sessions/{id}/events");
    let mut events = server.follow(&id, "last-event-id: 50\r\n");
    assert_eq!(events.next(), Some(json!({"from": 0})));
    post(&server, &id, "prompt", &json!({"text": "1"}));
    let all = events.until("turn_ended");
    assert!(all[0]["type"] == "session_opened" && all[0]["seq"] == 0, "{all:?}");
    let token = format!("Bearer {}", server.token);
    let head = [("host", server.host.as_str()), ("authorization", &token), ("last-event-id", "abc")];
    let refused = server.with(&format!("GET {path}"), &head, "");
    assert_eq!((refused.status, refused.error()), (400, "invalid_request".into()), "{refused:?}");
    assert!(refused.body.contains("`Last-Event-ID` is `abc`, which is no entry"), "{refused:?}");
    let refused = server.ask(&format!("GET {path}?from=50"), "");
    assert_eq!((refused.status, refused.error()), (400, "invalid_request".into()), "{refused:?}");
    assert!(refused.body.contains("the session ends before the entry 50"), "{refused:?}");
    let refused = server.stream(&format!("/v1/events?follow={id}:50"), "").next().unwrap();
    assert_eq!((&refused["follow"], &refused["error"]["type"]), (&json!(0), &json!("invalid_request")));
    // The next entry is not there yet.
    let next = all.last().unwrap()["seq"].as_u64().unwrap() + 1;
    server.stream(&format!("{path}?from={next}"), "");
}

#[test]
fn a_session_of_a_newer_version_is_named_where_it_is_left_out() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "One."})]);
    assert_eq!(place.run(&["run", "--model", &model, "go"]).code, 0);
    let journal = place.journal();
    let text = fs::read_to_string(&journal).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let version = format!("\"version\":{}", first["version"]);
    fs::write(&journal, text.replacen(&version, "\"version\":9999", 1)).unwrap();
    let id = journal.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let mut server = Serving::start(&place, &["--model", &model]);
    let other = server.session("{}");
    let why = "has version 9999, and this Haft supports at most";
    let shown = server.ask(&format!("GET /v1/sessions/{id}"), "");
    assert!(shown.status == 500 && shown.body.contains(why), "{shown:?}");
    for _ in 0..2 {
        let list = server.ask("GET /v1/sessions", "").json();
        assert_eq!(list["sessions"][0]["id"], json!(other), "{list}");
        assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
        assert!(list["unreadable"][0].as_str().unwrap().contains(why), "{list}");
    }
    server.stop();
    let said: Vec<String> =
        std::iter::from_fn(|| Some(server.line()).filter(|line| !line.is_empty())).collect();
    assert_eq!(said.iter().filter(|line| line.contains(why)).count(), 1, "{said:?}");
    let listed = place.run(&["sessions", "list"]);
    assert!(listed.code == 0 && listed.out.contains(&other) && !listed.out.contains(&id), "{listed:?}");
    let told = listed.err.contains("1 of the sessions cannot be read and is left out: ");
    assert!(told && listed.err.contains(why), "{listed:?}");
}

#[test]
fn what_a_session_asks_in_another_process_is_listed() {
    let place = Place::new();
    let write = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}});
    let model = place.script("model", &[json!({"calls": [write]}), json!({"say": "Done."})]);
    let options = ["--model", &model, "--permission", "ask"];
    let (one, other) = (Serving::start(&place, &options), Serving::start(&place, &options));
    let id = one.session("{}");
    post(&one, &id, "prompt", &json!({"text": "write"}));
    let path = format!("GET /v1/sessions/{id}/asked");
    let begun = Instant::now();
    while one.ask(&path, "").json() == json!([]) {
        assert!(begun.elapsed() < Duration::from_secs(30), "it asks nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(other.ask(&format!("GET /v1/sessions/{id}"), "").json()["state"], "elsewhere");
    assert_eq!(other.ask(&path, "").json(), one.ask(&path, "").json());
}

/// A command in a namespace in which the sessions of `place` lie on a disk of a megabyte.
fn on_a_small_disk(place: &Place, words: &[&str]) -> Command {
    let mount = r#"mount -t tmpfs -o size=1m none "$HAFT_HOME/sessions" || exit 9; exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", mount, "sh"]).args(words).current_dir(place.work());
    let base = place.haft(&[]);
    command.env_clear().envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

#[test]
fn a_full_disk_has_one_answer_and_is_said_on_standard_error() {
    let place = Place::unconfined();
    fs::create_dir_all(place.path().join("home/sessions")).unwrap();
    let mounted = on_a_small_disk(&place, &["true"]).output().unwrap();
    if !mounted.status.success() {
        return haft_testing::left_out(&format!("a full disk: nothing can be mounted here: {mounted:?}"));
    }
    let model = place.script("model", &[json!({"say": "One."}), json!({"say": "Two."})]);
    let program = other_user::program();
    let words = [program.to_str().unwrap(), "serve", "--listen", "127.0.0.1:0", "--model", &model];
    let mut server = Serving::begin(&place, on_a_small_disk(&place, &words));
    let id = server.session("{}");
    let sessions = PathBuf::from(format!("/proc/{}/root", server.id()))
        .join(place.path().join("home/sessions").strip_prefix("/").unwrap());
    // What ends gives room back.
    let fill = || {
        let mut filler = fs::File::options().create(true).append(true).open(sessions.join("filler")).unwrap();
        while filler.write_all(&[0; 512]).is_ok() {}
    };
    // What is left of a block of the disk does not take it.
    let text = "x".repeat(9_000);
    let prompt = format!("POST /v1/sessions/{id}/prompt");
    let table = [
        (prompt.as_str(), json!({"text": text, "wait": true})),
        (&prompt, json!({"text": text})),
        ("POST /v1/sessions", json!({})),
    ];
    for (line, body) in &table {
        // What a session gives back when it closes may be enough for a new one.
        let refused = loop {
            fill();
            let answered = server.ask(line, &body.to_string());
            match (answered.status, answered.json()["id"].as_str()) {
                (201, Some(made)) => drop(server.ask(&format!("DELETE /v1/sessions/{made}"), "")),
                _ => break answered,
            }
        };
        assert_eq!((refused.status, refused.error()), (507, "not_recorded".into()), "{line}: {refused:?}");
        assert!(refused.body.contains("No space left on device"), "{line}: {refused:?}");
    }
    let mut left: Vec<String> = fs::read_dir(&sessions)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [id, "filler".to_owned()]);
    server.stop();
    let said: Vec<String> =
        std::iter::from_fn(|| Some(server.line()).filter(|line| !line.is_empty())).collect();
    let warned = said.iter().filter(|line| line.contains("No space left on device")).count();
    // The second prompt may find the session that the first one closed.
    assert!(warned > 1, "{said:?}");
}

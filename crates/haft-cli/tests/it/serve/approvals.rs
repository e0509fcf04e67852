//! What `haft serve` tells of a call that asks, and of several sessions on one stream.
use crate::kit::{Place, call, project::begin_repository, serving::Serving};
use serde_json::{Value, json};

fn bash(command: &str) -> [Value; 2] {
    [json!({"calls": [{"name": "bash", "arguments": {"command": command}}]}), json!({"say": "Done."})]
}

#[test]
fn a_question_names_what_a_command_does_below_ignored_folders() {
    let place = Place::in_sight();
    place.write(".gitignore", "node_modules\n");
    begin_repository(&place.work());
    let many = "mkdir -p node_modules/a && for i in $(seq 700); do echo $i >node_modules/a/$i; done";
    let model = place.script("model", &bash(many));
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"install"}"#);
    let asks = events.until("approval_asked").pop().unwrap();
    let card = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").json().as_array().unwrap()[0].clone();
    assert_eq!(card["seq"], asks["seq"]);
    let bulk = card["approval"]["bulk"].as_array().unwrap();
    assert!(bulk.len() == 1 && bulk[0].as_str().unwrap().contains("node_modules"), "{card}");
    assert!(bulk[0].as_str().unwrap().contains("700"), "{card}");
}

#[test]
fn one_stream_follows_several_sessions() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Done."}), json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let [one, two] = ["one", "two"].map(|name| server.session(&json!({"name": name}).to_string()));
    let prompt =
        |id: &str| server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#);
    prompt(&one);
    // From the beginning, from the second entry on, and one that is not there.
    let path = format!("/v1/events?follow={one}:0,{two}:1,missing:0,{one}:2");
    let mut stream = server.stream(&path, "");
    let mut seen: [Vec<u64>; 4] = Default::default();
    let mut states = Vec::new();
    prompt(&two);
    let is_told = |states: &[Value]| states.contains(&json!(two));
    while seen[1].len() < 3
        || seen[0].len() < 4
        || seen[3].len() < 2
        || seen[2].is_empty()
        || !is_told(&states)
    {
        let event = stream.next().unwrap();
        match event["follow"].as_u64() {
            Some(2) => {
                assert_eq!(event["error"]["type"], "not_found", "{event}");
                seen[2].push(0);
            }
            Some(place) => seen[place as usize].extend(event["event"]["seq"].as_u64()),
            None => states.push(event["session"].clone()),
        }
    }
    assert_eq!(seen, [vec![0, 1, 2, 3], vec![1, 2, 3], vec![0], vec![2, 3]]);
    for wrong in ["one", "one:x", &"a:0,".repeat(65)] {
        assert_eq!(server.ask(&format!("GET /v1/events?follow={wrong}"), "").status, 400, "{wrong}");
    }
}

#[test]
fn an_approval_is_in_the_journal_when_the_request_is_answered() {
    let place = Place::new();
    let write =
        |number: usize| json!({"name": "write", "arguments": {"path": format!("f{number}"), "content": "x"}});
    let mut replies: Vec<Value> = (0..8).map(|number| json!({"calls": [write(number)]})).collect();
    replies.push(json!({"say": "Done."}));
    let model = place.script("model", &replies);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"write"}"#);
    for number in 1..=8 {
        let call = events.until("approval_asked").pop().unwrap()["call"].as_str().unwrap().to_owned();
        let answered =
            server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#);
        let journal = std::fs::read_to_string(place.journal()).unwrap();
        assert_eq!(answered.status, 202, "{answered:?}");
        assert_eq!(journal.matches(r#""type":"approval_answered""#).count(), number, "{journal}");
    }
}

#[test]
fn a_question_of_the_model_is_asked_again_after_a_crash() {
    let place = Place::new();
    let ask = call("ask", json!({"question": "Which?", "choices": ["a", "b"]}));
    let model = place.script("model", &[ask, json!({"say": "Done.", "hang": true})]);
    let start = || Serving::start(&place, &["--model", &model]);
    let mut server = start();
    let id = server.session("{}");
    let (mut how, mut call) = ("prompt", String::new());
    for asks in 1..=3 {
        let mut events = server.follow(&id, "");
        let body = if how == "prompt" { r#"{"text":"ask"}"# } else { "{}" };
        assert_eq!(server.ask(&format!("POST /v1/sessions/{id}/{how}"), body).status, 202);
        let asked = (0..asks).map(|_| events.until("question_asked").pop().unwrap()).last().unwrap();
        call = asked["call"].as_str().unwrap().to_owned();
        if asks < 3 {
            server.kill();
            (server, how) = (start(), "continue");
        }
    }
    let mut events = server.follow(&id, "");
    let answered = server.ask(&format!("POST /v1/sessions/{id}/questions/{call}"), r#"{"answer":"b"}"#);
    assert_eq!(answered.status, 202, "{answered:?}");
    let ended = events.until("tool_ended");
    let ended: Vec<_> = ended.iter().filter(|event| event["type"] == "tool_ended").collect();
    let read = |event: &&Value| event["content"].as_str().map(str::to_owned);
    assert_eq!(ended.iter().map(read).collect::<Vec<_>>(), [Some("The person answers: b".into())]);
}

#[test]
fn a_question_that_is_asked_again_after_a_crash_is_listed_once() {
    let place = Place::new();
    let write = json!({"name": "write", "arguments": {"path": "a.txt", "content": "x"}});
    let model = place.script("model", &[json!({"calls": [write]}), json!({"say": "Written.", "hang": true})]);
    let start = || Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let mut server = start();
    let id = server.session("{}");
    let asked = |server: &Serving| -> Vec<Value> {
        let asked = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").json();
        asked.as_array().unwrap().iter().map(|one| one["seq"].clone()).collect()
    };
    let (mut how, mut call) = ("prompt", String::new());
    for asks in 1..=3 {
        let mut events = server.follow(&id, "");
        let body = if how == "prompt" { r#"{"text":"write"}"# } else { "{}" };
        assert_eq!(server.ask(&format!("POST /v1/sessions/{id}/{how}"), body).status, 202);
        let mut last = Value::Null;
        for _ in 0..asks {
            last = events.until("approval_asked").pop().unwrap();
        }
        assert_eq!(asked(&server), [last["seq"].clone()]);
        call = last["call"].as_str().unwrap().to_owned();
        if asks < 3 {
            server.kill();
            (server, how) = (start(), "continue");
        }
    }
    // Another server of the same sessions, that has heard all from the beginning.
    let other = start();
    let mut events = other.follow(&id, "");
    for _ in 0..3 {
        events.until("approval_asked");
    }
    let state = || other.ask(&format!("GET /v1/sessions/{id}"), "").json()["state"].clone();
    assert_eq!(state(), "asking");
    let answered = server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#);
    assert_eq!(answered.status, 202, "{answered:?}");
    events.until("text");
    assert_eq!((asked(&server), state()), (vec![], json!("working")));
}

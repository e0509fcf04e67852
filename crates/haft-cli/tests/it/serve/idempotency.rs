//! `Idempotency-Key`: a request that is sent again is done once and answered alike, whatever happens between.
use crate::kit::{
    Place, bash,
    serving::{Answered, Serving},
    terminal::poll,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

fn says(count: usize) -> Vec<serde_json::Value> {
    vec![json!({"say": "Done."}); count]
}

fn keyed(server: &Serving, key: &str, line: &str, body: &str) -> Answered {
    let token = format!("Bearer {}", server.token);
    let head = [
        ("host", server.address.as_str()),
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    server.with(line, &head, body)
}

fn told(answered: &Answered) -> (u16, String) {
    (answered.status, answered.body.clone())
}

/// Sessions, and prompts in the session `id`.
fn made(place: &Place, id: &str) -> (usize, usize) {
    let folder = place.path().join("home/sessions");
    let journal = fs::read_to_string(folder.join(id).join("journal.jsonl")).unwrap();
    (fs::read_dir(folder).unwrap().count(), journal.matches("\"type\":\"prompt").count())
}

/// Each `POST` that makes something in the session `id`: what it is sent, what else, and how many sessions and prompts it
/// makes.
fn posts(id: &str) -> Vec<(String, &'static str, &'static str, (usize, usize))> {
    let of = |what: &str| format!("POST /v1/sessions/{id}/{what}");
    vec![
        ("POST /v1/sessions".into(), r#"{"name":"one"}"#, r#"{"name":"two"}"#, (1, 0)),
        (of("fork"), r#"{"at":0}"#, r#"{"at":1}"#, (1, 0)),
        (of("prompt"), r#"{"text":"go"}"#, r#"{"text":"stop"}"#, (0, 1)),
        (of("prompt"), r#"{"text":"go", "wait":true}"#, r#"{"text":"go"}"#, (0, 1)),
        (
            "POST /v1/jobs".into(),
            r#"{"kind":"triager","description":"look"}"#,
            r#"{"description":"do"}"#,
            (1, 0),
        ),
    ]
}

fn keys(place: &Place) -> Vec<PathBuf> {
    let folder = fs::read_dir(place.path().join("home/serve-requests")).unwrap();
    folder.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_request_that_is_sent_again_is_done_once_and_answered_alike() {
    let place = Place::new();
    let model = place.script("model", &says(20));
    let start = || Serving::start(&place, &["--model", &model]);
    let mut server = start();
    let id = server.session("{}");
    for (number, (line, body, other, (sessions, prompts))) in posts(&id).into_iter().enumerate() {
        let (key, what) = (format!("key-{number}"), format!("{line} {body}"));
        let before = made(&place, &id);
        // All at once, then one after the other.
        let answers: Vec<Answered> = std::thread::scope(|scope| {
            let asks: Vec<_> = (0..6).map(|_| scope.spawn(|| keyed(&server, &key, &line, body))).collect();
            asks.into_iter().map(|ask| ask.join().unwrap()).collect()
        });
        let first = answers[0].status;
        assert!((200..300).contains(&first), "{what}: {answers:?}");
        let again = keyed(&server, &key, &line, &body.replace(':', ": "));
        assert!(again.head.contains("idempotent-replayed: true"), "{what}: {again:?}");
        for answer in &answers {
            assert_eq!(told(answer), told(&again), "{what}");
        }
        let refused = keyed(&server, &key, &line, other);
        assert_eq!((refused.status, refused.error().as_str()), (422, "key_reused"), "{what}: {refused:?}");
        let elsewhere = keyed(&server, &key, "POST /v1/sessions", body);
        assert!(line == "POST /v1/sessions" || elsewhere.status == 422, "{what}: {elsewhere:?}");
        let after = made(&place, &id);
        assert_eq!((after.0 - before.0, after.1 - before.1), (sessions, prompts), "{what}");
        // Across a restart, in order and not.
        if number % 2 == 0 {
            server.kill()
        } else {
            assert_eq!(server.stop(), 0)
        }
        server = start();
        assert_eq!(told(&keyed(&server, &key, &line, body)), told(&again), "{what}");
        assert_eq!(made(&place, &id).0, after.0, "{what}");
    }
}

#[test]
fn a_request_whose_server_was_killed_before_it_answered_is_not_done_again() {
    let place = Place::new();
    let model = place.script("model", &says(20));
    let mut server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    for (number, (line, body, _, _)) in posts(&id).into_iter().enumerate() {
        let (key, what) = (format!("key-{number}"), format!("{line} {body}"));
        let before: Vec<PathBuf> = if number == 0 { Vec::new() } else { keys(&place) };
        let first = keyed(&server, &key, &line, body);
        let made_before = made(&place, &id).0;
        server.kill();
        // The line of the answer had not been written yet, or half of it.
        let own = keys(&place).into_iter().find(|file| !before.contains(file)).unwrap();
        let text = fs::read_to_string(&own).unwrap();
        let cut = text.find('\n').unwrap() + 1 + number * 3;
        fs::write(&own, &text[..cut]).unwrap();
        server = Serving::start(&place, &["--model", &model]);
        let again = keyed(&server, &key, &line, body);
        assert_eq!(again.status, first.status, "{what}: {again:?}");
        let names = |answer: &Answered| {
            let answer = answer.json();
            ["id", "job", "session", "from", "text", "outcome"].map(|name| answer[name].clone())
        };
        assert_eq!(names(&again), names(&first), "{what}");
        assert_eq!(told(&keyed(&server, &key, &line, body)), told(&again), "{what}");
        assert_eq!(made(&place, &id).0, made_before, "{what}");
    }
    // Two prompts were said, one of them with `wait`.
    let journal =
        fs::read_to_string(place.path().join("home/sessions").join(&id).join("journal.jsonl")).unwrap();
    assert_eq!(journal.matches("\"text\":\"go\"").count(), 2, "{journal}");
}

#[test]
fn a_key_is_forgotten_after_a_day_and_one_that_cannot_be_read_is_refused() {
    let place = Place::new();
    let model = place.script("model", &says(2));
    let server = Serving::start(&place, &["--model", &model]);
    let id = |answered: &Answered| answered.json()["id"].clone();
    let first = keyed(&server, "day", "POST /v1/sessions", "{}");
    let own = keys(&place).remove(0);
    let aged = |hours: u64| {
        let then = SystemTime::now() - Duration::from_secs(hours * 3600);
        fs::File::options().write(true).open(&own).unwrap().set_modified(then).unwrap();
        keyed(&server, "day", "POST /v1/sessions", "{}")
    };
    assert_eq!(id(&aged(23)), id(&first));
    assert_ne!(id(&aged(25)), id(&first));
    let (long, longest) = ("k".repeat(256), "k".repeat(255));
    for (key, status) in
        [("", 400), ("\t", 400), ("a\u{e9}", 400), (long.as_str(), 400), (&longest, 201), ("a b", 201)]
    {
        let answered = keyed(&server, key, "POST /v1/sessions", "{}");
        assert_eq!(answered.status, status, "{key}: {answered:?}");
    }
    // JSON is the same in whatever order its members are.
    let bodies = [r#"{"name":"one","outbox":false}"#, r#"{ "outbox": false, "name": "one" }"#];
    let [first, again] = bodies.map(|body| told(&keyed(&server, "order", "POST /v1/sessions", body)));
    assert_eq!((first.0, &first), (201, &again));
    // An error is tried again, and only with the same request.
    let wrong = r#"{"agent":"missing"}"#;
    for status in [400, 400] {
        assert_eq!(keyed(&server, "wrong", "POST /v1/sessions", wrong).status, status);
    }
    assert_eq!(keyed(&server, "wrong", "POST /v1/sessions", "{}").status, 422);
    let described = server.ask("GET /openapi.json", "").json();
    for (path, methods) in described["paths"].as_object().unwrap() {
        let takes = |method: &str| methods[method]["parameters"].to_string().contains("Idempotency-Key");
        assert_eq!(methods.get("post").is_some(), takes("post"), "{path}");
    }
}

#[test]
fn a_turn_of_the_openai_endpoint_is_taken_once_and_told_again_also_as_a_stream() {
    let place = Place::new();
    let slow = json!({"say": "One two three four.", "pieces": 4, "delay_ms": 50});
    let model = place.script("model", &[slow.clone(), slow]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let ask = json!({"model": "haft", "messages": [{"role": "user", "content": "count"}]});
    let stream = json!({"model": "haft", "messages": [{"role": "user", "content": "count"}], "stream": true});
    let response = json!({"model": "haft", "input": "count"});
    let table = [("chat/completions", ask), ("chat/completions", stream), ("responses", response)];
    for (number, (path, body)) in table.into_iter().enumerate() {
        let (line, body, key) = (format!("POST /v1/{path}"), body.to_string(), format!("key-{number}"));
        let before = fs::read_dir(place.path().join("home/sessions")).map_or(0, Iterator::count);
        let answers: Vec<Answered> = std::thread::scope(|scope| {
            let asks: Vec<_> = (0..3).map(|_| scope.spawn(|| keyed(&server, &key, &line, &body))).collect();
            asks.into_iter().map(|ask| ask.join().unwrap()).collect()
        });
        assert!(answers[0].status == 200 && answers[0].body.contains("One"), "{line}: {answers:?}");
        assert!(answers.iter().all(|answer| told(answer) == told(&answers[0])), "{line}: {answers:?}");
        assert_eq!(server.stop(), 0);
        server = Serving::start(&place, &["--model", &model]);
        assert_eq!(told(&keyed(&server, &key, &line, &body)), told(&answers[0]), "{line}");
        assert_eq!(fs::read_dir(place.path().join("home/sessions")).unwrap().count() - before, 1, "{line}");
    }
}

// H-130
#[test]
fn a_turn_for_a_client_of_openai_is_not_run_again_after_a_crash() {
    let chat = |text: &str| {
        let body = json!({"model": "haft", "messages": [{"role": "user", "content": text}]});
        ("POST /v1/chat/completions", body.to_string())
    };
    let response = |text: &str| ("POST /v1/responses", json!({"model": "haft", "input": text}).to_string());
    for (line, body) in [chat("go"), response("go")] {
        let place = Place::new();
        let acts = json!({"calls": [{"name": "bash", "arguments": {"command": "echo x >> marker"}}]});
        let model = place.script("model", &[acts, json!({"hang": true})]);
        let options = ["--model", &model, "--permission", "full"];
        let mut server = Serving::start(&place, &options);
        let marker = || place.read("marker");
        std::thread::scope(|scope| {
            scope.spawn(|| keyed(&server, "k", line, &body));
            while marker().is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            let id = Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
            kill_process(id, Signal::KILL).unwrap();
        });
        server.kill();
        // What is said in the session elsewhere is no answer to this request.
        let other = place.script("other", &vec![json!({"say": "To another prompt."}); 3]);
        let went_on = place.run(&["run", "-c", "--model", &other, "another prompt"]);
        assert_eq!(went_on.code, 0, "{went_on:?}");
        server = Serving::start(&place, &options);
        let again = keyed(&server, "k", line, &body);
        assert_eq!((again.status, again.error().as_str()), (422, "turn_failed"), "{line}: {again:?}");
        assert!(again.head.contains("x-should-retry: false"), "{again:?}");
        assert_eq!(marker().as_deref(), Some("x\n"), "{line}");
    }
}

/// Cuts the answers off that are kept: the server was killed before it wrote them.
fn forget_answers(place: &Place) {
    for file in keys(place) {
        let text = fs::read_to_string(&file).unwrap();
        let begun = text.lines().filter(|line| !line.contains("\"status\""));
        fs::write(&file, begun.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
}

#[test]
fn an_undo_and_a_redo_before_a_crash_are_not_done_again() {
    let place = Place::new();
    let mut replies = Vec::new();
    for name in ["one", "two", "three"] {
        replies.extend([bash(&format!("echo {name} >{name}")), json!({"say": "Done."})]);
    }
    let model = place.script("model", &replies);
    let options = ["--model", &model, "--permission", "accept-edits"];
    let mut server = Serving::start(&place, &options);
    let id = server.session("{}");
    for _ in 0..3 {
        let ended = server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#);
        assert_eq!(ended.json()["outcome"], "finished", "{ended:?}");
    }
    let there = || ["one", "two", "three"].map(|name| place.read(name).is_some());
    assert_eq!(there(), [true; 3]);
    for (key, what, expected) in [
        ("undo", "undo", [true, true, false]),
        ("another", "undo", [true, false, false]),
        ("redo", "redo", [true, true, false]),
    ] {
        let line = format!("POST /v1/sessions/{id}/{what}");
        let first = keyed(&server, key, &line, "{}");
        assert_eq!((first.status, there()), (200, expected), "{key}: {first:?}");
        server.kill();
        forget_answers(&place);
        server = Serving::start(&place, &options);
        let again = keyed(&server, key, &line, "{}");
        assert_eq!((told(&again), there()), (told(&first), expected), "{key}");
    }
}

#[test]
fn an_item_that_was_being_sent_at_a_crash_is_not_sent_again() {
    let place = Place::new();
    let command = "echo sent >>../outside; sleep 600; curl --version -d a=1";
    let model = place.script("model", &[bash(command), json!({"say": "Queued."})]);
    let ran = place.run(&["run", "--outbox", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let outside = || fs::read_to_string(place.work().join("../outside")).unwrap_or_default();
    let mut server = Serving::start(&place, &["--model", &model]);
    let item = server.ask("GET /v1/outbox", "").json()["items"][0].clone();
    let name = |field: &str| item[field].as_str().unwrap().to_owned();
    let line = format!("POST /v1/sessions/{}/outbox/{}/send", name("session"), name("id"));
    let body = r#"{"again":true}"#;
    std::thread::scope(|scope| {
        scope.spawn(|| keyed(&server, "k", &line, body));
        poll(|| outside() == "sent\n", || "the command".into());
        let id = Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
        kill_process(id, Signal::KILL).unwrap();
    });
    server.kill();
    server = Serving::start(&place, &["--model", &model]);
    for _ in 0..2 {
        let again = keyed(&server, "k", &line, body);
        assert!(again.status == 409 && again.body.contains("what it did is unknown"), "{again:?}");
        assert!(again.body.contains("again"), "{again:?}");
        assert_eq!(outside(), "sent\n");
    }
}

#[test]
fn a_request_that_was_cut_off_before_it_made_anything_is_carried_out() {
    let place = Place::new();
    let model = place.script("model", &says(20));
    let mut server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let chat = json!({"model": "haft", "messages": [{"role": "user", "content": "go"}]}).to_string();
    let response = json!({"model": "haft", "input": "go"}).to_string();
    let of_openai = [("POST /v1/chat/completions", chat), ("POST /v1/responses", response)];
    let of_openai = of_openai.map(|(line, body)| (line.to_owned(), body));
    let made = posts(&id).into_iter().filter(|(.., (sessions, _))| *sessions == 1);
    let made = made.map(|(line, body, ..)| (line, body.to_owned()));
    for (number, (line, body)) in made.chain(of_openai).enumerate() {
        let key = format!("key-{number}");
        let before = if number == 0 { Vec::new() } else { keys(&place) };
        let first = keyed(&server, &key, &line, &body);
        server.kill();
        // The journal was made, and had no entry yet.
        let own = keys(&place).into_iter().find(|file| !before.contains(file)).unwrap();
        let begun = fs::read_to_string(own).unwrap();
        let begun: serde_json::Value = serde_json::from_str(begun.lines().next().unwrap()).unwrap();
        let folder = place.path().join("home/sessions").join(begun["session"].as_str().unwrap());
        fs::write(folder.join("journal.jsonl"), "").unwrap();
        forget_answers(&place);
        server = Serving::start(&place, &["--model", &model]);
        let again = keyed(&server, &key, &line, &body);
        assert_eq!(again.status, first.status, "{line}: {again:?}");
        let names = |answer: &Answered| ["id", "job"].map(|name| answer.json()[name].clone());
        let is_of_openai = line.contains("completions") || line.contains("responses");
        assert!(is_of_openai || names(&again) == names(&first), "{line}: {again:?}");
    }
}

#[test]
fn a_turn_for_a_client_of_openai_in_which_nothing_was_done_is_taken_after_a_crash() {
    let place = Place::new();
    let model = place.script("model", &[json!({"hang": true})]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let (line, body) =
        ("POST /v1/chat/completions", r#"{"model":"haft","messages":[{"role":"user","content":"go"}]}"#);
    let has_begun = || {
        let journals = fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
        let mut texts =
            journals.filter_map(|folder| fs::read_to_string(folder.path().join("journal.jsonl")).ok());
        texts.any(|journal| journal.contains(r#""type":"prompted""#))
    };
    std::thread::scope(|scope| {
        scope.spawn(|| keyed(&server, "k", line, body));
        poll(has_begun, || "the prompt".into());
        let id = Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
        kill_process(id, Signal::KILL).unwrap();
    });
    server.kill();
    place.script("model", &says(3));
    server = Serving::start(&place, &["--model", &model]);
    let again = keyed(&server, "k", line, body);
    assert!(again.status == 200 && again.body.contains("Done."), "{again:?}");
    assert_eq!(told(&keyed(&server, "k", line, body)), told(&again));
}

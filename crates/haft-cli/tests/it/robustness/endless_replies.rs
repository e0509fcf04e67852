//! Replies that do not end by themselves, requests that come to nothing, and what they cost. The real binary, real servers.
use crate::kit::{Place, Reply, Server, drip::Drip, openai_text};
use serde_json::{Value, json};

/// An event of the chat wire.
fn event(delta: Value, finish: Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
}

fn text(text: impl Into<String>) -> String {
    event(json!({"content": text.into()}), Value::Null)
}

fn thought(text: &str) -> String {
    event(json!({"reasoning_content": text}), Value::Null)
}

fn call(name: Option<&str>, arguments: &str) -> String {
    let id = name.map(|_| "call_1");
    let call = json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
    event(json!({"tool_calls": [call]}), Value::Null)
}

/// One turn with a model at `address`.
fn turn(place: &Place, address: &str, more: &[&str]) -> (i32, Value, String) {
    let mut command = place.haft(&["run", "--model", "openai/m", "--base-url", address]);
    command.args(["--permission", "full", "--output", "json"]).args(more).arg("go");
    let output = command.env("OPENAI_API_KEY", "sk-0123456789abcdef").output();
    let ran = crate::kit::Ran::from(output.expect("it runs"));
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_default(), ran.err)
}

// A29: prose, thoughts and arguments at a few tokens a second, for ever
#[test]
fn a_reply_that_says_nothing_new_is_ended() {
    let place = Place::new();
    place.configure("[timeouts]\nrepeating = 1");
    let servers = [
        ("a token", Drip::start(|_| Some(text("tok ")))),
        ("a counter", Drip::start(|number| Some(text(format!("step {number}\n"))))),
        ("white space", Drip::start(|_| Some(text(" ")))),
        ("thoughts", Drip::start(|_| Some(thought("so ")))),
        (
            "arguments",
            Drip::start(|number| {
                Some(if number == 0 { call(Some("bash"), "{\"command\":\"") } else { call(None, "x") })
            }),
        ),
    ];
    for (what, server) in servers {
        let (code, object, error) = turn(&place, &server.address, &[]);
        assert_eq!((code, &object["outcome"]), (3, &json!("repeating")), "{what}: {object} {error}");
        let told = object["error"].as_str().unwrap_or_default();
        assert!(told.contains("it said nothing new for too long"), "{what}: {object}");
        assert_eq!(server.requests(), 1, "{what}");
    }
}

#[test]
fn a_slow_reply_that_says_something_new_is_not_ended_before_its_time() {
    let word = |number: usize| {
        let letters = [number / 676, number / 26, number].map(|n| char::from(b'a' + (n % 26) as u8));
        letters.into_iter().chain([' ']).collect::<String>()
    };
    let end = || event(json!({}), json!("stop"));
    let honest = Drip::start(move |number| match number {
        0..100 => Some(thought(&word(number))),
        100..200 => Some(text(word(number))),
        200 => Some(end()),
        _ => None,
    });
    let place = Place::new();
    place.configure("[vendors.openai.timeouts]\nrepeating = 1");
    let (code, object, error) = turn(&place, &honest.address, &[]);
    assert_eq!((code, &object["error"]), (0, &Value::Null), "{object} {error}");
    let endless = Drip::start(move |number| Some(text(word(number))));
    place.configure("[timeouts]\nreply = 2");
    let (code, object, error) = turn(&place, &endless.address, &[]);
    assert_eq!((code, &object["outcome"]), (3, &json!("repeating")), "{object} {error}");
    assert!(object["error"].as_str().unwrap().contains("it took too long"), "{object}");
}

// A28
#[test]
fn a_person_ends_a_reply_that_does_not_end() {
    let place = Place::new();
    let mut words = fastrand::Rng::with_seed(3);
    let said: Vec<String> = (0..5_000).map(|_| format!("{:x} ", words.u64(..))).collect();
    let endless = Drip::start(move |number| Some(text(&said[number % said.len()])));
    let out = place.path().join("out");
    let mut command = place.haft(&["run", "--model", "openai/m", "--base-url", &endless.address, "go"]);
    command.env("OPENAI_API_KEY", "sk-0123456789abcdef");
    let mut child = command.stdout(std::fs::File::create(&out).unwrap()).spawn().unwrap();
    crate::kit::terminal::poll(|| std::fs::metadata(&out).unwrap().len() > 100, || "some of it".into());
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    assert!(journal.trim_end().lines().last().unwrap().contains(r#""outcome":"interrupted""#), "{journal}");
    let model = place.script("m", &[json!({"say": "It went on."}), json!({"say": "It went on."})]);
    let ran = place.run(&["run", "--continue", "--model", &model, "more"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It went on.\n"), "{ran:?}");
}

// A15, A29: by size
#[test]
fn a_reply_that_is_too_large_is_ended() {
    let place = Place::new();
    let whole = |body: String| Reply(200, "text/event-stream", body);
    let large = "x".repeat(1 << 20);
    let talks = Server::start(vec![whole(text(large.as_str()).repeat(40))]);
    let (code, object, error) = turn(&place, &format!("{}/v1", talks.address), &[]);
    assert_eq!((code, &object["outcome"]), (3, &json!("repeating")), "{error}");
    assert!(object["error"].as_str().unwrap().contains("grew too large"), "{}", object["error"]);
    // Of a call that is too large the model can be told.
    let calls = call(Some("write"), "{\"path\":\"a\",\"content\":\"") + &call(None, &large).repeat(40);
    let writes = Server::start(vec![whole(calls), openai_text("smaller, then")]);
    let (code, object, error) = turn(&place, &format!("{}/v1", writes.address), &[]);
    assert_eq!((code, &object["text"]), (0, &json!("smaller, then")), "{error}");
    let asked = writes.asked();
    let results = asked[1]["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let results: Vec<&str> = results.map(|message| message["content"].as_str().unwrap()).collect();
    assert!(results.len() == 1 && results[0].contains("larger than 8 MB"), "{results:?}");
    assert_eq!(place.read("a"), None);
}

// What a request cost that was given up counts, too.
#[test]
fn what_a_retried_request_cost_is_not_forgotten() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 400_000, "completion_tokens": 10}});
    let cut_off = Reply(200, "text/event-stream", format!("{}data: {usage}\n\n", text("half")));
    let uncounted = Reply(200, "text/event-stream", text("half ".repeat(80_000)));
    let good = openai_text("whole");
    let place = Place::new();
    place.configure("[models.\"openai/m\"]\nwindow = 1000000\nprice = { input = 1.0, output = 10.0 }");
    let table = [
        ("within the limit", vec![cut_off.clone(), good.clone()], "2.0", (0, 2, 0.4001)),
        ("without a limit of money", vec![cut_off.clone(), good.clone()], "9.0", (0, 2, 0.4001)),
        ("over the limit", vec![cut_off.clone(), cut_off, good.clone()], "0.6", (3, 2, 0.8)),
        ("not counted", vec![uncounted, good], "0.6", (3, 1, 1.0)),
    ];
    for (what, replies, limit, (code, requests, cost)) in table {
        let server = Server::start(replies);
        let (ended, object, error) = turn(&place, &format!("{}/v1", server.address), &["--max-cost", limit]);
        assert_eq!((ended, server.asked().len()), (code, requests), "{what}: {object} {error}");
        let told = object["cost_usd"].as_f64().unwrap();
        assert!((told - cost).abs() < 0.01 * cost.max(1.0), "{what}: {told}");
    }
}

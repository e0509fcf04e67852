//! Both wires, spoken by the real binary to real HTTP servers on loopback.
use crate::kit::{Place, Ran, Reply, Server, anthropic, openai, openai_call, openai_calls, openai_text};
use serde_json::{Value, json};

fn haft(place: &Place, variable: &str, url: &str, arguments: &[&str]) -> Ran {
    let key = variable.replace("BASE_URL", "API_KEY");
    Ran::from(place.haft(arguments).env(variable, url).env(key, "sk-secret-key").output().unwrap())
}

// A01, A02, A-39, O-44, T-38, T-39, T-52, A-21, A-22, A-30, A-32, A-42, A-57, O-46: a tool round over chat completions
#[test]
fn a_tool_round_against_an_openai_compatible_server() {
    let place = Place::new();
    place.write("notes.txt", "The code is 7421.\n");
    let server =
        Server::start(vec![openai_call("read", &json!({"path": "notes.txt"})), openai_text("It is 7421.")]);
    let url = format!("{}/v1", server.address);
    let ran = haft(&place, "OPENAI_BASE_URL", &url, &["run", "--model", "openai/any", "--json", "hello"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.recorded(),
        ["session_opened", "prompted", "replied", "tool_started", "tool_ended", "replied", "turn_ended"]
    );
    let turn = ran.events().pop().unwrap();
    assert_eq!(
        (&turn["outcome"], &turn["usage"]["input"], &turn["usage"]["output"]),
        (&json!("finished"), &json!(22), &json!(10))
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    let names: Vec<&Value> =
        asked[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names[..3], ["read", "write", "edit"]);
    let messages = asked[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(messages[2]["tool_calls"][0]["id"], messages[3]["tool_call_id"]);
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], r#"{"path":"notes.txt"}"#);
    assert!(messages[3]["content"].as_str().unwrap().contains("7421"));
}

// O-23, O-24, O-25, O-26, O-27, O-28, O-29, O-45, O-47, O-48: the same over Messages
#[test]
fn a_tool_round_against_an_anthropic_server() {
    let place = Place::new();
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}});
    let pieces =
        ["{\"path\":", "\"nope.txt\"}"].map(|json| json!({"type": "input_json_delta", "partial_json": json}));
    let text = json!({"type": "text", "text": ""});
    let server = Server::start(vec![
        anthropic(block, &pieces, "tool_use"),
        anthropic(text, &[json!({"type": "text_delta", "text": "There is none."})], "end_turn"),
    ]);
    let ran =
        haft(&place, "ANTHROPIC_BASE_URL", &server.address, &["run", "--model", "anthropic/any", "hello"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "There is none.\n"), "{ran:?}");
    let asked = server.asked();
    let messages = asked[1]["messages"].as_array().unwrap();
    assert_eq!(
        messages[1]["content"][0],
        json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "nope.txt"}})
    );
    let result = &messages[2]["content"][0];
    assert_eq!(
        (&messages[2]["role"], &result["type"], &result["tool_use_id"], &result["is_error"]),
        (&json!("user"), &json!("tool_result"), &json!("toolu_1"), &json!(true))
    );
}

// A03, A04, A05, A06, A07, A08, A09, A10, A12, A20, A58, A61, A63, A64, A66: calls that are none are answered, never run
#[test]
fn broken_calls_are_answered_and_the_loop_goes_on() {
    let call = |index: u32, id: &str, name: &str, arguments: &str| json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]});
    let mut as_object = call(0, "a", "bash", "");
    as_object["tool_calls"][0]["function"]["arguments"] = json!({"command": "echo t >> ticks"});
    let table = [
        (vec![call(0, "a", "bash", r#"{"command":"echo t >> ticks"#)], "tool_calls", 0),
        (
            vec![
                call(0, "a", "bash", "42"),
                call(1, "b", "bash", "[1]"),
                call(2, "c", "bash", "\"x\""),
                call(3, "d", "bash", "null"),
            ],
            "tool_calls",
            0,
        ),
        (vec![call(0, "a", "no_such_tool", "{}")], "tool_calls", 0),
        (vec![call(0, "a", "bash", "{}")], "tool_calls", 0),
        (vec![call(0, "a", "bash", r#"{"command":{"x":1}}"#)], "tool_calls", 0),
        (vec![call(0, "a", "bash", r#"{"command":"echo t >> ticks\u0000"}"#)], "tool_calls", 0),
        (
            vec![
                call(0, "same", "bash", r#"{"command":"echo t >> ticks"}"#),
                call(1, "same", "bash", r#"{"command":"echo u >> ticks"}"#),
            ],
            "tool_calls",
            2,
        ),
        (vec![call(0, "", "bash", r#"{"command":"echo t >> ticks"}"#)], "tool_calls", 1),
        (vec![call(0, "a", "bash", r#""{\"command\":\"echo t >> ticks\"}""#)], "tool_calls", 1),
        (vec![call(0, "a", "bash", r#"{"command":"echo t >> ticks","mood":"good"}"#)], "tool_calls", 0),
        (vec![call(7, "a", " Bash ", r#"{"command":"echo t >> ticks"}"#)], "tool_calls", 1),
        (vec![call(0, "a", "bash", r#"{"command":"echo t >> ti"#)], "length", 0),
        (vec![as_object], "tool_calls", 1),
        (vec![call(0, "a", "bash", &"[".repeat(100_000))], "tool_calls", 0),
        (vec![call(0, "a", "bash", &(r#"{"command":"#.to_owned() + &"[".repeat(100_000)))], "tool_calls", 0),
    ];
    for (number, (deltas, finish, ticks)) in table.into_iter().enumerate() {
        let place = Place::new();
        let count = deltas.len();
        let server = Server::start(vec![openai(&deltas, finish), openai_text("done")]);
        let url = format!("{}/v1", server.address);
        let ran = haft(
            &place,
            "OPENAI_BASE_URL",
            &url,
            &["run", "--model", "openai/any", "--permission", "full", "go"],
        );
        assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{number}: {ran:?}");
        assert_eq!(place.read("ticks").unwrap_or_default().lines().count(), ticks, "{number}");
        let messages = server.asked()[1]["messages"].as_array().unwrap().clone();
        let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
        assert_eq!(results.len(), count, "{number}");
        let calls: Vec<&Value> =
            messages[2]["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
        let answered: Vec<&Value> = results.iter().map(|result| &result["tool_call_id"]).collect();
        assert_eq!(calls, answered, "{number}");
        let mut unique = calls.clone();
        unique.dedup();
        assert!(
            unique.len() == count && calls.iter().all(|id| id.as_str().is_some_and(|id| !id.is_empty())),
            "{number}"
        );
    }
}

// A45, A46: asked once, told clearly, the key in nothing that is shown
#[test]
fn a_refused_key_and_a_rejected_request_are_asked_once() {
    let table = [
        (401, "error: OpenAI refused the key: "),
        (403, "error: OpenAI denies access: "),
        (400, "error: OpenAI rejected the request: "),
        (404, "error: OpenAI rejected the request: "),
    ];
    for (status, expected) in table {
        let place = Place::new();
        let body = json!({"error": {"message": "not with sk-secret-key, my friend"}}).to_string();
        let server = Server::start(vec![Reply(status, "application/json", body)]);
        let url = format!("{}/v1", server.address);
        let ran = haft(&place, "OPENAI_BASE_URL", &url, &["run", "--model", "openai/any", "hello"]);
        assert_eq!((ran.code, server.asked().len()), (1, 1), "{ran:?}");
        assert!(ran.err.starts_with(expected), "{}", ran.err);
        let journal = std::fs::read_to_string(place.journal()).unwrap();
        assert!(!format!("{ran:?}{journal}").contains("sk-secret-key"));
    }
}

// A40, A50: a server that stumbles is asked again
#[test]
fn a_server_that_stumbles_is_asked_again() {
    let place = Place::new();
    let down = Reply(500, "application/json", "{}".into());
    let empty = Reply(200, "text/event-stream", String::new());
    let server = Server::start(vec![down, empty, openai_text("here")]);
    let url = format!("{}/v1", server.address);
    let ran = haft(&place, "OPENAI_BASE_URL", &url, &["run", "--model", "openai/any", "hello"]);
    assert_eq!((ran.code, ran.out.as_str(), server.asked().len()), (0, "here\n", 3), "{ran:?}");
    assert!(ran.err.contains("asking again in"), "{}", ran.err);
}

// A21, A22, D15: text is text
#[test]
fn calls_in_prose_are_not_run_and_escapes_are_not_printed() {
    let place = Place::new();
    let text = "```bash\ntouch x\n```\n<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"touch x\"}}</tool_call>\u{1b}]0;t\u{7}";
    let server = Server::start(vec![openai_text(text)]);
    let url = format!("{}/v1", server.address);
    let ran = haft(
        &place,
        "OPENAI_BASE_URL",
        &url,
        &["run", "--model", "openai/any", "--permission", "full", "hello"],
    );
    assert_eq!((ran.code, ran.out.contains("touch x"), ran.out.contains('\u{1b}')), (0, true, false));
    assert!(place.read("x").is_none());
}

// A13
#[test]
fn a_hundred_calls_of_one_reply_all_run_and_are_answered_in_their_order() {
    let place = Place::new();
    let all: Vec<(&str, Value)> = (0..100)
        .map(|n| ("write", json!({"path": format!("f{n}.txt"), "content": format!("{n}")})))
        .collect();
    let server = Server::start(vec![openai_calls(&all), openai_text("done")]);
    let url = format!("{}/v1", server.address);
    let options = ["run", "--model", "openai/any", "--permission", "full", "go"];
    let ran = haft(&place, "OPENAI_BASE_URL", &url, &options);
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    for n in 0..100 {
        assert_eq!(place.read(&format!("f{n}.txt")), Some(n.to_string()));
    }
    let messages = server.asked()[1]["messages"].as_array().unwrap().clone();
    let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), 100);
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(result["tool_call_id"], messages[2]["tool_calls"][n]["id"]);
        assert!(result["content"].as_str().unwrap().contains(&format!("f{n}.txt")), "{n}: {result}");
    }
}

// A16, A17
#[test]
fn a_model_that_goes_in_circles_is_stopped() {
    for (what, files) in [("A16", &["a.txt"][..]), ("A17", &["a.txt", "b.txt"])] {
        let place = Place::new();
        for name in files {
            place.write(name, "the same");
        }
        let server = Server::answering(move |number, _| {
            openai_call("read", &json!({"path": files[number % files.len()]}))
        });
        let url = format!("{}/v1", server.address);
        let ran = haft(&place, "OPENAI_BASE_URL", &url, &["run", "--model", "openai/any", "--json", "go"]);
        let ended = ran.events().pop().unwrap();
        assert_eq!((ran.code, &ended["outcome"]), (3, &json!("repeating")), "{what}: {ran:?}");
        assert!(server.asked().len() <= 8 * files.len(), "{what}: {}", server.asked().len());
        let plain = haft(&place, "OPENAI_BASE_URL", &url, &["run", "--model", "openai/any", "go"]);
        assert!(plain.err.contains("stopped: the model repeats itself"), "{what}: {plain:?}");
    }
}

// A19: in a text, and in arguments; as a server writes it, and as a model does
#[test]
fn half_a_surrogate_pair_spoils_neither_the_reply_nor_the_next_request() {
    for (half, made) in [("\\ud83d", Some("x\u{fffd}y")), ("\\\\ud83d", None)] {
        let place = Place::new();
        let arguments = json!({"path": "made.txt", "content": "xHALFy"}).to_string();
        let function = json!({"name": "write", "arguments": arguments});
        let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]});
        let Reply(status, media, body) = openai(&[json!({"content": "aHALFb"}), call], "tool_calls");
        let reply = Reply(status, media, body.replace("HALF", half));
        let server = Server::start(vec![reply, openai_text("done")]);
        let url = format!("{}/v1", server.address);
        let options = ["run", "--model", "openai/any", "--permission", "full", "go"];
        let ran = haft(&place, "OPENAI_BASE_URL", &url, &options);
        assert_eq!((ran.code, place.read("made.txt").as_deref()), (0, made), "{half}: {ran:?}");
        // What is no JSON is remembered as nothing.
        let asked = server.asked();
        assert_eq!(
            (asked.len(), asked[1]["messages"][3]["tool_call_id"].as_str()),
            (2, Some("a")),
            "{half}: {asked:?}"
        );
    }
}

// A47, A48: once, and for ever
#[test]
fn a_conversation_that_is_too_long_for_the_server_is_made_smaller_once() {
    let too_long = json!({"error": {"message": "too much", "code": "context_length_exceeded"}}).to_string();
    for (what, is_for_ever, code) in [("A47", false, 0), ("A48", true, 1)] {
        let place = Place::new();
        let refusal = Reply(400, "application/json", too_long.clone());
        let refused = std::sync::atomic::AtomicUsize::new(0);
        let server = Server::answering(move |number, request| {
            let is_last =
                request["tools"].is_array() && request["messages"].to_string().contains("the last question");
            match is_last && (is_for_ever || refused.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0) {
                true => refusal.clone(),
                false if is_last => openai_text("fine"),
                false => openai_text(&format!("answer {number} {}", "words ".repeat(3_000))),
            }
        });
        let url = format!("{}/v1", server.address);
        let say = |more: &[&str]| {
            haft(&place, "OPENAI_BASE_URL", &url, &[&["run", "--model", "openai/any"], more].concat())
        };
        for words in [&["one"][..], &["--continue", "two"], &["--continue", "three"]] {
            assert_eq!(say(words).code, 0);
        }
        let before = server.asked().len();
        let ran = say(&["--continue", "the last question"]);
        assert_eq!(ran.code, code, "{what}: {ran:?}");
        let asked: Vec<Value> =
            server.asked().into_iter().skip(before).filter(|asked| asked["tools"].is_array()).collect();
        let sizes: Vec<usize> = asked.iter().map(|asked| asked["messages"].to_string().len()).collect();
        assert!(matches!(sizes[..], [whole, smaller] if smaller < whole / 2), "{what}: {sizes:?} {ran:?}");
        match is_for_ever {
            true => assert!(ran.err.contains("too much"), "{ran:?}"),
            false => assert_eq!(ran.out, "fine\n"),
        }
    }
}

//! `haft serve`: sessions and jobs over HTTP. The real binary, scripted models.
use crate::kit::{Place, bash, serving::Serving};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Writes a file, and says so.
fn writes() -> Vec<Value> {
    vec![
        json!({"think": "Hm.", "say": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}],
               "usage": {"input": 10, "output": 5}}),
        json!({"say": "It is written.", "usage": {"input": 20, "output": 5}}),
    ]
}

/// A reply that takes its time.
fn slowly() -> Value {
    json!({"say": "Slowly. ".repeat(50), "pieces": 50, "delay_ms": 200})
}

fn post(server: &Serving, id: &str, what: &str, body: &Value) -> Value {
    let answered = server.ask(&format!("POST /v1/sessions/{id}/{what}"), &body.to_string());
    assert!(answered.status < 300, "{what}: {answered:?}");
    answered.json()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter(|event| !event["seq"].is_null())
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

/// The call that asks, once there is one.
fn asked(server: &Serving, id: &str) -> Value {
    let begun = Instant::now();
    loop {
        let asked = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").json();
        if let Some(first) = asked.as_array().unwrap().first() {
            return first.clone();
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no person is asked");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_session_is_prompted_approved_undone_and_redone() {
    let place = Place::new();
    let model = place.script("model", &writes());
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session(r#"{"name":"mine"}"#);
    let mut events = server.follow(&id, "");
    let taken = post(&server, &id, "prompt", &json!({"text": "write it"}));
    assert_eq!((&taken["session"], &taken["from"]), (&json!(id), &json!(1)));
    let asking = asked(&server, &id);
    assert_eq!(asking["approval"]["sentence"], "Create a.txt?");
    assert_eq!(
        asking["approval"]["files"][0]["hunks"][0][0],
        json!({"old": null, "new": 1, "parts": [[false, "one"]]})
    );
    let state = server.ask(&format!("GET /v1/sessions/{id}"), "").json();
    assert_eq!((&state["state"], &state["name"]), (&json!("asking"), &json!("mine")));
    assert_eq!(place.read("a.txt"), None);
    post(&server, &id, "answer", &json!({"call": asking["call"], "answer": "once"}));
    let seen = events.until("turn_ended");
    let recorded = [
        "session_opened",
        "prompted",
        "replied",
        "tool_started",
        "approval_asked",
        "approval_answered",
        "staged",
        "tool_ended",
        "replied",
        "turn_ended",
    ];
    assert_eq!(kinds(&seen), recorded);
    let live =
        |kind: &str| seen.iter().filter(|event| event["seq"].is_null() && event["type"] == kind).count();
    assert!(live("text") >= 2 && live("thinking") >= 1 && live("tool_call") == 1, "{seen:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n"));

    let mut would = post(&server, &id, "undo", &json!({"dry_run": true}));
    let lines = would.as_object_mut().unwrap().remove("files").unwrap_or_default();
    assert_eq!((&lines[0]["path"], &lines[0]["kind"]), (&json!("a.txt"), &json!("deleted")));
    assert_eq!(would["changes"], json!([{"path": "a.txt", "kind": "deleted"}]));
    assert!(place.read("a.txt").is_some());
    assert_eq!(post(&server, &id, "undo", &json!({})), would);
    assert_eq!(place.read("a.txt"), None);
    let redone = post(&server, &id, "redo", &json!({}));
    assert_eq!(redone["changes"], json!([{"path": "a.txt", "kind": "created"}]));
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n"));
    let calls = server.ask(&format!("GET /v1/sessions/{id}/calls"), "").json();
    assert_eq!((&calls[0]["call"], &calls[0]["undone"]), (&json!(1), &json!(false)), "{calls}");
    let alone = post(&server, &id, "undo", &json!({"call": 1}));
    assert_eq!((&alone["undone"], &alone["changes"]), (&json!([1]), &would["changes"]));
    assert_eq!(place.read("a.txt"), None);
    post(&server, &id, "redo", &json!({}));
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n"));
    // What a client sees is what the journal holds.
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let exported = server.ask(&format!("GET /v1/sessions/{id}/export"), "");
    assert_eq!(exported.body, journal);
    let lines: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let recorded: Vec<&Value> = seen.iter().filter(|event| !event["seq"].is_null()).collect();
    assert_eq!(recorded, lines.iter().take(recorded.len()).collect::<Vec<_>>());
    for (format, words) in [("markdown", "# Session"), ("html", "<!doctype html>")] {
        let exported = server.ask(&format!("GET /v1/sessions/{id}/export?format={format}"), "");
        assert!(exported.status == 200 && exported.body.starts_with(words), "{exported:?}");
        assert!(!exported.head.contains("text/html"));
    }
}

#[test]
fn no_is_said_with_a_reason_and_the_model_reads_it() {
    let place = Place::new();
    let model = place
        .script("model", &[writes().remove(0), json!({"expect": "call it b.txt", "say": "As you like."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    post(&server, &id, "prompt", &json!({"text": "write it"}));
    let call = asked(&server, &id)["call"].clone();
    let approval = format!("approvals/{}", call.as_str().unwrap());
    post(&server, &id, &approval, &json!({"answer": "no", "because": "call it b.txt"}));
    let seen = events.until("turn_ended");
    let ended = seen.last().unwrap();
    assert_eq!(ended["outcome"], "finished", "{seen:?}");
    assert_eq!(place.read("a.txt"), None);
    let told = server.ask(&format!("GET /v1/sessions/{id}/export?format=markdown"), "");
    assert!(told.body.contains("\n**Answer:** refused\n"), "{told:?}");
    // The path of earlier versions says the same.
    for (path, body) in
        [(approval.as_str(), json!({"answer": "once"})), ("answer", json!({"call": call, "answer": "once"}))]
    {
        let again = server.ask(&format!("POST /v1/sessions/{id}/{path}"), &body.to_string());
        assert_eq!(again.status, 409, "{path}");
    }
}

#[test]
fn a_part_of_a_change_is_accepted_and_the_model_reads_what_was_left_out() {
    let place = Place::new();
    let lines: Vec<String> = (1..=30).map(|line| format!("line {line}\n")).collect();
    let before = lines.concat();
    place.write("a.txt", &before);
    let command =
        "sed -i 's/^line 2$/LINE 2/; s/^line 28$/LINE 28/' a.txt; echo new >b.txt; echo other >c.txt";
    let model = place
        .script("model", &[bash(command), json!({"expect": "accepted only a part", "say": "So be it."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    post(&server, &id, "prompt", &json!({"text": "go"}));
    let asked = asked(&server, &id);
    let hunks: Vec<usize> = asked["approval"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["hunks"].as_array().unwrap().len())
        .collect();
    assert_eq!(hunks, [2, 1, 1], "{asked}");
    let path = format!("POST /v1/sessions/{id}/approvals/{}", asked["call"].as_str().unwrap());
    let table = [
        (json!({"answer": "once", "accepted": []}), "names no part"),
        (json!({"answer": "always", "accepted": [{"path": "b.txt"}]}), "with the answer `once` only"),
        (json!({"answer": "once", "accepted": [{"path": "../x"}]}), "the call changes no file `../x`"),
        (json!({"answer": "once", "accepted": [{"path": "a.txt", "hunks": [2]}]}), "has no hunk 2"),
        (
            json!({"answer": "once", "accepted": [{"path": "b.txt"}, {"path": "b.txt", "text": "x"}]}),
            "`accepted` names `b.txt` twice",
        ),
    ];
    for (body, message) in table {
        let refused = server.ask(&path, &body.to_string());
        assert!(refused.status == 400 && refused.body.contains(message), "{body}: {refused:?}");
    }
    let accepted = json!([{"path": "a.txt", "hunks": [1]}, {"path": "b.txt"}]);
    let taken = server.ask(&path, &json!({"answer": "once", "accepted": accepted}).to_string());
    assert_eq!(taken.status, 202, "{taken:?}");
    let seen = events.until("turn_ended");
    assert_eq!(seen.last().unwrap()["outcome"], "finished", "{seen:?}");
    assert_eq!(place.read("a.txt").unwrap(), before.replace("line 28\n", "LINE 28\n"));
    assert_eq!((place.read("b.txt").as_deref(), place.read("c.txt")), (Some("new\n"), None));
}

#[test]
fn a_question_is_replied_to_and_a_turn_is_steered() {
    let place = Place::new();
    let lines = [
        json!({"calls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["red", "blue"]}}]}),
        json!({"expect": "be quick", "say": "Blue it is."}),
    ];
    let model = place.script("model", &lines);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    post(&server, &id, "prompt", &json!({"text": "ask me"}));
    let asking = asked(&server, &id);
    assert!(asking["question"].to_string().contains("Which?"), "{asking}");
    post(&server, &id, "prompt", &json!({"text": "and be quick"}));
    let question = format!("questions/{}", asking["call"].as_str().unwrap());
    post(&server, &id, &question, &json!({"answer": "blue"}));
    let seen = events.until("turn_ended");
    assert_eq!(seen.last().unwrap()["outcome"], "finished", "{seen:?}");
    assert_eq!(kinds(&seen).iter().filter(|kind| **kind == "prompted").count(), 2);
    let ended = seen.iter().find(|event| event["type"] == "tool_ended").unwrap();
    assert!(ended["content"].as_str().unwrap().contains("blue"), "{ended}");
}

#[test]
fn events_go_on_where_a_client_stopped() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "One."}), json!({"say": "Two."})]);
    let server = Serving::start(&place, &["--model", &model, "--idle", "1"]);
    let id = server.session("{}");
    let report = post(&server, &id, "prompt", &json!({"text": "1", "wait": true}));
    assert_eq!((&report["text"], &report["outcome"]), (&json!("One."), &json!("finished")));
    let all = server.follow(&id, "").until("turn_ended");
    let seqs: Vec<u64> = all.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>());
    let last = seqs.last().unwrap();
    // It waits for what comes, while the session closes and is opened again.
    let mut events = server.follow(&id, &format!("last-event-id: {last}\r\n"));
    let begun = Instant::now();
    while !server.ask("GET /metrics", "").body.contains("haft_sessions_open 0") {
        assert!(begun.elapsed() < Duration::from_secs(20), "the session stays open");
        std::thread::sleep(Duration::from_millis(100));
    }
    post(&server, &id, "prompt", &json!({"text": "2"}));
    let more = events.until("turn_ended");
    assert_eq!(kinds(&more), ["prompted", "replied", "turn_ended"]);
    assert_eq!(more[0]["seq"].as_u64().unwrap(), last + 1);
    let again = server.follow(&id, "last-event-id: 0\r\n").until("turn_ended");
    assert_eq!(again[0]["seq"], 1);
}

#[test]
fn a_turn_that_the_end_of_the_server_cut_off_is_continued() {
    let place = Place::new();
    let model = place.script("model", &[slowly(), json!({"expect": "cut off", "say": "Done."})]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    post(&server, &id, "prompt", &json!({"text": "go"}));
    while events.next().unwrap()["type"] != "text" {}
    assert_eq!(server.stop(), 0);
    // All that was recorded was told, and then the stream ended.
    let seen = events.until("turn_ended");
    assert_eq!(seen.last().unwrap()["outcome"], "interrupted");
    assert!(events.next().is_none());
    let server = Serving::start(&place, &["--model", &model]);
    let shown = server.ask(&format!("GET /v1/sessions/{id}"), "").json();
    assert_eq!((&shown["is_unfinished"], &shown["state"]), (&json!(true), &json!("idle")));
    let report = post(&server, &id, "continue", &json!({"wait": true}));
    assert_eq!((&report["outcome"], &report["text"]), (&json!("finished"), &json!("Done.")), "{report}");
}

#[test]
fn what_was_taken_in_the_middle_of_a_turn_survives_the_death_of_the_server() {
    let place = Place::new();
    let model = place.script("model", &[slowly(), json!({"expect": "now go on", "say": "Done."})]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    post(&server, &id, "prompt", &json!({"text": "go"}));
    while events.next().unwrap()["type"] != "text" {}
    for text in ["first this", "then that"] {
        post(&server, &id, "prompt", &json!({"text": text}));
    }
    server.kill();
    let server = Serving::start(&place, &["--model", &model]);
    let report = post(&server, &id, "prompt", &json!({"text": "now go on", "wait": true}));
    assert_eq!((&report["outcome"], &report["text"]), (&json!("finished"), &json!("Done.")), "{report}");
    let seen = server.follow(&id, "").until("turn_ended");
    let said = |kind: &str| -> Vec<String> {
        let of_kind = seen.iter().filter(|event| event["type"] == kind);
        of_kind.map(|event| event["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
    };
    let waited = ["first this", "then that", "now go on"];
    assert_eq!(said("prompt_queued"), waited);
    assert_eq!(said("prompted"), ["go", waited[0], waited[1], waited[2]]);
}

// H-128: also where the server dies afterwards
#[test]
fn a_prompt_that_waits_is_taken_back_and_is_never_read() {
    let place = Place::new();
    let model = place.script("model", &[slowly(), json!({"expect": "now go on", "say": "Done."})]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    let withdraw = |server: &Serving| server.ask(&format!("POST /v1/sessions/{id}/withdraw"), "{}");
    assert_eq!(withdraw(&server).status, 409);
    post(&server, &id, "prompt", &json!({"text": "go"}));
    while events.next().unwrap()["type"] != "text" {}
    for text in ["first this", "then that"] {
        post(&server, &id, "prompt", &json!({"text": text}));
    }
    assert_eq!(withdraw(&server).status, 202);
    server.kill();
    let server = Serving::start(&place, &["--model", &model]);
    let report = post(&server, &id, "prompt", &json!({"text": "now go on", "wait": true}));
    assert_eq!(report["outcome"], "finished", "{report}");
    let seen = server.follow(&id, "").until("turn_ended");
    let said: Vec<&str> = seen
        .iter()
        .filter(|event| event["type"] == "prompted")
        .map(|event| event["parts"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["go", "first this", "now go on"]);
    let refused = withdraw(&server);
    assert!(refused.status == 409 && refused.body.contains("no prompt waits"), "{refused:?}");
}

#[test]
fn more_prompts_than_a_turn_can_take_up_are_refused() {
    let place = Place::new();
    let long = json!({"say": "Slowly. ".repeat(50), "pieces": 50, "delay_ms": 1000});
    let model = place.script("model", &[long, json!({"say": "Enough."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    post(&server, &id, "prompt", &json!({"text": "go"}));
    while events.next().unwrap()["type"] != "text" {}
    let said = |place: usize| {
        server.ask(&format!("POST /v1/sessions/{id}/prompt"), &format!(r#"{{"text": "{place}"}}"#))
    };
    let refused = (0..300).map(said).find(|answered| answered.status != 202).unwrap();
    assert_eq!((refused.status, refused.error().as_str()), (409, "conflict"), "{refused:?}");
    assert!(refused.body.contains("256 prompts wait"), "{refused:?}");
}

#[test]
fn a_session_of_a_dead_process_is_opened_by_the_next_command() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "One."}), json!({"say": "Two."})]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    post(&server, &id, "prompt", &json!({"text": "1", "wait": true}));
    server.kill();
    let server = Serving::start(&place, &["--model", &model]);
    let listed = server.ask("GET /v1/sessions", "").json();
    assert_eq!((&listed["sessions"][0]["id"], &listed["sessions"][0]["state"]), (&json!(id), &json!("idle")));
    assert_eq!(post(&server, &id, "prompt", &json!({"text": "2", "wait": true}))["text"], "Two.");
}

#[test]
fn a_turn_is_interrupted_and_sessions_are_forked_renamed_listed_and_deleted() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "First."}), slowly()]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    post(&server, &id, "prompt", &json!({"text": "1", "wait": true}));
    let mut events = server.follow(&id, "last-event-id: 3\r\n");
    post(&server, &id, "prompt", &json!({"text": "2"}));
    while events.next().unwrap()["type"] != "text" {}
    let busy = server.ask(&format!("POST /v1/sessions/{id}/undo"), "");
    assert_eq!((busy.status, busy.error().as_str()), (409, "conflict"));
    assert_eq!(server.ask(&format!("DELETE /v1/sessions/{id}"), "").status, 409);
    post(&server, &id, "interrupt", &json!({}));
    assert_eq!(events.until("turn_ended").last().unwrap()["outcome"], "interrupted");

    let forked = post(&server, &id, "fork", &json!({"at": 3}));
    assert_eq!((&forked["forked_from"], &forked["entries"]), (&json!(id), &json!(4)));
    let fork = forked["id"].as_str().unwrap();
    let renamed = server.ask(&format!("PATCH /v1/sessions/{fork}"), r#"{"name":"the fork"}"#).json();
    assert_eq!(renamed["title"], "the fork");
    let wrong = server.ask(&format!("PATCH /v1/sessions/{fork}"), r#"{"name":"two\nlines"}"#);
    assert_eq!(wrong.status, 400);
    let page = server.ask("GET /v1/sessions?limit=1", "").json();
    assert_eq!((&page["sessions"][0]["id"], &page["next"]), (&json!(fork), &json!(fork)));
    let rest = server.ask(&format!("GET /v1/sessions?limit=5&behind={fork}"), "").json();
    assert_eq!((rest["sessions"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
    assert_eq!(
        server.ask("GET /v1/sessions?search=FORK", "").json()["sessions"].as_array().unwrap().len(),
        1
    );
    assert_eq!(server.ask(&format!("DELETE /v1/sessions/{fork}"), "").json()["deleted"], json!([fork]));
    assert_eq!(server.ask(&format!("GET /v1/sessions/{fork}"), "").status, 404);
}

#[test]
fn clients_widen_what_runs_unasked_only_as_far_as_the_server_allows() {
    let place = Place::new();
    let model = place.script("model", &writes());
    for (up_to, wanted, expected) in [
        (None, "full", "ask"),
        (Some("accept-edits"), "full", "accept-edits"),
        (None, "read-only", "read-only"),
    ] {
        let more: Vec<&str> = up_to.map(|mode| vec!["--up-to", mode]).unwrap_or_default();
        let words: Vec<&str> = ["--model", &model].iter().copied().chain(more).collect();
        let server = Serving::start(&place, &words);
        let made = server.ask("POST /v1/sessions", &json!({"permission": wanted}).to_string()).json();
        assert_eq!(made["permission"], expected, "{up_to:?} {wanted}");
    }
}

#[test]
fn a_picture_is_sent_and_said() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "A dot."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let png = b"\x89PNG\r\n\x1a\n0000";
    let mut request = format!(
        "POST /v1/uploads HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: image/png\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        server.address, server.token, png.len()
    ).into_bytes();
    request.extend_from_slice(png);
    let uploaded = server.say(&request);
    assert_eq!((uploaded.status, &uploaded.json()["mime"]), (201, &json!("image/png")));
    let id = server.session("{}");
    let parts = json!({"parts": [{"type": "text", "text": "what is it?"}, {"type": "upload", "id": uploaded.json()["id"]}], "wait": true});
    assert_eq!(post(&server, &id, "prompt", &parts)["text"], "A dot.");
    let prompted = server.follow(&id, "").until("prompted").pop().unwrap();
    assert_eq!(prompted["parts"][1]["mime"], "image/png", "{prompted}");
    let lying = String::from_utf8_lossy(&request).replace("image/png", "image/gif");
    assert_eq!(server.say(lying.as_bytes()).status, 400);
}

#[test]
fn who_listens_hears_which_sessions_work() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "One."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let mut all = server.follow("x/../../events", "");
    // Before the token is checked nothing is told; the path above is no route.
    assert!(all.next().is_none() || all.next().is_none());
    let (address, token) = (&server.address, &server.token);
    let mut stream = server.connect();
    use std::io::{BufRead, BufReader, Write};
    write!(stream, "GET /v1/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.find(|line| line == ":").unwrap();
    let id = server.session("{}");
    post(&server, &id, "prompt", &json!({"text": "1", "wait": true}));
    let mut states = Vec::new();
    while states.last() != Some(&"idle".to_owned()) || !states.contains(&"working".to_owned()) {
        let line = lines.find(|line| line.starts_with("data: ")).unwrap();
        let news: Value = serde_json::from_str(&line["data: ".len()..]).unwrap();
        assert_eq!(news["session"], json!(id));
        states.push(news["state"].as_str().unwrap().to_owned());
    }
}

#[test]
fn jobs_are_queued_worked_on_cancelled_and_taken_up_by_the_next_server() {
    let place = Place::new();
    let model = place.script("model", &[slowly(), slowly(), slowly()]);
    let words = ["--model", &model, "--workers", "1"];
    let mut server = Serving::start(&place, &words);
    let add = |server: &Serving, text: &str| {
        let made = server.ask("POST /v1/jobs", &json!({"kind": "triager", "description": text}).to_string());
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["job"].as_str().unwrap().to_owned()
    };
    let status = |server: &Serving, id: &str| {
        server.ask(&format!("GET /v1/jobs/{id}"), "").json()["status"].as_str().unwrap().to_owned()
    };
    let becomes = |server: &Serving, id: &str, wanted: &str| {
        let begun = Instant::now();
        while status(server, id) != wanted {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{id} is not {wanted}: {:?}",
                server.ask(&format!("GET /v1/jobs/{id}"), "")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let (first, second, third) = (add(&server, "one"), add(&server, "two"), add(&server, "three"));
    becomes(&server, &first, "running");
    assert_eq!(status(&server, &second), "pending");
    let cancelled = server.ask(&format!("POST /v1/jobs/{second}/cancel"), "");
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (202, &json!("cancelled")), "{cancelled:?}");
    assert_eq!(server.ask(&format!("POST /v1/jobs/{second}/cancel"), "").status, 409);
    assert_eq!(server.stop(), 0);

    let server = Serving::start(&place, &words);
    becomes(&server, &first, "running");
    server.ask(&format!("POST /v1/jobs/{first}/cancel"), "");
    becomes(&server, &first, "cancelled");
    becomes(&server, &third, "running");
    assert_eq!(server.ask(&format!("POST /v1/jobs/{first}/retry"), "").status, 202);
    let listed = server.ask("GET /v1/jobs", "").json();
    let ids: Vec<&str> =
        listed["jobs"].as_array().unwrap().iter().map(|job| job["job"].as_str().unwrap()).collect();
    assert_eq!(ids, [third.as_str(), &second, &first]);
}

#[test]
fn a_reader_that_never_reads_holds_nobody_up() {
    let place = Place::new();
    let text = "0123456789".repeat(200_000);
    let model = place.script("model", &[json!({"say": text, "pieces": 500}), json!({"say": "Next."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let _never_read: Vec<_> = (0..20).map(|_| server.follow(&id, "")).collect();
    let begun = Instant::now();
    assert_eq!(post(&server, &id, "prompt", &json!({"text": "1", "wait": true}))["outcome"], "finished");
    assert_eq!(post(&server, &id, "prompt", &json!({"text": "2", "wait": true}))["text"], "Next.");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let mut again = server.follow(&id, "last-event-id: 3\r\n");
    assert_eq!(kinds(&again.until("turn_ended")), ["prompted", "replied", "turn_ended"]);
}

#[test]
fn a_job_that_was_queued_elsewhere_asks_the_model_of_whoever_works_on_it() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "It is a question."})]);
    place.configure(&format!("model = \"{model}\"\n"));
    let added = place.run(&["jobs", "add", "--kind", "triager", "--description", "one"]);
    let id = added.out.trim().to_owned();
    let ran = place.run(&["jobs", "serve", "--once"]);
    let shown = place.run(&["jobs", "show", &id]);
    assert!(!shown.out.contains("nobody") && shown.out.contains("rounds       "), "{shown:?} {ran:?}");
    assert!(!shown.out.contains("rounds       0"), "{shown:?} {ran:?}");
}

#[test]
fn every_operation_of_the_description_has_a_name_of_its_own_and_every_response_is_described() {
    let place = Place::new();
    let model = place.script("model", &writes());
    let server = Serving::start(&place, &["--model", &model]);
    let described = server.ask("GET /openapi.json", "").json();
    let mut names = std::collections::BTreeSet::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        assert!(!path.contains('*'), "{path}");
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{method} {path}: {name}");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let words = response["description"].as_str().unwrap_or_default();
                assert!(!words.is_empty(), "{method} {path} {status}: {response}");
            }
        }
    }
    assert!(names.len() > 30, "{names:?}");
}

#[test]
fn the_endpoint_of_openai_refuses_by_name_what_would_change_the_form_of_a_reply() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let chat = json!({"model": "haft", "messages": [{"role": "user", "content": "hi"}]});
    let responses = json!({"model": "haft", "input": "hi"});
    let schema = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": {}}});
    let table = [
        ("response_format", schema.clone()),
        ("response_format", json!({"type": "json_object"})),
        ("background", json!(true)),
        ("functions", json!([{"name": "x"}])),
        ("tool_choice", json!("required")),
        ("logprobs", json!(true)),
        ("modalities", json!(["text", "audio"])),
        ("stop", json!(["x"])),
        ("conversation", json!("conv_1")),
    ];
    for (name, value) in &table {
        for (line, body) in [("POST /v1/chat/completions", &chat), ("POST /v1/responses", &responses)] {
            let mut body = body.clone();
            body[*name] = value.clone();
            let refused = server.ask(line, &body.to_string());
            assert_eq!(refused.status, 400, "{line} {name}: {refused:?}");
            let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with(&format!("`{name}` is not supported")), "{line} {name}: {message}");
        }
    }
    let mut formatted = responses.clone();
    formatted["text"] = json!({"format": schema});
    assert_eq!(server.ask("POST /v1/responses", &formatted.to_string()).status, 400);
    // What changes nothing is taken, as clients send it unasked.
    for (line, body) in [("POST /v1/chat/completions", chat), ("POST /v1/responses", responses)] {
        let mut body = body;
        for (name, value) in [
            ("response_format", json!({"type": "text"})),
            ("background", json!(false)),
            ("tool_choice", json!("auto")),
            ("stop", json!(null)),
            ("temperature", json!(0.2)),
            ("max_tokens", json!(100)),
            ("text", json!({"format": {"type": "text"}})),
        ] {
            body[name] = value;
        }
        let taken = server.ask(line, &body.to_string());
        assert_eq!(taken.status, 200, "{line}: {taken:?}");
    }
}

#[test]
fn models_and_responses_can_be_had_again_by_their_id() {
    let place = Place::new();
    let lines = [
        json!({"say": "I read.", "calls": [{"name": "read", "arguments": {"path": "missing.txt"}}]}),
        json!({"say": "It is not there.", "usage": {"input": 20, "output": 5}}),
    ];
    let model = place.script("model", &lines);
    let mut server = Serving::start(&place, &["--model", &model]);
    let all = server.ask("GET /v1/models", "").json();
    for row in all["data"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        for id in [id.to_owned(), id.replace('/', "%2F")] {
            assert_eq!(server.ask(&format!("GET /v1/models/{id}"), "").json(), *row, "{id}");
        }
    }
    let missing = server.ask("GET /v1/models/gpt-9", "");
    assert_eq!((missing.status, missing.error().as_str()), (404, "model_not_found"));

    let made =
        server.ask("POST /v1/responses", &json!({"model": "haft", "input": "look"}).to_string()).json();
    let call = made["output"].as_array().unwrap().iter().find(|item| item["type"] == "mcp_call").unwrap();
    assert_eq!(call["error"]["type"], "mcp_tool_execution_error", "{call}");
    let id = made["id"].as_str().unwrap();
    server.stop();
    let server = Serving::start(&place, &["--model", &model]);
    let again = server.ask(&format!("GET /v1/responses/{id}"), "");
    assert_eq!(again.status, 200, "{again:?}");
    let again = again.json();
    for field in ["id", "object", "status", "output", "usage"] {
        assert_eq!(again[field], made[field], "{field}: {again}");
    }
    let session = id.strip_prefix("resp_").unwrap().rsplit_once('_').unwrap().0;
    for id in ["resp_x", "x", &format!("resp_{session}_999"), &format!("resp_{session}_x"), "resp_..%2F.._1"]
    {
        assert_eq!(server.ask(&format!("GET /v1/responses/{id}"), "").status, 404, "{id}");
    }
}

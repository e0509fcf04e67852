//! Jobs of a fleet that wait for a person: they say so, and leave their slot to others. The real binary, a real PostgreSQL.
use crate::kit::{
    fleet::{Fleet, count, end, publish, say},
    serving::Serving,
};
use serde_json::{Value, json};
use std::process::Stdio;

fn of(server: &Serving, line: &str) -> Value {
    server.ask(line, "").json()
}

fn asked(server: &Serving, id: &str) -> Vec<Value> {
    of(server, &format!("GET /v1/sessions/{id}/asked")).as_array().unwrap().clone()
}

fn status(server: &Serving, id: &str) -> String {
    of(server, &format!("GET /v1/jobs/{id}"))["status"].as_str().unwrap().to_owned()
}

/// A prompt that was queued opens another turn behind the one that was stopped.
#[test]
fn a_job_that_is_stopped_with_a_prompt_in_line_hears_its_users_and_ends_with_its_worker() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let until = |what: &str, is: &dyn Fn() -> bool| fleet.wait_for(what, || is().then_some(()));
    let script = fleet.place.script("steps.jsonl", &[count(), count(), say(), say()]);
    let begin = || {
        let words = ["worker", "--model", &script, "--permission", "ask", "--lease", "3"];
        fleet.start(fleet.haft(&words))
    };
    let mut worker = begin();
    let asks = |id: &str| asked(&server, id).first().map(|card| card["call"].as_str().unwrap().to_owned());
    let stopped_with_a_prompt = || {
        let id = fleet.add();
        until("it asks", &|| asks(&id).is_some());
        let first = asks(&id);
        let post =
            |path: &str, body: &str| server.ask(&format!("POST /v1/sessions/{id}/{path}"), body).status;
        assert_eq!(post("prompt", r#"{"text":"  "}"#), 400);
        assert_eq!(post("prompt", r#"{"text":"Say when."}"#), 202);
        assert_eq!(post("interrupt", ""), 202);
        until("the prompt asks", &|| asks(&id).is_some_and(|call| Some(call) != first));
        id
    };
    let id = stopped_with_a_prompt();
    let path = format!("POST /v1/sessions/{id}/approvals/{}", asks(&id).unwrap());
    assert_eq!(server.ask(&path, r#"{"answer":"once"}"#).status, 202);
    until("it is over", &|| !["waiting", "running"].contains(&&*status(&server, &id)));
    let told = json!(server.follow(&id, "").until("approval_answered")).to_string();
    assert!(told.contains(r#""answer":"once""#), "{told}");
    // One who has read more than there is begins anew, and asks for nothing beyond the end.
    let mut restored = server.follow(&id, "last-event-id: 9999\r\n");
    assert_eq!(restored.next().unwrap(), json!({"from": 0}));
    assert_eq!(restored.next().unwrap()["seq"], 0);
    let beyond = server.ask(&format!("GET /v1/sessions/{id}/events?from=9999"), "");
    assert!(beyond.status == 400 && beyond.body.contains("ends before the entry 9999"), "{beyond:?}");

    let id = stopped_with_a_prompt();
    assert_eq!(server.ask(&format!("POST /v1/jobs/{id}/cancel"), "").status, 202);
    until("it is canceled", &|| status(&server, &id) == "cancelled");

    let id = stopped_with_a_prompt();
    end(&mut worker);
    assert_eq!(fleet.job(&id, "status"), "pending", "{}", fleet.log());
}

#[test]
fn a_job_that_waits_for_a_person_says_so_and_leaves_its_slot_to_others() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let until = |what: &str, is: &dyn Fn() -> bool| fleet.wait_for(what, || is().then_some(()));
    let script = fleet.place.script("steps.jsonl", &[count(), publish(), say()]);
    let begin = || {
        let words = ["worker", "--model", &script, "--permission", "ask", "--workers", "1", "--lease", "3"];
        fleet.haft(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut worker = begin();
    // With one slot, each of them comes as far as its question.
    let jobs: Vec<String> = (0..3).map(|_| fleet.add()).collect();
    for id in &jobs {
        until("it waits", &|| status(&server, id) == "waiting");
    }
    let metrics = server.ask("GET /metrics", "").body;
    for line in ["{status=\"waiting\"} 3\n", "{status=\"running\"} 0\n", "{status=\"pending\"} 0\n"] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let told = fleet.run(&["fleet", "status", "--json"]);
    assert!(
        told.out.contains(r#"{"owner":"admin","queue":"default","status":"waiting","count":3}"#),
        "{told:?}"
    );
    let waiting = of(&server, "GET /v1/jobs?status=waiting")["jobs"].as_array().unwrap().len();
    assert_eq!(waiting, 3);
    // What is asked is told with the lines of the file, as where nothing is on other machines.
    let first = &jobs[0];
    let card = asked(&server, first).remove(0);
    let approval = &card["approval"];
    assert_eq!(
        (&approval["sentence"], &approval["bulk"]),
        (&json!("Edit counter.txt?"), &json!([])),
        "{card}"
    );
    let lines = &approval["files"][0]["hunks"][0];
    let shown =
        |place: usize, number: &str| (lines[place][number].clone(), lines[place]["parts"].to_string());
    assert_eq!(shown(0, "old").0, json!(1), "{card}");
    assert!(shown(0, "old").1.contains("end") && shown(1, "new").1.contains("+"), "{card}");
    let same = of(&server, &format!("GET /v1/sessions/{first}/diff?seq={}", card["seq"]));
    assert_eq!(same, approval["files"], "{same}");
    assert_eq!(server.ask(&format!("GET /v1/sessions/{first}/diff?seq=9999"), "").status, 404);

    // One stream follows them all, as the page does.
    let path = format!("/v1/events?follow={first}:0,{}:0,missing:0", jobs[1]);
    let mut stream = server.stream(&path, "");
    let mut seen = [0; 3];
    while seen.contains(&0) {
        let event = stream.next().unwrap();
        seen[event["follow"].as_u64().unwrap() as usize] += 1;
    }
    // An answer lets the job go on, the others wait.
    let answer = |id: &str, answer: &str| {
        let call = asked(&server, id).remove(0)["call"].clone();
        let body = json!({"answer": answer}).to_string();
        let path = format!("POST /v1/sessions/{id}/approvals/{}", call.as_str().unwrap());
        assert_eq!(server.ask(&path, &body).status, 202);
    };
    answer(first, "once");
    until("it asks to publish", &|| {
        asked(&server, first).first().is_some_and(|card| card["approval"]["tool"] == "publish")
    });
    // Of two answers the first one counts, and the model never reads the reason of the second one.
    let call = asked(&server, first).remove(0)["call"].as_str().unwrap().to_owned();
    let approve =
        |body: &str| server.ask(&format!("POST /v1/sessions/{first}/approvals/{call}"), body).status;
    assert_eq!(approve(r#"{"answer":"once","accepted":[]}"#), 400);
    // The text of an answer approves nothing.
    let replied = server.ask(&format!("POST /v1/sessions/{first}/questions/{call}"), r#"{"answer":"yes"}"#);
    assert_eq!(replied.status, 409, "{}", replied.body);
    assert!(replied.body.contains("waits for an answer"), "{}", replied.body);
    assert_eq!(approve(r#"{"answer":"once","because":"only with care"}"#), 400);
    answer(first, "once");
    let _it_may_be_too_late = approve(r#"{"answer":"no","because":"do it otherwise"}"#);
    until("it goes on and ends", &|| status(&server, first) == "completed");
    let told = json!(server.follow(first, "").until("turn_ended")).to_string();
    assert!(told.contains("approval_answered") && !told.contains("do it otherwise"), "{told}");
    assert_eq!(asked(&server, first), Vec::<Value>::new());
    assert_eq!([&jobs[1], &jobs[2]].map(|id| status(&server, id)), ["waiting", "waiting"]);
    // One whose worker dies asks anew with the next one.
    worker.kill().unwrap();
    worker.wait().unwrap();
    let mut worker = begin();
    for id in &jobs[1..] {
        until("it waits again", &|| fleet.job(id, "attempts") == "2" && status(&server, id) == "waiting");
    }
    answer(&jobs[1], "no");
    until("the next call asks", &|| {
        asked(&server, &jobs[1]).first().is_some_and(|card| card["approval"]["tool"] == "publish")
    });
    for id in &jobs[1..] {
        assert_eq!(server.ask(&format!("POST /v1/jobs/{id}/cancel"), "").status, 202);
        until("it is stopped", &|| status(&server, id) == "cancelled");
    }
    end(&mut worker);
}

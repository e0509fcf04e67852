//! `-v` for every command that opens a turn. The real binary, a scripted model.
use crate::kit::Place;
use serde_json::{Value, json};

#[test]
fn whoever_asks_for_the_log_gets_it_of_jobs_and_of_sessions_that_go_on() {
    let place = Place::new();
    let look = json!({"calls": [{"name": "list", "arguments": {}}]});
    let fails = place.script("fails", &[json!({"fail": "no", "kind": "rejected"})]);
    let works = place.script("works", &[look.clone(), json!({"say": "seen"}), json!({"say": "seen"})]);
    let logs = |words: &[&str]| {
        let ran = place.run(words);
        assert!(ran.err.contains("DEBUG") && ran.err.contains("Agent iteration 1"), "{words:?}: {ran:?}");
    };
    for kind in ["triage", "review"] {
        logs(&[kind, "-vv", "--description", "Look.", "--model", &works, "--permission", "full"]);
    }
    let ran = place.run(&["triage", "--description", "Look.", "--model", &fails, "--output", "json"]);
    let object: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let job = object["session"].as_str().unwrap().to_owned();
    logs(&["jobs", "retry", &job, "-vv", "--model", &works]);
    let waiting = place.run(&["jobs", "add", "--kind", "triager", "--description", "Look."]);
    assert_eq!(waiting.code, 0, "{waiting:?}");
    logs(&["jobs", "serve", "--once", "-vv", "--model", &works]);
    let ran = place.run(&["run", "--model", &fails, "--output", "json", "go"]);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    logs(&["sessions", "resume", object["session"].as_str().unwrap(), "-vv", "--model", &works]);
}

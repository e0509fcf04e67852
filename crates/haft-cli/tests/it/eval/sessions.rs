//! Sessions as tasks.
use super::{checks, files};
use crate::kit::{
    Place, bash, call,
    project::{begin_repository, git},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

/// A session with these replies, and its ID.
fn recorded(place: &Place, name: &str, steps: &[Value]) -> String {
    let model = place.script(name, steps);
    let ran =
        place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "Fix sum.txt."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()[0]["session"].as_str().unwrap().to_owned()
}

fn fix(content: &str) -> Value {
    call("write", json!({"path": "sum.txt", "content": content}))
}

// H-45
#[test]
fn sessions_are_tasks_from_the_commit_that_they_began_at() {
    let place = Place::new();
    if !checks(&place, "sessions as tasks") {
        return;
    }
    place.write("sum.txt", "five\n");
    let tests = place.write("run_tests", "#!/bin/sh\ngrep -q four sum.txt\n");
    fs::set_permissions(tests, PermissionsExt::from_mode(0o755)).unwrap();
    begin_repository(&place.work());
    let read = call("read", json!({"path": "sum.txt"}));
    let done = json!({"say": "Done."});
    let task = recorded(&place, "s1", &[read.clone(), fix("four\n"), bash("./run_tests"), done.clone()]);
    // The solution is committed later; no copy has it.
    git(&place.work(), &["commit", "--quiet", "--all", "-m", "Solved"]);
    let already = recorded(&place, "s2", &[bash("./run_tests"), done.clone()]);
    let without = recorded(&place, "s3", &[bash("echo hello"), done.clone()]);
    let before = files(&place.work());
    let good = place.script("good", &[read.clone(), fix("four\n"), done.clone()]);
    let bad = place.script(
        "bad",
        &[
            read,
            bash("git log --all --oneline | grep Solved && git checkout --quiet main && echo four >sum.txt"),
            done,
        ],
    );
    let models = format!("{good},{bad}");
    let ran = place.run(&["eval", "--last", "3", "--models", &models, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows = ran.events();
    let solved: Vec<(&Value, &Value)> = rows.iter().map(|row| (&row["solved"], &row["of"])).collect();
    assert_eq!(solved, [(&json!(1), &json!(1)), (&json!(0), &json!(1))], "{ran:?}");
    assert!(ran.err.contains(&format!("{task} with {good}: solved")), "{ran:?}");
    for (session, why) in
        [(already, "its tests succeed before any work is done"), (without, "no run of tests is recorded")]
    {
        assert!(ran.err.contains(&format!("left out: the session {session}: {why}")), "{ran:?}");
    }
    // A command of one's own checks all of them.
    let ran = place.run(&["eval", "--last", "9", "--check", "test -f sum.txt", "--models", &bad, "--json"]);
    assert_eq!(
        (ran.code, &ran.events()[0]["solved"], &ran.events()[0]["of"]),
        (0, &json!(3), &json!(3)),
        "{ran:?}"
    );
    assert_eq!(files(&place.work()), before, "the repository is as it was, to the byte");
    let outside = Place::new();
    let ran = outside.run(&["eval", "--models", &good]);
    assert!(ran.code == 2 && ran.err.contains("no session of `"), "{ran:?}");
}

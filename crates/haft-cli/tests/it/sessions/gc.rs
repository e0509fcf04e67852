//! `haft sessions gc`: contents of files that no session names any more.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

/// A session that wrote the file `a` twice.
fn session(place: &Place) -> String {
    let write =
        |text: &str| json!({"calls": [{"name": "write", "arguments": {"path": "a", "content": text}}]});
    let edit = json!({"name": "edit", "arguments": {"path": "a", "old_text": "one", "new_text": "two"}});
    let model = place.script("m", &[write("one"), json!({"calls": [edit]}), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
    ran.events()[0]["session"].as_str().unwrap().to_owned()
}

fn blobs(place: &Place, id: &str) -> PathBuf {
    place.path().join("home/sessions").join(id).join("blobs")
}

/// What a process leaves that dies between keeping a content and recording it, and a file that is none of Haft's.
fn leave_over(place: &Place, id: &str) {
    fs::write(blobs(place, id).join("ab".repeat(32)), "x".repeat(1000)).unwrap();
    fs::write(blobs(place, id).join(".blob-Xy12"), "x".repeat(500)).unwrap();
    fs::write(blobs(place, id).join("README"), "mine").unwrap();
}

fn names(place: &Place, id: &str) -> usize {
    fs::read_dir(blobs(place, id)).unwrap().count()
}

fn gc(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["sessions", "gc"], arguments].concat())
}

#[test]
fn only_what_no_session_names_is_removed_and_undo_still_works() {
    let place = Place::new();
    let id = session(&place);
    let nothing = gc(&place, &[]);
    assert_eq!((nothing.code, nothing.out.starts_with("Nothing to remove")), (0, true), "{nothing:?}");
    let kept = names(&place, &id);
    leave_over(&place, &id);
    let would = gc(&place, &["--dry-run", "--json"]).events();
    assert_eq!(would, [json!({"session": id, "contents": 2, "bytes": 1500, "removed": false})]);
    let dry = gc(&place, &["--dry-run"]);
    assert!(dry.out.ends_with("would remove 2 contents, 1.5 KB\n"), "{dry:?}");
    assert_eq!(names(&place, &id), kept + 3);
    let done = gc(&place, &[]);
    assert!(done.out.contains(&id) && done.out.ends_with("removed 2 contents, 1.5 KB\n"), "{done:?}");
    assert_eq!(names(&place, &id), kept + 1);
    assert_eq!(place.run(&["undo", &id]).code, 0);
    assert_eq!(place.read("a"), None);
    // What was undone can be done again, so its contents are named still.
    assert_eq!(gc(&place, &["--json"]).events(), Vec::<Value>::new());
    assert_eq!(place.run(&["redo", &id]).code, 0);
    assert_eq!(place.read("a").as_deref(), Some("two"));
}

#[test]
fn a_session_whose_journal_cannot_be_read_to_its_end_is_left_alone() {
    let place = Place::new();
    let id = session(&place);
    leave_over(&place, &id);
    let before = names(&place, &id);
    let journal = fs::read_to_string(place.journal()).unwrap();
    let newer = journal.replacen("\"version\":", "\"version\":99", 1);
    let unknown = journal.clone() + "{\"seq\":99,\"at\":1,\"type\":\"dreamt\"}\n";
    for (what, text, expected) in [
        ("a newer one", newer, "has version 99"),
        ("a new fact", unknown, "damaged"),
        ("none", String::new(), "its journal is empty"),
    ] {
        fs::write(place.journal(), text).unwrap();
        let left = gc(&place, &["--json"]).events();
        let why = left.first().map(|line| line["left"].to_string()).unwrap_or_default();
        assert!(why.contains(expected), "{what}: {left:?}");
        assert_eq!(names(&place, &id), before, "{what}");
    }
}

#[test]
fn an_open_session_is_left_alone() {
    let place = Place::new();
    let id = session(&place);
    leave_over(&place, &id);
    let wait = json!({"calls": [{"name": "bash", "arguments": {"command": "sleep 60"}}]});
    let steps = vec![json!({"say": ""}); 3].into_iter().chain([wait]).collect::<Vec<_>>();
    let model = place.script("waits", &steps);
    let mut running =
        place.haft(&["run", "--session", &id, "--permission", "full", "--model", &model, "wait"]);
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(30);
    let runs = || fs::read_to_string(place.journal()).unwrap().contains("sleep 60\"},\"how\"");
    while !runs() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = gc(&place, &["--json"]).events();
    let is_there = blobs(&place, &id).join("ab".repeat(32)).exists();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(left, [json!({"session": id, "left": "it is open in another process"})]);
    assert!(is_there);
}

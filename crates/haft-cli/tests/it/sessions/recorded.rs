//! Journals that an earlier Haft wrote (`tests/recorded`, by the commit 2057814 of 2026-11-24): they open, go on and can be
//! undone.
use crate::kit::Place;
use serde_json::json;
use std::{fs, path::Path};

/// A session of two turns, with a command that failed, a background task and a subagent.
const FINISHED: &str = "20261125-165435-ef0gr9jrvne9i61l";

/// Puts the recorded sessions into the home of `place`, as if they had worked in its workspace.
fn bring(place: &Place) {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/sessions");
    for session in fs::read_dir(recorded).unwrap().flatten() {
        let folder = place.path().join("home/sessions").join(session.file_name());
        fs::create_dir_all(folder.join("blobs")).unwrap();
        let journal = fs::read_to_string(session.path().join("journal.jsonl")).unwrap();
        let journal = journal.replace("@WORK@", place.work().to_str().unwrap());
        fs::write(folder.join("journal.jsonl"), journal).unwrap();
        for content in fs::read_dir(session.path().join("blobs")).into_iter().flatten().flatten() {
            fs::copy(content.path(), folder.join("blobs").join(content.file_name())).unwrap();
        }
    }
}

/// The session whose process was killed in the middle of a command.
fn crashed() -> String {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/sessions");
    let names =
        fs::read_dir(recorded).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.max().unwrap()
}

#[test]
fn a_session_that_an_earlier_haft_recorded_is_shown_goes_on_and_is_undone() {
    let place = Place::new();
    bring(&place);
    for (name, content) in
        [("a.txt", "ONE\ntwo\n"), ("b.txt", "keep\nshell\n"), ("d.txt", "bg\n"), ("e.txt", "below\n")]
    {
        place.write(name, content);
    }
    let shown = place.run(&["sessions", "export", FINISHED]);
    assert_eq!(shown.code, 0, "{shown:?}");
    for words in ["first prompt", "`edit`", "✗ `bash`", "second prompt", "Second turn done."] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
    let model = place.script("model.jsonl", &vec![json!({"say": "It goes on."}); 9]);
    let ran = place.run(&["run", "--session", FINISHED, "--model", &model, "and now?"]);
    assert_eq!((ran.code, ran.out.trim()), (0, "It goes on."), "{ran:?}");
    let files = || ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"].map(|name| place.read(name));
    let text = |text: &str| Some(text.to_owned());
    let second = [text("ONE\ntwo\n"), text("keep\nshell\n"), None, text("bg\n"), text("below\n")];
    let first = [text("ONE\ntwo\n"), text("keep\nshell\n"), None, None, None];
    let before = [text("one\ntwo\n"), text("keep\n"), None, None, None];
    for expected in [second, first, before] {
        let undone = place.run(&["undo", FINISHED]);
        assert_eq!((undone.code, files()), (0, expected), "{undone:?}");
    }
}

#[test]
fn a_turn_that_an_earlier_haft_left_unfinished_is_taken_up_and_undone() {
    let place = Place::new();
    bring(&place);
    for (name, content) in [("a.txt", "one\n"), ("f.txt", "f\n"), ("g.txt", "g\n")] {
        place.write(name, content);
    }
    let lines = vec![json!({"say": "After the crash."}); 9];
    let model = place.script("model.jsonl", &lines);
    let resumed = place.run(&["resume", &crashed(), "--permission", "full", "--model", &model]);
    assert_eq!((resumed.code, resumed.out.trim()), (0, "After the crash."), "{resumed:?}");
    let undone = place.run(&["undo", &crashed()]);
    assert_eq!(undone.code, 0, "{undone:?}");
    let files = ["a.txt", "f.txt", "g.txt", "half.txt"].map(|name| place.read(name));
    assert_eq!(files, [Some("one\n".to_owned()), Some("f\n".into()), None, None], "{undone:?}");
}

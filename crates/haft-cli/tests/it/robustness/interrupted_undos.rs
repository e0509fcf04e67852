//! An undo or a redo whose process died in the middle is finished by the next process that opens the session. The real binary.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::fs;

/// What the files `first`, `changed`, `made` and `more` hold after no turn, the first one and the second one.
const STATES: [[Option<&str>; 4]; 3] = [
    [None, Some("old\n"), None, None],
    [Some("first\n"), Some("old\n"), None, None],
    [Some("first\n"), Some("new\n"), Some("made\n"), Some("more\n")],
];

fn write(path: &str) -> Value {
    json!({"name": "write", "arguments": {"path": path, "content": format!("{path}\n")}})
}

/// A place with a session of two turns, which change files.
fn two_turns() -> Place {
    let place = Place::new();
    place.write("changed", "old\n");
    let arguments = json!({"path": "changed", "old_text": "old", "new_text": "new"});
    let edit = json!({"name": "edit", "arguments": arguments});
    let calls = |calls: &[Value]| json!({"calls": calls});
    let turns = [calls(&[write("first")]), said(), calls(&[edit, write("made"), write("more")]), said()];
    prompt(&place, &["one"], &turns);
    prompt(&place, &["--continue", "two"], &turns);
    assert_eq!(state(&place), Some(2));
    place
}

fn said() -> Value {
    json!({"say": "done"})
}

fn prompt(place: &Place, more: &[&str], replies: &[Value]) -> Ran {
    let model = place.script("model", replies);
    let ran = place.run(&[&["run", "--permission", "accept-edits", "--model", &model], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

/// The number of turns whose changes the files hold; `None` for a mixture.
fn state(place: &Place) -> Option<usize> {
    let files = ["first", "changed", "made", "more"].map(|name| place.read(name));
    STATES.iter().position(|state| *state == files.each_ref().map(Option::as_deref))
}

/// Takes the journal and the file `made` to where they were when `haft` with these words was in the middle of its work.
fn interrupted(place: &Place, words: &[&str]) {
    let before = place.read("made");
    let ran = place.run(words);
    assert_eq!(ran.code, 0, "{ran:?}");
    let journal = fs::read_to_string(place.journal()).unwrap();
    let (rest, last) = journal.trim_end().rsplit_once('\n').unwrap();
    let intent = rest.lines().last().unwrap();
    assert!(intent.contains(r#""type":"rewinding""#) && last.contains(r#""type":"rewound""#), "{journal}");
    fs::write(place.journal(), format!("{rest}\n")).unwrap();
    match before {
        Some(content) => drop(place.write("made", content)),
        None => fs::remove_file(place.work().join("made")).unwrap(),
    }
}

#[test]
fn an_interrupted_undo_or_redo_is_finished_by_the_next_command() {
    let rows: [(&str, &[&str], usize); 7] = [
        ("undo", &["undo"], 1),
        ("undo", &["redo"], 2),
        ("undo", &["run", "--continue", "--model", "MODEL", "three"], 1),
        ("undo", &["undo", "--list"], 1),
        ("redo", &["redo"], 2),
        ("redo", &["undo"], 1),
        ("redo", &["run", "--continue", "--model", "MODEL", "three"], 2),
    ];
    for (killed, next, expected) in rows {
        let place = two_turns();
        if killed == "redo" {
            assert_eq!(place.run(&["undo"]).code, 0);
        }
        interrupted(&place, &[killed]);
        assert_eq!(state(&place), None);
        let model = place.script("later", &vec![said(); 8]);
        let next: Vec<&str> =
            next.iter().map(|word| if *word == "MODEL" { &*model } else { *word }).collect();
        let ran = place.run(&next);
        let told = format!("the last {killed} was interrupted and is finished now: 3 files restored");
        assert!(ran.code == 0 && ran.err.matches(&told).count() == 1, "{killed}, {next:?}: {ran:?}");
        assert_eq!(state(&place), Some(expected), "{killed}, {next:?}: {ran:?}");
        let again = place.run(&["undo"]);
        assert!(!again.err.contains("interrupted"), "{killed}, {next:?}: {again:?}");
    }
}

#[test]
fn an_interrupted_undo_of_one_call_is_finished_by_the_next_command() {
    let place = two_turns();
    interrupted(&place, &["undo", "--call", "3"]);
    let list = place.run(&["undo", "--list"]);
    assert!(
        list.err.contains("the last undo was interrupted and is finished now: 1 file restored"),
        "{list:?}"
    );
    assert!(list.out.contains("(undone)"), "{list:?}");
    let files = ["changed", "made", "more"].map(|name| place.read(name));
    assert_eq!(files.each_ref().map(Option::as_deref), [Some("new\n"), None, Some("more\n")]);
    assert_eq!(place.run(&["redo"]).code, 0);
    assert_eq!(state(&place), Some(2));
}

#[test]
fn what_the_user_changed_before_an_interrupted_undo_is_finished_stays() {
    let place = two_turns();
    interrupted(&place, &["undo"]);
    place.write("made", "mine\n");
    let undone = place.run(&["undo"]);
    assert!(undone.code == 1 && undone.out.contains("! made skipped: modified since"), "{undone:?}");
    assert_eq!(place.read("made").as_deref(), Some("mine\n"));
    assert_eq!((place.read("changed").as_deref(), place.read("more")), (Some("old\n"), None));
}

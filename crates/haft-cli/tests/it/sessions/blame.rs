//! `haft blame` names the call that wrote a line: by later edits, renames, commits and undos.
use crate::kit::{Place, bash, project::git};
use serde_json::{Value, json};
use std::fs;

fn write(path: &str, content: &str) -> Value {
    json!({"calls": [{"name": "write", "arguments": {"path": path, "content": content}}]})
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"calls": [{"name": "edit", "arguments": {"path": path, "old_text": old, "new_text": new}}]})
}

fn done() -> Value {
    json!({"say": "Done."})
}

/// Runs a turn in a session of its own, or in the last one.
fn turn(place: &Place, name: &str, more: &[&str], calls: &[Value]) {
    let script = place.script(name, &[calls, &[done()]].concat());
    let options = ["run", "--quiet", "--permission", "accept-edits", "--model", &script];
    let ran = place.run(&[&options[..], more, &[&format!("prompt {name}")]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// What is said of each line.
fn blamed(place: &Place, file: &str) -> Vec<Value> {
    let ran = place.run(&["blame", "--json", file]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()
}

/// `TEXT: PROMPT`, or where else a line comes from.
fn prompts(place: &Place, file: &str) -> Vec<String> {
    let of = |line: &Value| {
        let text = line["text"].as_str().unwrap();
        let from = line["prompt"].as_str().or(line["origin"].as_str()).unwrap();
        format!("{text}: {from}")
    };
    blamed(place, file).iter().map(of).collect()
}

// H-18
#[test]
fn each_line_is_that_of_the_call_that_wrote_it() {
    let place = Place::new();
    place.write("a.txt", "old 1\nold 2\nold 3\n");
    turn(&place, "first", &[], &[edit("a.txt", "old 2", "by first")]);
    fs::write(place.work().join("a.txt"), "old 1\nby first\nby hand\nold 3\n").unwrap();
    turn(&place, "second", &[], &[bash("echo by second >>a.txt")]);
    let expected = [
        "old 1: before",
        "by first: prompt first",
        "by hand: outside",
        "old 3: before",
        "by second: prompt second",
    ];
    assert_eq!(prompts(&place, "a.txt"), expected);
    // Moved, edited again, committed.
    turn(&place, "third", &[], &[bash("mv a.txt b.txt"), edit("b.txt", "old 3", "by third")]);
    git(&place.work(), &["init", "-q"]);
    git(&place.work(), &["add", "-A"]);
    git(
        &place.work(),
        &["-c", "user.name=Octo", "-c", "user.email=octo@example.org", "commit", "-qm", "all"],
    );
    let expected = [
        "old 1: before",
        "by first: prompt first",
        "by hand: outside",
        "by third: prompt third",
        "by second: prompt second",
    ];
    assert_eq!(prompts(&place, "b.txt"), expected);
}

// H-18
#[test]
fn what_an_undo_brings_back_keeps_the_call_that_wrote_it() {
    let place = Place::new();
    let begin = write("a.txt", "one\ntwo\nthree\nfour\n");
    turn(&place, "first", &[], std::slice::from_ref(&begin));
    // A script goes on where the last turn ended.
    let both = [begin, done(), edit("a.txt", "two", "2"), edit("a.txt", "four", "4")];
    turn(&place, "second", &["--continue"], &both);
    let (one, two) = ("one: prompt first", "2: prompt second");
    assert_eq!(prompts(&place, "a.txt"), [one, two, "three: prompt first", "4: prompt second"]);
    assert_eq!(place.run(&["undo", "--call", "2"]).code, 0);
    let all = [one, "two: prompt first", "three: prompt first", "4: prompt second"];
    assert_eq!(prompts(&place, "a.txt"), all);
    assert_eq!(place.run(&["undo"]).code, 0);
    let first = ["one", "two", "three", "four"].map(|line| format!("{line}: prompt first"));
    assert_eq!(prompts(&place, "a.txt"), first);
    assert_eq!(place.run(&["redo"]).code, 0);
    assert_eq!(prompts(&place, "a.txt"), all);
}

// H-19
#[test]
fn a_line_is_shown_with_prompt_model_call_approval_and_tests() {
    let place = Place::new();
    place.write("check", "#!/bin/sh\ntrue\n");
    turn(&place, "first", &[], &[write("a.txt", "one\n\u{1b}[31mtwo\n"), bash("sh check")]);
    let ran = place.run(&["blame", "a.txt:2"]);
    for expected in [
        "call 1 ",
        "call      1 (entry ",
        ": write a.txt",
        "model     script/",
        "prompt    prompt first",
        "approval  not asked for",
        "tests     ",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {ran:?}");
    }
    assert!(!ran.out.contains('\u{1b}'), "{ran:?}");
    let line = &blamed(&place, "a.txt:1")[0];
    assert_eq!((line["call"].as_u64(), line["approval"].as_str()), (Some(1), Some("not_asked")), "{line}");
    assert_eq!(line["approved_by"], "policy", "{line}");
    for (target, why) in [("a.txt:3", "has no line 3: it has 2"), ("b.txt", "cannot blame `b.txt`")] {
        let ran = place.run(&["blame", target]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(why), "{ran:?}");
    }
}

#[test]
fn a_line_in_an_added_folder_is_that_of_the_call_that_wrote_it() {
    let place = Place::new();
    let file = place.path().join("lib/z.txt");
    fs::create_dir(place.path().join("lib")).unwrap();
    fs::write(&file, "old\n").unwrap();
    let (file, folder) = (file.display().to_string(), place.path().join("lib").display().to_string());
    turn(&place, "first", &["--add-dir", &folder], &[edit(&file, "old", "old\nby first")]);
    assert_eq!(prompts(&place, &file), ["old: before", "by first: prompt first"]);
}

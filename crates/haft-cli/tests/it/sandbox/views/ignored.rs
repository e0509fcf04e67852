//! Files that Git ignores, when a command changes more of them than is kept for an undo.
use super::command;
use crate::kit::{Place, bash, call};
use serde_json::json;
use std::fs;

const MANY: &str = "for i in $(seq 600); do echo $i >$i; done";

/// A folder that has another name after a command has its contents from the old one: both are recorded, or none is.
#[test]
fn an_ignored_folder_that_was_renamed_is_back_after_an_undo() {
    for (ignored, to) in [("data*/", "data-old"), ("data/", "kept")] {
        let place = Place::new();
        place.write(".gitignore", ignored);
        for number in 0..600 {
            place.write(&format!("data/{number}"), number.to_string());
        }
        let ran = command(&place, "accept-edits", &format!("mv data {to}"));
        assert_eq!((ran.code, place.read(&format!("{to}/7")).as_deref()), (0, Some("7")), "{ran:?}");
        let undone = place.run(&["undo"]);
        assert_eq!((undone.code, place.read("data/7").as_deref()), (0, Some("7")), "{to}: {undone:?}");
        assert_eq!(place.read(&format!("{to}/7")), None, "{to}: {undone:?}");
    }
}

#[test]
fn a_call_whose_changes_are_not_recorded_says_so() {
    let place = Place::new();
    place.write(".gitignore", "/out\n");
    let ran = command(&place, "accept-edits", &format!("mkdir out; cd out; {MANY}"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = place.run(&["sessions", "show"]);
    assert!(shown.out.contains("not recorded, so no undo restores it: what changed in `out`"), "{shown:?}");
    let undone = place.run(&["undo", "--call", "1"]);
    assert!(undone.code != 0 && undone.err.contains("what call 1 changed was not recorded"), "{undone:?}");
}

/// The session that delegated says so, too, and its undo.
#[test]
fn what_a_subagent_changed_and_is_not_recorded_is_named_above() {
    let place = Place::new();
    place.write(".gitignore", "/out\n");
    let steps = [bash(&format!("echo b >b.txt; mkdir out; cd out; {MANY}")), json!({"say": "Built."})];
    let model = place.script("below", &steps);
    let agents = place.path().join("person/.config/haft/agents");
    fs::create_dir_all(&agents).unwrap();
    let agent = format!("---\nname: builder\ndescription: d\nmodel: {model}\n---\nBuild.\n");
    fs::write(agents.join("builder.md"), agent).unwrap();
    let delegate = call("delegate", json!({"task": "build it", "agent": "builder"}));
    let model = place.script("above", &[delegate, json!({"say": "All is built."})]);
    let ran = place.run(&["run", "--permission", "accept-edits", "--model", &model, "build it"]);
    assert_eq!((ran.code, place.read("out/7").as_deref()), (0, Some("7\n")), "{ran:?}");
    let shown = place.run(&["sessions", "show"]);
    assert!(shown.out.contains("not recorded, so no undo restores it: what changed in `out`"), "{shown:?}");
    let undone = place.run(&["undo"]);
    assert_eq!((undone.code, place.read("b.txt"), place.read("out/7").is_some()), (0, None, true));
    let told = undone.out.clone() + &undone.err;
    assert!(told.contains("not recorded"), "{undone:?}");
}

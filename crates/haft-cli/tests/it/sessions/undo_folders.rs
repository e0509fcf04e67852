//! Folders that a turn made are gone after its undo, whatever became of them in the turn.
use crate::kit::{Place, bash, call};
use serde_json::json;
use std::{collections::BTreeSet, fs, path::Path};

/// Files and folders below the workspace.
fn all(place: &Place) -> BTreeSet<String> {
    fn below(folder: &Path, name: &str, all: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{name}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                below(&entry.path(), &format!("{name}/"), all);
            }
            all.insert(name);
        }
    }
    let mut found = BTreeSet::new();
    below(&place.work(), "", &mut found);
    found
}

#[test]
fn folders_that_a_turn_made_and_removed_or_moved_do_not_come_back() {
    for command in [
        "rm -r new",
        "rm new/deep/f",
        "rm -r new; mkdir new",
        "mv new other",
        "mv new/deep d/inside",
        "mv new d/inside",
        "mv d D; mkdir d; mv new d/new",
    ] {
        let place = Place::new();
        place.write("d/a.txt", "1\n");
        let before = all(&place);
        let made = call("write", json!({"path": "new/deep/f", "content": "1\n"}));
        let model = place.script("m", &[made, bash(command), json!({"say": "Done."})]);
        let ran = place.run(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
        assert_eq!(ran.code, 0, "{command}: {ran:?}");
        let after = all(&place);
        let undone = place.run(&["undo"]);
        assert_eq!((undone.code, all(&place)), (0, before.clone()), "{command}: {undone:?}");
        assert_eq!((place.run(&["redo"]).code, all(&place)), (0, after), "{command}");
        let events = ran.events();
        let verified = place.run(&["verify", events[0]["session"].as_str().unwrap()]);
        assert_eq!(verified.code, 0, "{command}: {verified:?}");
    }
}

#[test]
fn a_file_of_the_same_name_that_a_person_made_since_stays() {
    let place = Place::new();
    let made = call("write", json!({"path": "new/deep/f", "content": "1\n"}));
    let model = place.script("m", &[made, bash("rm new/deep/f; touch other"), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--permission", "full", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // With the same content, too.
    place.write("new/deep/f", "1\n");
    let undone = place.run(&["undo"]);
    assert_eq!((undone.code, undone.out.contains("new/deep")), (0, false), "{undone:?}");
    assert_eq!((place.read("new/deep/f").as_deref(), place.read("other")), (Some("1\n"), None));
}

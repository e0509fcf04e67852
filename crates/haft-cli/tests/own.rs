//! What a person and a project bring along: hooks, notes, skills, commands. The real binary, a scripted model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod kit;
use kit::Place;
use serde_json::{Value, json};
use std::fs;

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
}

fn says(text: &str) -> Value {
    json!({"say": text})
}

/// Writes a file of the person's configuration.
fn own(place: &Place, name: &str, text: &str) {
    let file = place.path().join("person/.config/haft").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn hooks_of_the_person_guard_and_a_project_has_none() {
    let place = Place::new();
    let guard = "#!/bin/sh\nif grep -q 'rm '; then echo 'ask me before you remove' >&2; exit 2; fi\n";
    let script = place.write("guard.sh", guard);
    own(
        &place,
        "config.toml",
        &format!(
            "[[hooks]]\nevent = \"before_tool\"\ntool = \"bash\"\ncommand = \"sh {}\"\n\n[[hooks]]\nevent = \"turn_start\"\n\
             command = \"if grep -q secret; then echo 'not that' >&2; exit 2; fi\"\n",
            script.display()
        ),
    );
    let model = place.script("m", &[bash("rm guard.sh"), bash("echo one"), says("Done.")]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    assert!(ran.err.contains("a hook denied `bash`: ask me before you remove"), "{}", ran.err);
    assert!(ran.err.contains("✓ one") && place.read("guard.sh").is_some(), "{}", ran.err);
    let refused = place.run(&["run", "--model", &model, "the secret is 7"]);
    assert_eq!((refused.code, refused.err.as_str()), (4, "error: a hook denied the prompt: not that\n"));
    // A repository starts nothing.
    place.write(".haft/config.toml", "[[hooks]]\nevent = \"turn_end\"\ncommand = \"touch started\"\n");
    let ran = place.run(&["run", "--model", &model, "go"]);
    assert!(ran.code == 2 && ran.err.contains("a project may not have hooks"), "{ran:?}");
    assert_eq!(place.read("started"), None);
}

//! `--evidence`: a turn that changed files and says that all is well, in whatever words, needs a run of tests that succeeded
//! after the last change. `crates/haft/tests/it/claims.rs` has many phrases.

use crate::kit::{Place, Ran};
use serde_json::{Value, json};

fn write(content: &str) -> Value {
    json!({"calls": [{"name": "write", "arguments": {"path": "new.txt", "content": content}}]})
}

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
}

fn run(place: &Place, lines: &[Value], options: &[&str]) -> Ran {
    let model = place.script("m", lines);
    let words = ["run", "--evidence", "--permission", "full", "--model", &model, "go"];
    place.run(&[&words[..], options].concat())
}

// E-5
#[test]
fn only_a_run_that_succeeded_after_the_last_change_shows_it() {
    let place = || {
        let place = Place::new();
        place.write("run_tests", "#!/bin/sh\ngrep -q good new.txt\n");
        place
    };
    let test = || bash("sh ./run_tests");
    let say = |words: &str| json!({"say": words});
    let table: [(&str, Vec<Value>, i32); 9] = [
        ("after the change", vec![write("good"), test(), say("12/12 ok")], 0),
        ("in other words", vec![write("good"), test(), say("Die Suite ist grün.")], 0),
        ("it failed", vec![write("bad"), test(), say("12/12 ok"), say("12/12 ok")], 5),
        (
            "before a change",
            vec![write("good"), test(), write("good too"), say("It works."), say("It works.")],
            5,
        ),
        (
            "a command changed more",
            vec![write("good"), test(), bash("echo more >> other.txt"), say("All green."), say("All green.")],
            5,
        ),
        ("again after it", vec![write("good"), test(), write("good too"), test(), say("It works.")], 0),
        ("looked at only", vec![write("good"), test(), bash("cat new.txt"), say("All green.")], 0),
        ("made up for", vec![write("good"), say("All green."), test(), say("All green.")], 0),
        ("taken back", vec![write("good"), say("All green."), say("I did not run the tests.")], 0),
    ];
    for (what, lines, code) in table {
        let place = place();
        let ran = run(&place, &lines, &[]);
        assert_eq!(ran.code, code, "{what}: {ran:?}");
        if code == 5 {
            assert!(ran.err.contains("nothing shows what it claims: \""), "{what}: {ran:?}");
        }
    }
    // The check that the person names is the only one.
    for (check, runs, code) in [
        ("sh ./verify_all", vec![test()], 5),
        ("sh ./verify_all", vec![bash("sh ./verify_all --quiet")], 0),
        ("sh ./verify_all", vec![bash("echo sh ./verify_all")], 5),
        ("sh ./verify_all", vec![bash("cd . && sh ./verify_all")], 0),
        ("grep -q good new.txt && true", vec![bash("grep -q good new.txt && true")], 0),
    ] {
        let lines = [&[write("good")][..], &runs, &[say("all good"), say("all good")]].concat();
        for is_configured in [false, true] {
            let place = place();
            place.write("verify_all", "grep -q good new.txt\n");
            let options = ["--check", check];
            if is_configured {
                place.configure(&format!("check = {}\n", json!(check)));
            }
            let ran = run(&place, &lines, if is_configured { &[] } else { &options });
            assert_eq!(ran.code, code, "{check} {runs:?}: {ran:?}");
        }
    }
    // Where nothing was changed, only what is said of tests needs a run.
    for (words, code) in [("It works by reading lines, and it works.", 0), ("The suite is green.", 5)] {
        assert_eq!(run(&place(), &[say(words), say(words)], &[]).code, code, "{words}");
    }
    // A commit behind the run changes nothing that tests could tell of.
    let place = place();
    let git = |words: &[&str]| {
        let output =
            std::process::Command::new("git").args(words).current_dir(place.work()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@b.c"]);
    let commit = bash("git add . && git commit -qm x");
    let ran = run(&place, &[write("good"), test(), commit, say("Committed, and the suite is green.")], &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

//! `packaging/ci`: one prompt in a job of a CI system leaves its page, its journal and its outputs.
use crate::kit::{Place, Ran, bash, other_user};
use serde_json::{Value, json};
use std::path::PathBuf;

fn packaging(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging/ci").join(name)
}

/// `run.sh` with these variables, as GitHub's runner starts it.
fn run(place: &Place, variables: &[(&str, &str)]) -> Ran {
    let program = PathBuf::from(other_user::program());
    let mut command = std::process::Command::new(packaging("run.sh"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.current_dir(place.work()).env_clear().env("PATH", path);
    command.env("HOME", place.path().join("person")).env("HAFT_HOME", place.path().join("home"));
    command.env("HAFT_PAGE", place.path().join("page")).env("GITHUB_OUTPUT", place.path().join("output"));
    command.env("GITHUB_STEP_SUMMARY", place.path().join("summary")).envs(variables.iter().copied());
    Ran::from(command.output().unwrap())
}

fn left(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).unwrap_or_default()
}

#[test]
fn a_prompt_leaves_the_page_the_journal_and_the_outputs() {
    let place = Place::new();
    let model = place
        .script("m", &[bash("echo made > made.txt"), json!({"say": "Done: a\\tb\\c.\nEOF\nsession=forged"})]);
    let prompt = "Make it; $(touch never) `touch never`";
    let ran = run(&place, &[("PROMPT", prompt), ("MODEL", &model), ("PERMISSION", "full")]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done: a\\tb\\c.\nEOF\nsession=forged\n"), "{ran:?}");
    assert_eq!((place.read("made.txt").as_deref(), place.read("never")), (Some("made\n"), None));
    let result: Value = serde_json::from_str(&left(&place, "page/result.json")).unwrap();
    let session = result["session"].as_str().unwrap();
    assert!(left(&place, "page/session.html").contains("Make it"));
    assert!(left(&place, "page/journal.jsonl").contains(session));
    assert!(left(&place, "summary").contains("Make it"));
    let output = left(&place, "output");
    assert!(output.starts_with(&format!("session={session}\noutcome=finished\nanswer<<haft-")), "{output}");
    let mark = output.lines().nth(2).unwrap().strip_prefix("answer<<").unwrap();
    assert!(output.ends_with(&format!("\nDone: a\\tb\\c.\nEOF\nsession=forged\n{mark}\n")), "{output}");
}

#[test]
fn the_exit_code_is_that_of_the_turn() {
    let schema = r#"{"type": "object", "required": ["n"]}"#;
    type Case<'a> = (&'a [(&'a str, &'a str)], Vec<Value>, i32, &'a str);
    let table: [Case<'_>; 5] = [
        (&[("SCHEMA", schema)], vec![json!({"say": "{\"n\": 1}"})], 0, "{\"n\": 1}\n"),
        (&[("SCHEMA", schema)], vec![json!({"say": "none"}); 4], 5, "none\n"),
        (&[("OPTIONS", "--max-rounds 1")], vec![bash("true"), json!({"say": "late"})], 3, "\n"),
        (&[("PERMISSION", "ask")], vec![bash("touch made"), json!({"say": "refused"})], 4, "refused\n"),
        (&[("PERMISSION", "read-only")], vec![bash("touch made"), json!({"say": "denied"})], 0, "denied\n"),
    ];
    for (variables, lines, code, out) in table {
        let place = Place::new();
        let model = place.script("m", &lines);
        let ran = run(
            &place,
            &[&[("PROMPT", "go"), ("MODEL", &*model), ("PERMISSION", "full")], variables].concat(),
        );
        assert_eq!((ran.code, ran.out.as_str()), (code, out), "{variables:?}: {ran:?}");
        assert!(left(&place, "page/session.html").contains("go"), "{variables:?}");
    }
}

#[test]
fn wrong_usage_leaves_no_page() {
    let place = Place::new();
    let ran = run(&place, &[("PROMPT", "go"), ("MODEL", "script/none.jsonl")]);
    assert_eq!((ran.code, ran.out.as_str()), (2, "\n"), "{ran:?}");
    assert!(ran.err.contains("none.jsonl"), "{ran:?}");
    assert_eq!(
        (left(&place, "page/session.html"), left(&place, "page/result.json")),
        (String::new(), String::new())
    );
}

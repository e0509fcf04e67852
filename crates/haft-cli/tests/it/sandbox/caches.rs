//! Caches of build tools: a command finds them filled and may write to them, and the person's own stay as they are.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// A home with a cache that holds `seed`, and a key.
fn place() -> Place {
    let place = Place::new();
    let person = place.path().join("person");
    for (name, text) in [(".cache/tool/seed", "seed\n"), (".npm/seed", "seed\n"), (".ssh/key", "key\n")] {
        let file = person.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    place
}

fn run(place: &Place, options: &[&str], commands: &[&str]) -> Ran {
    let calls = commands
        .iter()
        .map(|command| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]}));
    let lines: Vec<Value> = calls.chain([json!({"say": "done"})]).collect();
    let model = place.script("model.jsonl", &lines);
    place.run(&[&["run", "--sandbox", "require", "--json", "--model", &model], options, &["go"]].concat())
}

/// What the model read of each call.
fn told(ran: &Ran) -> Vec<String> {
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_a_command_writes_to_a_cache_is_found_by_the_next_one_and_never_by_the_person() {
    let place = place();
    let ran = run(
        &place,
        &["--permission", "accept-edits"],
        &[
            "cat ~/.cache/tool/seed; echo made >~/.cache/tool/made; echo changed >~/.npm/seed; rm ~/.cache/tool/seed",
            "ls ~/.cache/tool; cat ~/.cache/tool/made ~/.npm/seed",
        ],
    );
    assert_eq!((ran.code, told(&ran)), (0, vec!["seed".into(), "made\nmade\nchanged".into()]), "{ran:?}");
    let person = place.path().join("person");
    assert_eq!(names(&person.join(".cache/tool")), ["seed"]);
    assert_eq!(fs::read_to_string(person.join(".npm/seed")).unwrap(), "seed\n");
    let later = run(&place, &[], &["cat ~/.cache/tool/*"]);
    assert_eq!(told(&later), ["seed"], "{later:?}");
}

#[test]
fn a_command_that_is_refused_changes_no_cache_of_the_person_either() {
    let place = place();
    let ran = run(&place, &["--permission", "ask"], &["echo made >~/.npm/made; echo new >a.txt"]);
    assert_eq!((ran.code, place.read("a.txt")), (4, None), "{ran:?}");
    assert_eq!(names(&place.path().join("person/.npm")), ["seed"]);
}

#[test]
fn other_folders_of_the_home_stay_read_only_unless_they_are_named_and_keys_stay_hidden() {
    let place = place();
    let other = place.path().join("person/.other");
    fs::create_dir(&other).unwrap();
    let read_only = |ran: &Ran| told(ran)[0].contains("Read-only file system");
    // The home lies below `/tmp`, where a command has a folder of its own: nothing of it is there but what is mounted.
    place.configure(&format!("[commands]\ncaches = [\"{}\"]\n", other.display()));
    let ran = run(&place, &[], &["echo made >~/.other/made && cat ~/.other/made; cat ~/.ssh/key"]);
    assert!(!read_only(&ran) && told(&ran)[0].starts_with("made\n"), "{ran:?}");
    assert!(!told(&ran)[0].contains("key\n"), "{ran:?}");
    assert!(names(&other).is_empty());
}

#[test]
fn what_is_hidden_in_a_cache_stays_hidden_under_every_name() {
    let place = place();
    let secret = place.path().join("person/.cache/tool/secret");
    fs::write(&secret, "s3cret\n").unwrap();
    place.configure("[commands]\nhidden = [\"~/.cache/tool/secret\"]\n");
    let ran = run(
        &place,
        &["--permission", "full"],
        &[
            "cd ~/.cache; mv tool other; ln tool/secret linked; mv tool/secret moved; cat */secret linked moved; true",
            "cd ~/.cache; cat */secret linked moved; rm -rf tool; mkdir tool; cat */secret; true",
            "cd ~/.cache; cat */secret linked moved; true",
        ],
    );
    assert!(told(&ran).len() == 3 && !format!("{ran:?}").contains("s3cret"), "{ran:?}");
}

#[test]
fn a_cache_that_a_variable_names_is_one_and_one_around_the_workspace_is_none() {
    let place = place();
    let cache = place.path().join("go-build");
    fs::create_dir(&cache).unwrap();
    let model = place.script(
        "model.jsonl",
        &[
            json!({"calls": [{"name": "bash", "arguments": {"command": "echo made >$GOCACHE/made && cat $GOCACHE/made"}}]}),
            json!({"say": "done"}),
        ],
    );
    let mut command = place.haft(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
    let ran = Ran::from(command.env("GOCACHE", &cache).output().unwrap());
    assert_eq!((told(&ran), names(&cache).len()), (vec!["made".into()], 0), "{ran:?}");
    let mut command = place.haft(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
    let ran = Ran::from(command.env("GOCACHE", place.path()).output().unwrap());
    assert!(!place.path().join("made").exists(), "{ran:?}");
}

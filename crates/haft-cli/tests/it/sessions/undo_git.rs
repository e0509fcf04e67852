//! A repository in which a call has committed, and in which a person has worked since, is whole after an undo.
use crate::kit::{Place, bash, project::git, serving::Serving};
use serde_json::json;

/// A repository with one commit in which a session has made these calls.
fn made(commands: &[&str]) -> Place {
    let place = Place::in_sight();
    place.write("f", "one\n");
    for words in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "A"],
        &["config", "user.email", "a@b"],
        &["add", "f"],
        &["commit", "-qm", "one"],
    ] {
        git(&place.work(), words);
    }
    run(&place, commands);
    place
}

fn run(place: &Place, commands: &[&str]) {
    let calls = commands.iter().map(|command| bash(command)).chain([json!({"say": "Done."})]);
    let model = place.script("m", &calls.collect::<Vec<_>>());
    let ran = place.run(&["run", "--permission", "full", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

const COMMIT: &str = "echo two >>f; git add f; git commit -qm two";

#[test]
fn a_person_who_has_only_looked_has_everything_put_back() {
    let place = made(&[COMMIT]);
    let work = place.work();
    // Git reads the files anew, and writes its index.
    std::fs::File::open(work.join("f")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    git(&work, &["status"]);
    let undone = place.run(&["undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    assert_eq!(
        (git(&work, &["log", "--format=%s"]).as_str(), place.read("f").unwrap().as_str()),
        ("one", "one\n")
    );
    git(&work, &["fsck", "--strict"]);
    let redone = place.run(&["redo"]);
    assert_eq!((redone.code, git(&work, &["log", "--format=%s"]).as_str()), (0, "two\none"), "{redone:?}");
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
}

#[test]
fn a_redo_brings_back_what_git_removed_meanwhile() {
    for undo in [&["undo"][..], &["undo", "--call", "1"]] {
        let place = made(&[COMMIT]);
        let work = place.work();
        assert_eq!(place.run(undo).code, 0);
        git(&work, &["prune", "--expire=now"]);
        let redone = place.run(&["redo"]);
        git(&work, &["fsck", "--strict"]);
        assert_eq!(git(&work, &["log", "--format=%s"]), "two\none", "{redone:?}");
        assert_eq!((redone.code, git(&work, &["status", "--porcelain"]).as_str()), (0, ""));
    }
}

#[test]
fn what_a_person_made_of_it_keeps_what_it_names() {
    type Then = &'static [&'static [&'static str]];
    let commit: Then = &[&["commit", "-q", "--allow-empty", "-m", "mine"]];
    let branches: Then = &[&["branch", "backup"], &["tag", "rel"], &["checkout", "-q", "-b", "other"]];
    let stash: Then = &[&["stash", "-q"]];
    let table: [(&str, Then, Then); 3] = [
        (COMMIT, commit, &[&["log", "--format=%s"], &["diff", "--cached"]]),
        (COMMIT, branches, &[&["log", "backup"], &["log", "rel"], &["log", "other"]]),
        ("echo two >>f; git add f", stash, &[&["stash", "pop"]]),
    ];
    for (command, then, after) in table {
        let place = made(&[command]);
        let work = place.work();
        then.iter().for_each(|words| drop(git(&work, words)));
        let undone = place.run(&["undo"]);
        for words in [after, &[&["fsck", "--strict"], &["status"]]].concat() {
            git(&work, words);
        }
        assert!(!undone.err.contains("--show .git"), "{undone:?}");
        if !undone.err.is_empty() {
            assert!(
                undone.err.contains("hint: `git status` shows where the repository stands now"),
                "{undone:?}"
            );
        }
    }
}

#[test]
fn a_repository_that_a_call_made_goes_as_a_whole() {
    let place = Place::in_sight();
    let command = "git init -q; echo one >f; git add f; git -c user.name=A -c user.email=a@b commit -qm one";
    let model = place.script("m", &[bash(command), json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
    let asks = events.until("approval_asked").pop().unwrap();
    let approval = format!("POST /v1/sessions/{id}/approvals/{}", asks["call"].as_str().unwrap());
    server.ask(&approval, r#"{"answer":"once"}"#);
    events.until("turn_ended");
    assert!(place.work().join(".git/HEAD").exists());
    let undone = server.ask(&format!("POST /v1/sessions/{id}/undo"), "{}");
    assert_eq!((undone.status, &undone.json()["conflicts"]), (200, &json!([])), "{undone:?}");
    assert!(!place.work().join(".git").exists() && place.read("f").is_none());
}

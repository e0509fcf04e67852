//! Folders that a person adds to the workspace: tools treat their files as those of the workspace; commands only read them.
use crate::kit::{
    Place, Ran, bash, call,
    project::{begin_repository, git},
};
use serde_json::{Value, json};
use std::fs;

/// A place with a folder beside the workspace; returns the path of that.
fn place() -> (Place, String) {
    let place = Place::in_sight();
    let other = place.path().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    fs::write(other.join("a.txt"), "hello\n").unwrap();
    fs::write(other.join("secret.env"), "hello\n").unwrap();
    (place, other.display().to_string())
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    call("edit", json!({"path": path, "old": old, "new": new}))
}

fn run(place: &Place, script: &[Value], options: &[&str]) -> Ran {
    let end = [json!({"say": "Done."})];
    let model = place.script("model.jsonl", &[script, &end].concat());
    place.run(&[&["run", "--json", "--model", &model, "Go on."], options].concat())
}

/// What each call of a turn gave.
fn results(ran: &Ran) -> Vec<(bool, String)> {
    let ended = ran.events().into_iter().filter(|event| event["type"] == "tool_ended");
    let told = |event: Value| (event["ok"] == true, event["content"].as_str().unwrap_or_default().to_owned());
    ended.map(told).collect()
}

#[test]
fn tools_treat_files_of_an_added_folder_as_those_of_the_workspace() {
    let (place, other) = place();
    let file = format!("{other}/a.txt");
    let read = call("read", json!({"path": file}));
    let unadded = run(&place, std::slice::from_ref(&read), &[]);
    assert!(!results(&unadded)[0].0, "{unadded:?}");
    place.configure("[rules]\ndeny = [\"read:**/*.env\"]\n");
    let script = [
        read,
        call("grep", json!({"pattern": "hello", "path": other})),
        call("read", json!({"path": format!("{other}/secret.env")})),
        edit(&file, "hello", "changed"),
        call("write", json!({"path": format!("{other}/.git/config"), "content": "[core]\n"})),
    ];
    let ran = run(&place, &script, &["--add-dir", "../other", "--permission", "accept-edits"]);
    let results = results(&ran);
    let went_well: Vec<bool> = results.iter().map(|(is_ok, _)| *is_ok).collect();
    assert_eq!(went_well, [true, true, false, true, false], "{results:#?}");
    assert!(results[1].1.contains("a.txt") && !results[1].1.contains("secret.env"), "{results:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "changed\n");
    let undone = place.run(&["undo"]);
    assert_eq!((undone.code, fs::read_to_string(&file).unwrap().as_str()), (0, "hello\n"), "{undone:?}");
}

#[test]
fn an_added_folder_stays_with_the_session_and_with_no_other() {
    let (place, other) = place();
    let file = format!("{other}/a.txt");
    let first = run(&place, &[], &["--add-dir", &other]);
    let added: Vec<Value> =
        first.events().into_iter().filter(|event| event["type"] == "root_added").collect();
    assert!(added.len() == 1 && added[0]["root"] == json!(other), "{first:?}");
    let options = ["--permission", "accept-edits"];
    let script = [json!({"say": "The reply before."}), edit(&file, "hello", "changed")];
    let again = run(&place, &script, &[&["--continue"], &options[..]].concat());
    assert!(results(&again)[0].0, "{again:?}");
    let new = run(&place, &[edit(&file, "changed", "hello")], &options);
    assert!(!results(&new)[0].0, "{new:?}");
    // What is added a second time is recorded once.
    let twice = run(&place, &[], &["--add-dir", &other, "--add-dir", &format!("{other}/.git")]);
    let added = twice.events().into_iter().filter(|event| event["type"] == "root_added").count();
    assert_eq!(added, 1, "{twice:?}");
}

#[test]
fn commands_read_an_added_folder_and_do_not_change_it() {
    let (place, other) = place();
    let script = [bash(&format!("cat {other}/a.txt; echo changed > {other}/a.txt"))];
    let ran = run(&place, &script, &["--add-dir", &other, "--permission", "accept-edits"]);
    assert!(results(&ran)[0].1.contains("hello"), "{ran:?}");
    assert_eq!(fs::read_to_string(format!("{other}/a.txt")).unwrap(), "hello\n", "{ran:?}");
}

#[test]
fn a_folder_that_cannot_be_added_is_a_sentence() {
    let (place, other) = place();
    fs::create_dir(place.work().join("sub")).unwrap();
    let above = place.path().display().to_string();
    let (home, sessions) = (format!("{above}/person"), format!("{above}/home"));
    fs::create_dir_all(&home).unwrap();
    let file = format!("{other}/a.txt");
    let script = place.script("model.jsonl", &[json!({"say": "unheard"})]);
    let table = [
        ("missing", "there is no such folder"),
        (file.as_str(), "it is not a folder"),
        ("/", "it is the root of the file system; name the folder that the work needs"),
        (".", "it lies in the workspace, so its files can be read and changed already"),
        ("sub", "it lies in the workspace, so its files can be read and changed already"),
        (above.as_str(), "it holds the workspace; begin a session there instead (`--cwd`)"),
        (home.as_str(), "it holds your home folder; name the folder that the work needs"),
        ("~", "it holds your home folder; name the folder that the work needs"),
    ];
    for (folder, why) in table {
        let ran = place.run(&["run", "--model", &script, "--add-dir", folder, "hi"]);
        let expected = format!("error: cannot add `{folder}`: {why}");
        assert!(ran.code == 2 && ran.err.starts_with(&expected), "{folder}: {ran:?}");
    }
    fs::create_dir_all(format!("{sessions}/sessions")).unwrap();
    let ran = place.run(&["run", "--model", &script, "--add-dir", &sessions, "hi"]);
    assert!(
        ran.err.starts_with(&format!("error: cannot add `{sessions}`: Haft keeps its sessions there")),
        "{ran:?}"
    );
    let ran = place.run(&["build", "--add-dir", &other, "x"]);
    assert!(ran.code == 2 && ran.err.starts_with("error: jobs do not support `--add-dir`"), "{ran:?}");
}

#[test]
fn a_folder_is_added_in_a_conversation_and_a_link_is_followed() {
    let (place, other) = place();
    std::os::unix::fs::symlink(&other, place.path().join("link")).unwrap();
    let file = format!("{other}/a.txt");
    let script = [edit(&file, "hello", "changed"), json!({"say": "Done."})];
    let model = place.script("model.jsonl", &script);
    let ran = place.run_with_input(
        &["chat", "--model", &model, "--permission", "accept-edits"],
        b"/add-dir nowhere\n/add-dir ../link\nGo on.\nexit\n",
    );
    assert!(ran.err.contains("error: cannot add `nowhere`: there is no such folder"), "{ran:?}");
    assert!(ran.err.contains(&format!("`{other}` is added")), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "changed\n", "{ran:?}");
}

// What is written there, Git would run with the user's next command.
#[test]
fn no_session_works_inside_of_git_s_own_folder() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    begin_repository(&place.work());
    let run = |folder: &str| {
        let model = place.script("m", &[json!({"say": "hi"})]);
        place.run(&["run", "--model", &model, "--cwd", folder, "go"])
    };
    for folder in [".git", ".git/hooks", ".git/refs/heads"] {
        let ran = run(folder);
        assert!(ran.code == 2 && ran.err.contains("is inside Git's own folder"), "{folder}: {ran:?}");
    }
    git(&place.work(), &["worktree", "add", "--quiet", ".git/trees/one"]);
    let ran = run(".git/trees/one");
    assert_eq!(ran.code, 0, "a working tree may lie there: {ran:?}");
}

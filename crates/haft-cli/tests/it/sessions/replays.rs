//! `haft sessions replay`: the recorded replies again, with real tools in a copy of the workspace.
use crate::kit::{Place, Ran, call, project::begin_repository};
use serde_json::{Value, json};
use std::fs;

/// A session that said this, with every permission.
fn session(place: &Place, steps: &[Value]) -> String {
    let model = place.script("m", steps);
    let ran = place.run(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()[0]["session"].as_str().unwrap().to_owned()
}

fn replay(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["sessions", "replay"], arguments].concat())
}

/// Reads two files, changes one, makes one.
fn at_work(place: &Place) -> String {
    place.write("notes.txt", "one\n");
    place.write("other.txt", "alpha\n");
    let edit = json!({"path": "notes.txt", "old_text": "one", "new_text": "two"});
    let steps = [
        call("read", json!({"path": "notes.txt"})),
        call("edit", edit),
        call("read", json!({"path": "other.txt"})),
        call("write", json!({"path": place.work().join("new.txt"), "content": "new"})),
        json!({"say": "Done."}),
    ];
    session(place, &steps)
}

/// Three subagents with the same task and models of their own. Each changes a line of `a.txt`.
pub(super) fn with_subagents(place: &Place) -> String {
    place.write("a.txt", "one\ntwo\nthree\n");
    begin_repository(&place.work());
    let folder = place.path().join("person/.config/haft/agents");
    fs::create_dir_all(&folder).unwrap();
    let change =
        |from: &str, to: &str| call("edit", json!({"path": "a.txt", "old_text": from, "new_text": to}));
    let delegate = |to: &str| call("delegate", json!({"task": "change it", "agent": to}));
    for (name, steps) in [
        ("first", vec![change("one", "1"), json!({"say": "I did."})]),
        ("second", vec![change("two", "2"), json!({"say": "I did, too."})]),
        ("third", vec![change("three", "3"), json!({"say": "Me as well."})]),
    ] {
        let model = place.script(&format!("{name}.jsonl"), &steps);
        let agent = format!("---\nname: {name}\ndescription: d\nmodel: {model}\n---\nHelp.\n");
        fs::write(folder.join(format!("{name}.md")), agent).unwrap();
    }
    let model = place.script(
        "m",
        &[delegate("first"), delegate("second"), delegate("third"), json!({"say": "All is done."})],
    );
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "change it"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("1\n2\n3\n"));
    ran.events()[0]["session"].as_str().unwrap().to_owned()
}

#[test]
fn what_subagents_did_is_done_again_and_compared_call_by_call() {
    let place = Place::new();
    let id = with_subagents(&place);
    let replayed = replay(&place, &[&id]);
    assert!(
        replayed.code == 0 && replayed.out.contains("no difference: 6 calls in 4 rounds"),
        "{replayed:?}"
    );
    // The journal of the second one says something else.
    let entries = place.run(&["sessions", "export", &id, "--format", "json"]).events();
    let named = entries.iter().filter(|entry| entry["type"] == "tool_ended");
    let sessions: Vec<&str> = named.map(|entry| entry["details"]["session"].as_str().unwrap()).collect();
    let journal = place.path().join("home/sessions").join(sessions[1]).join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"new_text\":\"2\"", "\"new_text\":\"II\"", 1)).unwrap();
    let replayed = replay(&place, &[&id, "--json"]);
    assert_eq!(replayed.code, 1, "{replayed:?}");
    let difference = &replayed.events()[0]["difference"];
    assert_eq!(
        (&difference["subagent"], &difference["name"]),
        (&json!(sessions[1]), &json!("edit")),
        "{difference}"
    );
    fs::remove_file(&journal).unwrap();
    let refused = replay(&place, &[&id]);
    assert!(refused.code == 2 && refused.err.contains("a subagent worked for it"), "{refused:?}");
}

/// Where the result of the call with this number stands.
fn ended(place: &Place, id: &str, number: usize) -> Value {
    let entries = place.run(&["sessions", "export", id, "--format", "json"]).events();
    let mut ended = entries.into_iter().filter(|entry| entry["type"] == "tool_ended");
    ended.nth(number).unwrap()["seq"].clone()
}

#[test]
fn a_replay_begins_where_the_session_began_and_leaves_the_workspace_alone() {
    let place = Place::new();
    let id = at_work(&place);
    // Whatever came of the files since: what the session changed is what it was before, in the copy.
    place.write("notes.txt", "changed since\n");
    let journal = fs::read(place.journal()).unwrap();
    let replayed = replay(&place, &[&id]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
    let expected = format!("no difference: 4 calls in 5 rounds, in a copy of `{}`\n", place.work().display());
    assert_eq!(replayed.out, expected);
    assert_eq!(place.read("notes.txt").as_deref(), Some("changed since\n"));
    assert_eq!(fs::read(place.journal()).unwrap(), journal);
    let object = &replay(&place, &[&id, "--json"]).events()[0];
    assert_eq!((&object["calls"], &object["difference"]), (&json!(4), &Value::Null));
    // After an undo, too; what was undone is no part of the conversation.
    place.write("notes.txt", "two\n");
    assert_eq!(place.run(&["undo", &id]).code, 0);
    assert_eq!(replay(&place, &[&id]).code, 2);
}

#[test]
fn the_first_difference_is_named_with_its_entry() {
    let place = Place::new();
    let id = at_work(&place);
    place.write("other.txt", "beta\n");
    let seq = ended(&place, &id, 2);
    let replayed = replay(&place, &[&id]);
    assert_eq!(replayed.code, 1, "{replayed:?}");
    assert!(replayed.out.starts_with(&format!("entry {seq}: `read` gave something else\n")), "{replayed:?}");
    assert!(replayed.out.contains("alpha") && replayed.out.contains("beta"), "{replayed:?}");
    let object = &replay(&place, &[&id, "--json"]).events()[0];
    assert_eq!((&object["difference"]["seq"], &object["calls"]), (&seq, &json!(3)));
    // A file that is gone is a difference as well.
    fs::remove_file(place.work().join("other.txt")).unwrap();
    assert_eq!(replay(&place, &[&id, "--json"]).events()[0]["difference"]["seq"], seq);
}

#[test]
fn commands_run_again_where_they_may_and_see_the_copy() {
    let place = Place::new();
    place.write("count", "0");
    let steps =
        [call("bash", json!({"command": "pwd; echo more >>count; wc -l <count"})), json!({"say": "Done."})];
    // Where commands are not confined.
    place.configure("sandbox = \"off\"\n");
    let id = session(&place, &steps);
    place.write("count", "0");
    let refused = replay(&place, &[&id]);
    assert_eq!((refused.code, refused.out.as_str()), (4, ""), "{refused:?}");
    assert!(refused.err.contains("`bash` was not run again") && refused.err.contains("--permission full"));
    let replayed = replay(&place, &[&id, "--permission", "full"]);
    assert_eq!((replayed.code, place.read("count").as_deref()), (0, Some("0")), "{replayed:?}");
}

#[test]
fn what_was_denied_is_denied_again() {
    let place = Place::new();
    let model = place.script("m", &[call("bash", json!({"command": "touch made"})), json!({"say": "No."})]);
    let ran = place.run(&["run", "--json", "--model", &model, "go"]);
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    let replayed = replay(&place, &[&id]);
    assert_eq!((replayed.code, place.read("made")), (0, None), "{replayed:?}");
}

#[test]
fn a_file_that_a_person_did_not_want_is_not_written_again() {
    let place = Place::new();
    let write = call("write", json!({"path": "made", "content": "x"}));
    let model = place.script("m", &[write, json!({"say": "No."})]);
    let ran = place.run(&["run", "--json", "--model", &model, "go"]);
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    for permission in ["ask", "full"] {
        let replayed = replay(&place, &[&id, "--permission", permission]);
        assert_eq!(replayed.code, 0, "{permission}: {replayed:?}");
    }
}

#[test]
fn several_turns_are_said_again_in_order() {
    let place = Place::new();
    let steps = [
        call("write", json!({"path": "a", "content": "1"})),
        json!({"say": "First."}),
        call("edit", json!({"path": "a", "old_text": "1", "new_text": "2"})),
        json!({"say": "Second."}),
    ];
    let id = session(&place, &steps);
    let model = format!("script/{}", place.path().join("m").display());
    place.run(&["run", "--session", &id, "--permission", "full", "--model", &model, "again"]);
    assert_eq!(place.read("a").as_deref(), Some("2"));
    let object = &replay(&place, &[&id, "--json"]).events()[0];
    assert_eq!(
        (&object["calls"], &object["rounds"], &object["difference"]),
        (&json!(2), &json!(4), &Value::Null)
    );
}

#[test]
fn another_model_can_be_asked_from_a_round_on() {
    let place = Place::new();
    let id = at_work(&place);
    let other = |name: &str, path: &str| {
        let skipped = vec![json!({"say": "never said"}); 2];
        let own =
            [call("write", json!({"path": path, "content": "mine"})), json!({"say": "I chose another way."})];
        place.script(name, &[skipped, own.to_vec()].concat())
    };
    let model = other("other", "else.txt");
    let replayed = replay(&place, &[&id, "--model", &model, "--from", "3"]);
    assert_eq!((replayed.code, place.read("else.txt")), (0, None), "{replayed:?}");
    assert!(
        replayed.out.contains("I chose another way.") && replayed.err.contains("write else.txt"),
        "{replayed:?}"
    );
    assert!(replayed.out.contains("no difference: 2 calls in 4 rounds"), "{replayed:?}");
    // Without a round from the first one on; files in the copy need no permission, those outside do.
    let model = place.script(
        "first",
        &[call("write", json!({"path": place.path().join("outside"), "content": ""})), json!({"say": "No."})],
    );
    assert_eq!(replay(&place, &[&id, "--model", &model]).code, 4);
    assert!(!place.path().join("outside").exists());
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let place = Place::new();
    let id = at_work(&place);
    let table: [(&[&str], &str); 5] = [
        (&["nope"], "there is no session `nope`"),
        (&[&id, "--from", "2"], "--model"),
        (&[&id, "--model", "script/x", "--from", "0"], "0 is not in 1.."),
        (&[&id, "--model", "script/x", "--from", "99"], "it has 5 rounds"),
        (&[&id, "--model", "script/nothing-there"], "nothing-there"),
    ];
    for (arguments, expected) in table {
        let refused = replay(&place, arguments);
        assert_eq!(refused.code, 2, "{arguments:?}: {refused:?}");
        assert!(refused.err.contains(expected), "{arguments:?}: {refused:?}");
    }
}

//! `haft sessions fork`: a session that begins like another one.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

fn write(content: &str) -> Value {
    json!({"calls": [{"name": "write", "arguments": {"path": "a", "content": content}}]})
}

fn says(text: &str) -> Value {
    json!({"say": text})
}

/// A session whose two turns wrote the file `a` each.
fn two_turns(place: &Place) -> String {
    let edit = json!({"name": "edit", "arguments": {"path": "a", "old_text": "one", "new_text": "two"}});
    let steps = [write("one"), says("First."), json!({"calls": [edit]}), says("Second."), says("Third.")];
    let model = place.script("m", &steps);
    let ran = place.run(&["run", "--json", "--permission", "full", "--model", &model, "write one"]);
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    place.run(&["run", "--session", &id, "--permission", "full", "--model", &model, "make it two"]);
    assert_eq!(place.read("a").as_deref(), Some("two"));
    id
}

/// Without the values of its chain, which begins anew in a fork.
fn entries(place: &Place, id: &str) -> Vec<Value> {
    let mut entries = place.run(&["sessions", "export", id, "--format", "json"]).events();
    for entry in &mut entries {
        entry.as_object_mut().unwrap().remove("chain").unwrap();
    }
    entries
}

/// The place of the entry with this type, counted among its kind.
fn place_of(entries: &[Value], kind: &str, nth: usize) -> u64 {
    let mut found = entries.iter().filter(|entry| entry["type"] == kind);
    found.nth(nth).unwrap()["seq"].as_u64().unwrap()
}

fn fork(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["sessions", "fork"], arguments].concat())
}

#[test]
fn a_fork_begins_with_the_same_entries_and_both_go_on_alone() {
    let place = Place::new();
    let id = two_turns(&place);
    let before = entries(&place, &id);
    let forked = fork(&place, &[&id]);
    assert_eq!((forked.code, forked.err.as_str()), (0, ""));
    let new = forked.out.trim();
    let own = entries(&place, new);
    assert_eq!(own[1..], before[1..]);
    let journal = place.path().join("home/sessions").join(&id).join("journal.jsonl");
    let journal = std::fs::read_to_string(journal).unwrap();
    let last: serde_json::Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&own[0]["session"], &own[0]["forked_from"]),
        (&json!(new), &json!({"session": id, "seq": last["seq"], "chain": last["chain"]}))
    );
    // It is the newest one of this folder.
    let model = format!("script/{}", place.path().join("m").display());
    assert_eq!(place.run(&["run", "-c", "-q", "--model", &model, "go on"]).out, "Third.\n");
    assert_eq!(entries(&place, &id), before);
    assert!(entries(&place, new).len() > before.len());
    let listed = place.run(&["sessions", "list", "--json"]).events();
    assert_eq!(
        (listed[0]["session"].as_str(), &listed[0]["forked_from"]["session"]),
        (Some(new), &json!(id))
    );
}

#[test]
fn what_a_fork_took_over_can_be_undone_without_the_other_session() {
    let place = Place::new();
    let id = two_turns(&place);
    let new = fork(&place, &[&id, "--json"]).events()[0]["session"].as_str().unwrap().to_owned();
    assert_eq!(place.run(&["sessions", "rm", &id]).code, 0);
    assert_eq!(place.run(&["undo", &new]).out.lines().next(), Some("~ a put back"));
    assert_eq!(place.read("a").as_deref(), Some("one"));
    assert_eq!(place.run(&["redo", &new]).code, 0);
    assert_eq!(place.run(&["undo", &new, "--calls", "2"]).code, 0);
    assert_eq!(place.read("a"), None);
}

#[test]
fn a_fork_at_an_entry_knows_nothing_of_what_came_later() {
    let place = Place::new();
    let id = two_turns(&place);
    let all = entries(&place, &id);
    let at = place_of(&all, "turn_ended", 0).to_string();
    let new = fork(&place, &[&id, "--at", &at]).out.trim().to_owned();
    let own = entries(&place, &new);
    assert_eq!(own[1..], all[1..own.len()]);
    assert_eq!(own.last().unwrap()["type"], "turn_ended");
    // The file is what the second turn of the other session made of it, which this session did not.
    let undone = place.run(&["undo", &new]);
    assert_eq!((undone.code, place.read("a").as_deref()), (1, Some("two")), "{undone:?}");
    assert!(undone.out.contains("! a skipped"), "{undone:?}");
    // Back where it was, it is the fork's own again.
    assert_eq!(place.run(&["undo", &id]).code, 0);
    let again = fork(&place, &[&id, "--at", &at]).out.trim().to_owned();
    assert_eq!(place.run(&["undo", &again]).code, 0);
    assert_eq!(place.read("a"), None);
}

#[test]
fn an_undone_branch_can_be_forked() {
    let place = Place::new();
    let id = two_turns(&place);
    let all = entries(&place, &id);
    let end = place_of(&all, "turn_ended", 1).to_string();
    assert_eq!(place.run(&["undo", &id]).code, 0);
    let new = fork(&place, &[&id, "--at", &end]).out.trim().to_owned();
    let shown = place.run(&["sessions", "show", &new]).out;
    assert!(shown.contains("Second."), "{shown}");
    assert!(!place.run(&["sessions", "show", &id]).out.contains("Second."));
}

#[test]
fn a_place_where_no_session_can_begin_is_refused() {
    let place = Place::new();
    let id = two_turns(&place);
    let all = entries(&place, &id);
    let (replied, ended) = (place_of(&all, "replied", 0), place_of(&all, "tool_ended", 0));
    let in_call = place_of(&all, "staged", 0).to_string();
    let last = all.last().unwrap()["seq"].to_string();
    let around = format!("{} is before it, {ended} after its end", replied - 1);
    let table: [(&[&str], &str); 6] = [
        (&["nope"], "there is no session `nope`"),
        (&["../.."], "there is no session `../..`"),
        (&[&id, "--at", "999"], &format!("there is no entry 999; the last one is {last}")),
        (&[&id, "--at", &in_call], &around),
        (&[&id, "--at", &replied.to_string()], &around),
        (&[&id, "--at", "-1"], "unexpected argument '-1'"),
    ];
    for (arguments, expected) in table {
        let refused = fork(&place, arguments);
        assert_eq!(refused.code, 2, "{arguments:?}: {refused:?}");
        assert!(refused.err.contains(expected), "{arguments:?}: {refused:?}");
    }
    assert_eq!(place.run(&["sessions", "list", "--json"]).events().len(), 1);
}

#[test]
fn a_session_that_is_at_work_can_be_forked_before_its_call() {
    let place = Place::new();
    let call = json!({"calls": [{"name": "bash", "arguments": {"command": "sleep 60"}}]});
    let model = place.script("m", &[call]);
    let mut running = place.haft(&["run", "--permission", "full", "--model", &model, "wait"]);
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(30);
    let sessions = place.path().join("home/sessions");
    let runs = || {
        let there = fs::read_dir(&sessions).is_ok_and(|mut folders| folders.next().is_some());
        there && fs::read_to_string(place.journal()).is_ok_and(|text| text.contains("\"how\""))
    };
    while !runs() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    let listed = place.run(&["sessions", "list", "--json"]).events();
    let id = listed[0]["session"].as_str().unwrap().to_owned();
    let refused = fork(&place, &[&id]);
    let journal = fs::read(place.journal()).unwrap();
    let prompted = place_of(&entries(&place, &id), "prompted", 0).to_string();
    let forked = fork(&place, &[&id, "--at", &prompted]);
    let untouched = fs::read(place.path().join("home/sessions").join(&id).join("journal.jsonl")).unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(refused.code, 2, "{refused:?}");
    let expected = format!("in the middle of a call that has not ended: {prompted} is before it");
    assert!(refused.err.contains(&expected), "{refused:?}");
    assert!(forked.code == 0 && untouched == journal, "{forked:?}");
    let model = place.script("other", &[says("Done.")]);
    let id = forked.out.trim();
    assert_eq!(place.run(&["run", "-q", "--session", id, "--model", &model, "leave it"]).out, "Done.\n");
}

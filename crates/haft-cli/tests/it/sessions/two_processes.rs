//! One session, two processes: the real binary, a scripted model.
use crate::kit::{Place, Ran, UNTIL_GO};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

const NOTE: &str = "note: joined the session, which another process has open";
const WAITS: &str = "a turn that runs there comes to its end first; until then, Ctrl+C gives this up";

fn calls(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

/// Polls until `done`.
fn wait_for(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The lines of the only journal, where there is one.
fn recorded(place: &Place) -> Vec<Value> {
    let folders = std::fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
    let journals =
        folders.filter_map(|folder| std::fs::read_to_string(folder.path().join("journal.jsonl")).ok());
    let text: String = journals.collect();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn count(place: &Place, fact: &str) -> usize {
    recorded(place).iter().filter(|line| line["type"] == fact).count()
}

fn id(place: &Place) -> String {
    place.journal().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()
}

fn socket(place: &Place) -> PathBuf {
    place.journal().with_file_name("socket")
}

fn started(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.haft(arguments);
    let stdin = if arguments[0] == "chat" { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_chat_is_undone_and_spoken_to_from_the_command_line() {
    let place = Place::new();
    let write = calls("write", json!({"path": "made", "content": "made"}));
    let model = place.script("m", &[write, json!({"say": "done"}), json!({"say": "and more"})]);
    let mut chat = started(&place, &["chat", "--model", &model, "--permission", "full"]);
    chat.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    wait_for("the turn", || count(&place, "turn_ended") == 1);
    let undone = place.run(&["undo", &id(&place)]);
    let note = format!("{NOTE}; {WAITS}\n");
    assert_eq!(
        (undone.code, undone.out.as_str(), undone.err),
        (0, "- made removed\nthe conversation is back before your prompt: go\n", note.clone())
    );
    assert_eq!(place.read("made"), None);
    let redone = place.run(&["redo", &id(&place)]);
    assert_eq!((redone.code, redone.out.as_str(), redone.err), (0, "+ made created again\n", note));
    assert_eq!(place.read("made").as_deref(), Some("made"));
    // Its model answers, not the one that is named here.
    let ran = place.run(&["run", "--model", "script/nowhere", "--session", &id(&place), "more"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    let ran = place.run(&["run", "--model", &model, "--session", &id(&place), "more"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "and more\n"), "{ran:?}");
    assert!(ran.err.starts_with(NOTE), "{}", ran.err);
    drop(chat.stdin.take());
    let chat = Ran::from(chat.wait_with_output().unwrap());
    assert!(chat.code == 0 && chat.out.contains("done"), "{chat:?}");
    assert!(!socket(&place).exists());
    assert_eq!(count(&place, "session_opened"), 1);
}

/// An undo, and the sending of an item, that a person gives up while a turn of another process runs.
#[test]
fn what_is_given_up_before_it_begins_does_not_happen_and_stops_no_turn() {
    for command in ["undo", "outbox"] {
        let place = Place::new();
        let call = json!({"name": "bash", "arguments": {"command": "echo sent >>../out", "needs": ["live"]}});
        let write = json!({"name": "write", "arguments": {"path": "made", "content": "made"}});
        let script = [
            json!({"calls": [write, call]}),
            json!({"say": "Queued."}),
            calls("bash", json!({"command": format!("{UNTIL_GO}; touch late")})),
            json!({"say": "Slept."}),
        ];
        let model = place.script("m", &script);
        place.hold();
        let ran = place.run(&["run", "--outbox", "--permission", "full", "--model", &model, "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let id = id(&place);
        let owner = started(&place, &["run", "--session", &id, "--model", &model, "sleep"]);
        wait_for("the second turn's call", || count(&place, "tool_started") == 2);
        let item = format!("{}-1", &id[id.len() - 8..]);
        let words = if command == "undo" { vec!["undo", &id] } else { vec!["outbox", "send", &item] };
        let mut waiting = started(&place, &words);
        let mut notes = BufReader::new(waiting.stderr.take().unwrap());
        let mut told = String::new();
        notes.read_line(&mut told).unwrap();
        assert_eq!(told, format!("{NOTE}; {WAITS}\n"), "{command}");
        std::thread::sleep(Duration::from_millis(300));
        kill_process(Pid::from_raw(waiting.id().cast_signed()).unwrap(), Signal::INT).unwrap();
        let status = waiting.wait().unwrap();
        assert_eq!(status.code().or(status.signal().map(|signal| 128 + signal)), Some(130), "{command}");
        place.let_go();
        let owner = Ran::from(owner.wait_with_output().unwrap());
        assert_eq!((owner.code, owner.out.as_str()), (0, "Slept.\n"), "{command}: {owner:?}");
        assert_eq!((count(&place, "rewound"), count(&place, "item_sending")), (0, 0), "{command}");
        let is_there = |name: &str| place.read(name).is_some();
        assert!(is_there("made") && is_there("late") && !place.path().join("out").exists(), "{command}");
        let listed = place.run(&["outbox", "list", "--json"]);
        assert_eq!(listed.events()[0]["state"], "queued", "{command}: {listed:?}");
    }
}

// A process that dies ends no other one.
#[test]
fn who_joined_a_session_hears_that_its_owner_was_killed_and_takes_it_up() {
    let place = Place::unconfined();
    let bash = calls("bash", json!({"command": "touch begun; sleep 60"}));
    let model = place.script("m", &[bash, json!({"say": "done"})]);
    let mut owner = started(&place, &["run", "--model", &model, "--permission", "full", "go"]);
    wait_for("the call", || place.read("begun").is_some());
    let mut joined = started(&place, &["run", "--session", &id(&place), "--model", &model, "and then?"]);
    // A client that has only connected may take the session over; this one has joined when it says so.
    let mut notes = BufReader::new(joined.stderr.take().unwrap());
    let mut told = String::new();
    notes.read_line(&mut told).unwrap();
    assert!(told.starts_with(NOTE), "{told}");
    wait_for("what it says", || count(&place, "prompt_queued") == 1);
    owner.kill().unwrap();
    owner.wait().unwrap();
    notes.read_to_string(&mut told).unwrap();
    assert_eq!(joined.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains("the process that had the session open ended without closing it"), "{told}");
    assert!(socket(&place).exists(), "a killed process leaves its socket");
    let model =
        place.script("m2", &[json!({"say": "-"}), json!({"say": "taken up"}), json!({"say": "and then"})]);
    let resumed = place.run(&["sessions", "resume", &id(&place), "--model", &model]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "taken up\nand then\n"), "{resumed:?}");
    assert!(!resumed.err.contains(NOTE) && !socket(&place).exists(), "{}", resumed.err);
}

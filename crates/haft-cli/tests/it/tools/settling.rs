//! What becomes of files where something is in the way, with default settings.
use crate::kit::{Place, Ran};
use rustix::{
    fs::{XattrFlags, getxattr, setxattr},
    process::{Pid, Signal, kill_process},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// How long a test waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(60);

fn writes() -> Value {
    json!({"calls": [{"id": "w", "name": "write", "arguments": {"path": "a.txt", "content": "mine\n"}}]})
}

fn says() -> Value {
    json!({"say": "done"})
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What it left; one that does not end is killed, and the test has failed.
fn ended(mut child: Child) -> Ran {
    let end = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("it does not end: {:?}", Ran::from(child.wait_with_output().unwrap()));
        }
        sleep(Duration::from_millis(10));
    }
    Ran::from(child.wait_with_output().unwrap())
}

/// Returns when the journal of the only session has this.
fn wait_for(place: &Place, text: &str) {
    let end = Instant::now() + PATIENCE;
    let sessions = place.path().join("home/sessions");
    let holds = || {
        let session = fs::read_dir(&sessions).ok()?.next()?.ok()?;
        Some(fs::read_to_string(session.path().join("journal.jsonl")).ok()?.contains(text))
    };
    while holds() != Some(true) {
        assert!(Instant::now() < end, "there is no {text}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_file_that_cannot_be_moved_stays_where_it_was() {
    let place = Place::new();
    place.write("kept.txt", "one\ntwo\n");
    let patch = "*** Begin Patch\n*** Update File: kept.txt\n*** Move to: /proc/haft-cannot-be-made\n@@\n-two\n+2\n*** End Patch";
    let patch = json!({"patch": patch}).to_string();
    let ran = place.run(&["tools", "call", "apply_patch", &patch, "--permission", "full"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("nothing was changed: cannot write `/proc/haft-cannot-be-made`"), "{ran:?}");
    assert_eq!(place.read("kept.txt").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn an_edit_keeps_extended_attributes() {
    let place = Place::new();
    let path = place.write("a.txt", "one\n");
    let _not_on_this_file_system = setxattr(&path, "user.note", b"keep me", XattrFlags::empty());
    let note = |path: &Path| {
        let mut value = [0; 16];
        getxattr(path, "user.note", &mut value[..]).map(|length| value[..length].to_vec())
    };
    let before = note(&path);
    let edit = json!({"path": "a.txt", "old_text": "one", "new_text": "two"}).to_string();
    let read = json!({"calls": [{"id": "r", "name": "read", "arguments": {"path": "a.txt"}}]});
    let ran = place.run(&["tools", "call", "edit", &edit, "--permission", "full"]);
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("two\n")), "{ran:?}");
    assert_eq!(note(&path), before);
    // A turn of a model and its undo go the same way.
    let append = json!({"calls": [{"id": "e", "name": "edit",
        "arguments": {"path": "a.txt", "old_text": "two", "new_text": "three"}}]});
    let model = place.script("m", &[read, append, says()]);
    let ran = place.run(&["run", "-q", "--model", &model, "--permission", "accept-edits", "go"]);
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("three\n")), "{ran:?}");
    assert_eq!(place.run(&["undo"]).code, 0);
    assert_eq!((place.read("a.txt").as_deref(), note(&path)), (Some("two\n"), before));
}

// `flock DIR haft run …` is how cron keeps two of them apart.
#[test]
fn a_workspace_that_somebody_has_locked_is_written_all_the_same() {
    let place = Place::new();
    let held = File::open(place.work()).unwrap();
    held.lock().unwrap();
    let model = place.script("m", &[writes(), says()]);
    let ran = ended(start(place.haft(&["run", "--model", &model, "--permission", "accept-edits", "go"])));
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("mine\n")), "{ran:?}");
}

/// A lock of our own, held as by a `haft` that was stopped in the middle.
fn hold(place: &Place) -> File {
    let model = place.script("first", &[writes(), says()]);
    let ran = place.run(&["run", "-q", "--model", &model, "--permission", "accept-edits", "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    fs::remove_file(place.work().join("a.txt")).unwrap();
    fs::remove_dir_all(place.path().join("home/sessions")).unwrap();
    let mut locks = fs::read_dir(place.path().join("home/locks")).unwrap();
    let held = File::open(locks.next().unwrap().unwrap().path()).unwrap();
    held.lock().unwrap();
    held
}

#[test]
fn a_process_that_was_stopped_while_it_wrote_is_not_waited_for_for_ever() {
    let place = Place::new();
    let _held = hold(&place);
    let model = place.script("m", &[writes(), says()]);
    let run = ["run", "--json", "--model", &model, "--permission", "accept-edits", "go"];
    let ran = ended(start(place.haft(&run)));
    assert_eq!(place.read("a.txt"), None);
    let told = ran.events().into_iter().find(|event| event["type"] == "tool_ended").unwrap();
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("nothing was changed: another `haft` is writing files in `"), "{message}");
    assert!(ran.recorded().contains(&"unsettled".to_owned()), "{ran:?}");
}

#[test]
fn an_interrupt_ends_the_wait_for_another_process() {
    let place = Place::new();
    let _held = hold(&place);
    let model = place.script("m", &[writes(), says()]);
    let child =
        start(place.haft(&["run", "--json", "--model", &model, "--permission", "accept-edits", "go"]));
    wait_for(&place, "\"staged\"");
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    let asked = Instant::now();
    kill_process(pid, Signal::INT).unwrap();
    let ran = ended(child);
    assert_eq!((ran.code, place.read("a.txt")), (130, None), "{ran:?}");
    assert!(asked.elapsed() < Duration::from_secs(9), "it waited to the end: {:?}", asked.elapsed());
}

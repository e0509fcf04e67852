//! A file that was changed since the model saw it is not overwritten, however old it says it is.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{fs, process::Command};

/// More than is hashed when it is read.
const BIG: usize = 9 << 20;

fn call(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"id": name, "name": name, "arguments": arguments}]})
}

fn read() -> Value {
    call("read", json!({"path": "a.txt"}))
}

fn write(text: &str) -> Value {
    call("write", json!({"path": "a.txt", "content": text}))
}

fn says() -> Value {
    json!({"say": "done"})
}

fn run(place: &Place, name: &str, lines: &[Value], more: &[&str]) -> Ran {
    // A script goes on where the conversation is: the replies of the first run stand before those of the second.
    let model = place.script(name, lines);
    let run = [&["run", "--json", "--model", &model, "--permission", "full", "go"], more].concat();
    let ran = place.run(&run);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

fn shell(place: &Place, line: &str) {
    let done = Command::new("bash").args(["-ec", line]).current_dir(place.work()).status().unwrap();
    assert!(done.success(), "{line}");
}

/// What a call of `write` was told.
fn refusal(ran: &Ran) -> Option<String> {
    let ended =
        ran.events().into_iter().rfind(|event| event["type"] == "tool_ended" && event["name"] == "write");
    ended.unwrap()["error"]["message"].as_str().map(str::to_owned)
}

/// Ways to replace `a.txt` by an older file, and whether that is another content.
fn ways() -> Vec<(&'static str, bool)> {
    vec![
        ("mv old/a.txt a.txt", true),
        ("cp -p old/a.txt a.txt", true),
        ("cat old/a.txt > a.txt && touch -r old/a.txt a.txt", true),
        ("tar -C old -cf - a.txt | tar -xf -", true),
        ("touch -r a.txt stamp && printf 'THREE\\n' > a.txt && touch -r stamp a.txt", true),
        ("ln -f old/a.txt a.txt", true),
        ("touch a.txt", false),
        ("cp a.txt b.txt && mv b.txt a.txt", false),
        ("chmod 600 a.txt", false),
    ]
}

fn prepare(place: &Place) {
    place.write("a.txt", "first\n");
    place.write("old/a.txt", "other\n");
    shell(place, "touch -d 2001-02-03 old/a.txt");
}

#[test]
fn what_was_read_is_known_by_its_content_when_a_session_goes_on() {
    for (way, is_changed) in ways() {
        let place = Place::new();
        prepare(&place);
        run(&place, "first", &[read(), says()], &[]);
        shell(&place, way);
        let before = place.read("a.txt");
        let lines = [read(), says(), write("mine\n"), says()];
        let ran = run(&place, "second", &lines, &["--continue"]);
        check(&place, &ran, way, is_changed, before);
    }
}

#[test]
fn what_was_written_is_known_by_its_content_when_a_session_goes_on() {
    for (way, is_changed) in ways() {
        let place = Place::new();
        prepare(&place);
        fs::remove_file(place.work().join("a.txt")).unwrap();
        run(&place, "first", &[write("first\n"), says()], &[]);
        shell(&place, way);
        let before = place.read("a.txt");
        let lines = [says(), says(), write("mine\n"), says()];
        let ran = run(&place, "second", &lines, &["--continue"]);
        check(&place, &ran, way, is_changed, before);
    }
}

#[test]
fn what_was_read_is_known_by_its_content_in_the_same_turn() {
    for (way, is_changed) in ways() {
        let place = Place::new();
        prepare(&place);
        let before = if is_changed { None } else { Some("first\n".to_owned()) };
        let lines = [read(), call("bash", json!({"command": way})), write("mine\n"), says()];
        let ran = run(&place, "m", &lines, &[]);
        check(&place, &ran, way, is_changed, before.or_else(|| place.read("a.txt")));
    }
}

#[test]
fn a_file_that_is_gone_can_be_written_anew() {
    for way in ["rm a.txt", "mv a.txt b.txt"] {
        let place = Place::new();
        place.write("a.txt", "first\n");
        let lines = [read(), call("bash", json!({"command": way})), write("mine\n"), says()];
        let ran = run(&place, "m", &lines, &[]);
        assert_eq!((refusal(&ran), place.read("a.txt").as_deref()), (None, Some("mine\n")), "{way}");
    }
    let place = Place::new();
    run(&place, "first", &[write("first\n"), says()], &[]);
    assert_eq!((place.run(&["undo"]).code, place.read("a.txt")), (0, None));
    let ran = run(&place, "second", &[write("mine\n"), says()], &["--continue"]);
    assert_eq!((refusal(&ran), place.read("a.txt").as_deref()), (None, Some("mine\n")), "undo");
}

fn check(place: &Place, ran: &Ran, way: &str, is_changed: bool, before: Option<String>) {
    if is_changed {
        let told = refusal(ran).unwrap_or_default();
        assert!(told.ends_with("it was changed since it was last read"), "{way}: {told}");
        assert_ne!(before.as_deref(), Some("mine\n"), "{way}");
        assert_eq!(place.read("a.txt"), before, "{way}");
    } else {
        assert_eq!((refusal(ran), place.read("a.txt").as_deref()), (None, Some("mine\n")), "{way}");
    }
}

// A journal from before contents were recorded knows times only.
#[test]
fn an_older_journal_takes_no_file_for_seen_that_was_touched_since() {
    for (way, is_changed) in ways().into_iter().filter(|(_, is_changed)| *is_changed) {
        let place = Place::new();
        prepare(&place);
        run(&place, "first", &[read(), says()], &[]);
        let journal = place.journal();
        let lines = fs::read_to_string(&journal).unwrap();
        let older: String = lines.lines().map(|line| without_reads(line) + "\n").collect();
        assert_ne!(older, lines);
        fs::write(&journal, older).unwrap();
        shell(&place, way);
        let before = place.read("a.txt");
        let lines = [says(), says(), write("mine\n"), says()];
        let ran = run(&place, "second", &lines, &["--continue"]);
        check(&place, &ran, way, is_changed, before);
    }
}

fn without_reads(line: &str) -> String {
    let mut entry: Value = serde_json::from_str(line).unwrap();
    entry.as_object_mut().unwrap().remove("reads");
    entry.to_string()
}

// To hash them takes time with every read; a state that the system vouches for is enough.
#[test]
fn a_big_file_is_known_by_what_the_system_says_of_it() {
    let table = [
        ("true", false),
        ("mv old/a.txt a.txt", true),
        ("cp -p old/a.txt a.txt", true),
        (
            "touch -r a.txt stamp && printf 'THREE' | dd of=a.txt conv=notrunc status=none && touch -r stamp a.txt",
            true,
        ),
    ];
    for (way, is_changed) in table {
        let place = Place::new();
        place.write("a.txt", "x\n".repeat(BIG / 2));
        place.write("old/a.txt", "y\n".repeat(BIG / 2));
        shell(&place, "touch -d 2001-02-03 old/a.txt");
        run(&place, "first", &[call("read", json!({"path": "a.txt", "limit": 5})), says()], &[]);
        shell(&place, way);
        let before = fs::read(place.work().join("a.txt")).unwrap();
        let lines = [says(), says(), write("mine\n"), says()];
        let ran = run(&place, "second", &lines, &["--continue"]);
        let after = fs::read(place.work().join("a.txt")).unwrap();
        assert_eq!(refusal(&ran).is_some(), is_changed, "{way}: {:?}", refusal(&ran));
        assert!(after == if is_changed { before } else { b"mine\n".to_vec() }, "{way}");
    }
}

// A journal says what was seen in a few words, and holds no file twice.
#[test]
fn a_journal_says_what_was_read_in_a_few_words() {
    let place = Place::new();
    place.write("a.txt", "x".repeat(100_000));
    place.write("sub/b.txt", "b\n");
    let several = call("read", json!({"path": ["a.txt", "sub/b.txt"], "limit": 1}));
    let ran = run(&place, "m", &[several, says()], &[]);
    let started = ran.events().into_iter().find(|event| event["type"] == "tool_started").unwrap();
    let reads = started["reads"].as_array().unwrap();
    let paths: Vec<&str> = reads.iter().map(|read| read["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.txt", "sub/b.txt"]);
    assert!(reads.iter().all(|read| read["hash"].as_str().unwrap().len() == 64), "{reads:?}");
    assert!(started["reads"].to_string().len() < 300, "{reads:?}");
}

/// Tools that name lines or quote text work from what the model read before.
#[test]
fn an_edit_by_lines_or_of_quoted_text_is_refused_where_the_file_was_changed_meanwhile() {
    let edits = [
        ("code_edit", json!({"path": "a.txt", "action": "delete", "start": 2, "end": 3})),
        ("multi_edit", json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "2"}]})),
        ("edit", json!({"path": "a.txt", "old_text": "two", "new_text": "2"})),
    ];
    for (name, arguments) in edits {
        let place = Place::new();
        place.write("a.txt", "one\ntwo\nthree\n");
        let changes = call("bash", json!({"command": "printf 'zero\\n%s\\n' \"$(cat a.txt)\" > a.txt"}));
        let ran = run(&place, "m", &[read(), changes, call(name, arguments), says()], &[]);
        let ended = ran.events().into_iter().rfind(|event| event["type"] == "tool_ended").unwrap();
        let message = ended["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("changed since it was last read"), "{name}: {ended}");
        assert_eq!(place.read("a.txt").as_deref(), Some("zero\none\ntwo\nthree\n"), "{name}");
    }
}

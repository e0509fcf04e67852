//! One call is undone in the middle of a session, and what came after it stays.
use crate::kit::{Place, Ran, serving::Serving, terminal::Terminal};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"name": "edit", "arguments": {"path": path, "old_text": old, "new_text": new}})
}

fn write(path: &str, content: &str) -> Value {
    json!({"name": "write", "arguments": {"path": path, "content": content}})
}

fn read(path: &str) -> Value {
    json!({"name": "read", "arguments": {"path": path}})
}

fn bash(command: &str) -> Value {
    json!({"name": "bash", "arguments": {"command": command}})
}

/// A place in which a session has made these calls, one after the other. `a` and `b` have ten lines at first.
fn made(calls: &[Value]) -> Place {
    made_in(Place::new(), calls)
}

fn made_in(place: Place, calls: &[Value]) -> Place {
    place.write("a", LINES);
    place.write("b", LINES);
    run(&place, calls);
    place
}

fn run(place: &Place, calls: &[Value]) {
    // A script goes on where the last turn ended. What ends in the background opens a turn.
    let is_first = !place.path().join("home/sessions").exists();
    let journal = || std::fs::read_to_string(place.journal()).unwrap();
    let replies = if is_first { 0 } else { journal().matches("\"type\":\"replied\"").count() };
    let said = || json!({"say": "Done."});
    let before = std::iter::repeat_with(said).take(replies);
    let calls = calls.iter().map(|call| json!({"calls": [call]}));
    let steps: Vec<Value> = before.chain(calls).chain([said(), said()]).collect();
    let model = place.script("m", &steps);
    let go_on: &[&str] = if is_first { &[] } else { &["--continue"] };
    let options = ["--permission", "accept-edits", "--model", &model, "go"];
    let ran = place.run(&[&["run"], go_on, &options].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn undo(place: &Place, options: &[&str]) -> Ran {
    place.run(&[&["undo", "--call"], options].concat())
}

/// The numbers of the calls that depend on the one that was to be undone.
fn depends(place: &Place, options: &[&str]) -> (i32, Vec<u64>, Vec<String>) {
    let ran = undo(place, &[options, &["--json"]].concat());
    let said = ran.events().pop().unwrap_or_else(|| panic!("{ran:?}"));
    let depends = said["depends"].as_array().unwrap().iter().map(|one| one["call"].as_u64().unwrap());
    let left = said["left"].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned());
    (ran.code, depends.collect(), left.collect())
}

// H-20
#[test]
fn a_call_in_the_middle_is_undone_and_the_later_ones_stay() {
    let place = made(&[
        edit("a", "one", "ONE"),
        edit("a", "three", "THREE"),
        bash("echo more >>b"),
        edit("a", "nine", "NINE"),
        write("c", "new\n"),
    ]);
    let after = LINES.replace("one", "ONE").replace("nine", "NINE");
    let dry = undo(&place, &["2", "--dry-run"]);
    assert!(dry.code == 0 && dry.out.contains("-THREE\n+three\n"), "{dry:?}");
    let undone = undo(&place, &["2"]);
    assert_eq!(undone.out, "~ a put back\ncall 2 is undone; the conversation stays as it is\n", "{undone:?}");
    assert_eq!(place.read("a").unwrap(), after);
    assert_eq!(
        (place.read("b").unwrap(), place.read("c").unwrap()),
        (format!("{LINES}more\n"), "new\n".into())
    );
    // The numbers stay, and one call more.
    let listed = place.run(&["undo", "--list"]);
    assert!(
        listed.out.contains("call 2: edit a (undone)\n")
            && listed.out.contains("call 3: bash echo more >>b\n")
    );
    let again = undo(&place, &["2"]);
    assert!(again.code == 2 && again.err.contains("call 2 was undone before"), "{again:?}");
    assert_eq!(undo(&place, &["1"]).code, 0);
    assert_eq!(place.read("a").unwrap(), LINES.replace("nine", "NINE"));
    // One after the other is taken back again.
    assert_eq!(place.run(&["redo"]).code, 0);
    assert_eq!(place.read("a").unwrap(), after);
    assert_eq!(place.run(&["redo"]).code, 0);
    assert_eq!(place.read("a").unwrap(), after.replace("three", "THREE"));
}

#[test]
fn an_undo_of_the_turn_a_replay_and_the_model_know_of_it() {
    let place = made(&[edit("a", "one", "ONE"), edit("a", "nine", "NINE")]);
    assert_eq!(undo(&place, &["1"]).code, 0);
    run(&place, &[read("a"), edit("a", "ten", "TEN")]);
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let id = serde_json::from_str::<Value>(journal.lines().next().unwrap()).unwrap();
    let id = id["session"].as_str().unwrap();
    let replayed = place.run(&["sessions", "replay", id, "--json"]).events().pop().unwrap();
    assert_eq!((&replayed["calls"], &replayed["difference"]), (&json!(4), &Value::Null), "{replayed}");
    assert!(journal.contains("\"calls\":[1]"), "{journal}");
    for turn in 0..2 {
        let undone = place.run(&["undo"]);
        assert_eq!(undone.code, 0, "{turn}: {undone:?}");
    }
    assert_eq!(place.read("a").unwrap(), LINES);
}

// H-21
#[test]
fn later_calls_that_depend_on_it_are_named() {
    let table: [(&str, &[Value], &[u64]); 12] = [
        ("the same line", &[edit("a", "one", "1"), edit("a", "1", "I")], &[2]),
        ("a line beside", &[edit("a", "one", "1"), edit("a", "nine", "9")], &[]),
        ("another file", &[edit("a", "one", "1"), write("c", "new\n")], &[]),
        ("a file that it made", &[write("c", LINES), edit("c", "nine", "9")], &[2]),
        ("all of the file", &[edit("a", "one", "1"), write("a", "new\n")], &[2]),
        ("a text that is there twice without it", &[edit("a", "six\n", ""), edit("a", "s", "S")], &[2]),
        ("a command beside", &[edit("a", "one", "1"), bash("echo more >>a")], &[]),
        ("a command that copies it", &[edit("a", "one", "1"), bash("cp a c")], &[2]),
        ("a command that reads it", &[edit("a", "one", "1"), bash("cat a; wc -l b")], &[]),
        ("a command that says what it read", &[edit("a", "one", "1"), bash("cat a; echo 1 >>b")], &[2]),
        (
            "one after the other",
            &[
                edit("a", "one", "1"),
                bash("cp a c"),
                bash("wc -l a >n"),
                bash("cp c d"),
                edit("d", "ten", "X"),
            ],
            &[2, 4, 5],
        ),
        ("the mode", &[bash("chmod 755 a"), bash("test -x a && echo it is >c")], &[2]),
    ];
    for (what, calls, expected) in table {
        let place = made(calls);
        let before = (place.read("a"), place.read("b"), place.read("c"));
        let code = i32::from(!expected.is_empty());
        assert_eq!(depends(&place, &["1"]), (code, expected.to_vec(), vec![]), "{what}");
        let is_as_before = (place.read("a"), place.read("b"), place.read("c")) == before;
        assert_eq!(is_as_before, !expected.is_empty(), "{what}");
    }
}

#[test]
fn a_turn_behind_a_command_that_changed_files_in_the_background_is_undone() {
    let background = json!({"name": "bash", "arguments": {"command": "echo 1 >c", "background": true}});
    let place = made(&[background]);
    assert_eq!(place.read("c").as_deref(), Some("1\n"));
    run(&place, &[edit("a", "one", "1")]);
    let undone = place.run(&["undo"]);
    assert_eq!((undone.code, place.read("a").as_deref()), (0, Some(LINES)), "{undone:?}");
    assert_eq!(place.read("c").as_deref(), Some("1\n"));
}

#[test]
fn what_cannot_be_made_again_counts_as_dependent() {
    let background = json!({"name": "bash", "arguments": {"command": "echo 1 >c", "background": true}});
    let place = made(&[edit("a", "one", "1"), background]);
    let refused = undo(&place, &["1"]);
    assert!(refused.code == 1 && refused.err.contains("it went on in the background"), "{refused:?}");
    let place = Place::unconfined();
    place.write("a", LINES);
    let model = place.script(
        "m",
        &[
            json!({"calls": [edit("a", "one", "1")]}),
            json!({"calls": [bash("echo 1 >c")]}),
            json!({"say": "Done."}),
        ],
    );
    assert_eq!(place.run(&["run", "--permission", "full", "--model", &model, "go"]).code, 0);
    let refused = undo(&place, &["1"]);
    assert!(refused.code == 1 && refused.err.contains("it ran outside of a view"), "{refused:?}");
    let refused = undo(&place, &["2"]);
    assert!(refused.code == 2 && refused.err.contains("what call 2 changed was not recorded"), "{refused:?}");
}

// H-21
#[test]
fn dependents_are_undone_with_it_or_merged_where_the_person_says_so() {
    let calls = [edit("a", "one", "1"), edit("a", "1", "I"), edit("a", "nine", "9"), bash("cp a c")];
    let place = made(&calls);
    let refused = undo(&place, &["1"]);
    let expected = "error: call 1 not undone: others depend on what they did\n  \
                    call 2 (`edit a`): made again without it, it gives another result\n  \
                    call 4 (`bash cp a c`): it changed the same text of `c`\n\
                    hint: `--with-dependents` also undoes these calls; `--merge` merges the text, with conflict markers \
                    where both changed it\n";
    assert_eq!((refused.code, &*refused.err), (1, expected));
    assert_eq!(undo(&place, &["1", "--with-dependents"]).code, 0);
    assert_eq!((place.read("a").unwrap(), place.read("c")), (LINES.replace("nine", "9"), None));
    let place = made(&calls);
    assert_eq!(undo(&place, &["1", "--merge"]).code, 0);
    let marked = "<<<<<<< as it is\nI\n=======\none\n>>>>>>> without call 1\n";
    assert_eq!(place.read("a").unwrap(), LINES.replace("one\n", marked).replace("nine", "9"));
}

// H-22
#[test]
fn what_a_person_changed_beside_it_stays() {
    let undo_turn: &[&str] = &["undo"];
    for arguments in [&["undo", "--call", "1"], undo_turn] {
        let place = made(&[edit("a", "one", "1")]);
        place.write("a", LINES.replace("one", "1").replace("nine", "mine"));
        let dry = place.run(&[arguments, &["--dry-run"]].concat());
        assert!(dry.out.contains("~ a would be put back; other changes of it are kept\n"), "{dry:?}");
        let undone = place.run(arguments);
        assert!(undone.out.contains("~ a put back; other changes of it are kept\n"), "{undone:?}");
        assert_eq!(
            (undone.code, place.read("a").unwrap()),
            (0, LINES.replace("nine", "mine")),
            "{arguments:?}"
        );
        assert_eq!(place.run(&["redo"]).code, 0);
        assert_eq!(
            place.read("a").unwrap(),
            LINES.replace("one", "1").replace("nine", "mine"),
            "{arguments:?}"
        );
    }
}

#[test]
fn what_a_person_changed_in_the_same_place_is_left_alone_or_merged() {
    let mine = LINES.replace("one", "mine");
    let marked = |label: &str| {
        LINES.replace("one\n", &format!("<<<<<<< as it is\nmine\n=======\none\n>>>>>>> {label}\n"))
    };
    let place = made(&[edit("a", "one", "1")]);
    place.write("a", &mine);
    assert_eq!(depends(&place, &["1"]), (1, vec![], vec!["a".into()]));
    assert_eq!(place.read("a").unwrap(), mine);
    assert_eq!(undo(&place, &["1", "--merge"]).code, 0);
    assert_eq!(place.read("a").unwrap(), marked("without call 1"));
    let place = made(&[edit("a", "one", "1")]);
    place.write("a", &mine);
    let left = place.run(&["undo"]);
    assert!(left.code == 1 && left.err.contains("`haft undo --merge` merges both"), "{left:?}");
    assert_eq!(place.read("a").unwrap(), mine);
    let merged = place.run(&["undo", "--merge"]);
    let told = "~ a put back; other changes of it are kept, and it has conflict markers where both changed the same lines\n";
    assert_eq!((merged.code, merged.out.as_str()), (0, told), "{merged:?}");
    assert_eq!(place.read("a").unwrap(), marked("as the undo would have it"));
    let nothing = place.run(&["undo", "--merge"]);
    assert!(nothing.code == 2 && nothing.err.contains("there is nothing to undo"), "{nothing:?}");
}

#[test]
fn links_modes_folders_and_removed_files_come_back() {
    let place = Place::new();
    place.write("d/x", "x\n");
    place.write("run", "#!/bin/sh\n");
    symlink("d/x", place.work().join("link")).unwrap();
    let change = "rm -r d; chmod 755 run; ln -sf run link; mkdir new; echo 1 >new/y";
    let place = made_in(place, &[bash(change), edit("a", "one", "1"), write("new/z", "z\n")]);
    let undone = undo(&place, &["1"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    let mode = std::fs::metadata(place.work().join("run")).unwrap().permissions().mode() & 0o777;
    let leads = std::fs::read_link(place.work().join("link")).unwrap();
    assert_eq!((place.read("d/x").unwrap(), mode, leads), ("x\n".into(), 0o644, "d/x".into()));
    assert_eq!((place.read("new/y"), place.read("new/z").unwrap()), (None, "z\n".into()));
    assert_eq!(place.read("a").unwrap(), LINES.replace("one", "1"));
}

#[test]
fn a_moved_file_is_shown_as_moved() {
    let place = made(&[
        write("run", "#!/bin/sh\n"),
        bash("mkdir d; mv a c; mv b d/b; echo more >>d/b; mv run d; chmod 755 d/run"),
    ]);
    let undone = undo(&place, &["2", "--dry-run"]);
    for expected in [
        "\n- c (moved to a)\n",
        "\n+ a (moved from c)\n",
        "\n- d/run (moved to run)\n",
        "\n-more\n",
        "\n+++ b/b\n@@ -0,0 +1,10 @@\n+one\n",
    ] {
        assert!(undone.out.contains(expected), "{expected}: {}", undone.out);
    }
    assert!(!undone.out.contains("b/c\n") && !undone.out.contains("sh"), "{}", undone.out);
}

#[test]
fn folders_that_were_made_for_files_go_with_them() {
    let calls = [write("new/deep/a", "1\n"), write("new/deep/b", "2\n"), write("new/c", "3\n")];
    let is_there =
        |place: &Place| ["new/deep", "new", "mine"].map(|folder| place.work().join(folder).is_dir());
    let prepared = || {
        let place = Place::new();
        std::fs::create_dir(place.work().join("mine")).unwrap();
        made_in(place, &[&calls[..], &[write("mine/d", "4\n")]].concat())
    };
    // As a turn, with a redo between.
    let place = prepared();
    for _ in 0..2 {
        assert_eq!((place.run(&["undo"]).code, is_there(&place)), (0, [false, false, true]));
        assert_eq!((place.run(&["redo"]).code, is_there(&place)), (0, [true; 3]));
        assert_eq!(place.read("new/deep/b").unwrap(), "2\n");
    }
    // One by one: a folder goes with the last file in it.
    let place = prepared();
    for (call, left) in [("1", [true; 3]), ("3", [true; 3]), ("4", [true; 3]), ("2", [false, false, true])] {
        let undone = undo(&place, &[call]);
        assert_eq!((undone.code, is_there(&place)), (0, left), "{call}: {undone:?}");
    }
    // With a file of the person in one of them.
    let place = prepared();
    place.write("new/mine", "5\n");
    let undone = place.run(&["undo"]);
    assert_eq!((undone.code, is_there(&place)), (0, [false, true, true]), "{undone:?}");
    assert_eq!(place.read("new/mine").unwrap(), "5\n");
}

#[test]
fn wrong_use_is_refused() {
    let place = made(&[json!({"name": "read", "arguments": {"path": "a"}}), edit("a", "one", "1")]);
    let table = [
        (&["--call", "9"][..], "there is no call 9 in this session"),
        (&["--call", "1"], "call 1 changed no files"),
        (&["--call", "0"], "it must be at least 1"),
        (&["--call", "2", "--calls", "1"], "cannot be used with"),
        (&["--with-dependents"], "--call"),
        (&["--call", "2", "--merge", "--with-dependents"], "cannot be used with"),
    ];
    for (options, expected) in table {
        let refused = place.run(&[&["undo"], options].concat());
        assert!(refused.code == 2 && refused.err.contains(expected), "{options:?}: {refused:?}");
    }
    let listed = place.run(&["undo", "--list", "--json"]).events();
    let expected = json!({"call": 2, "name": "edit", "title": "edit a", "files": [{"path": "a", "kind": "modified"}], "undone": false});
    assert_eq!(listed, [expected]);
}

/// A place in which call 1 changes `a`, and call 2 is a command that takes a minute if it is made again.
fn slow_to_undo() -> (Place, String) {
    let place = Place::new();
    place.write("a", LINES);
    let slow = "cat a >>b; if test -e slow; then sleep 60; fi";
    let calls = [edit("a", "one", "1"), bash(slow)].map(|call| json!({"calls": [call]}));
    let model = place.script("m", &[&calls[..], &[json!({"say": "Done."})]].concat());
    (place, model)
}

// H-23
#[test]
fn an_interrupt_while_calls_are_made_again_leaves_everything_as_it_was() {
    let (place, model) = slow_to_undo();
    let server = Serving::start(&place, &["--model", &model, "--permission", "accept-edits"]);
    let id = server.session(r#"{"permission": "accept-edits"}"#);
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#);
    place.write("slow", "");
    let files = || (place.read("a"), place.read("b"));
    let before = files();
    let mut events = server.follow(&id, "");
    // Live updates are seen from here on.
    events.until("turn_ended");
    let undoing = std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.ask(&format!("POST /v1/sessions/{id}/undo"), r#"{"call":1}"#));
        events.until("undoing");
        server.ask(&format!("POST /v1/sessions/{id}/interrupt"), "{}");
        asked.join().unwrap()
    });
    assert_eq!((undoing.status, undoing.error().as_str()), (409, "conflict"), "{undoing:?}");
    assert!(undoing.body.contains("the undo was interrupted, and no file was changed"), "{undoing:?}");
    assert_eq!(files(), before);
    // The session goes on, and so does the undo.
    std::fs::remove_file(place.work().join("slow")).unwrap();
    let undone =
        server.ask(&format!("POST /v1/sessions/{id}/undo"), r#"{"call":1,"with_dependents":true}"#).json();
    assert_eq!(undone["undone"], json!([1, 2]), "{undone}");
    assert_eq!(files(), (Some(LINES.into()), None));
}

// H-23
#[test]
fn escape_ends_an_undo_on_the_screen() {
    let (place, model) = slow_to_undo();
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.haft(&place, &format!("--permission accept-edits --model {model}"));
    terminal.see("what to do?");
    terminal.say("go");
    terminal.see("Done.");
    place.write("slow", "");
    let before = place.read("a");
    terminal.say("/undo 1");
    terminal.see("making later calls again");
    terminal.keys(&["Escape"]);
    terminal.see("the undo was interrupted, and no file was changed");
    terminal.no_longer_see("Esc to interrupt");
    assert_eq!(place.read("a"), before);
}

/// Makes these calls, where `"helper"` delegates to a subagent that changes the first line of `a`.
fn made_with_helper(steps: &[Value]) -> Place {
    let place = Place::new();
    place.write("a", LINES);
    let folder = place.path().join("person/.config/haft/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let change = json!({"calls": [edit("a", "one", "1")]});
    let model = place.script("helper.jsonl", &[change, json!({"say": "Changed."})]);
    let helper = format!("---\nname: helper\ndescription: h\nmodel: {model}\n---\nHelp.\n");
    std::fs::write(folder.join("helper.md"), helper).unwrap();
    let delegate = json!({"name": "delegate", "arguments": {"task": "change it", "agent": "helper"}});
    let calls = steps.iter().map(|call| if call == "helper" { &delegate } else { call });
    let steps: Vec<Value> =
        calls.map(|call| json!({"calls": [call]})).chain([json!({"say": "Done."})]).collect();
    let model = place.script("m", &steps);
    let ran = place.run(&["run", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    place
}

// H-24
#[test]
fn what_a_subagent_changed_is_undone_with_the_call_that_delegated() {
    let place = made_with_helper(&[json!("helper"), edit("a", "nine", "9")]);
    assert_eq!(place.read("a").unwrap(), LINES.replace("one", "1").replace("nine", "9"));
    let listed = place.run(&["undo", "--list"]);
    assert!(listed.out.contains("call 1: delegate"), "{listed:?}");
    let undone = undo(&place, &["1"]);
    assert_eq!((undone.code, place.read("a").unwrap()), (0, LINES.replace("nine", "9")), "{undone:?}");
    // An earlier call is not undone alone: nothing makes a subagent do again what it did.
    let place = made_with_helper(&[edit("a", "ten", "10"), json!("helper")]);
    let refused = undo(&place, &["1"]);
    assert!(refused.err.contains("its subagent cannot be made to do it again"), "{refused:?}");
    assert_eq!(undo(&place, &["1", "--with-dependents"]).code, 0);
    assert_eq!(place.read("a").unwrap(), LINES);
}

// H-24, H-27
#[test]
fn an_undone_call_undoes_what_was_accepted_of_it_and_nothing_else() {
    let whole = LINES.replace("one", "1").replace("ten", "10");
    let mine = LINES.replace("one", "mine");
    let table = [
        ("a hunk", json!([{"path": "a", "hunks": [0]}]), LINES.replace("one", "1")),
        ("the person's text", json!([{"path": "a", "text": &mine}]), mine.clone()),
    ];
    for (what, accepted, after) in table {
        let place = Place::new();
        place.write("a", LINES);
        let script = [
            json!({"calls": [read("a")]}),
            json!({"calls": [write("a", &whole), write("b", "beside\n")]}),
            json!({"say": "Done."}),
        ];
        let model = place.script("m", &script);
        let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
        let id = server.session("{}");
        let mut events = server.follow(&id, "");
        server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
        for answer in [json!({"answer": "once", "accepted": accepted}), json!({"answer": "once"})] {
            let call = events.until("approval_asked").pop().unwrap()["call"].as_str().unwrap().to_owned();
            let answered =
                server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), &answer.to_string());
            assert!(answered.status < 300, "{what}: {answered:?}");
        }
        events.until("turn_ended");
        assert_eq!(place.read("a").unwrap(), after, "{what}");
        // What the person changes afterwards, in a place that was proposed and not accepted, stays.
        place.write("a", after.replace("ten", "zehn"));
        let undone = server.ask(&format!("POST /v1/sessions/{id}/undo"), r#"{"call":2}"#).json();
        assert_eq!(undone["undone"], json!([2]), "{what}: {undone}");
        assert_eq!(place.read("a").unwrap(), LINES.replace("ten", "zehn"), "{what}");
        assert_eq!(place.read("b").as_deref(), Some("beside\n"), "{what}");
    }
}

#[test]
fn a_call_that_was_refused_depends_on_nothing_and_what_was_said_meanwhile_is_of_its_turn() {
    let place = Place::new();
    place.write("a", LINES);
    place.write("b", LINES);
    let calls = [edit("a", "one", "1"), edit("a", "two", "2"), edit("b", "one", "1")];
    let steps: Vec<Value> =
        calls.iter().map(|call| json!({"calls": [call]})).chain([json!({"say": "Done."})]).collect();
    let model = place.script("m", &steps);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
    for answer in [
        json!({"answer": "once"}),
        json!({"answer": "no", "because": "leave that line"}),
        json!({"answer": "once"}),
    ] {
        let asks = events.until("approval_asked").pop().unwrap();
        let call = asks["call"].as_str().unwrap();
        let answered = server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), &answer.to_string());
        assert!(answered.status < 300, "{answered:?}");
    }
    events.until("turn_ended");
    assert_eq!(
        (place.read("a").unwrap(), place.read("b").unwrap()),
        (LINES.replace("one", "1"), LINES.replace("one", "1"))
    );
    let undone = server.ask(&format!("POST /v1/sessions/{id}/undo"), r#"{"call":1}"#);
    assert_eq!((undone.status, place.read("a").unwrap().as_str()), (200, LINES), "{undone:?}");
    server.ask(&format!("POST /v1/sessions/{id}/redo"), "");
    let undone = server.ask(&format!("POST /v1/sessions/{id}/undo"), "{}");
    assert_eq!((undone.status, place.read("a").unwrap().as_str()), (200, LINES), "{undone:?}");
    assert_eq!(place.read("b").unwrap(), LINES, "{undone:?}");
}

#[test]
fn each_file_that_an_undo_left_alone_is_merged_by_itself() {
    let place = made(&[edit("a", "one", "1"), write("new", "theirs\n")]);
    place.write("a", LINES.replace("one", "mine"));
    place.write("new", "mine\n");
    let undone = place.run(&["undo"]);
    assert!(undone.code == 1 && !undone.err.contains(">new"), "{undone:?}");
    let merged = place.run(&["undo", "--merge"]);
    assert_eq!(merged.code, 1, "{merged:?}");
    assert!(merged.out.contains("! new skipped: modified since"), "{merged:?}");
    assert!(
        merged.err.contains("hint: new did not exist before; if you do not need it, remove it yourself"),
        "{merged:?}"
    );
    assert!(place.read("a").unwrap().contains("<<<<<<< as it is\nmine\n"), "{merged:?}");
    assert_eq!(place.read("new").as_deref(), Some("mine\n"));
    let again = place.run(&["undo", "--merge"]);
    assert!(
        again.code == 1
            && again.err.starts_with("error: what the last undo left alone cannot be merged\n  `new`: "),
        "{again:?}"
    );
}

// H-25
#[test]
fn the_words_of_the_terminal_undo_calls_over_the_api() {
    let place = Place::new();
    let calls = [write("a", "1\n"), edit("a", "1", "2"), write("b", "1\n")];
    let steps: Vec<Value> =
        calls.iter().map(|call| json!({"calls": [call]})).chain([json!({"say": "Done."})]).collect();
    let model = place.script("m", &steps);
    let server = Serving::start(&place, &["--model", &model, "--permission", "accept-edits"]);
    let id = server.session(r#"{"permission": "accept-edits"}"#);
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#);
    let typed =
        |text: &str| server.ask(&format!("POST /v1/sessions/{id}/typed"), &json!({"text": text}).to_string());
    let listed = typed("/undo list").json();
    assert_eq!(listed["note"], "1  write a  + a\n2  edit a  ~ a\n3  write b  + b");
    let refused = server.ask(&format!("POST /v1/sessions/{id}/undo"), r#"{"call":1}"#);
    assert_eq!((refused.status, refused.error().as_str()), (409, "in_the_way"), "{refused:?}");
    assert!(refused.body.contains("call 2 (`edit a`) depends on it"), "{refused:?}");
    for (body, status) in [
        (r#"{"calls":0}"#, 400),
        (r#"{"merge":true}"#, 400),
        (r#"{"with_dependents":true}"#, 400),
        (r#"{"call":1,"merge":true,"with_dependents":true}"#, 400),
        (r#"{"call":1,"merge":true}"#, 409),
    ] {
        let answered = server.ask(&format!("POST /v1/sessions/{id}/undo"), body);
        assert_eq!(
            (answered.status, place.read("a").as_deref()),
            (status, Some("2\n")),
            "{body}: {answered:?}"
        );
        assert!(!answered.body.contains("; `merge`"), "{answered:?}");
    }
    for (text, status, files) in [
        ("/undo 3", 202, (Some("2\n"), None)),
        ("/undo 1", 409, (Some("2\n"), None)),
        ("/undo 1 with-dependents", 202, (None, None)),
        ("/redo", 202, (Some("2\n"), None)),
        ("/undo it", 400, (Some("2\n"), None)),
    ] {
        let answered = typed(text);
        assert_eq!(answered.status, status, "{text}: {answered:?}");
        assert_eq!((place.read("a").as_deref(), place.read("b").as_deref()), files, "{text}");
    }
}

#[test]
fn the_model_is_told_that_a_call_was_taken_back_in_the_middle_of_a_turn() {
    let place = made(&[bash("echo one >one"), bash("echo two >two")]);
    let undone = place.run(&["undo", "--calls", "1"]);
    assert!(undone.code == 0 && undone.out.contains("- two removed\n"), "{undone:?}");
    run(&place, &[]);
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let told = "the user took the call back, and what it changed with it";
    assert!(journal.contains(told) && !journal.contains("its process ended"), "{journal}");
}

#[test]
fn nothing_is_undone_or_redone_where_the_workspace_was_moved() {
    let place = made(&[bash("mkdir q; echo 1 >q/1; echo more >>a")]);
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let (old, elsewhere) = (place.work(), place.path().join("elsewhere"));
    let before = std::fs::read(place.journal()).unwrap();
    std::fs::rename(&old, &elsewhere).unwrap();
    let cwd = elsewhere.to_str().unwrap();
    for words in
        [&["undo", &id][..], &["redo", &id], &["undo", &id, "--call", "1"], &["undo", &id, "--dry-run"]]
    {
        let mut command = place.haft(&[words, &["--cwd", cwd]].concat());
        let ran = Ran::from(command.current_dir(&elsewhere).output().unwrap());
        assert!(
            ran.code == 2 && ran.err.contains(&format!("cannot work in `{}`", old.display())),
            "{words:?}: {ran:?}"
        );
        assert!(ran.out.is_empty() && !old.exists(), "{words:?}: {ran:?}");
    }
    assert_eq!(std::fs::read(place.journal()).unwrap(), before);
    std::fs::rename(&elsewhere, &old).unwrap();
    let undone = place.run(&["undo"]);
    assert!(undone.code == 0 && undone.out.contains("- q/1 removed\n"), "{undone:?}");
    assert_eq!(place.read("a").unwrap(), LINES);
}

#[test]
fn a_file_whose_saved_content_is_damaged_or_missing_is_named_as_that() {
    let damage: [fn(&std::path::Path); 3] = [
        |blob| std::fs::write(blob, "other").unwrap(),
        |blob| std::fs::write(blob, "").unwrap(),
        |blob| std::fs::remove_file(blob).unwrap(),
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        let place = made(&[bash("rm a; echo new >new")]);
        let blobs = std::fs::read_dir(place.journal().with_file_name("blobs")).unwrap();
        for blob in blobs.flatten().map(|blob| blob.path()) {
            std::fs::set_permissions(&blob, PermissionsExt::from_mode(0o600)).unwrap();
            damage(&blob);
        }
        let undone = place.run(&["undo"]);
        let expected = "! a skipped: its saved content is missing or damaged\n";
        assert!(undone.code == 1 && undone.out.contains(expected), "{number}: {undone:?}");
        assert!(!undone.out.contains("modified since"), "{number}: {undone:?}");
    }
}

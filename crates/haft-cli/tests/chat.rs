//! `haft chat`: a conversation line by line, with the same words as the screen.
mod kit;

use kit::{Place, terminal::Terminal};
use serde_json::json;

#[test]
fn what_a_line_says_is_done() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let edit = json!({"name": "edit", "arguments": {"path": "a.txt", "old": "one", "new": "two"}});
    let first = place.script(
        "first.jsonl",
        &[
            json!({"calls": [edit]}),
            json!({"say": "It is two.", "usage": {"input": 10, "output": 2}}),
            json!({"say": "Three lines.", "expect": "a\nb\nc"}),
        ],
    );
    let other = place.script("other.jsonl", &[json!({"say": "Another model."})]);
    let choose = format!("/model {other}");
    let table = [
        (vec!["/help"], vec!["/undo", "/sessions [ID]"]),
        (vec!["change it", "/undo"], vec!["It is two.", "~ a.txt"]),
        (vec!["change it", "/undo", "/redo", "/cost"], vec!["10 tokens in, 2 out"]),
        (vec!["/undo", "/redo"], vec!["nothing to undo", "nothing to redo"]),
        (vec!["hi", "a\\", "b\\", "c"], vec!["It is two.", "Three lines."]),
        (vec![&choose, "hi"], vec!["model script/", "Another model."]),
        (vec!["/model no/such", "hi"], vec!["error: ", "It is two."]),
        (vec!["/agent nobody", "hi"], vec!["there is no agent `nobody`", "It is two."]),
        (vec!["/new", "/sessions"], vec!["session 2"]),
        (vec!["/nonsense"], vec!["there is no command `/nonsense`"]),
        (vec!["/jobs"], vec!["needs the screen"]),
    ];
    for (lines, expected) in table {
        place.write("a.txt", "one\n");
        let input = format!("{}\nEXIT\n", lines.join("\n"));
        let ran =
            place.run_with_input(&["chat", "--model", &first, "--permission", "full"], input.as_bytes());
        assert_eq!(ran.code, 0, "{lines:?}: {}", ran.err);
        for text in expected {
            assert!(ran.out.contains(text) || ran.err.contains(text), "{lines:?}: {}{}", ran.out, ran.err);
        }
    }
}

//
#[test]
fn a_mode_that_is_asked_for_by_name_holds_in_a_session_that_goes_on() {
    let place = Place::new();
    let write = json!({"name": "write", "arguments": {"path": "a.txt", "content": "x"}});
    let script = [json!({"say": "Hello."}), json!({"calls": [write]}), json!({"say": "Done."})];
    let model = place.script("model.jsonl", &script);
    let chat = ["chat", "--model", &model, "--permission", "full"];
    let chatted = place.run_with_input(&chat, b"/mode ask\nhi\nEXIT\n");
    assert_eq!(chatted.code, 0, "{}", chatted.err);
    let folder = place.journal().parent().unwrap().to_owned();
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let ran = place.run(&["run", "--session", &id, "--model", &model, "--permission", "full", "go"]);
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("x")), "{}{}", ran.out, ran.err);
}

/// On a terminal lines can be edited and completed, and are there the next time; without a screen nothing is drawn anew.
#[test]
fn a_terminal_has_completion_and_a_history() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "Answer.", "expect": "a question"})]);
    let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
    for keys in [&["-l", "a question"][..], &["Up"]] {
        terminal.haft(&place, "--plain --model script/../model.jsonl");
        terminal.see("`exit` leaves.");
        terminal.keys(keys);
        terminal.see("> a question");
        terminal.keys(&["Enter"]);
        terminal.see("Answer.");
        terminal.keys(&["-l", "/ses"]);
        terminal.keys(&["Tab"]);
        terminal.see("/sessions");
        terminal.keys(&["C-u"]);
        terminal.say("exit");
        terminal.see("left 0");
    }
}

/// A question that nobody waits for any more takes no line that is meant for what comes next.
#[test]
fn a_withdrawn_question_leaves_the_next_line_alone() {
    let place = Place::new();
    let call = json!({"name": "bash", "arguments": {"command": "echo x > a.txt"}});
    place.script(
        "model.jsonl",
        &[json!({"calls": [call]}), json!({"say": "Heard.", "expect": "hello there"})],
    );
    let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
    terminal.haft(&place, "chat --model script/../model.jsonl");
    terminal.see("`exit` leaves.");
    terminal.say("run it");
    terminal.see("allow?");
    terminal.keys(&["C-c"]);
    terminal.see("(interrupted)");
    terminal.say("hello there");
    terminal.see("Heard.");
    assert_eq!(place.read("a.txt"), None);
    terminal.say("exit");
    terminal.see("left 0");
}

//! `haft chat`: a conversation line by line, with the same words as the screen.

use crate::kit::{
    Place, UNTIL_GO,
    terminal::{Terminal, poll},
};
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
        (vec!["/agent missing", "hi"], vec!["there is no agent `missing`", "It is two."]),
        (vec!["/new", "/sessions"], vec!["session 2"]),
        (vec!["/nonsense"], vec!["there is no command `/nonsense`"]),
        (vec!["/jobs"], vec!["only available on the screen"]),
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
        terminal.see("`exit` to leave.");
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

/// A withdrawn question takes no line that is meant for what comes next.
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
    terminal.see("`exit` to leave.");
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

/// There is one person and one line at a time: the second question waits for the first answer.
#[test]
fn one_question_is_asked_after_the_other() {
    let place = Place::new();
    let read = |name: &str| json!({"name": "read", "arguments": {"path": format!("../{name}")}});
    place.script("one.txt", &[json!("first content")]);
    place.script("two.txt", &[json!("second content")]);
    let script = [json!({"calls": [read("one.txt"), read("two.txt")]}), json!({"say": "Read."})];
    place.script("model.jsonl", &script);
    let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
    terminal.haft(&place, "chat --model script/../model.jsonl");
    terminal.see("`exit` to leave.");
    terminal.say("read both");
    let screen = terminal.see("allow?");
    assert_eq!(screen.matches("allow?").count(), 1, "{screen}");
    // Either may be the first.
    let refused = if screen.contains("one.txt?") { "one.txt" } else { "two.txt" };
    let allowed = if refused == "one.txt" { "two.txt" } else { "one.txt" };
    terminal.say("n");
    let second = |screen: &str| screen.matches("allow?").count() == 2;
    poll(|| second(&terminal.screen()), || "the second question".into());
    terminal.say("y");
    // Long lines go on in the next one.
    let screen: String = terminal.see("Read.").lines().collect();
    assert!(screen.contains(&format!("{refused}` needs approval, and the user said no")), "{screen}");
    assert!(screen.contains(&format!("Read 1 line of `../{allowed}`")), "{screen}");
    terminal.say("exit");
    terminal.see("left 0");
}

/// A hook of the person that holds up the end of each turn until there is a file.
fn slow_to_end(place: &Place) {
    let folder = place.path().join("person/.config/haft");
    std::fs::create_dir_all(&folder).unwrap();
    let wait = "[[hooks]]\nevent = \"turn_end\"\ncommand = \"touch ending; until test -e go; do sleep 0.05; done\"\n";
    std::fs::write(folder.join("config.toml"), wait).unwrap();
}

/// Who does not wait for the end of a turn sees it with the next one.
#[test]
fn what_is_said_while_a_turn_winds_down_is_answered_before_the_prompt_comes_back() {
    let place = Place::new();
    slow_to_end(&place);
    let script = [
        json!({"calls": [{"name": "bash", "arguments": {"command": "sleep 1000"}}]}),
        json!({"say": "I heard that.", "expect": "hello there"}),
    ];
    place.script("model.jsonl", &script);
    let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
    terminal.haft(&place, "chat --model script/../model.jsonl --permission full");
    terminal.see("`exit` to leave.");
    terminal.say("begin");
    terminal.see("● bash sleep");
    terminal.keys(&["C-c"]);
    terminal.see("  ✗");
    terminal.keys(&["C-c"]);
    let prompts = |screen: &str| screen.lines().filter(|line| line.starts_with('>')).count();
    poll(|| prompts(&terminal.screen()) == 2, || "the second prompt".into());
    terminal.say("hello there");
    place.write("go", "");
    let screen = terminal.see("I heard that.");
    assert!(screen.contains("(interrupted)"), "{screen}");
    terminal.say("exit");
    terminal.see("left 0");
}

/// A job that ends while the person types opens a turn; what it did and asks is seen with the next line.
#[test]
fn a_turn_that_a_job_opens_is_told_at_the_next_line() {
    let place = Place::new();
    place.hold();
    let bash = |command: &str| json!({"name": "bash", "arguments": {"command": command}});
    let mut job = bash(&format!("{UNTIL_GO}; echo y > b.txt"));
    job["arguments"]["background"] = json!(true);
    let script = [
        json!({"calls": [job]}),
        json!({"say": "It runs."}),
        json!({"calls": [bash("echo x > a.txt")]}),
        json!({"say": "That was the job."}),
        json!({"say": "And this is my answer.", "expect": "hello there"}),
    ];
    place.script("model.jsonl", &script);
    let Some(terminal) = Terminal::open(&place, (80, 40)) else { return };
    terminal.haft(&place, "chat --model script/../model.jsonl");
    terminal.see("`exit` to leave.");
    terminal.say("serve");
    terminal.see("It runs.");
    place.let_go();
    let asked = || std::fs::read_to_string(place.journal()).unwrap().contains("\"approval_asked\"");
    poll(asked, || "the question about what the job did".into());
    terminal.say("hello there");
    for count in [1, 2] {
        poll(|| terminal.screen().matches("allow?").count() == count, || "the question".into());
        terminal.say("y");
    }
    let screen = terminal.see("And this is my answer.");
    assert!(screen.contains("That was the job."), "{screen}");
    assert_eq!((place.read("a.txt").as_deref(), place.read("b.txt").as_deref()), (Some("x\n"), Some("y\n")));
    terminal.say("exit");
    terminal.see("left 0");
}

#[test]
fn a_terminal_is_left_as_it_was_where_the_program_is_ended_at_its_prompt() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "unused"})]);
    let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
    terminal.haft(&place, "chat --model script/../model.jsonl");
    terminal.see("`exit` to leave.");
    terminal.see("\n>");
    terminal.signal("TERM");
    terminal.see("left 0");
    terminal.is_usable();
}

/// What was begun ends with the window, and the journal says how.
#[test]
fn a_terminal_that_goes_away_ends_what_was_begun() {
    for how in ["run go", "chat"] {
        let place = Place::unconfined();
        let call = json!({"name": "bash", "arguments": {"command": "touch begun; sleep 1000"}});
        place.script("model.jsonl", &[json!({"calls": [call]}), json!({"say": "unused"})]);
        let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
        terminal.haft(&place, &format!("{how} --model script/../model.jsonl --permission full"));
        if how == "chat" {
            terminal.see("`exit` to leave.");
            terminal.say("go");
        }
        poll(|| place.read("begun").is_some(), || format!("the command of {how}"));
        terminal.close();
        let is_ended = || {
            let journal = std::fs::read_to_string(place.journal()).unwrap();
            journal.lines().last().unwrap().contains("\"outcome\":\"interrupted\"")
        };
        poll(is_ended, || format!("the end of {how}"));
    }
}

/// Whatever takes its time at the end: another interrupt does not wait for it.
#[test]
fn an_end_that_takes_its_time_can_be_left() {
    let place = Place::new();
    slow_to_end(&place);
    let model = place.script("model.jsonl", &[json!({"say": "Said."})]);
    let mut child = place.haft(&["run", "--model", &model, "go"]).spawn().unwrap();
    poll(|| place.read("ending").is_some(), || "the end of the turn".into());
    let is_over = || {
        let sent = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        child.try_wait().unwrap().is_some()
    };
    poll(is_over, || "the end".into());
}

#[test]
fn whoever_reads_objects_reads_nothing_else() {
    let place = Place::new();
    let model = place.script("model.jsonl", &[json!({"say": "Hi."}), json!({"say": "Again."})]);
    let ran = place.run_with_input(&["chat", "--json", "--model", &model], b"hello\nonce more\nexit\n");
    let recorded = ran.recorded();
    assert_eq!(recorded.first().map(String::as_str), Some("session_opened"), "{ran:?}");
    assert_eq!(recorded.iter().filter(|kind| *kind == "turn_ended").count(), 2, "{ran:?}");
}
